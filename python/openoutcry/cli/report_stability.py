"""`openoutcry report stability`: how far an agent repeats its decisions."""

from __future__ import annotations

from pathlib import Path

import typer
from rich import box
from rich.table import Table

from openoutcry.cli.agent_options import AGENT, NO_VALUES, AgentValues, runs_agents
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.recorded_runs import AS_JSON, DATA, FILL_KEY, Verified, verified_record
from openoutcry.cli.run_table import plain
from openoutcry.cli.selected_agent import SelectedAgent, opened_agent, optional_agent
from openoutcry.errors import refusal
from openoutcry.scoring.decision_stability import Stability, decision_stability, recorded_runs, second_call
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo_json

EXAMPLES = """
**Examples**

`openoutcry report stability monday.json tuesday.json`, records of one agent on the same windows

`openoutcry report stability seeds.json`, a record with several seeds of each window

`openoutcry report stability run.json --agent my_agent:decide`, call the agent again on every recorded observation

`openoutcry report stability run.json --agent research/candidates/1b2c3d4e-1-trend.json`, the same for a candidate

Every pair of runs with the same market, window, lookback, costs and limits is compared. Each record is replayed first.

**Exit codes** 0: done. 1: a record differs, or is unfinished. 2: a record could not be read or replayed, or no two runs
can be compared.
"""
RECORDS = typer.Argument(help="Record files: `.json` or `.jsonl`, optionally with `.zst`.")
_LEGEND = (
    "equal: share of equal decisions; on equal observations: the same, where prices and account were equal; moved: "
    "mean over decisions of the differences of weights, summed over symbols; NAV: second run over the first, less 1, "
    "at the end and at most"
)


@reads_files
@runs_agents
def stability(
    context: typer.Context,
    records: list[Path] = RECORDS,
    source: list[str] = DATA,
    agent: str | None = typer.Option(None, help=f"Call this agent on every observation of one record. {AGENT}"),
    seed: int = typer.Option(0, min=0, help="Seed of the baseline `random`."),
    fill_key: str | None = FILL_KEY,
    as_json: bool = AS_JSON,
    values: AgentValues = NO_VALUES,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Compare the decisions of several runs of one agent."""
    if agent is not None and len(records) != 1:
        raise refusal("argument_invalid", f"`--agent` must come with one record; received {len(records)}")
    chosen = optional_agent(agent, seed, values, context)
    loaded = [verified_record(path, source, fill_key, reading) for path in records]
    if chosen is not None:
        found = _called_again(loaded[0], chosen)
    else:
        runs = [
            run
            for path, each in zip(records, loaded, strict=True)
            for run in recorded_runs(path.name, each.record, each.datasets, fill_key)
        ]
        found = decision_stability(runs)
    names = sorted({each.record.agent_id for each in loaded})
    if as_json:
        echo_json({"agents": names, "pairs": [each.to_json() for each in found]})
        return
    console = Console()
    console.width = max(console.width, 110)
    console.print(_table(found))
    console.print(f"  · {_LEGEND}", style="dim", highlight=False)
    if len(names) > 1:
        console.print(
            f"  · the records name different agents: {', '.join(map(plain, names))}", style="yellow", highlight=False
        )


def _called_again(loaded: Verified, chosen: SelectedAgent) -> list[Stability]:
    found = []
    for place in range(len(loaded.record)):
        market = loaded.market(place)
        with opened_agent(chosen, market.symbols) as agent:
            found.append(second_call(loaded.record, place, market, agent, loaded.fill_key))
    return found


def _table(found: list[Stability]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("runs", "window"):
        table.add_column(head, overflow="fold")
    for head in ("equal", "on equal observations", "moved", "NAV", "at most", "Sharpe"):
        table.add_column(head, justify="right", no_wrap=True)
    for each in found:
        same = each.share_equal_on_same
        table.add_row(
            f"{plain(each.first)}, {plain(each.second)}",
            f"{plain(each.market)}, {each.start[:10]} .. {each.end[:10]}",
            f"{each.share_equal:.1%}",
            "—" if same is None else f"{same:.1%} of {each.n_same_observation:,}",
            f"{each.weight_difference:.3f}",
            _percent(each.nav_difference),
            _percent(each.largest_nav_difference),
            ", ".join("—" if ratio is None else f"{ratio:.2f}" for ratio in each.sharpe),
        )
    return table


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:+.2%}"
