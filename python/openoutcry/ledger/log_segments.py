"""Log of a ledger: numbered segment files in a folder with a single hash chain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from openoutcry.records.chained_log import ChainedLog, Fault, Link, Verified, checked, iterate, now
from openoutcry.records.file_lock import lock_file

ROTATE_AT = 256 * 2**20
"""Size in bytes from which a new segment is started."""
LOCK = "lock"
_NAME = re.compile(r"\d{5}\.jsonl")


class LogPosition(NamedTuple):
    """Start of a line: segment number and byte offset."""

    segment: int = 0
    offset: int = 0


class Segments:
    """The segments `00000.jsonl`, `00001.jsonl`, ... of a folder.

    Args:
        folder: The folder, created at the first write.
        session: Name of the writing session.
        clock: Returns the time as RFC 3339 in UTC.
        rotate_at: Size in bytes from which a new segment is started.
    """

    def __init__(
        self, folder: Path, session: str, clock: Callable[[], str] = now, *, rotate_at: int = ROTATE_AT
    ) -> None:
        self.folder = folder
        self.session = session
        self._clock = clock
        self._rotate_at = rotate_at
        self._log: ChainedLog | None = None
        self._number = -1
        self.thread = RLock()
        """Lock of a reading or writing thread, shared with the index to prevent a deadlock."""
        self._depth = 0

    def path(self, number: int) -> Path:
        """Return the path of a segment."""
        return self.folder / f"{number:05}.jsonl"

    def payload(self, segment: int, offset: int) -> Mapping[str, Any]:
        """Return the payload of the record at a position; empty if the line has changed."""
        at, record = next(iterate(self.path(segment), offset), (-1, {}))
        return record["payload"] if at == offset else {}

    def numbers(self) -> list[int]:
        """Return the numbers of the existing segments."""
        try:
            names = [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(int(name[:5]) for name in names if _NAME.fullmatch(name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the write lock; reentrant.

        Raises:
            OpenOutcryError: `argument_invalid`: another process holds it for longer than `file_lock.lock_seconds`.
        """
        with self.thread:
            if self._depth:
                yield
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            with lock_file(self.folder / LOCK):
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1

    def append_all(self, entries: Iterable[tuple[str, Mapping[str, Any]]], *, sync: bool = True) -> None:
        """Append records in a single write, to the last segment or a new one."""
        with self.locked():
            self._last().extend(entries, sync=sync)

    def _last(self) -> ChainedLog:
        numbers = self.numbers()
        number = numbers[-1] if numbers else 0
        if numbers and self.path(number).stat().st_size >= self._rotate_at:
            number += 1
        if self._log is None or self._number != number:
            after = self._end_of([each for each in numbers if each < number])
            if self._log is not None:
                self._log.close()
            self._log = ChainedLog(self.path(number), session=self.session, clock=self._clock, after=after)
            self._number = number
        return self._log

    def _end_of(self, numbers: list[int]) -> Link:
        """Return the end of the chain after segments, based on complete records."""
        if not numbers:
            return Link()
        path, unread = self.path(numbers[-1]), Link(-1, "")
        with ChainedLog(path, session=self.session, after=unread) as log:
            found = log.link()
        return self._end_of(numbers[:-1]) if found == unread else found

    def verify(self, head: str | None = None) -> VerificationReport:
        """Verify every line of every segment and the hash chain."""
        link, is_held = Link(), head is None
        found: dict[str, Verified] = {}
        numbers = self.numbers()
        for number in numbers:
            each, holds = checked(self.path(number), head, link)
            found[self.path(number).name] = each
            is_held, link = is_held or holds, each.head
        faults = [(name, fault) for name, each in found.items() for fault in each.faults]
        missing = sorted(set(range(numbers[-1] + 1 if numbers else 0)) - set(numbers))
        faults += [(self.path(number).name, Fault(0, 0, "the segment is missing")) for number in missing]
        if not is_held:
            faults.append(
                ("", Fault(0, 0, f"the record {str(head)[:64]} is missing: the log was truncated or rewritten"))
            )
        return VerificationReport(link, tuple(faults), found)

    def close(self) -> None:
        """Close the open segment."""
        if self._log is not None:
            self._log.close()
            self._log, self._number = None, -1


class VerificationReport(NamedTuple):
    """Result of a verification: end of the chain, faults by file, and results by file."""

    head: Link
    faults: tuple[tuple[str, Fault], ...]
    segments: dict[str, Verified]

    @property
    def is_intact(self) -> bool:
        """Whether no line was modified; a truncated line is not a modification."""
        return not self.faults

    @property
    def n_records(self) -> int:
        """Number of complete records."""
        return sum(each.n_records for each in self.segments.values())

    @property
    def n_torn(self) -> int:
        """Number of lines that were truncated during writing."""
        return sum(each.n_torn for each in self.segments.values())
