"""What an agent does that is no answer."""

from __future__ import annotations

from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError


class AgentError(OpenOutcryError):
    """An agent did not answer as an agent must.

    `slug` says what it did: `agent_died`, `agent_late`, `answer_too_early`, `answer_too_long` or `answer_not_text`.

    Attributes:
        stderr: The end of what it has written to its standard error, its traceback if it raised.
    """

    def __init__(self, slug: str, message: str, stderr: str = "") -> None:
        super().__init__(f"{slug}: {message}")
        self.slug = slug
        self.stderr = stderr

    def __reduce__(self) -> Any:
        return AgentError, (self.slug, str(self).removeprefix(f"{self.slug}: "), self.stderr)
