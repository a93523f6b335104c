"""Append-only logs with a hash chain.

Each line is a record in RFC 8785 canonical JSON: `{event, hash, payload, prev_hash, seq, session_id, ts, v}`. `hash` is
the SHA-256 of the record without `hash`; `prev_hash` is the hash of the previous record. Changing, deleting, inserting
or moving a line breaks the chain. Truncating or rewriting the complete log does not: to detect that, store a hash
elsewhere as an anchor (`verify(head=...)`).
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
from openoutcry.records.chained_lines import (
    GENESIS,
    LONGEST_LINE,
    SESSION,
    TIME,
    Draft,
    is_truncated,
    matching,
    parsed,
    record_of,
)
from openoutcry.records.file_lock import lock_descriptor, unlock_descriptor
from openoutcry.untrusted.bounded_file import lines_of, open_file


def now() -> str:
    """Return the time in UTC as RFC 3339 with microseconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Link(NamedTuple):
    """End of a chain: `seq` and `prev_hash` of the next record."""

    seq: int = 0
    hash: str = GENESIS


class Line(NamedTuple):
    """A line of a log, from `offset` to `end` in bytes.

    `record` is None if the line is not a valid record; `fault` is then `torn` (truncated while it was written) or
    `changed` (altered). `is_ended` is whether the line end is present.
    """

    offset: int
    end: int
    record: dict[str, Any] | None
    fault: str | None
    is_ended: bool = True


class Fault(NamedTuple):
    """An altered place of a log: line number from 0, byte offset, and reason."""

    line: int
    offset: int
    what: str


@dataclass(frozen=True)
class Verified:
    """Result of verifying a log.

    Attributes:
        n_records: Number of valid records.
        head: End of the chain. Store `head.hash` elsewhere as an anchor.
        n_torn: Number of lines truncated while they were written. They contain no record.
        faults: Changed, deleted, inserted or moved lines.
        size: Bytes read.
        n_lines: Lines read.
    """

    n_records: int
    head: Link
    n_torn: int
    faults: tuple[Fault, ...]
    size: int
    n_lines: int

    @property
    def is_intact(self) -> bool:
        """Whether the log was not tampered with. A truncated line is not tampering."""
        return not self.faults


def scan(path: str | os.PathLike[str], start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Yield every line of a log, including truncated and changed ones.

    Nothing if the file does not exist.

    `start` and `end` are byte offsets of line beginnings; `end` is excluded.
    """
    with suppress(FileNotFoundError), open_file(path, "a log") as file:
        file.seek(start)
        for raw in lines_of(file, LONGEST_LINE):
            if end is not None and start >= end:
                break
            yield line_of(raw, start)
            start += len(raw)


def line_of(raw: bytes, start: int) -> Line:
    """Parse bytes at offset `start` as a line, with or without its line end."""
    line, is_ended = (raw[:-1], True) if raw.endswith(b"\n") else (raw, False)
    record = record_of(line)
    fault = None if record is not None else "torn" if is_truncated(line) else "changed"
    return Line(start, start + len(raw), record, fault, is_ended)


def iterate(path: str | os.PathLike[str], start: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each valid record from a byte offset, with the offset of its line.

    Lines without a valid record are skipped; `verify` counts them.
    """
    return ((line.offset, line.record) for line in scan(path, start) if line.record is not None)


def verify(path: str | os.PathLike[str], *, head: str | None = None, after: Link = Link()) -> Verified:  # noqa: B008
    """Verify every line of a log, and its hash chain.

    Args:
        path: The log. A missing file is an empty log.
        head: A hash of an earlier check that the chain must contain. Detects a truncated or rewritten log.
        after: End of the previous log, if this log continues it.
    """
    verified, has_anchor = checked(path, head, after)
    if has_anchor:
        return verified
    missing = Fault(verified.n_lines, verified.size, f"the record {str(head)[:64]} is missing")
    return replace(verified, faults=(*verified.faults, missing))


def checked(path: str | os.PathLike[str], head: str | None, after: Link) -> tuple[Verified, bool]:
    """Verify a log; return the result, and whether the chain contains the anchor."""
    faults: list[Fault] = []
    n_records, n_torn, size, n_lines = 0, 0, 0, 0
    has_anchor = head is None or head == after.hash
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
        has_anchor = has_anchor or after.hash == head
    return Verified(n_records, after, n_torn, tuple(faults), size, n_lines), has_anchor


def broken(record: Mapping[str, Any], after: Link) -> str | None:
    """Return why a record does not continue a chain; None if it does."""
    if record["seq"] != after.seq:
        return f"record {after.seq} is required here; received {record['seq']}"
    if record["prev_hash"] != after.hash:
        return f"the record before must be {record['prev_hash'][:16]}; received {after.hash[:16]}"
    return None


class _Tail(NamedTuple):
    """End of a file: size, chain, and whether the last line is complete."""

    size: int
    link: Link
    is_ended: bool


class ChainedLog:
    """A log to which any number of processes and threads of one machine can append.

    A record is written in one call under a file lock, so that readers see it completely or as truncated. The next
    writer ends a truncated line, and the chain continues past it. Do not use it on network file systems. Without
    `fcntl` (Windows) there is no lock, and only one process may write.

    Args:
        path: The file, created with the first record.
        session: Id of the writer: letters, digits and `._:-`.
        clock: Returns the time as RFC 3339 in UTC.
        after: End of the previous log, if this log continues it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session: str,
        clock: Callable[[], str] = now,
        after: Link = Link(),  # noqa: B008 immutable
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
        """Append a record and return it.

        Args:
            event: Kind of record: lower-case letters, digits and `_`.
            payload: Content of the record.
            sync: Wait until the record is on disk. Without, a power failure can lose it.

        Raises:
            OpenOutcryError: `argument_invalid`: the payload is not JSON with finite numbers, or another program changed
                the log, or a lock of it is held for longer than `file_lock.lock_seconds`. Nothing is written.
        """
        return self.append_all([(event, payload)], sync=sync)[0]

    def append_all(
        self, entries: Iterable[tuple[str, Mapping[str, Any]]], *, sync: bool = True
    ) -> list[dict[str, Any]]:
        """Append all records in one write, or none, and return them.

        Waits for the disk once.
        """
        lines = self._written(entries, sync)
        return [record for line in lines if (record := parsed(line)) is not None]

    def extend(self, entries: Iterable[tuple[str, Mapping[str, Any]]], *, sync: bool = True) -> int:
        """Append records as `append_all` does, and return their number."""
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
            # A truncated line is ended in the same write, so that no empty line can result.
            size = _append(file, (b"" if tail.is_ended else b"\n") + b"".join(lines), tail.size)
            self._tail = _Tail(size, link, True)
        if sync:
            getattr(os, "fdatasync", os.fsync)(file)
        return lines

    def link(self) -> Link:
        """Return the current end of the chain in the file."""
        if not self.path.exists():
            return self._after
        with self._locked() as file:
            return self._caught_up(file).link

    def close(self) -> None:
        """Close the file. The next append reopens it."""
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
            lock_descriptor(file, self.path)
            try:
                yield file
            finally:
                unlock_descriptor(file)

    def _opened(self) -> int:
        if self._file is not None and self._owner != os.getpid():
            # A forked child shares the lock of its parent, which would exclude neither.
            self._close()
        if self._file is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            self._file, self._owner = os.open(self.path, flags, 0o644), os.getpid()
        return self._file

    def _caught_up(self, file: int) -> _Tail:
        """Return the end of the file. Reads only what other writers appended."""
        status = os.fstat(file)
        try:
            is_same = os.path.samestat(self.path.stat(), status)
        except OSError:
            is_same = False
        known = self._tail or _Tail(0, self._after, True)
        if not is_same or status.st_size < known.size:
            wanted = "a log must only grow while it is open"
            raise refusal("argument_invalid", f"{wanted}; received '{self.path}', truncated, removed or replaced")
        if status.st_size > known.size:
            known = _tail_of(file, known, status.st_size)
        self._tail = known
        return known


def _append(file: int, content: bytes, size: int) -> int:
    """Append to a file of `size` bytes and return its new size.

    On an error, the file is truncated to `size`.
    """
    remaining = memoryview(content)
    try:
        while remaining:
            remaining = remaining[os.write(file, remaining) :]
    except BaseException:
        os.ftruncate(file, size)
        raise
    return size + len(content)


_BLOCK = 1 << 16


def _tail_of(file: int, known: _Tail, size: int) -> _Tail:
    """Return the end of a file of `size` bytes, reading backwards to the known end."""
    span = _BLOCK
    while True:
        start = max(known.size, size - span)
        content = _read(file, start, size)
        is_ended = content.endswith(b"\n")
        lines = content.split(b"\n")
        # The first item is a partial line, unless the block starts at the known end.
        for line in reversed(lines if start == known.size else lines[1:]):
            record = record_of(line) if line else None
            if record is not None:
                return _Tail(size, Link(record["seq"] + 1, record["hash"]), is_ended)
        if start == known.size:
            return _Tail(size, known.link, is_ended)
        span *= 8


def _read(file: int, start: int, end: int) -> bytes:
    # Moves the file position: `pread` is not available everywhere, and appends go to the end in any case.
    os.lseek(file, start, os.SEEK_SET)
    parts = []
    while start < end and (part := os.read(file, end - start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
