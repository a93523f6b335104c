"""What takes a record while it is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openoutcry import openoutcry_py as native
    from openoutcry.record import RunRecord


class LineSink(ABC):
    """Takes the lines of runs while they are made; for `run_backtest(capture=...)`."""

    @abstractmethod
    def tell(self, line: str) -> None:
        """Take a line of a run that is under way."""

    @abstractmethod
    def told(self, record: native.Record) -> None:
        """Take note of a run all of whose lines have been told."""

    @abstractmethod
    def add(self, record: RunRecord) -> None:
        """Take the runs of a record that is finished."""
