"""`openoutcry run`: one agent on one market."""

from __future__ import annotations

import json
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from openoutcry import agents
from openoutcry.backtest import Run, run_backtest
from openoutcry.cli.source import load_agent, open_dataset, page_to_write
from openoutcry.cli.table import metrics_table
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.record import RecordWriter, check_record_path

EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum`

`openoutcry run --data prices.csv --agent my_agent:decide --window 2010-01-01:2020-01-01 --report run.html`

`openoutcry run --data ecb-fx --agent my_agent:decide --record run.jsonl --report run.html --trials 20`

`openoutcry run --data us-treasury:UST10Y,UST2Y --agent equal-weight --fee-bps 0.5 --json`
"""


COSTS, LIMITS = "Costs, in basis points where so named; a year's for rates", "Limits"


def _cost(told: str) -> Any:
    return typer.Option(None, help=told, rich_help_panel=COSTS)


def _limit(told: str) -> Any:
    return typer.Option(None, help=told, rich_help_panel=LIMITS)


def run(
    source: str = typer.Option("ecb-fx", "--data", help="A bundled market (`openoutcry data list`) or a file."),
    agent: str = typer.Option("buy-and-hold", help=f"`module:function`, or one of {', '.join(agents.NAMES)}."),
    window: str = typer.Option(
        ":",
        help="`START:END`, bars or ISO dates; END is left out. Bars that look like years take a plus: `+2010:+2012`.",
    ),
    seed: int = typer.Option(0, help="Key of the slippage noise and of the random agent."),
    periods_per_year: float | None = typer.Option(None, help="Bars a year of a file; 252 by default."),
    report: Path | None = typer.Option(None, help="Write a self-contained HTML report here."),
    record: Path | None = typer.Option(
        None, help="Write a record that `openoutcry replay` verifies: .json, or .jsonl while it runs; or with .zst."
    ),
    trials: int = typer.Option(1, min=1, help="Trials it was chosen from; the report deflates by them."),
    as_json: bool = typer.Option(False, "--json", help="Print the numbers as JSON."),
    fee_bps: float | None = _cost("Commission on notional."),
    slippage_bps: float | None = _cost("Half-spread."),
    slippage_jitter: float | None = _cost("Share of the half-spread that varies at random, 0 to 1."),
    impact_bps: float | None = _cost("Square-root impact at 100 % participation."),
    cash_bps: float | None = _cost("Rate on idle cash."),
    financing_bps: float | None = _cost("Rate on borrowed cash."),
    borrow_bps: float | None = _cost("Rate on the value of shorts."),
    capital: float | None = _cost("Account currency at the start, which makes impact a share of volume."),
    max_weight: float | None = _limit("Largest |weight| of one symbol."),
    max_gross: float | None = _limit("Largest sum of |weight|."),
    max_participation: float | None = _limit("Largest share of a bar's volume, or of NAV without one."),
    maintenance_margin: float | None = _limit("NAV over gross below which all is closed."),
    long_only: bool = typer.Option(False, "--long-only", help="Refuse weights below 0.", rich_help_panel=LIMITS),
    # What `--long-only` is the plain word for.
    allow_short: bool = typer.Option(True, "--allow-short/--no-allow-short", hidden=True),
) -> None:
    """Run an agent over a window of a market and print what became of it."""
    # `module:function` means the caller's own file first, as `python -m` would find it.
    sys.path.insert(0, "")
    if report is not None:
        page_to_write(report)
    costs = {"fee_bps": fee_bps, "slippage_bps": slippage_bps, "impact_bps": impact_bps, "cash_bps": cash_bps}
    costs |= {"financing_bps": financing_bps, "borrow_bps": borrow_bps, "slippage_jitter": slippage_jitter}
    limits = {"max_weight": max_weight, "max_gross": max_gross, "max_participation": max_participation}
    limits["maintenance_margin"] = maintenance_margin
    rules = CostModel(**costs, capital=capital), Limits(**limits, allow_short=allow_short and not long_only)
    dataset = open_dataset(source, periods_per_year)
    watched = _Watched(load_agent(agent, seed))
    with watched.to_its_end(), _capturing(record, agent, report) as capture:
        done = run_backtest(dataset, watched.asked, window, *rules, seed, name=agent, capture=capture)
    if record is not None and capture is True:
        done.record.save(record)
    _report(done, report, trials, (record, source))
    _show(done, report, as_json)


def _report(done: Run, report: Path | None, n_trials: int, found_at: tuple[Path | None, str]) -> None:
    if report is None:
        return
    from openoutcry.picture import Origin, write_run_report

    write_run_report(done, report, n_trials, Origin(f"openoutcry {shlex.join(sys.argv[1:])}", *found_at))


def _capturing(record: Path | None, agent: str, report: Path | None) -> AbstractContextManager[bool | RecordWriter]:
    """Return what captures a run: a writer for lines, written while it runs.

    A report shows every decision, so it needs the record, too.
    """
    if record is None:
        return nullcontext(report is not None)
    if record.name.removesuffix(".zst").endswith(".jsonl"):
        return RecordWriter(record, agent)
    check_record_path(record)
    page_to_write(record, "--record")
    return nullcontext(True)


class _Watched:
    """An agent, and what it raised: shown with its traceback, and an exit with 1."""

    def __init__(self, agent: agents.Agent) -> None:
        self.asked: agents.Agent = agent if isinstance(agent, agents.Baseline) else self._ask
        self.raised: Exception | None = None
        self._agent = agent

    @contextmanager
    def to_its_end(self) -> Iterator[None]:
        """Exit with 1, and the traceback, where the agent raises."""
        try:
            yield
        except Exception as error:
            if error is not self.raised:
                raise
            # Not passed on: an `OpenOutcryError` of the agent's own doing is a fault of the agent, not of the input.
            traceback.print_exception(type(error), error, error.__traceback__)
            raise typer.Exit(1) from error

    def _ask(self, observation: dict[str, Any]) -> Mapping[str, Any] | str:
        try:
            return self._agent(observation)
        except Exception as error:
            self.raised = error
            raise


def _show(done: Run, report: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_as_json(done)))
        return
    console = Console()
    if done.ending:
        console.print(f"{done.name}: {done.ending}", style="bold red", highlight=False)
    title = f"{done.dataset.name}  {done.dates[0]} .. {done.dates[-1]}  {len(done.dates)} bars"
    console.print(metrics_table(title, [done], ranked=False))
    told = ", ".join(f"{count:,} {slug}" for slug, count in done.event_counts.items())
    console.print(f"  · events: {told}", style="dim", highlight=False)
    if done.undefined:
        reasons = dict.fromkeys(done.undefined.values())
        said = "; ".join(f"{_named(done, reason)}: {reason}" for reason in reasons)
        console.print(f"  · undefined: {said}", style="dim", highlight=False, soft_wrap=True)
    for notice in done.dataset.notices:
        console.print(f"  · {notice}", style="dim", highlight=False)
    if report is not None:
        console.print(f"report: {report}", highlight=False)


def _named(done: Run, reason: str) -> str:
    return ", ".join(metric for metric, why in done.undefined.items() if why == reason)


def _as_json(done: Run) -> dict[str, object]:
    return {
        "agent": done.name,
        "dataset": done.dataset.name,
        "fingerprint": done.dataset.fingerprint,
        "window": [done.window.start, done.window.end],
        "dates": [done.dates[0], done.dates[-1]],
        "costs": done.cost_model.to_dict(),
        # JSON has no infinity; a limit that is null is none.
        "limits": {name: None if value == inf else value for name, value in done.limits.to_dict().items()},
        "seed": done.seed,
        "metrics": done.metrics,
        "undefined": done.undefined,
        "paid": {kind: float(values.sum()) for kind, values in done.costs.items()},
        "events": done.event_counts,
        "terminated_at": done.terminated_at,
        "ending": done.ending or None,
        "nav": done.nav.tolist(),
    }
