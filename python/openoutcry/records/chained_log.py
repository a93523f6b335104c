"""Append-only logs whose lines are chained by hashes.

A line is one record in RFC 8785 canonical JSON: `{event, hash, payload, prev_hash, seq, session_id, ts, v}`. Its hash
is the SHA-256 of the record without `hash`, and `prev_hash` is that of the record before, whoever wrote it. What is
changed, taken out, put in or moved breaks the chain. A cut end does not, nor does a log that was rewritten as a whole:
those take an anchor, a hash that was kept elsewhere (`verify(head=...)`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from openoutcry.errors import refusal
from openoutcry.records.chained_lines import GENESIS, SESSION, TIME, Draft, is_truncated, matching, parsed, record_of


def now() -> str:
    """Return the time in UTC as RFC 3339 with microseconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Link(NamedTuple):
    """The end of a chain: the number that comes next, and the hash it must name."""

    seq: int = 0
    hash: str = GENESIS


class Line(NamedTuple):
    """A line of a log, from `offset` to `end` in bytes.

    `record` is None where there is no whole one, and `fault` says why: `torn` of a line that was cut while it was
    written, `changed` of one that nobody wrote so. `is_ended` says whether its line end is there.
    """

    offset: int
    end: int
    record: dict[str, Any] | None
    fault: str | None
    is_ended: bool = True


class Fault(NamedTuple):
    """Where a log is not what was written: the line, from 0, its first byte, and why."""

    line: int
    offset: int
    what: str


@dataclass(frozen=True)
class Verified:
    """What a check of a whole log found.

    Attributes:
        n_records: Whole records.
        head: The end of the chain; `head.hash`, kept elsewhere, is an anchor.
        n_torn: Lines that were cut while they were written, which hold no record.
        faults: What was changed, taken out, put in or moved.
        size: Bytes that were read.
        n_lines: Lines that were read.
    """

    n_records: int
    head: Link
    n_torn: int
    faults: tuple[Fault, ...]
    size: int
    n_lines: int

    @property
    def is_intact(self) -> bool:
        """Whether nothing was tampered with; a torn line is no tampering."""
        return not self.faults


def scan(path: str | os.PathLike[str], start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Yield every line of a log, torn and changed ones too.

    `start` and `end` are bytes at which lines begin, the second being left out. Nothing where there is no file.
    """
    with suppress(FileNotFoundError), Path(path).open("rb") as file:
        file.seek(start)
        for raw in file:
            if end is not None and start >= end:
                break
            yield line_of(raw, start)
            start += len(raw)


def line_of(raw: bytes, start: int) -> Line:
    """Return the line that bytes are, whether ended or not, from `start` on."""
    line, is_ended = (raw[:-1], True) if raw.endswith(b"\n") else (raw, False)
    record = record_of(line)
    fault = None if record is not None else "torn" if is_truncated(line) else "changed"
    return Line(start, start + len(raw), record, fault, is_ended)


def iterate(path: str | os.PathLike[str], start: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each whole record from a byte on, with the byte its line begins at.

    What holds no whole record is left out; `verify` counts it.
    """
    return ((line.offset, line.record) for line in scan(path, start) if line.record is not None)


def verify(path: str | os.PathLike[str], *, head: str | None = None, after: Link = Link()) -> Verified:  # noqa: B008
    """Check every line of a log and the chain through all of them.

    Args:
        path: The log; one that is not there is empty.
        head: A hash that must be in the chain, as an earlier check found it: shows a cut end and a log made anew.
        after: The end of the log before this one, where this one goes on with it.
    """
    found, is_held = checked(path, head, after)
    if is_held:
        return found
    missing = Fault(found.n_lines, found.size, f"the record {str(head)[:64]} is missing")
    return replace(found, faults=(*found.faults, missing))


def checked(path: str | os.PathLike[str], head: str | None, after: Link) -> tuple[Verified, bool]:
    """Check a log as `verify` does; return what was found, and whether the anchor was."""
    faults: list[Fault] = []
    n_records, n_torn, size, n_lines = 0, 0, 0, 0
    is_held = head is None or head == after.hash
    for number, line in enumerate(scan(path)):
        n_lines, size = number + 1, line.end
        if line.record is None:
            n_torn += line.fault == "torn"
            if line.fault != "torn":
                faults.append(Fault(number, line.offset, "the line is not what was written"))
            continue
        if why := broken(line.record, after):
            faults.append(Fault(number, line.offset, why))
        n_records += 1
        after = Link(line.record["seq"] + 1, line.record["hash"])
        is_held = is_held or after.hash == head
    return Verified(n_records, after, n_torn, tuple(faults), size, n_lines), is_held


def broken(record: Mapping[str, Any], after: Link) -> str | None:
    """Return how a record does not go on with a chain, or None where it does."""
    if record["seq"] != after.seq:
        return f"record {after.seq} is required here; received {record['seq']}"
    if record["prev_hash"] != after.hash:
        return f"the record before must be {record['prev_hash'][:16]}; received {after.hash[:16]}"
    return None


class _Tail(NamedTuple):
    """What is known of a file: its size, its chain, whether its last line has ended."""

    size: int
    link: Link
    is_ended: bool


class ChainedLog:
    """A log that any number of processes and threads of one machine append to.

    A record is written at once, under a lock of the file, so that a reader sees all of it or knows that it was cut.
    What was cut is ended by the next writer and chained over. Not for network file systems; without `fcntl` (Windows)
    there is no lock, and one process may write.

    Args:
        path: The file; it is made with the first record.
        session: Who writes: a text of letters, digits and `._:-`.
        clock: Returns the time as RFC 3339 in UTC.
        after: The end of the log before this one, where this one goes on with it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session: str,
        clock: Callable[[], str] = now,
        after: Link = Link(),  # noqa: B008 it cannot change
    ) -> None:
        self.path = Path(path)
        self.session = matching("session", session, SESSION)
        self._clock = clock
        self._after = after
        self._thread = threading.Lock()
        self._file: int | None = None
        self._owner = 0
        self._tail: _Tail | None = None

    def append(self, event: str, payload: Mapping[str, Any], *, sync: bool = True) -> dict[str, Any]:
        """Write a record and return it.

        Args:
            event: What kind of record it is: lower-case letters, digits and `_`.
            payload: What it says.
            sync: Wait until the disk has it; without, the system has it, and a power cut may cost it.

        Raises:
            OpenOutcryError: `argument_invalid`: the payload is not JSON of finite numbers, or the log is not what this
                writer left; nothing has been written.
        """
        return self.append_all([(event, payload)], sync=sync)[0]

    def append_all(
        self, entries: Iterable[tuple[str, Mapping[str, Any]]], *, sync: bool = True
    ) -> list[dict[str, Any]]:
        """Write records in one piece, or none, and return them.

        The disk is waited for once.
        """
        lines = self._written(entries, sync)
        return [record for line in lines if (record := parsed(line)) is not None]

    def extend(self, entries: Iterable[tuple[str, Mapping[str, Any]]], *, sync: bool = True) -> int:
        """Write records as `append_all` does, and return how many."""
        return len(self._written(entries, sync))

    def _written(self, entries: Iterable[tuple[str, Mapping[str, Any]]], sync: bool) -> list[bytes]:
        drafts = [Draft(event, payload) for event, payload in entries]
        if not drafts:
            return []
        with self._locked() as file:
            tail = self._caught_up(file)
            link, lines = tail.link, []
            for draft in drafts:
                line, digest = draft.line(link, self.session, matching("clock()", self._clock(), TIME))
                lines.append(line.encode())
                link = Link(link.seq + 1, digest)
            # What was cut ends here, in the same write, so that no empty line is ever made.
            size = _append(file, (b"" if tail.is_ended else b"\n") + b"".join(lines), tail.size)
            self._tail = _Tail(size, link, True)
        if sync:
            getattr(os, "fdatasync", os.fsync)(file)
        return lines

    def link(self) -> Link:
        """Return the end of the chain, as the file has it now."""
        if not self.path.exists():
            return self._after
        with self._locked() as file:
            return self._caught_up(file).link

    def close(self) -> None:
        """Close the file; a later record opens it again."""
        with self._thread:
            self._close()

    def __enter__(self) -> ChainedLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        with self._thread:
            file = self._opened()
            try:
                import fcntl
            except ModuleNotFoundError:
                yield file
                return
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield file
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def _opened(self) -> int:
        if self._file is not None and self._owner != os.getpid():
            # A child of a fork has its parent's lock, which would keep neither out.
            self._close()
        if self._file is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            self._file, self._owner = os.open(self.path, flags, 0o644), os.getpid()
        return self._file

    def _caught_up(self, file: int) -> _Tail:
        """Return the end of the file, of which only what others added is read."""
        found = os.fstat(file)
        try:
            is_ours = os.path.samestat(self.path.stat(), found)
        except OSError:
            is_ours = False
        known = self._tail or _Tail(0, self._after, True)
        if not is_ours or found.st_size < known.size:
            wanted = "a log must stay the file that it was, and only grow"
            raise refusal("argument_invalid", f"{wanted}; received '{self.path}', cut, removed or replaced")
        if found.st_size > known.size:
            known = _tail_of(file, known, found.st_size)
        self._tail = known
        return known


def _append(file: int, content: bytes, size: int) -> int:
    """Append to a file of a size and return its new one.

    A full disk leaves it as it was.
    """
    left = memoryview(content)
    try:
        while left:
            left = left[os.write(file, left) :]
    except BaseException:
        os.ftruncate(file, size)
        raise
    return size + len(content)


_BLOCK = 1 << 16


def _tail_of(file: int, known: _Tail, size: int) -> _Tail:
    """Return the end of a file of a size, read backwards up to what is known of it."""
    span = _BLOCK
    while True:
        start = max(known.size, size - span)
        content = _read(file, start, size)
        is_ended = content.endswith(b"\n")
        lines = content.split(b"\n")
        # The first is a part of a line, unless all that is new is here.
        for line in reversed(lines if start == known.size else lines[1:]):
            record = record_of(line) if line else None
            if record is not None:
                return _Tail(size, Link(record["seq"] + 1, record["hash"]), is_ended)
        if start == known.size:
            return _Tail(size, known.link, is_ended)
        span *= 8


def _read(file: int, start: int, end: int) -> bytes:
    # Its place is moved: `pread` is not everywhere, and appending goes to the end anyhow.
    os.lseek(file, start, os.SEEK_SET)
    parts = []
    while start < end and (part := os.read(file, end - start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
