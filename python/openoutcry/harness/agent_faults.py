"""What an agent does that is no answer."""

from __future__ import annotations

from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError

INFRASTRUCTURE = ("agent_unreachable", "agent_unavailable", "agent_not_started", "agent_lost")
"""Slugs of faults of what stands between harness and agent, for which the agent need not be to blame."""


class AgentError(OpenOutcryError):
    """An agent did not answer as an agent must.

    `slug` says what happened; those of the kinds `agent` and `infrastructure` are in `contract/errors.json`.

    Attributes:
        stderr: The end of what it has written to its standard error, its traceback if it raised.
        received: What it had written of an answer.
    """

    def __init__(self, slug: str, message: str, stderr: str = "", received: bytes = b"") -> None:
        super().__init__(f"{slug}: {message}")
        self.slug = slug
        self.stderr = stderr
        self.received = received

    @property
    def is_of_infrastructure(self) -> bool:
        """Whether the fault lies between harness and agent."""
        return self.slug in INFRASTRUCTURE

    def __reduce__(self) -> Any:
        return AgentError, (self.slug, str(self).removeprefix(f"{self.slug}: "), self.stderr, self.received)
