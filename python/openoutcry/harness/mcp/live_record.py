"""The record of a running episode, written after each decision."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.harness.mcp.decision_backtest import DecisionBacktest, EpisodeAbandoned, EpisodeRules
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.line_sink import LineSink, lines_of
from openoutcry.records.run_record import RunRecord

_LOG = logging.getLogger(__name__)


class LineForwarder(LineSink):
    """Forwards the lines of a run to a function.

    Attributes:
        finished: The run, after its end.
    """

    def __init__(self, put: Callable[[str], object]) -> None:
        self._put = put
        self.finished: native.Record | None = None

    def write_line(self, line: str) -> None:
        """Forward a line."""
        self._put(line)

    def finish_run(self, record: native.Record) -> None:
        """Keep the finished run."""
        self.finished = record

    def add(self, record: RunRecord) -> None:
        """Keep a run that is finished already."""
        self.finish_run(record._core)


def first_line(agent: str, n_trials: int) -> str:
    """Return the first line of a record."""
    return lines_of(native.Record.join(agent, n_trials, []).to_lines())[0]


class LiveRecord:
    """Writes each decision at once: a killed server leaves an unfinished record.

    A backtest in a separate thread writes the record, since the engine requests decisions from an agent. If the file
    cannot be written, the error is logged and writing stops.
    """

    def __init__(self, path: Path, n_trials: int, dataset: Dataset, rules: EpisodeRules) -> None:
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._written = Semaphore(0)
        self._is_over = False
        self._path = path
        self._first = first_line(rules.agent, n_trials)
        self._backtest = DecisionBacktest(dataset, rules, self._decisions(), rules.window[1])
        self._thread = Thread(target=self._write, daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Write a decision; it is on disk when this returns."""
        if not self._is_over:
            self._texts.put(text)
            self._written.acquire()

    def end(self) -> None:
        """Stop writing."""
        self._texts.put(None)
        self._thread.join()

    def _decisions(self) -> Iterator[str]:
        while (text := self._texts.get()) is not None:
            yield text
            self._written.release()

    def _write(self) -> None:
        try:
            with self._path.open("xb") as file:

                def put(line: str) -> None:
                    file.write(line.encode())
                    file.flush()
                    os.fsync(file.fileno())

                put(self._first)
                self._backtest.record(LineForwarder(put))
        except EpisodeAbandoned:
            pass
        except (OSError, OpenOutcryError):
            _LOG.exception("the record of a running episode could not be written")
        finally:
            self._is_over = True
            self._written.release()
