"""Faults of agents."""

from __future__ import annotations

from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError, readable_message

INFRASTRUCTURE = ("agent_unreachable", "agent_unavailable", "agent_not_started", "agent_lost")
"""Slugs of infrastructure faults, which lie between harness and agent and need not be caused by the agent."""


class AgentError(OpenOutcryError):
    """A fault of an agent.

    `slug` is one of the kinds `agent` and `infrastructure` in `contract/errors.json`.

    Attributes:
        stderr: The last part of the agent's standard error, or the traceback of a callable.
        received: The part of the answer that was received.
    """

    def __init__(self, slug: str, message: str, stderr: str = "", received: bytes = b"") -> None:
        super().__init__(readable_message(f"{slug}: {message}"))
        self.slug = slug
        self.stderr = stderr
        self.received = received

    @property
    def is_of_infrastructure(self) -> bool:
        """Whether the fault is one of infrastructure."""
        return self.slug in INFRASTRUCTURE

    def __reduce__(self) -> Any:
        return AgentError, (self.slug, str(self).removeprefix(f"{self.slug}: "), self.stderr, self.received)
