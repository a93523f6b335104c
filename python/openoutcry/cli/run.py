"""`openoutcry run`: one agent on one market."""

from __future__ import annotations

import json
import shlex
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from openoutcry import agents
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.cli.agent_options import (
    AGENT,
    ALLOW_NET,
    ENV,
    SANDBOX,
    START_TIMEOUT,
    TIMEOUT,
    Asked,
    called,
    first_faults,
    telling_faults,
    told_faults,
)
from openoutcry.cli.ledger_writes import LEDGER, LEDGER_DIR, OUTPUT_DIR, Kept, remembering
from openoutcry.cli.market_options import (
    is_streamed,
    load_agent,
    modules_here,
    open_dataset,
    page_to_write,
    record_to_write,
    writer_of,
)
from openoutcry.cli.run_table import metrics_table
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import as_window
from openoutcry.harness import Supervised
from openoutcry.harness.agent_lookup import COMMAND, SERVERS
from openoutcry.harness.process_privacy import closed_to_others
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK, CostModel, Limits
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import RunRecord

EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum`

`openoutcry run --data prices.csv --agent my_agent:decide --window 2010-01-01:2020-01-01 --report run.html`

`openoutcry run --data ecb-fx --agent my_agent:decide --record run.jsonl --report run.html --trials 20`

`openoutcry run --data ecb-fx --agent "cmd:node agent.js" --record run.json`, a program of any language, in the sandbox

`openoutcry run --data us-treasury:UST10Y,UST2Y --agent equal-weight --fee-bps 0.5 --json`

`openoutcry run --agent my_agent:decide --ledger`, remembered for `openoutcry ledger`, with how often this was tried
"""


# What `--long-only` is the plain word for.
ALLOW_SHORT = typer.Option(True, "--allow-short/--no-allow-short", hidden=True)
WINDOW = "`START:END`, bars or ISO dates; END is left out. Bars that look like years take a plus: `+2010:+2012`."
RECORD = "Write a record that `openoutcry replay` verifies: .json, or .jsonl while it runs; or with .zst."
COSTS, LIMITS = "Costs, in basis points where so named; a year's for rates", "Limits"


def _cost(told: str) -> Any:
    return typer.Option(None, help=told, rich_help_panel=COSTS)


def _limit(told: str) -> Any:
    return typer.Option(None, help=told, rich_help_panel=LIMITS)


def run(
    source: str = typer.Option("ecb-fx", "--data", help="A bundled market (`openoutcry data list`) or a file."),
    agent: str = typer.Option("buy-and-hold", help=f"{AGENT} Baselines are {', '.join(agents.NAMES)}."),
    window: str = typer.Option(":", help=WINDOW),
    seed: int = typer.Option(0, help="Key of the slippage noise and of the random agent."),
    periods_per_year: float | None = typer.Option(None, help="Bars a year of a file; 252 by default."),
    report: Path | None = typer.Option(None, help="Write a self-contained HTML report here."),
    record: Path | None = typer.Option(None, help=RECORD),
    force: bool = typer.Option(False, "--force", help="Replace a record that is there."),
    trials: int = typer.Option(0, min=0, help="Trials made before on this market, declared in record and report."),
    as_json: bool = typer.Option(False, "--json", help="Print the numbers as JSON."),
    env: list[str] | None = ENV,
    timeout: float = TIMEOUT,
    start_timeout: float = START_TIMEOUT,
    sandbox: str = SANDBOX,
    allow_net: bool = ALLOW_NET,
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
    allow_short: bool = ALLOW_SHORT,
    ledger: bool = LEDGER,
    ledger_dir: Path | None = LEDGER_DIR,
    output_dir: Path | None = OUTPUT_DIR,
) -> None:
    """Run an agent over a window of a market and print what became of it.

    `module:function` is called in this process. What a program or a server does that is no answer is a hold.
    """
    _checked(report)
    costs = {"fee_bps": fee_bps, "slippage_bps": slippage_bps, "impact_bps": impact_bps, "cash_bps": cash_bps}
    costs |= {"financing_bps": financing_bps, "borrow_bps": borrow_bps, "slippage_jitter": slippage_jitter}
    limits: dict[str, Any] = {"max_weight": max_weight, "max_gross": max_gross, "max_participation": max_participation}
    limits |= {"maintenance_margin": maintenance_margin, "allow_short": allow_short and not long_only}
    rules = CostModel(**costs, capital=capital), Limits(**limits)
    dataset = open_dataset(source, periods_per_year)
    how = Asked(env or (), timeout, start_timeout, sandbox, allow_net, _hidden(record, report, source), _tell)
    asking = _asked(agent, seed, how, _counting(dataset, window))
    kept = remembering((ledger, ledger_dir, output_dir), (dataset, window), (called(agent), seed))
    with kept as memory, asking as asked, _recording(record, called(agent), trials, force) as writer:
        captured = writer or _is_captured(record, report)
        done = memory.keep(run_backtest(dataset, asked, window, *rules, seed, name=called(agent), capture=captured))
    _keep(done, record, report, trials, source)
    _show(done, report, as_json, memory.kept)


def _hidden(record: Path | None, report: Path | None, source: str) -> list[Path]:
    return [each for each in (record, report, Path(source)) if each is not None]


def _tell(text: str) -> None:
    typer.echo(text, err=True)


def _checked(report: Path | None) -> None:
    if report is not None:
        page_to_write(report)


def _is_captured(record: Path | None, report: Path | None) -> bool:
    # A report shows every decision, so it needs the record, too.
    return record is not None or report is not None


def _recording(
    record: Path | None, agent: str, trials: int, force: bool
) -> AbstractContextManager[RecordWriter | None]:
    if record is None:
        return nullcontext()
    record_to_write(record, force=force)
    return writer_of(record, agent, trials) or nullcontext()


def _keep(done: Run, record: Path | None, report: Path | None, trials: int, source: str) -> None:
    if record is None and report is None:
        return
    declared = RunRecord.join(done.name, [done.record], trials)
    if record is not None and not is_streamed(record):
        declared.save(record)
    if report is None:
        return
    from openoutcry.report.run_report import Origin, write_run_report

    origin = Origin(f"openoutcry {shlex.join(map(_argument, sys.argv[1:]))}", record, source, declared.digest or "")
    # The trials before, and this one.
    write_run_report(done, report, trials + 1, origin)


def _argument(word: str) -> str:
    name, is_one, value = word.partition("=") if word.startswith("--agent=") else ("", "", word)
    return f"{name}{is_one}{called(value)}"


@contextmanager
def _counting(dataset: Dataset, window: str) -> Iterator[Callable[[], object]]:
    """Yield what is called at each decision, whose share of all a terminal shows."""
    start, end = as_window(window).resolve(dataset, DEFAULT_LOOKBACK)
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console, transient=True
    ) as progress:
        task = progress.add_task("", total=end - start - 1)
        yield lambda: progress.advance(task)


@contextmanager
def _asked(
    name: str, seed: int, how: Asked, counting: AbstractContextManager[Callable[[], object]]
) -> Iterator[agents.Agent | agents.TextAgent]:
    """Yield what answers; a stranger is begun for the one run."""
    if not name.startswith((COMMAND, *SERVERS)):
        # Of a stranger's folder nothing is imported.
        with modules_here():
            agent = load_agent(name, seed)
        with counting as count:
            watched = _Watched(agent, count)
            with watched.to_its_end():
                yield watched.asked
        return
    told = first_faults(how.show)
    with (
        telling_faults(),
        closed_to_others(),
        Supervised(how.launcher(name), lambda fault, step: told(f"held: {fault}; in decision {step}")) as session,
        counting as count,
    ):
        yield _Counted(session, count)


class _Counted(agents.TextAgent):
    """An agent whose answers are counted."""

    def __init__(self, agent: agents.TextAgent, count: Callable[[], object]) -> None:
        self._agent = agent
        self._count = count

    @property
    def harness(self) -> agents.Harness | None:
        return self._agent.harness

    def answer(self, observation: str) -> str | agents.Answer:
        self._count()
        return self._agent.answer(observation)


class _Watched:
    """An agent, and what it raised: shown with its traceback, and an exit with 1."""

    def __init__(self, agent: agents.Agent, count: Callable[[], object]) -> None:
        self.asked: agents.Agent = agent if isinstance(agent, agents.Baseline) else self._ask
        self.raised: Exception | None = None
        self._agent = agent
        self._count = count

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
        self._count()
        try:
            return self._agent(observation)
        except Exception as error:
            self.raised = error
            raise


def _show(done: Run, report: Path | None, as_json: bool, kept: Kept | None) -> None:
    if as_json:
        more: dict[str, object] = {} if kept is None else {"run_id": kept.run_id, "family_trials": kept.n_trials}
        typer.echo(json.dumps(_as_json(done) | more))
        return
    console = Console()
    if done.ending:
        console.print(f"{done.name}: {done.ending}", style="bold red", highlight=False)
    title = f"{done.dataset.name}  {done.dates[0]} .. {done.dates[-1]}  {len(done.dates)} bars"
    console.print(metrics_table(title, [done], ranked=False))
    told = ", ".join(f"{count:,} {slug}" for slug, count in done.event_counts.items())
    console.print(f"  · events: {told}", style="dim", highlight=False)
    for remark in (*told_faults([done.faults]), *_idle(done)):
        console.print(f"  · {remark}", style="yellow", highlight=False)
    if done.undefined:
        reasons = dict.fromkeys(done.undefined.values())
        said = "; ".join(f"{_named(done, reason)}: {reason}" for reason in reasons)
        console.print(f"  · undefined: {said}", style="dim", highlight=False, soft_wrap=True)
    for notice in done.dataset.notices:
        console.print(f"  · {notice}", style="dim", highlight=False)
    if report is not None:
        console.print(f"report: {report}", highlight=False)
    if kept is not None:
        console.print(kept.line(), highlight=False)


def _idle(done: Run) -> list[str]:
    """Return what to say of a stranger that did nothing: few mean to."""
    if any(done.event_counts.values()) or ":" not in done.name:
        return []
    n_wrong = sum(slug == "malformed" for slug in done.faults.values())
    if n_wrong == len(done.returns):
        return ["no answer was a decision: `openoutcry conformance` shows what is wrong with one"]
    return ["it never ordered anything"]


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
        "faults": dict(sorted(Counter(done.faults.values()).items())),
        "terminated_at": done.terminated_at,
        "ending": done.ending or None,
        "nav": done.nav.tolist(),
    }
