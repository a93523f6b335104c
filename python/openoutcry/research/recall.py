"""What a session writes to memory, and what it looks up there."""

from __future__ import annotations

from typing import Protocol

from openoutcry.research.checking import Candidate
from openoutcry.research.holdout import Seal
from openoutcry.research.trial import Listed, Trial


class Recall(Protocol):
    """Where trials are written to, and looked up; whatever is written twice stands once."""

    def known(self, key: str) -> str | None:
        """Return which run of an earlier session was the trial of a key, if one was."""

    def remember(self, trial: Trial) -> None:
        """Write a trial down."""

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Write down a trial that broke off."""

    def open_holdout(self, seal: Seal) -> int:
        """Write down that a holdout is opened, and return how often it was before.

        Raises:
            OpenOutcryError: it is spent.
        """

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Write down what a candidate did in the holdout."""


class NoRecall:
    """Remembers nothing: for replays, and for whoever wants no ledger."""

    def known(self, key: str) -> str | None:
        """Return None."""
        return None

    def remember(self, trial: Trial) -> None:
        """Do nothing."""

    def remember_crash(self, key: str, candidate: Candidate, detail: str) -> None:
        """Do nothing."""

    def open_holdout(self, seal: Seal) -> int:
        """Return 0."""
        return 0

    def remember_holdout(self, listed: Listed, seal: Seal) -> None:
        """Do nothing."""


class LedgerRecall(NoRecall):
    def __init__(self, *a) -> None: ...


def memory_of(*a):
    from openoutcry.research.luck import Memory

    return Memory()
