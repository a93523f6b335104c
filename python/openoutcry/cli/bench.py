"""`openoutcry bench`: speed on this machine, compared with baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.table import Table

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import BUILD_PROFILE
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console, Progress
from openoutcry.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from openoutcry.benchmarks.batch_speed import Cell
    from openoutcry.benchmarks.engine_speed import Row

EXAMPLES = """
**Examples**

`openoutcry bench`

`openoutcry bench --check --json`

`openoutcry bench --batch`

`openoutcry bench --scenarios`

`openoutcry bench --score --check`

`openoutcry bench --agents`

`openoutcry bench --data --check`

`openoutcry bench --intraday`
"""


def bench(
    check: bool = typer.Option(False, "--check", help="Exit with code 1 and list missed goals on stderr."),
    batch: bool = typer.Option(False, "--batch", help="Measure the vector environment; about two minutes."),
    scenarios: bool = typer.Option(
        False, "--scenarios", help="Measure the scenario generator and a leak check; about half a minute."
    ),
    score: bool = typer.Option(
        False, "--score", help="Measure the multiple tests against `arch`; needs the extra `oracle`."
    ),
    agents: bool = typer.Option(
        False, "--agents", help="Measure agents in other processes, with and without the sandbox."
    ),
    reading: bool = typer.Option(
        False, "--data", help="Measure reading files against pandas and polars; needs pandas, polars and pyarrow."
    ),
    intraday: bool = typer.Option(
        False, "--intraday", help="Measure minute bars, against raptorbt and vectorbt where installed; some minutes."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Measure speed, memory, import time and package size on this machine.

    Most rows show a numpy baseline, measured in the same process.
    """
    measures = {
        "batch": _measure_batch,
        "scenarios": _measure_scenarios,
        "score": _measure_score,
        "agents": _measure_agents,
        "data": _measure_data,
        "intraday": _measure_intraday,
    }
    selected = (batch, scenarios, score, agents, reading, intraday)
    chosen = [name for name, is_on in zip(measures, selected, strict=True) if is_on]
    if len(chosen) > 1:
        options, received = (" and ".join(f"`--{name}`" for name in names) for names in (measures, chosen))
        raise refusal("argument_invalid", f"{options} exclude each other; received {received}")
    if BUILD_PROFILE != "release":
        message = f"a release build is required; received the `{BUILD_PROFILE}` build of `make demo`"
        raise refusal("argument_invalid", f"{message}; hint: `make build`")
    rows = measures[chosen[0]]() if chosen else _measure()
    if as_json:
        echo_json([row.to_dict() for row in rows])
    else:
        Console(width=None if Console().is_terminal else 110).print(_batch_table(rows) if batch else _table(rows))
    if check:
        check_goals(rows)


def _measure() -> list[Any]:
    from openoutcry.benchmarks import engine_speed

    return engine_speed.measure()


def _measure_batch() -> list[Any]:
    from openoutcry.benchmarks import batch_speed

    with Progress() as progress:
        sizes = len(batch_speed.SIZES) * (len(batch_speed.FEATURES) * len(batch_speed.WAYS) + 1)
        bar = progress.add_task("batch", total=sizes)
        return batch_speed.measure(lambda _: progress.advance(bar))


def _measure_scenarios() -> list[Any]:
    from openoutcry.benchmarks import scenario_speed
    from openoutcry.scenarios.scenario import NAMES

    with Progress() as progress:
        bar = progress.add_task("scenarios", total=len(NAMES) + 1)
        return scenario_speed.measure(lambda _: progress.advance(bar))


def _measure_score() -> list[Any]:
    from openoutcry.benchmarks import scoring_speed

    return scoring_speed.measure()


def _measure_agents() -> list[Any]:
    from openoutcry.benchmarks import agent_speed

    return agent_speed.measure()


def _measure_data() -> list[Any]:
    from openoutcry.benchmarks import reading_speed

    return reading_speed.measure()


def _measure_intraday() -> list[Any]:
    from openoutcry.benchmarks import intraday_speed

    with Progress() as progress:
        bar = progress.add_task("intraday", total=len(intraday_speed.GROUPS))
        return intraday_speed.measure(lambda: progress.advance(bar))


def check_goals(rows: list[Any]) -> None:
    """Exit with code 1 if a goal is missed."""
    missed = [row for row in rows if not row.is_met]
    for row in missed:
        echo(f"missed: {_describe(row)}", err=True)
    if missed:
        raise typer.Exit(1)


def _describe(row: Any) -> str:
    if hasattr(row, "way"):
        what = f"{row.features}, {counted(row.n_symbols, 'symbol')} x {counted(row.num_envs, 'lane')}, {row.way}"
        return f"{what}: {row.ratio:.1f}x, goal {row.goal}x"
    return f"{row.what}: {row.here}, goal {row.goal}"


def _batch_table(cells: list[Cell]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("features", "variant"):
        table.add_column(head)
    for head in ("symbols", "lanes", "threads", "steps/s", "numpy", "ratio", "goal", "", "store bandwidth"):
        table.add_column(head, justify="right")
    for cell in cells:
        goal = ("", "") if cell.goal is None else (f"{cell.goal:g}x", "met" if cell.is_met else "missed")
        numbers = (cell.n_symbols, cell.num_envs, cell.threads, f"{cell.rate:,.0f}", f"{cell.peer:,.0f}")
        ratio = f"{cell.ratio:.1f}x"
        table.add_row(cell.features, cell.way, *map(str, numbers), ratio, *goal, f"{cell.stored:.0%}")
    return table


def _table(rows: list[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("measurement")
    for head in ("here", "goal", "", "baseline", "ratio"):
        table.add_column(head, justify="right")
    table.add_column("baseline is")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
        met = "" if row.bound is None else "met" if row.is_met else "missed"
        table.add_row(row.what, row.here, row.goal, met, row.peer, ratio, row.peer_is)
    return table
