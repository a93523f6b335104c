"""`openoutcry run`: backtest one agent on one market."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import typer

from openoutcry import agents
from openoutcry.backtest.decision_makers import STRATEGY_NAMES
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.backtest.strategies import Strategy
from openoutcry.cli.agent_options import (
    AGENT,
    NO_VALUES,
    AgentValues,
    fault_summary,
    runs_agents,
)
from openoutcry.cli.ledger_writes import (
    LEDGER,
    LEDGER_DIR,
    OUTPUT_DIR,
    LedgerOptions,
    RunRecorder,
    planned_run,
    recording,
)
from openoutcry.cli.market_options import (
    checked_output_file,
    checked_record_file,
    is_streamed,
    open_dataset,
    record_writer_for,
)
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files, words_of
from openoutcry.cli.run_table import LEGEND, metrics_table
from openoutcry.cli.selected_agent import SelectedAgent, opened_agent, select_agent, shared_name_remarks
from openoutcry.data.columns import periods_text
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import as_window
from openoutcry.harness.agent_lookup import public_name
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import RunRecord
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress, TimeRemainingColumn
from openoutcry.untrusted.terminal import echo_exception, echo_json, echo_lines

EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum`

`openoutcry run --data ecb-fx --agent trend:fast=20,slow=100` (a strategy of the library, with its parameters)

`openoutcry run --data ecb-fx --agent research/candidates/1b2c3d4e-1-trend.json` (what `research` found)

`openoutcry run --data prices.csv --agent my_agent:decide --window 2010-01-01:2020-01-01 --report run.html`

`openoutcry run --data ecb-fx --agent my_agent:decide --record run.jsonl --report run.html --trials 20`

`openoutcry run --data ecb-fx --agent "cmd:node agent.js" --record run.json` (a program in any language, sandboxed)

`openoutcry run --data EURUSD.csv --tz Europe/Athens --agent momentum` (`data check` shows the options of a file)

`openoutcry run --data us-treasury:UST10Y,UST2Y --agent equal-weight --fee-bps 0.5 --json`

`openoutcry run --agent my_agent:decide --ledger` (also counts the trial in the ledger)
"""


AGENTS = f"{AGENT} Baselines: {', '.join(agents.NAMES)}. Strategies: {', '.join(STRATEGY_NAMES)}."
# The negation of `--long-only`; hidden from the help.
ALLOW_SHORT = typer.Option(True, "--allow-short/--no-allow-short", hidden=True)
WINDOW = "`START:END`, bar indices or ISO dates; END is excluded. Indices like years need a plus: `+2010:+2012`."
RECORD = "Write a record for `openoutcry replay`: `.json`, or `.jsonl` to write during the run; add `.zst` to compress."
LOOKBACK = f"Closes of each symbol in an observation; {DEFAULT_LOOKBACK}, or more for a strategy that needs them."
COSTS, LIMITS = "Costs (bps: basis points; rates are per year)", "Limits"


def _cost(text: str) -> Any:
    return typer.Option(None, help=text, rich_help_panel=COSTS)


def _limit(text: str) -> Any:
    return typer.Option(None, help=text, rich_help_panel=LIMITS)


@reads_files
@runs_agents
def run(
    context: typer.Context,
    source: str = typer.Option("ecb-fx", "--data", help="Market: a bundled one (`openoutcry data list`) or a file."),
    agent: str = typer.Option("buy-and-hold", help=AGENTS),
    window: str = typer.Option(":", help=WINDOW),
    lookback: int | None = typer.Option(None, min=1, help=LOOKBACK),
    seed: int = typer.Option(0, help="Seed of the slippage noise and of the baseline `random`."),
    report: Path | None = typer.Option(None, help="Write a self-contained HTML report to this file."),
    record: Path | None = typer.Option(None, help=RECORD),
    name: str = typer.Option("", help="Name of the agent in record and report; default: from `--agent`."),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing record."),
    trials: int = typer.Option(0, min=0, help="Number of earlier trials on this market, stated in record and report."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    fee_bps: float | None = _cost("Commission on notional."),
    slippage_bps: float | None = _cost("Half-spread."),
    slippage_jitter: float | None = _cost("Fraction of the half-spread that varies at random, 0 to 1."),
    impact_bps: float | None = _cost("Square-root market impact at 100 % participation."),
    cash_bps: float | None = _cost("Rate on idle cash."),
    financing_bps: float | None = _cost("Rate on borrowed cash."),
    borrow_bps: float | None = _cost("Rate on the value of short positions."),
    capital: float | None = _cost("Initial capital in account currency; scales market impact."),
    max_weight: float | None = _limit("Maximum |weight| of one symbol."),
    max_gross: float | None = _limit("Maximum sum of |weight|, the gross exposure."),
    max_participation: float | None = _limit("Maximum fraction of a bar's volume per order, or of NAV without volume."),
    maintenance_margin: float | None = _limit("NAV over gross exposure below which all positions are liquidated."),
    long_only: bool = typer.Option(False, "--long-only", help="Do not allow weights below 0.", rich_help_panel=LIMITS),
    allow_short: bool = ALLOW_SHORT,
    ledger: bool | None = LEDGER,
    ledger_dir: Path | None = LEDGER_DIR,
    output_dir: Path | None = OUTPUT_DIR,
    values: AgentValues = NO_VALUES,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Run an agent over a window of a market and print its metrics.

    `module:function` runs in this process, programs and servers outside of it; without a valid decision they hold.
    """
    costs = {"fee_bps": fee_bps, "slippage_bps": slippage_bps, "slippage_jitter": slippage_jitter, "cash_bps": cash_bps}
    costs |= {"financing_bps": financing_bps, "borrow_bps": borrow_bps, "impact_bps": impact_bps, "capital": capital}
    limits: dict[str, Any] = {"max_weight": max_weight, "max_gross": max_gross, "max_participation": max_participation}
    limits |= {"maintenance_margin": maintenance_margin, "allow_short": allow_short and not long_only}
    dataset, recorded = open_dataset(source, reading), LedgerOptions(ledger, ledger_dir, output_dir)
    chosen = replace(select_agent(agent, seed, values.options(context, _echo_error)), stated_lookback=lookback)
    rules, planned = chosen.rules(costs, limits), planned_run(chosen, dataset, window, recorded)
    _show_notices(planned.notices)
    with recording(recorded, planned) as recorder:
        opening = _open_agent(chosen, dataset.symbols, _progress(dataset, window, chosen.lookback))
        shown: dict[str, Any] = {"lookback": chosen.lookback, "name": name or chosen.name}
        with opening as opened, _record_file((record, report), shown["name"], trials, force) as captured:
            done = run_backtest(dataset, opened, window, *rules, seed, capture=captured, **shown)
        recorder.record(done)  # when the agent has ended, which could read the returns or hold the lock
    _write_files(done, chosen, (record, report), trials, (source, reading), planned.notices)
    _print_run(done, chosen, report, as_json, recorder)


def _show_notices(notices: Sequence[str]) -> None:
    for notice in notices:
        _echo_error(f"notice: {notice}")


def _echo_error(text: str) -> None:
    echo_lines(text, err=True)


def _record_file(
    files: tuple[Path | None, Path | None], agent: str, trials: int, force: bool
) -> AbstractContextManager[RecordWriter | bool]:
    """Check the output files, and return what captures the run."""
    record, report = files
    if report is not None:
        checked_output_file(report)
    if record is None:
        return nullcontext(report is not None)
    checked_record_file(record, force=force)
    return record_writer_for(record, agent, trials) or nullcontext(True)


def _write_files(
    done: Run,
    chosen: SelectedAgent,
    files: tuple[Path | None, Path | None],
    trials: int,
    market: tuple[str, Reading],
    notices: tuple[str, ...],
) -> None:
    (record, report), (source, reading) = files, market
    if record is None and report is None:
        return
    declared = RunRecord.join(done.name, [done.record], trials)
    if record is not None and not is_streamed(record):
        declared.save(record)
    if report is None:
        return
    from openoutcry.report.run_report import Origin, write_run_report

    command = f"openoutcry {shlex.join(_public_words(sys.argv[1:]))}"
    origin = Origin(command, record, source, declared.digest or "", tuple(words_of(reading.options)), notices)
    done._candidate = chosen.candidate
    # The earlier trials, and this one.
    write_run_report(done, report, trials + 1, origin)


def _public_words(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command, without the secrets of its agent."""
    before = ""
    for word in words:
        if before == "--agent":
            yield public_name(word)
        elif word.startswith("--agent="):
            yield f"--agent={public_name(word.removeprefix('--agent='))}"
        else:
            yield word
        before = word


@contextmanager
def _progress(dataset: Dataset, window: str, lookback: int) -> Iterator[Callable[[], object]]:
    """Yield a function that advances the progress bar by one decision."""
    start, end = as_window(window).resolve(dataset, lookback)
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with Progress(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("", total=end - start - 1)
        yield lambda: progress.advance(task)


@contextmanager
def _open_agent(
    chosen: SelectedAgent, symbols: Sequence[str], progress: AbstractContextManager[Callable[[], object]]
) -> Iterator[agents.Agent | agents.TextAgent | Strategy]:
    """Yield the agent, which starts or connects for this run."""
    with opened_agent(chosen, symbols) as agent, progress as count:
        if isinstance(agent, agents.TextAgent):
            yield _CountedAgent(agent, count)
            return
        watched = _WatchedAgent(agent, count)
        with watched.exit_on_error():
            yield watched.agent


class _CountedAgent(agents.TextAgent):
    """A text agent that counts its decisions."""

    def __init__(self, agent: agents.TextAgent, count: Callable[[], object]) -> None:
        self._agent = agent
        self._count = count

    @property
    def harness(self) -> agents.Harness | None:
        return self._agent.harness

    def answer(self, observation: str) -> str | agents.Answer:
        self._count()
        return self._agent.answer(observation)


class _WatchedAgent:
    """An agent in this process that counts its decisions and remembers its exception."""

    def __init__(self, agent: agents.Agent | Strategy, count: Callable[[], object]) -> None:
        is_callable = callable(agent) and not isinstance(agent, agents.Baseline)
        self.agent: agents.Agent | Strategy = self._decide if is_callable else agent
        self._raised: Exception | None = None
        self._wrapped: Any = agent
        self._count = count

    @contextmanager
    def exit_on_error(self) -> Iterator[None]:
        """Print the traceback of an exception of the agent and exit with code 1."""
        try:
            yield
        except Exception as error:
            if error is not self._raised:
                raise
            # Not raised again: an `OpenOutcryError` that the agent raised is not an error of the command's input.
            echo_exception(error)
            raise typer.Exit(1) from error

    def _decide(self, observation: dict[str, Any]) -> Mapping[str, Any] | str:
        self._count()
        try:
            decision: Mapping[str, Any] | str = self._wrapped(observation)
            return decision
        except Exception as error:
            self._raised = error
            raise


_SHOWN_CAVEATS = ("return", "stops_at_price", "max_gross_at_fill")


def _print_run(done: Run, chosen: SelectedAgent, report: Path | None, as_json: bool, recorder: RunRecorder) -> None:
    recorded = recorder.recorded
    if as_json:
        more: dict[str, object] = {"strategy": recorder.planned.strategy} | dict(recorder.planned.metadata.notes)
        more["reads_holdout"] = recorder.planned.metadata.holdout_touched
        if recorded is not None:
            more |= {"run_id": recorded.run_id, "family_trials": recorded.n_trials}
        echo_json(_as_json(done) | more)
        return
    console = Console()
    if done.ending:
        console.print(f"{done.name}: {done.ending}", style="bold red", highlight=False)
    title = f"{done.dataset.name}, {done.dates[0]} .. {done.dates[-1]}, {counted(len(done.dates), 'bar')}"
    title += f", {periods_text(done.dataset.periods_per_year)}"
    console.print(metrics_table(title, [done], ranked=False))
    for caveat in (done.caveats[name] for name in _SHOWN_CAVEATS if name in done.caveats):
        console.print(f"  · {caveat}", style="yellow", highlight=False, soft_wrap=True)
    console.print(f"  · {LEGEND}", style="dim", highlight=False)
    console.print(f"  · {_event_summary(done)}", style="dim", highlight=False)
    for remark in (*fault_summary([done.faults]), *_idle_remarks(done, chosen)):
        console.print(f"  · {remark}", style="yellow", highlight=False)
    for remark in (*_undefined_remarks(done), *shared_name_remarks(chosen.name)):
        console.print(f"  · {remark}", style="dim", highlight=False, soft_wrap=True)
    for notice in done.dataset.notices:
        console.print(f"  · {notice}", style="dim", highlight=False, soft_wrap=True)
    if report is not None:
        console.print(f"Report written to {report}", highlight=False)
    if recorded is not None:
        console.print(recorded.line(), highlight=False)


def _event_summary(done: Run) -> str:
    fills, *others = done.event_counts.items()
    counts = ", ".join(f"{count:,} {slug}" for slug, count in others)
    return f"{counted(fills[1], 'fill')}" + (f"; other events: {counts}" if counts else "")


def _idle_remarks(done: Run, chosen: SelectedAgent) -> list[str]:
    """Return a remark on a program or server without an order that changes a position."""
    if any(done.event_counts.values()) or ":" not in chosen.name:
        return []
    n_wrong = sum(slug == "malformed" for slug in done.faults.values())
    if n_wrong == len(done.returns):
        return ["no response was a valid decision; run `openoutcry conformance` to see the errors"]
    return ["the agent placed no order that changes a position"]


def _undefined_remarks(done: Run) -> list[str]:
    """Return a remark per reason of undefined metrics."""
    from openoutcry.report.text_format import undefined_because

    remarks = []
    for reason in dict.fromkeys(done.undefined.values()):
        metrics = [metric for metric, why in done.undefined.items() if why == reason]
        known = undefined_because(reason)
        why = f": {reason}" if known == reason else f" because {known}"
        remarks.append(f"{', '.join(metrics)} {'is' if len(metrics) == 1 else 'are'} undefined{why}")
    return remarks


def _as_json(done: Run) -> dict[str, object]:
    return {
        "agent": done.name,
        "dataset": done.dataset.name,
        "fingerprint": done.dataset.fingerprint,
        "periods_per_year": done.dataset.periods_per_year,
        "notices": list(done.dataset.notices),
        "window": [done.window.start, done.window.end],
        "dates": [done.dates[0], done.dates[-1]],
        "costs": done.cost_model.to_dict(),
        # JSON has no infinity: null is no limit.
        "limits": {name: None if value == inf else value for name, value in done.limits.to_dict().items()},
        "seed": done.seed,
        "metrics": done.metrics,
        "undefined": done.undefined,
        "caveats": done.caveats,
        "paid": {kind: float(values.sum()) for kind, values in done.costs.items()},
        "events": done.event_counts,
        "faults": dict(sorted(Counter(done.faults.values()).items())),
        "terminated_at": done.terminated_at,
        "ending": done.ending or None,
        "nav": done.nav.tolist(),
    }
