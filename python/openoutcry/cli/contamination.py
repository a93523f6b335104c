"""`openoutcry contamination`: test whether an agent has memorized a market."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.table import Table

from openoutcry.arguments import is_url
from openoutcry.cli.agent_options import (
    AGENT,
    NO_VALUES,
    AgentOptions,
    AgentValues,
    runs_agents,
)
from openoutcry.cli.holdout_reading import read_windows
from openoutcry.cli.market_options import checked_picture_file, open_dataset
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.run_table import plain
from openoutcry.cli.selected_agent import select_agent
from openoutcry.data.masking import LEVELS
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress, TimeRemainingColumn
from openoutcry.untrusted.terminal import echo_exception, echo_json, echo_lines

if TYPE_CHECKING:
    from openoutcry.audits.contamination import Difference, Verdict

EXAMPLES = """
**Examples**

`openoutcry contamination --agent my_agent:decide`

`openoutcry contamination --agent "cmd:python agent.py" --data prices.csv --window 2019-01-01:2020-01-01 --json`

`openoutcry contamination --agent http://127.0.0.1:8000 --windows 2 --bars 60 --repeats 1 --twins 3 --jobs 4`

`openoutcry contamination --agent momentum --picture arms.svg`

**Exit codes** 0: no contamination found. 1: contamination found, both against masked data and against twins. 2: not
judged: too few bars, too many faults, learning between runs, an error of the agent, or invalid input. 3: unclear: only
one of the two effects, as for an agent without memorization that follows trends or trades only known names.
"""


@reads_files
@runs_agents
def contamination(
    context: typer.Context,
    agent: str = typer.Option(..., help=AGENT),
    source: str = typer.Option("ecb-fx", "--data", help="A bundled market (`openoutcry data list`) or a file."),
    window: list[str] = typer.Option([], help="`START:END` in bars or ISO dates, repeatable."),
    windows: int = typer.Option(4, min=1, help="Number of evenly spaced windows, without `--window`."),
    bars: int = typer.Option(126, min=3, help="Bars of each evenly spaced window."),
    repeats: int | None = typer.Option(
        None, min=1, help="Named runs and masked runs for each window; 2, or 1 for a server."
    ),
    twins: int = typer.Option(9, min=1, help="Permuted twins of each window."),
    block: float = typer.Option(5.0, min=1.0, help="Mean block length of a twin, in bars."),
    masking: str = typer.Option("full", help=f"Masking level: {', '.join(LEVELS)}."),
    level: float = typer.Option(0.05, help="False positive rate."),
    lookback: int = typer.Option(20, min=1, help="Closes of each symbol in an observation."),
    seed: int | None = typer.Option(None, min=0, help="Random seed; by default random and printed."),
    jobs: int = typer.Option(1, min=1, max=256, help="Parallel runs of a process or server."),
    picture: Path | None = typer.Option(None, help="Write a chart of the arms to this SVG file."),
    as_json: bool = typer.Option(False, "--json", help="Print the verdict as JSON."),
    values: AgentValues = NO_VALUES,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Test whether an agent has memorized a market.

    Runs the agent on a market with real names, on masked copies, and on permuted twins with the bars in another order.
    An agent that has memorized the market earns more with real names than in both other arms. Each run starts a new
    agent, in a random order; a server is not restarted and may carry state between runs. Each window is run 2 x
    repeats + twins times: by default 13 runs of 4 windows of 125 decisions, 6,500 decisions.
    """
    if picture is not None:
        checked_picture_file(picture)
    options = values.options(context, _on_stderr)
    n_repeats = repeats if repeats is not None else 1 if is_url(agent) else 2
    design = {"n_repeats": n_repeats, "n_twins": twins, "block_bars": block, "masking": masking, "level": level}
    design |= {"lookback": lookback} | ({} if seed is None else {"seed": seed})
    market = (source, reading), window, (windows, bars)
    try:
        verdict = _verdict(agent, options, market, design, jobs)
        _write_picture(verdict, picture)
    except OpenOutcryError:
        raise
    except Exception as error:
        # Not re-raised: an uncaught error exits with code 1, which means that contamination was found.
        echo_exception(error)
        raise typer.Exit(2) from error
    if as_json:
        echo_json(verdict.to_dict())
    else:
        _show(verdict, picture)
    if verdict.not_judged is not None:
        raise refusal("argument_invalid", verdict.not_judged)
    raise typer.Exit(verdict.exit_code)


def _verdict(agent: str, options: AgentOptions, market: Any, design: dict[str, Any], jobs: int) -> Verdict:
    from openoutcry.audits.contamination import Design, check, spread_windows
    from openoutcry.audits.contamination.experiment_design import resolve_windows
    from openoutcry.audits.contamination.paired_differences import MIN_BARS

    (source, reading), window, (windows, bars) = market
    dataset, planned = open_dataset(source, reading), Design(**design)
    chosen = window or spread_windows(dataset, windows, bars, planned.lookback)
    resolved = resolve_windows(dataset, chosen, planned.lookback)
    n_bars = sum(end - start - 1 for start, end in resolved)
    if n_bars < MIN_BARS:
        raise refusal("argument_invalid", f"at least {MIN_BARS} bars in total are required; received {n_bars}")
    selected = select_agent(agent, 0, options)
    for notice in read_windows(selected, ((f"window {start}:{end}", dataset, (start, end)) for start, end in resolved)):
        _on_stderr(f"notice: {notice}")
    target = selected.launcher() if selected.baseline is None else selected.name
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(chosen) * planned.runs_a_window)
        return check(target, dataset, chosen, planned, n_jobs=jobs, on_run=lambda: progress.advance(task))


def _on_stderr(text: object) -> None:
    echo_lines(str(text), err=True)


def _write_picture(verdict: Verdict, picture: Path | None) -> None:
    if picture is not None:
        from openoutcry.audits.contamination.arms_chart import render_arms

        picture.write_text(render_arms(verdict), encoding="utf-8")


def _show(verdict: Verdict, picture: Path | None) -> None:
    console, design = Console(), verdict.design
    console.width = max(console.width, 100)
    head = f"{plain(verdict.agent)} on {plain(verdict.dataset)}, {counted(len(verdict.returns), 'window')}"
    head += f", {counted(verdict.n_bars, 'bar')}"
    runs = f"{design.n_repeats} named, {design.n_repeats} masked and {design.n_twins} twin runs per window"
    console.print(f"{head}; {runs}; seed {design.seed}", highlight=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("basis points per bar")
    share = f"{100.0 * (1.0 - 2.0 * design.level):g} % interval"
    for head in ("difference", share, "p (Hochberg)", "detectable (80 %)"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_row("named less masked", *_cells(verdict.name, verdict.adjusted["name"]))
    table.add_row("named less twins", *_cells(verdict.path, verdict.adjusted["path"]))
    console.print(table)
    for note in _notes(verdict):
        console.print(f"  · {note}", style="dim", highlight=False, soft_wrap=True)
    console.print(verdict.sentence, highlight=False, soft_wrap=True)
    if picture is not None:
        console.print(f"picture: {picture}", highlight=False)


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
        notes.append(f"{arm}: {low} to {high} bp per bar over {counted(len(means), 'run')} of each window")
    notes.append(f"the named arm earned more than {verdict.n_twins_below} of {counted(verdict.design.n_twins, 'twin')}")
    if verdict.gross_note and not verdict.found:
        # Part of the sentence if an effect was found.
        notes.append(verdict.gross_note)
    for arm, counts in verdict.faults.items():
        slugs = ", ".join(f"{count:,} {slug}" for slug, count in counts.items())
        notes.append(f"{arm}: decisions that defaulted to hold: {slugs}")
    return [*notes, *verdict.notices]
