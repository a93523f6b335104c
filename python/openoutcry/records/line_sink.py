"""`LineSink`: the interface of writers that receive a record during the run."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import BinaryIO

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord


class LineSink(ABC):
    """Receive the lines of runs during the run, for `run_backtest(capture=...)`."""

    @abstractmethod
    def write_line(self, line: str) -> None:
        """Write a line of the current run."""

    @abstractmethod
    def finish_run(self, record: native.Record) -> None:
        """Finish the current run, after its last line."""

    @abstractmethod
    def add(self, record: RunRecord) -> None:
        """Write the runs of a finished record."""


def check_same_file(path: Path, file: BinaryIO) -> None:
    """Raise if a path no longer refers to the open file.

    An agent of the same user can remove or replace it.
    """
    try:
        is_same = os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        is_same = False
    if not is_same:
        wanted = "`path` must stay the file that a record is written to until the record is finished"
        hint = "hint: write it to a folder that the agent cannot write to, or run the agent in a sandbox"
        raise refusal("argument_invalid", f"{wanted}; received '{path}', removed or replaced; {hint}")


def lines_of(text: str) -> list[str]:
    """Return lines with their line ends.

    `str.splitlines` would also split at U+2028 and others, which text of agents can contain.
    """
    return [f"{line}\n" for line in text.split("\n")[:-1]]
