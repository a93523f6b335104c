"""The journal of a session, written before any consequence of an event.

One loop runs, resumes and replays sessions. Recorded events supply the inputs while they last, and each event of the
loop must equal the recorded one. After them, new events are written.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.chained_log import ChainedLog
from openoutcry.research.proposal_checks import canonical
from openoutcry.untrusted.bounded_file import RECORD_BYTES, read_bytes

ENVIRONMENT = "environment"
"""Payload field that is excluded from the comparison: times, hosts, versions of the working tree."""

BLOBS = "blobs"

SESSION_START, STOPPED, SESSION_END = "session_start", "stopped", "session_end"
"""Events with an anchor in the ledger: hash of the first two, and of the event before the last."""


class DivergedError(OpenOutcryError):
    """A replayed session differs from its recording.

    Attributes:
        seq: Index of the event in the session, from 0.
    """

    def __init__(self, message: str, seq: int) -> None:
        super().__init__(f"state_mismatch: the recorded event is required; received another one: {message}")
        self.slug = "state_mismatch"
        self.seq = seq


class Journal:
    """Takes the events of a session in order.

    Args:
        log: Log to write to; None for a replay, which writes nothing.
        recorded: Recorded events, as `{"event": ..., "payload": ...}`.
        on_event: Called with each event and its payload after it is recorded.
    """

    def __init__(
        self,
        log: ChainedLog | None,
        recorded: Iterable[Mapping[str, Any]] = (),
        on_event: Callable[[str, Mapping[str, Any]], object] = lambda event, payload: None,
    ) -> None:
        self._log = log
        self._on_event = on_event
        self._recorded = deque(recorded)
        self._seq = 0
        self._head = ""

    @property
    def head(self) -> str:
        """Hash of the last event."""
        return self._head

    @property
    def seq(self) -> int:
        """Index of the next event, from 0."""
        return self._seq

    @property
    def is_replaying(self) -> bool:
        """Whether the next event is recorded, or the journal is read-only."""
        return bool(self._recorded) or self._log is None

    @property
    def is_read_only(self) -> bool:
        """Whether events are only compared."""
        return self._log is None

    def peek(self, event: str) -> Mapping[str, Any] | None:
        """Return the recorded payload of the next event, if it is of this kind."""
        if self._recorded and self._recorded[0]["event"] == event:
            payload: Mapping[str, Any] = self._recorded[0]["payload"]
            return payload
        return None

    def record(self, event: str, payload: Mapping[str, Any]) -> None:
        """Write an event, or check it against the recorded one.

        Raises:
            DivergedError: the recorded event differs.
        """
        if self._recorded:
            expected = self._recorded.popleft()
            self._check(expected, event, payload)
            self._head = str(expected["hash"])
        elif self._log is None:
            raise DivergedError(f"the session ends before `{event}`", self._seq)
        else:
            self._head = str(self._log.append(event, payload)["hash"])
        self._seq += 1
        self._on_event(event, payload)

    def _check(self, expected: Mapping[str, Any], event: str, payload: Mapping[str, Any]) -> None:
        if expected["event"] != event:
            raise DivergedError(f"expected `{expected['event']}`, received `{event}`", self._seq)
        was, came = _compared(expected["payload"]), _compared(payload)
        if was != came:
            raise DivergedError(f"`{event}`: {_difference(expected['payload'], payload)}", self._seq)

    def check_end(self) -> None:
        """Check that no recorded events are left.

        Raises:
            DivergedError: there are more.
        """
        if self._recorded:
            raise DivergedError(f"expected `{self._recorded[0]['event']}`, received the end of the session", self._seq)


class Blobs:
    """Files of a journal, named by SHA-256: prompts and return series.

    Args:
        folder: Their folder; None stores nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def put(self, content: bytes) -> str:
        """Store bytes and return their SHA-256 in hex."""
        digest = hashlib.sha256(content).hexdigest()
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            place = self._folder / digest
            # Renamed into place, so that the file is complete or missing.
            if not place.exists():
                temporary = place.with_suffix(".tmp")
                temporary.write_bytes(content)
                temporary.replace(place)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes with this hash.

        Raises:
            OpenOutcryError: `argument_invalid`: the file is missing, or its bytes have another hash.
        """
        place = (self._folder or Path()) / digest
        try:
            content = read_bytes(place, RECORD_BYTES, "a blob")
        except OSError as error:
            raise refusal("argument_invalid", f"the blob {digest} is required; received {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise refusal("argument_invalid", f"the blob {digest} must have that SHA-256; received other bytes")
        return content


def _compared(payload: Mapping[str, Any]) -> str:
    return canonical({name: value for name, value in payload.items() if name != ENVIRONMENT})


def _difference(was: Any, came: Any, where: str = "") -> str:
    """Describe the first difference between two payloads."""
    if isinstance(was, Mapping) and isinstance(came, Mapping):
        for name in sorted({*was, *came}):
            if not where and name == ENVIRONMENT:
                continue
            if name not in was or name not in came:
                return f"`{where}{name}` is missing in one of them"
            if canonical(was[name]) != canonical(came[name]):
                return _difference(was[name], came[name], f"{where}{name}.")
    if isinstance(was, (list, tuple)) and isinstance(came, (list, tuple)) and len(was) == len(came):
        for place, (old, new) in enumerate(zip(was, came, strict=True)):
            if canonical(old) != canonical(new):
                return _difference(old, new, f"{where}{place}.")
    return f"`{where.rstrip('.')}` was {canonical(was)[:200]} and is now {canonical(came)[:200]}"
