"""What takes a record while it is made."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import BinaryIO

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord


class LineSink(ABC):
    """Takes the lines of runs while they are made; for `run_backtest(capture=...)`."""

    @abstractmethod
    def write_line(self, line: str) -> None:
        """Take a line of a run that is under way."""

    @abstractmethod
    def finish_run(self, record: native.Record) -> None:
        """Take note of a run all of whose lines have been told."""

    @abstractmethod
    def add(self, record: RunRecord) -> None:
        """Take the runs of a record that is finished."""


def check_place(path: Path, file: BinaryIO) -> None:
    """Refuse a path that is no longer the file that is written to.

    An agent of the same user can remove or replace it.
    """
    try:
        is_ours = os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        is_ours = False
    if not is_ours:
        wanted = "`path` must stay the file that a record is written to until the record is finished"
        hint = "hint: write it where the agent cannot, such as beside a sandbox that hides it"
        raise refusal("argument_invalid", f"{wanted}; received '{path}', removed or replaced; {hint}")


def lines_of(text: str) -> list[str]:
    """Return lines with their ends.

    Texts of agents hold what `str.splitlines` would end a line at, too, such as U+2028.
    """
    return [f"{line}\n" for line in text.split("\n")[:-1]]
