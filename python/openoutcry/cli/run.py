"""`openoutcry run`: one agent on one market."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path

import typer
from rich.console import Console

from openoutcry import agents
from openoutcry.backtest import Run, run_backtest
from openoutcry.cli.source import open_dataset
from openoutcry.cli.table import metrics_table
from openoutcry.openoutcry_py import CostModel, Limits

EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum`

`openoutcry run --data prices.csv --agent my_agent:decide --window 2010-01-01:2020-01-01 --report run.html`

`openoutcry run --data us-treasury:UST10Y,UST2Y --agent equal-weight --fee-bps 0.5 --json`
"""


def run(
    source: str = typer.Option("ecb-fx", "--data", help="A bundled market (`openoutcry data list`) or a file."),
    agent: str = typer.Option("buy-and-hold", help=f"`module:function`, or one of {', '.join(agents.NAMES)}."),
    window: str = typer.Option(":", help="`START:END`, bars or ISO dates; the end is left out."),
    fee_bps: float | None = typer.Option(None, help="Commission on notional."),
    slippage_bps: float | None = typer.Option(None, help="Half-spread."),
    impact_bps: float | None = typer.Option(None, help="Square-root impact at 100 % participation."),
    long_only: bool = typer.Option(False, help="Refuse weights below 0."),
    seed: int = typer.Option(0, help="Key of the slippage noise and of the random agent."),
    report: Path | None = typer.Option(None, help="Write a self-contained HTML report here."),
    as_json: bool = typer.Option(False, "--json", help="Print the numbers as JSON."),
) -> None:
    """Run an agent over a window of a market and print what became of it."""
    # `module:function` means the caller's own file first, as `python -m` would find it.
    sys.path.insert(0, "")
    done = run_backtest(
        open_dataset(source),
        agents.load(agent, seed),
        window,
        CostModel(fee_bps=fee_bps, slippage_bps=slippage_bps, impact_bps=impact_bps),
        Limits(allow_short=not long_only),
        seed,
        name=agent,
    )
    if report is not None:
        from openoutcry.picture import write_run_report

        write_run_report(done, report, f"openoutcry {shlex.join(sys.argv[1:])}")
    if as_json:
        typer.echo(json.dumps(_as_json(done)))
        return
    console = Console()
    title = f"{done.dataset.name}  {done.dates[0]} .. {done.dates[-1]}  {len(done.dates)} bars"
    console.print(metrics_table(title, [done], ranked=False))
    counts = _event_counts(done)
    if counts:
        told = ", ".join(f"{count:,} {slug}" for slug, count in counts.items())
        console.print(f"  · events: {told}", style="dim", highlight=False)
    for metric, reason in done.undefined.items():
        console.print(f"  · {metric} is undefined: {reason}", style="dim", highlight=False)
    for notice in done.dataset.notices:
        console.print(f"  · {notice}", style="dim", highlight=False)
    if report is not None:
        console.print(f"report: {report}", highlight=False)


def _event_counts(done: Run) -> dict[str, int]:
    return dict(Counter(event["slug"] for event in done.events))


def _as_json(done: Run) -> dict[str, object]:
    return {
        "agent": done.name,
        "dataset": done.dataset.name,
        "fingerprint": done.dataset.fingerprint,
        "window": [done.window.start, done.window.end],
        "dates": [done.dates[0], done.dates[-1]],
        "costs": done.cost_model.to_dict(),
        "limits": done.limits.to_dict(),
        "seed": done.seed,
        "metrics": done.metrics,
        "undefined": done.undefined,
        "paid": {kind: float(values.sum()) for kind, values in done.costs.items()},
        "events": _event_counts(done),
        "terminated_at": done.terminated_at,
        "nav": done.nav.tolist(),
    }
