"""`openoutcry contamination`: does an agent remember the market."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from openoutcry.cli.agent_options import AGENT, ALLOW_NET, ENV, SANDBOX, START_TIMEOUT, TIMEOUT, Asked
from openoutcry.cli.market_options import load_agent, open_dataset, picture_to_write
from openoutcry.cli.run_table import plain
from openoutcry.data.masking import LEVELS
from openoutcry.errors import refusal
from openoutcry.harness.agent_lookup import SERVERS
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.audits.contamination import Difference, Verdict

EXAMPLES = """
**Examples**

`openoutcry contamination --agent my_agent:decide`

`openoutcry contamination --agent "cmd:python agent.py" --data prices.csv --window 2019-01-01:2020-01-01 --json`

`openoutcry contamination --agent http://127.0.0.1:8000 --windows 2 --bars 60 --repeats 1 --twins 3 --jobs 4`

`openoutcry contamination --agent momentum --picture arms.svg`

**Exit codes** 0: no contamination found. 1: found at the level, in disguise and on twins. 2: it could not be judged:
too few bars, too many faults, later runs that know of earlier ones, an agent that raises, or an input that is refused.
3: found in one of the two alone, as of an agent without memory that follows trends, or trades only names it knows.
"""


def contamination(
    agent: str = typer.Option(..., help=AGENT),
    source: str = typer.Option("ecb-fx", "--data", help="A bundled market (`openoutcry data list`) or a file."),
    window: list[str] = typer.Option([], help="`START:END`, bars or ISO dates; may be given again."),
    windows: int = typer.Option(4, min=1, help="Windows spread over the market, where none is given."),
    bars: int = typer.Option(126, min=3, help="Bars of each of those."),
    repeats: int | None = typer.Option(None, min=1, help="Runs as it is, and in disguise: 2, or 1 of a server."),
    twins: int = typer.Option(9, min=1, help="Twins of a window."),
    block: float = typer.Option(5.0, min=1.0, help="Bars of a block of a twin, on average."),
    masking: str = typer.Option("full", help=f"Disguise: {', '.join(LEVELS)}."),
    level: float = typer.Option(0.05, help="How often a clean agent may be found contaminated."),
    lookback: int = typer.Option(20, min=1, help="Closes that the agent is shown of a symbol."),
    seed: int | None = typer.Option(None, min=0, help="Fixes all that is drawn; by default drawn itself, and told."),
    periods_per_year: float | None = typer.Option(None, help="Bars a year of a file; 252 by default."),
    jobs: int = typer.Option(1, min=1, max=256, help="Runs at the same time, of a process or server."),
    picture: Path | None = typer.Option(None, help="Write a picture of the arms to this SVG file."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
    env: list[str] | None = ENV,
    timeout: float = TIMEOUT,
    start_timeout: float = START_TIMEOUT,
    sandbox: str = SANDBOX,
    allow_net: bool = ALLOW_NET,
) -> None:
    """Run an agent on a market as it is, in disguise, and on twins of it.

    What it earns under real names and dates beyond a disguise is what the name is worth to it; beyond twins, its own
    bars in another order, what the path is worth. One that remembers earns more than on both; where nothing can be
    followed, one that does not earns the same. Each run is by an agent begun for it, in an order that the seed fixes; a
    server is not begun anew, and what it learns in one run it has in the next. Each window is run 2 x repeats + twins
    times: by default 13 times 4 windows of 125 decisions, 6,500 decisions.
    """
    if picture is not None:
        picture_to_write(picture)
    hidden = [Path(source)] if Path(source).exists() else []
    how = Asked(env or (), timeout, start_timeout, sandbox, allow_net, hidden, _on_stderr)
    n_repeats = repeats if repeats is not None else 1 if agent.startswith(SERVERS) else 2
    design = {"n_repeats": n_repeats, "n_twins": twins, "block_bars": block, "masking": masking, "level": level}
    design |= {"lookback": lookback} | ({} if seed is None else {"seed": seed})
    market = (source, periods_per_year), window, (windows, bars)
    try:
        verdict = _verdict(agent, how, market, design, jobs)
    except OpenOutcryError:
        raise
    except Exception as error:
        # Not passed on: an uncaught error is exit code 1, which says that contamination was found.
        traceback.print_exc()
        raise typer.Exit(2) from error
    _keep(verdict, picture)
    if as_json:
        typer.echo(json.dumps(verdict.to_dict()))
    else:
        _show(verdict, picture)
    if verdict.complaint is not None:
        raise refusal("argument_invalid", verdict.complaint)
    raise typer.Exit(verdict.exit_code)


def _verdict(agent: str, how: Asked, market: Any, design: dict[str, Any], jobs: int) -> Verdict:
    from openoutcry.audits.contamination import Design, check, spread
    from openoutcry.audits.contamination.experiment_design import resolved
    from openoutcry.audits.contamination.paired_differences import MIN_BARS

    (source, periods_per_year), window, (windows, bars) = market
    dataset, planned = open_dataset(source, periods_per_year), Design(**design)
    chosen = window or spread(dataset, windows, bars, planned.lookback)
    n_bars = sum(end - start - 1 for start, end in resolved(dataset, chosen, planned.lookback))
    if n_bars < MIN_BARS:
        raise refusal("argument_invalid", f"at least {MIN_BARS} bars in all are required; received {n_bars}")
    asked = how.launcher(agent) if ":" in agent else agent
    if isinstance(asked, str):
        load_agent(asked, 0)
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(chosen) * planned.runs_a_window)
        return check(asked, dataset, chosen, planned, n_jobs=jobs, on_run=lambda: progress.advance(task))


def _on_stderr(text: object) -> None:
    Console(stderr=True).out(text, highlight=False)


def _keep(verdict: Verdict, picture: Path | None) -> None:
    if picture is not None:
        from openoutcry.audits.contamination.arms_chart import picture_of

        picture.write_text(picture_of(verdict), encoding="utf-8")


def _show(verdict: Verdict, picture: Path | None) -> None:
    console, design = Console(), verdict.design
    console.width = max(console.width, 100)
    told = f"{plain(verdict.agent)} on {plain(verdict.dataset)}, {len(verdict.tracks)} windows, {verdict.n_bars} bars"
    runs = f"{design.n_repeats} runs as it is, {design.n_repeats} in disguise, {design.n_twins} twins of each"
    console.print(f"{told}; {runs}; seed {design.seed}", highlight=False, markup=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("basis points a bar")
    share = f"{100.0 * (1.0 - 2.0 * design.level):g} % interval"
    for head in ("difference", share, "p (Hochberg)", "found 4 times in 5 from"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_row("as it is, less in disguise", *_cells(verdict.name, verdict.adjusted["name"]))
    table.add_row("as it is, less on twins", *_cells(verdict.path, verdict.adjusted["path"]))
    console.print(table)
    for note in _notes(verdict):
        console.print(f"  · {note}", style="dim", highlight=False, markup=False, soft_wrap=True)
    console.print(verdict.sentence, highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        console.print(f"picture: {picture}", highlight=False, markup=False)


def _cells(each: Difference, adjusted: float | None) -> list[str]:
    from openoutcry.audits.contamination.findings_text import basis_points

    interval = "—" if each.low is None else f"{basis_points(each.low)} to {basis_points(each.high)}"
    p_value = "—" if adjusted is None else f"{adjusted:.2g}"
    return [basis_points(each.mean), interval, p_value, basis_points(each.detectable, signed=False)]


def _notes(verdict: Verdict) -> list[str]:
    from openoutcry.audits.contamination.findings_text import basis_points

    notes = []
    for arm, means in verdict.means.items():
        low, high = (basis_points(value) for value in (min(means), max(means)))
        notes.append(f"{arm}: {low} to {high} bp a bar over {len(means)} runs of each window")
    notes.append(f"more was earned as it is than on {verdict.n_twins_below} of {verdict.design.n_twins} twins")
    if verdict.gross_told and not verdict.found:
        # Where something is found, it is part of the sentence.
        notes.append(verdict.gross_told)
    for arm, counts in verdict.faults.items():
        notes.append(f"{arm}: held for faults: {', '.join(f'{count:,} {slug}' for slug, count in counts.items())}")
    return [*notes, *verdict.notices]
