"""Sessions of a journal, read and verified."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.records.chained_log import Verified, iterate, verify
from openoutcry.research.session_journal import SESSION_END, SESSION_START

JOURNAL = Path("logs") / "research_journal.jsonl"


@dataclass(frozen=True)
class RecordedSession:
    """A recorded session.

    Attributes:
        session_id: ID of the session.
        events: Its events in order, as `{"event", "payload", ...}`.
    """

    session_id: str
    events: tuple[Mapping[str, Any], ...]

    @property
    def start(self) -> Mapping[str, Any]:
        """Payload of its first event."""
        payload: Mapping[str, Any] = self.events[0]["payload"]
        return payload

    @property
    def is_over(self) -> bool:
        """Whether the session ended."""
        return bool(self.events[-1]["event"] == SESSION_END)


def sessions_of(path: str | os.PathLike[str]) -> list[RecordedSession]:
    """Return the sessions of a journal, in the order of their starts.

    Raises:
        OpenOutcryError: `argument_invalid`: the journal is missing, altered, or no research journal.
    """
    check(path)
    events: dict[str, list[Mapping[str, Any]]] = {}
    for _, record in iterate(path):
        events.setdefault(record["session_id"], []).append(record)
    for found in events.values():
        if found[0]["event"] != SESSION_START:
            wanted = "a research journal, whose sessions start with `session_start`, is required"
            raise refusal("argument_invalid", f"{wanted}; received `{found[0]['event']}`")
    return [RecordedSession(session_id, tuple(found)) for session_id, found in events.items()]


def session_of(path: str | os.PathLike[str], session_id: str | None = None, *, is_cut: bool = False) -> RecordedSession:
    """Return a session by its ID or an unambiguous prefix.

    Without an ID, the last session; with `is_cut`, the last interrupted one, if any.

    Raises:
        OpenOutcryError: `argument_invalid`: no session matches, or more than one.
    """
    found = sessions_of(path)
    if session_id is not None:
        found = [each for each in found if each.session_id.startswith(session_id)]
        if len(found) > 1:
            raise refusal(
                "argument_invalid", f"a unique session ID is required; received {session_id!r} of {len(found)}"
            )
    elif is_cut:
        found = [each for each in found if not each.is_over] or found
    if not found:
        wanted = "a session of the journal is required"
        raise refusal("argument_invalid", f"{wanted}; received {session_id!r} for '{os.fspath(path)}'")
    return found[-1]


def check(path: str | os.PathLike[str]) -> Verified:
    """Verify the hash chain of a journal and return the result.

    Raises:
        OpenOutcryError: `argument_invalid`: the journal is missing or altered.
    """
    if not Path(path).is_file():
        raise refusal("argument_invalid", f"a journal is required; received '{os.fspath(path)}', which does not exist")
    found = verify(path)
    if not found.is_intact:
        fault = found.faults[0]
        wanted = "a journal with an intact hash chain is required"
        raise refusal("argument_invalid", f"{wanted}; received line {fault.line}: {fault.what}")
    return found
