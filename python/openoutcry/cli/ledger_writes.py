"""Ledger options of `openoutcry run`, and the recording of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import typer

from openoutcry.backtest.run import Run
from openoutcry.cli.holdout_reading import consulted_ledger, holdout_reading
from openoutcry.cli.selected_agent import SelectedAgent
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import as_window
from openoutcry.errors import refusal
from openoutcry.ledger import Ledger, RunMetadata, append_view, failed_run, run_of
from openoutcry.records.chained_log import now

_PANEL = "Ledger"
LEDGER = typer.Option(
    None,
    "--ledger/--no-ledger",
    help="Record this run in the ledger. By default, only a run of a candidate that reads its holdout.",
    show_default=False,
    rich_help_panel=_PANEL,
)
LEDGER_DIR = typer.Option(
    None,
    help="Record this run in the ledger of this folder; by default `OPENOUTCRY_LEDGER` or your user folder.",
    rich_help_panel=_PANEL,
)
OUTPUT_DIR = typer.Option(
    None, help="With `--ledger`, also append the run to `run_ledger.jsonl` in this folder.", rich_help_panel=_PANEL
)


@dataclass
class RecordedRun:
    """A recorded run, and the number of trials on its market including this run."""

    run_id: str
    n_trials: int
    is_known: bool

    def line(self) -> str:
        """Format the entry as a sentence."""
        kind = "known trial" if self.is_known else "new trial"
        return f"ledger: recorded {self.run_id}, a {kind}; trials on this market and its copies: {self.n_trials:,}"


class LedgerOptions(NamedTuple):
    """The ledger options of a command.

    Attributes:
        ledger: `--ledger` or `--no-ledger`; None if neither is stated.
        ledger_dir: `--ledger-dir`.
        output_dir: `--output-dir`.
    """

    ledger: bool | None = None
    ledger_dir: Path | None = None
    output_dir: Path | None = None

    @property
    def is_wanted(self) -> bool | None:
        """Whether a ledger is wanted, as `--ledger-dir` implies; None if not stated."""
        return True if self.ledger is None and self.ledger_dir is not None else self.ledger

    def check(self) -> None:
        """Refuse a folder that has no effect, for every agent alike."""
        if self.ledger_dir is not None and self.ledger is False:
            wanted = "`--ledger-dir` requires a ledger"
            raise refusal("argument_invalid", f"{wanted}; received `--no-ledger` with it; hint: omit one of the two")
        if self.output_dir is not None and not self.is_wanted:
            received = "`--no-ledger` with it" if self.ledger is False else "`--output-dir` without it"
            hint = "hint: omit one of the two" if self.ledger is False else "hint: add `--ledger`"
            raise refusal("argument_invalid", f"`--output-dir` requires `--ledger`; received {received}; {hint}")


@dataclass(frozen=True)
class PlannedRun:
    """What is known of a run before it starts.

    Attributes:
        dataset: The market.
        dates: First and last date of its window.
        strategy: Identity of the agent.
        metadata: Metadata of the run.
        notices: What a person should know about the run.
    """

    dataset: Dataset
    dates: tuple[str, str]
    strategy: Mapping[str, Any]
    metadata: RunMetadata
    notices: tuple[str, ...] = ()


def planned_run(agent: SelectedAgent, dataset: Dataset, window: str, options: LedgerOptions) -> PlannedRun:
    """Return what is known of a run before it starts.

    This includes whether it reads a holdout of research.

    Raises:
        OpenOutcryError: `argument_invalid`: an option has no effect, or the file of a candidate is an edited one.
    """
    options.check()
    start, end = as_window(window).resolve(dataset, agent.lookback)
    dates, strategy, candidate = (dataset.dates[start], dataset.dates[end - 1]), agent.strategy, agent.candidate
    with consulted_ledger(agent, options.is_wanted, options.ledger_dir) as ledger:
        reading = holdout_reading(agent, dataset, dates, ledger)
    metadata = RunMetadata(
        description="" if strategy is None else type(strategy).describe(), holdout_touched=reading.is_read
    )
    if candidate is not None:
        notes = {"candidate": candidate.provenance}
        isolation = getattr(strategy, "isolation", None)
        metadata = replace(metadata, source=candidate.source, isolation=isolation, notes=notes)
    notices = [*agent.notices(dataset), *reading.notices]
    if reading.is_read:
        outcome = (
            "not recorded, because of `--no-ledger`"
            if options.ledger is False
            else "recorded in the ledger, and never ranked"
        )
        notices.append(f"the look at the holdout is {outcome}")
    return PlannedRun(dataset, dates, agent.definition, metadata, tuple(notices))


class RunRecorder:
    """Records one run in a ledger; does nothing without a ledger."""

    def __init__(self, ledger: Ledger | None, output_dir: Path | None, planned: PlannedRun) -> None:
        self._ledger = ledger
        self._output_dir = output_dir
        self.planned = planned
        """What was known of the run before it started."""
        self.recorded: RecordedRun | None = None
        """The recorded run, if any."""

    def record(self, done: Run) -> Run:
        """Record a finished run and return it."""
        if self._ledger is None:
            return done
        ledger_run = run_of(done, self.planned.strategy, self.planned.metadata)
        is_known = self._ledger.known(ledger_run.trial) is not None
        self._ledger.add([ledger_run])
        if self._output_dir is not None:
            append_view(self._output_dir, ledger_run, now())
        self.recorded = RecordedRun(ledger_run.run_id, self._ledger.count(ledger_run.market).n, is_known)
        return done

    def record_failure(self, error: BaseException) -> None:
        """Record a run that failed with an error of the agent."""
        if self._ledger is not None:
            planned = self.planned
            self._ledger.add([failed_run(planned.dataset, planned.dates, planned.strategy, error, planned.metadata)])


@contextmanager
def recording(options: LedgerOptions, planned: PlannedRun) -> Iterator[RunRecorder]:
    """Yield a recorder of a run; an error of the agent is recorded as a failed run.

    A run that reads the holdout of its candidate is recorded unless the user refuses: later sessions must know of it.
    """
    is_enabled = planned.metadata.holdout_touched if options.is_wanted is None else options.is_wanted
    if not is_enabled:
        yield RunRecorder(None, None, planned)
        return
    with Ledger(options.ledger_dir) as ledger:
        recorder = RunRecorder(ledger, options.output_dir, planned)
        try:
            yield recorder
        except typer.Exit as ended:
            # An error of the agent exits with a cause; a refusal before the run has none and is not recorded.
            if ended.__cause__ is not None:
                recorder.record_failure(ended.__cause__)
            raise
