"""What `openoutcry run` writes to the ledger."""

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
LEDGER = typer.Option(
    False, "--ledger/--no-ledger", help="Remember this run in the ledger of runs.", rich_help_panel=_PANEL
)
LEDGER_DIR = typer.Option(
    None, help="Folder of the ledger; by default `OPENOUTCRY_LEDGER`, or yours.", rich_help_panel=_PANEL
)
OUTPUT_DIR = typer.Option(
    None, help="Append the run to `run_ledger.jsonl` of this folder, too.", rich_help_panel=_PANEL
)


@dataclass
class Kept:
    """A run in the ledger, and how often its market was tried, this run counted."""

    run_id: str
    n_trials: int
    is_known: bool

    def line(self) -> str:
        """Return what a person is told."""
        counted = "the same trial as before" if self.is_known else "a new trial"
        return f"ledger: {self.run_id}, {counted}; {self.n_trials:,} on this market under any name"


class Memory:
    """Keeps one run in a ledger; nothing where there is no ledger."""

    def __init__(self, ledger: Ledger | None, output_dir: Path | None, strategy: dict[str, Any]) -> None:
        self._ledger = ledger
        self._output_dir = output_dir
        self._strategy = strategy
        self.kept: Kept | None = None
        """What was kept, if anything."""

    def keep(self, done: Run) -> Run:
        """Write a finished run, and return it."""
        if self._ledger is None:
            return done
        made = run_of(done, self._strategy)
        is_known = self._ledger.known(made.trial) is not None
        self._ledger.add([made])
        if self._output_dir is not None:
            append_view(self._output_dir, made, now())
        self.kept = Kept(made.run_id, self._ledger.count(made.market).n, is_known)
        return done

    def keep_failure(self, dataset: Dataset, window: str, error: BaseException) -> None:
        """Write a run that ended in an error of the agent."""
        if self._ledger is not None:
            start, end = as_window(window).resolve(dataset, DEFAULT_LOOKBACK)
            dates = dataset.dates[start], dataset.dates[end - 1]
            self._ledger.add([failed_run(dataset, dates, self._strategy, error)])


@contextmanager
def remembering(
    options: tuple[bool, Path | None, Path | None], market: tuple[Dataset, str], agent: tuple[str, int]
) -> Iterator[Memory]:
    """Yield what keeps a run; one that the agent ends with an error is kept as failed.

    Args:
        options: `--ledger`, `--ledger-dir` and `--output-dir`.
        market: The market, and the window as it was told.
        agent: What the agent is called, and its seed.
    """
    is_wanted, folder, output_dir = options
    for name, value in (("--ledger-dir", folder), ("--output-dir", output_dir)):
        if value is not None and not is_wanted:
            raise refusal("argument_invalid", f"`{name}` must come with `--ledger`; received it alone")
    strategy: dict[str, Any] = {"name": agent[0]} | ({"seed": str(agent[1])} if agent[0] == "random" else {})
    if not is_wanted:
        yield Memory(None, None, strategy)
        return
    with Ledger(folder) as ledger:
        memory = Memory(ledger, output_dir, strategy)
        try:
            yield memory
        except typer.Exit as ended:
            # So an agent's own error ends the command; what was refused before it was asked is no run.
            if ended.__cause__ is not None:
                memory.keep_failure(*market, ended.__cause__)
            raise
