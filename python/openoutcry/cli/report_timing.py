"""`openoutcry report timing`: the part of the rebalancing phase in a result."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import typer
from rich import box
from rich.table import Table

from openoutcry import agents
from openoutcry.backtest.run import Run
from openoutcry.backtest.strategies import Strategy
from openoutcry.cli.agent_options import AGENT, NO_VALUES, AgentValues, runs_agents
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.recorded_runs import AS_JSON, DATA, FILL_KEY, RECORD, verified_record
from openoutcry.cli.run_table import plain
from openoutcry.cli.selected_agent import SelectedAgent, opened_agent, optional_agent
from openoutcry.scoring.timing_luck import COMPARED, TimingLuck, timing_luck
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo_json

EXAMPLES = """
**Examples**

`openoutcry report timing monthly.json --data ecb-fx`, the recorded targets traded 0 to k - 1 bars later

`openoutcry report timing monthly.json --agent my_agent:decide`, the agent started 0 to k - 1 bars later

`openoutcry report timing monthly.json --agent trend:fast=20,slow=100`, the same for a strategy of the library

`openoutcry report timing daily.json --every 21 --json`, a run that trades every bar, as if it traded every 21st

The period k is the median number of bars between two bars with orders. A result that only the phase of the run reaches
is luck; the row `tranches` is an account with 1/k of its NAV in each phase. The record is replayed first.

**Exit codes** 0: done. 1: the record differs, or is unfinished. 2: the record could not be read or replayed.
"""
_HEADS = {"sharpe": "Sharpe", "cagr": "CAGR", "max_drawdown": "max DD"}


@reads_files
@runs_agents
def timing(
    context: typer.Context,
    record: Path = RECORD,
    source: list[str] = DATA,
    every: int | None = typer.Option(None, help="Keep the decisions of every kth bar: this k instead of the run's."),
    agent: str | None = typer.Option(None, help=f"Run this agent from later bars instead. {AGENT}"),
    seed: int = typer.Option(0, min=0, help="Seed of the baseline `random`."),
    fill_key: str | None = FILL_KEY,
    as_json: bool = AS_JSON,
    values: AgentValues = NO_VALUES,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Compare a run with the other phases of its rebalancing schedule."""
    chosen = optional_agent(agent, seed, values, context)
    loaded = verified_record(record, source, fill_key, reading)
    found = [_timed(loaded.run(place), every, chosen) for place in range(len(loaded.record.headers))]
    if as_json:
        echo_json({"agent": loaded.record.agent_id, "runs": [each.to_json() for each in found]})
        return
    console = Console()
    console.width = max(console.width, 100)
    for place, each in enumerate(found):
        _show(console, f"{plain(loaded.record.agent_id)}, run {place}", each)


def _timed(run: Run, every: int | None, chosen: SelectedAgent | None) -> TimingLuck:
    if chosen is None:
        return timing_luck(run, every=every)
    with ExitStack() as stack:

        def started() -> agents.Agent | agents.TextAgent | Strategy:
            # The process of the phase before ends first.
            stack.close()
            return stack.enter_context(opened_agent(chosen, run.dataset.symbols))

        return timing_luck(run, every=every, agent=started)


def _show(console: Console, name: str, found: TimingLuck) -> None:
    if found.own is None or found.tranches is None:
        console.print(f"{name}: no timing luck: {found.reason}{_hint(found)}", highlight=False)
        return
    table = Table(title=name, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("", "lowest", "median", "highest", "the run", "phases below it", "tranches"):
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for metric in COMPARED:
        spread = (found.spread or {}).get(metric)
        numbers = (None,) * 4 if spread is None else (spread.low, spread.middle, spread.high, spread.own)
        below = "—" if spread is None else f"{spread.share_below:.0%}"
        tranches = getattr(found.tranches, metric)
        table.add_row(_HEADS[metric], *(_cell(metric, each) for each in numbers), below, _cell(metric, tranches))
    console.print(table)
    gaps = "" if found.gaps is None else f", {_distance(*found.gaps)} apart"
    console.print(
        f"  · {found.period} phases, {counted(found.n_rebalances, 'bar')} with orders{gaps}; "
        f"{found.n_returns:,} returns from {found.first} to {found.last}",
        style="dim",
        highlight=False,
    )
    console.print(f"  · a phase is {found.method}", style="dim", highlight=False)
    if reason := next(iter(found.own.undefined.values()), ""):
        console.print(f"  · —: {plain(reason, 200)}", style="dim", highlight=False)


def _distance(low: int, high: int) -> str:
    return counted(low, "bar") if low == high else f"{low:,} to {counted(high, 'bar')}"


def _hint(found: TimingLuck) -> str:
    is_daily = found.gaps is not None and found.gaps[1] < 3
    return "; hint: `--every 21` compares the phases of a monthly schedule" if is_daily else ""


def _cell(metric: str, value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:.2f}" if metric == "sharpe" else f"{value:.1%}"
