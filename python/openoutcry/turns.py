"""Runs that are made at the same time, written to one record one after the other."""

from __future__ import annotations

import threading

from openoutcry import openoutcry_py as native
from openoutcry.record import RecordWriter, RunRecord


class Turn:
    """Takes the lines of one run, and writes them when all runs before it are written."""

    def __init__(self, queue: _Queue, place: int) -> None:
        self._queue = queue
        self._place = place

    def tell(self, line: str) -> None:
        """Take a line of the run."""
        self._queue.tell(self._place, line)

    def told(self, record: native.Record) -> None:
        """Take note that all lines of the run have been told."""
        self._queue.told(self._place, record)

    def add(self, record: RunRecord) -> None:
        """Take the one run of a record that is finished."""
        for line in record._core.to_lines().splitlines(keepends=True)[1:-1]:
            self.tell(line)
        self.told(record._core)


def turns(writer: RecordWriter, n_runs: int) -> list[Turn]:
    """Return what takes the lines of each of several runs, in the order of the record.

    The lines of the first run that is under way are written as they come. Those of the runs after it are kept until its
    end; should it not end, the record ends with it.
    """
    queue = _Queue(writer, n_runs)
    return [Turn(queue, place) for place in range(n_runs)]


class _Queue:
    """What waits for its turn."""

    def __init__(self, writer: RecordWriter, n_runs: int) -> None:
        self._lock = threading.Lock()
        self._writer = writer
        self._turn = 0
        self._lines: list[list[str]] = [[] for _ in range(n_runs)]
        self._ended: list[native.Record | None] = [None] * n_runs

    def tell(self, place: int, line: str) -> None:
        with self._lock:
            if place == self._turn:
                self._writer.tell(line)
            else:
                self._lines[place].append(line)

    def told(self, place: int, record: native.Record) -> None:
        with self._lock:
            self._ended[place] = record
            while self._turn < len(self._ended) and (ended := self._ended[self._turn]) is not None:
                self._writer.told(ended)
                self._turn += 1
                if self._turn < len(self._ended):
                    for line in self._lines[self._turn]:
                        self._writer.tell(line)
                    self._lines[self._turn].clear()
