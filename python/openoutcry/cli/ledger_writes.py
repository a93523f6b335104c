"""Ledger options of `openoutcry run`, and the recording of its run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from openoutcry.backtest.run import Run
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import as_window
from openoutcry.errors import refusal
from openoutcry.ledger import Ledger, append_view, failed_run, run_of
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK
from openoutcry.records.chained_log import now

_PANEL = "Ledger"
LEDGER = typer.Option(False, "--ledger/--no-ledger", help="Record this run in the ledger.", rich_help_panel=_PANEL)
LEDGER_DIR = typer.Option(
    None, help="Folder of the ledger; by default `OPENOUTCRY_LEDGER` or your user folder.", rich_help_panel=_PANEL
)
OUTPUT_DIR = typer.Option(
    None, help="Also append the run to `run_ledger.jsonl` in this folder.", rich_help_panel=_PANEL
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


class RunRecorder:
    """Records one run in a ledger; does nothing without a ledger."""

    def __init__(self, ledger: Ledger | None, output_dir: Path | None, strategy: dict[str, Any]) -> None:
        self._ledger = ledger
        self._output_dir = output_dir
        self._strategy = strategy
        self.recorded: RecordedRun | None = None
        """The recorded run, if any."""

    def record(self, done: Run) -> Run:
        """Record a finished run and return it."""
        if self._ledger is None:
            return done
        ledger_run = run_of(done, self._strategy)
        is_known = self._ledger.known(ledger_run.trial) is not None
        self._ledger.add([ledger_run])
        if self._output_dir is not None:
            append_view(self._output_dir, ledger_run, now())
        self.recorded = RecordedRun(ledger_run.run_id, self._ledger.count(ledger_run.market).n, is_known)
        return done

    def record_failure(self, dataset: Dataset, window: str, error: BaseException) -> None:
        """Record a run that failed with an error of the agent."""
        if self._ledger is not None:
            start, end = as_window(window).resolve(dataset, DEFAULT_LOOKBACK)
            dates = dataset.dates[start], dataset.dates[end - 1]
            self._ledger.add([failed_run(dataset, dates, self._strategy, error)])


@contextmanager
def recording(
    options: tuple[bool, Path | None, Path | None], market: tuple[Dataset, str], agent: tuple[str, int]
) -> Iterator[RunRecorder]:
    """Yield a recorder of a run; an error of the agent is recorded as a failed run.

    Args:
        options: `--ledger`, `--ledger-dir` and `--output-dir`.
        market: The market, and the window option.
        agent: Name and seed of the agent.
    """
    is_enabled, folder, output_dir = options
    for name, value in (("--ledger-dir", folder), ("--output-dir", output_dir)):
        if value is not None and not is_enabled:
            raise refusal("argument_invalid", f"`{name}` requires `--ledger`; received `{name}` without it")
    strategy: dict[str, Any] = {"name": agent[0]} | ({"seed": str(agent[1])} if agent[0] == "random" else {})
    if not is_enabled:
        yield RunRecorder(None, None, strategy)
        return
    with Ledger(folder) as ledger:
        recorder = RunRecorder(ledger, output_dir, strategy)
        try:
            yield recorder
        except typer.Exit as ended:
            # An error of the agent exits with a cause; a refusal before the run has none and is not recorded.
            if ended.__cause__ is not None:
                recorder.record_failure(*market, ended.__cause__)
            raise
