"""Faults of generated strategies: what failed, at which bar, and the limit."""

from __future__ import annotations

from typing import Any, Protocol

from openoutcry.harness import AgentError
from openoutcry.openoutcry_py import OpenOutcryError

REASONS = ("timeout", "memory", "output", "crashed", "answer", "error")
"""Reasons of a fault: time, memory or output above its limit; an exit; an invalid answer; an exception."""

_OF_SLUG = {
    "agent_late": "timeout",
    "agent_died": "crashed",
    "answer_cut_short": "crashed",
    "agent_not_started": "crashed",
    "answer_too_long": "output",
}
_RAISED = "a strategy must return `"
_INVALID = "OpenOutcryError: "
_MEMORY = ("MemoryError", "_ArrayMemoryError")


class SizeLimits(Protocol):
    """Limits of a worker that a fault states."""

    @property
    def memory_bytes(self) -> int:
        """Address space."""

    @property
    def print_bytes(self) -> int:
        """Maximum number of bytes that a strategy may print per table."""


class StrategyError(AgentError):
    """A fault of a generated strategy.

    Attributes:
        slug: Slug of the underlying error.
        reason: One of `REASONS`.
        where: Bar and date of the decision; empty before the first one.
    """

    def __init__(self, slug: str, reason: str, detail: str, where: str = "") -> None:
        super().__init__(slug, f"{detail}{' ' if where else ''}{where}")
        self.reason = reason
        self.detail = detail
        self.where = where

    def __reduce__(self) -> Any:
        return StrategyError, (self.slug, self.reason, self.detail, self.where)


def fault_of(error: OpenOutcryError, limits: SizeLimits, where: str, *, is_output_cut: bool) -> StrategyError:
    """Return the fault behind an error of a worker.

    Args:
        error: The error.
        limits: Limits of the worker.
        where: Bar and date of the decision; empty before the first one.
        is_output_cut: Whether the worker printed more than its limit.
    """
    if isinstance(error, StrategyError):
        return StrategyError(error.slug, error.reason, error.detail, where)
    text = str(error).removeprefix(f"{error.slug}: ")
    raised = text.partition("; received ")[2].rstrip(": ") if text.startswith(_RAISED) else ""
    reason = _OF_SLUG.get(error.slug, "error" if raised and not raised.startswith(_INVALID) else "answer")
    if raised.partition(":")[0] in _MEMORY:
        reason = "memory"
    if reason in ("timeout", "crashed") and is_output_cut:
        reason = "output"
    return StrategyError(error.slug, reason, _detail(reason, text, raised, limits), where)


def output_fault(limits: SizeLimits, where: str = "") -> StrategyError:
    """Return the fault of a worker that printed more than its limit."""
    return StrategyError("answer_too_long", "output", _detail("output", "", "", limits), where)


def described(error: BaseException) -> str:
    """Return the reason and message of an error, for a journal."""
    if isinstance(error, StrategyError):
        return f"{error.reason}: {str(error).removeprefix(f'{error.slug}: ')}"
    return f"{type(error).__name__}: {error}"


def _detail(reason: str, text: str, raised: str, limits: SizeLimits) -> str:
    if reason == "memory":
        return f"a strategy must need at most {limits.memory_bytes // 2**20:,} MiB of memory; received {raised}"
    if reason == "output" and "an answer must" not in text:
        return f"a strategy must print at most {limits.print_bytes:,} bytes a table; received more"
    if reason == "timeout" and "its table" not in text:
        # The hint about line ends is for programs of users.
        return f"{text.replace('an agent', 'a strategy').partition('; received')[0]}; received no answer"
    if reason == "crashed":
        return text.replace("an agent must answer until its run ends", "a strategy must run until its table ends")
    if reason == "answer" and raised:
        return raised.removeprefix(_INVALID).partition(": ")[2]
    return text
