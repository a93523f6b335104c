"""The record of an episode that goes on, written line by line."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.harness.mcp.decision_backtest import Decided, Rules, Unfinished
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.line_sink import LineSink, lines_of
from openoutcry.records.run_record import RunRecord

_LOG = logging.getLogger(__name__)


class Lines(LineSink):
    """Passes on the lines of a run.

    Attributes:
        whole: The run, once it is finished.
    """

    def __init__(self, put: Callable[[str], object]) -> None:
        self._put = put
        self.whole: native.Record | None = None

    def write_line(self, line: str) -> None:
        """Pass on a line."""
        self._put(line)

    def finish_run(self, record: native.Record) -> None:
        """Take note of the run."""
        self.whole = record

    def add(self, record: RunRecord) -> None:
        """Take note of a run that is finished already."""
        self.finish_run(record._core)


def first_line(agent: str, n_trials: int) -> str:
    """Return the line that a record begins with."""
    return lines_of(native.Record.join(agent, n_trials, []).to_lines())[0]


class Live:
    """Writes down each decision when it is made.

    So a server that is killed leaves what was traded. The engine that writes has a thread of its own, since it asks for
    decisions and is not told them. What it leaves is unfinished; where the file cannot be written, the log says so and
    nothing is written any more.
    """

    def __init__(self, path: Path, n_trials: int, dataset: Dataset, rules: Rules) -> None:
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._written = Semaphore(0)
        self._is_over = False
        self._path = path
        self._first = first_line(rules.agent, n_trials)
        self._decided = Decided(dataset, rules, self._asked(), rules.window[1])
        self._thread = Thread(target=self._write, daemon=True)
        self._thread.start()

    def tell(self, text: str) -> None:
        """Write down a decision; it is on the disk when this returns."""
        if not self._is_over:
            self._texts.put(text)
            self._written.acquire()

    def end(self) -> None:
        """Write no more."""
        self._texts.put(None)
        self._thread.join()

    def _asked(self) -> Iterator[str]:
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
                self._decided.record(Lines(put))
        except Unfinished:
            pass
        except (OSError, OpenOutcryError):
            _LOG.exception("the record of an episode that goes on could not be written")
        finally:
            self._is_over = True
            self._written.release()
