"""SQLite index of a ledger: a disposable file that is updated before each query."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from openoutcry.errors import refusal
from openoutcry.ledger.index_schema import BULK, INDEXES, RUNS_BY_ID, SHARED, TABLES, VERSION
from openoutcry.ledger.ingest import Ingest
from openoutcry.ledger.log_segments import LogPosition, Segments
from openoutcry.ledger.parallel_reader import pieces
from openoutcry.records.chained_log import Link, scan
from openoutcry.records.file_lock import holder_of

NAME = "index.sqlite"
FILES = (NAME, f"{NAME}-shm", f"{NAME}-wal", f"{NAME}-journal")
_LOCK_SECONDS = 5.0

Result = TypeVar("Result")


class ReadState(NamedTuple):
    """Log position up to which the index is complete, and counts of unusable lines.

    Attributes:
        place: Start of the next line.
        line: Start of the last complete record.
        link: End of the chain.
        n_torn: Number of lines that were truncated during writing.
        n_changed: Number of modified lines and chain breaks.
        n_unread: Number of intact records with invalid content.
        n_newer: Number of records of a later version.
    """

    place: LogPosition = LogPosition()
    line: LogPosition = LogPosition()
    link: Link = Link()
    n_torn: int = 0
    n_changed: int = 0
    n_unread: int = 0
    n_newer: int = 0


class Index:
    """The index, brought up to date with the log before each query.

    An index that is missing, damaged, of another schema version or of another log is rebuilt.
    """

    def __init__(self, segments: Segments) -> None:
        self.path = segments.folder / NAME
        self._segments = segments
        self._base: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._owner = 0
        self._read = ReadState()
        self._thread = segments.thread

    def query(self, function: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run a function on the updated index; a damaged index is rebuilt."""
        with self._thread:
            try:
                return function(self.connection())
            except sqlite3.OperationalError as error:
                # A problem of the disk or a lock, not of the content.
                if not str(error).endswith("is locked"):
                    raise
                holder = holder_of(*(self.path.with_name(name) for name in FILES))
                wanted = f"the index '{self.path}' must be free within {_LOCK_SECONDS:g} s"
                hint = "hint: wait for that process, or end it"
                raise refusal("argument_invalid", f"{wanted}; received a lock of {holder}; {hint}") from error
            except sqlite3.DatabaseError:
                self.rebuild()
                return function(self.connection())

    @property
    def read(self) -> ReadState:
        """ReadState state after the last update."""
        return self._read

    def connection(self) -> sqlite3.Connection:
        """Return a connection to the index, updated with the records of all writers."""
        with self._thread:
            if self._base is not None and self._is_there() and self._is_current():
                return self._base
            with self._segments.locked():
                base = self._open() or self._rebuild()
                self._fill(base, Ingest(base, self._segments.payload))
                return base

    def rebuild(self) -> None:
        """Rebuild the index from the complete log."""
        with self._thread, self._segments.locked():
            self.close()
            self._rebuild()

    def close(self) -> None:
        """Close the file."""
        with self._thread:
            if self._base is not None:
                if self._owner == os.getpid():
                    self._base.close()
                self._base = None

    def _is_there(self) -> bool:
        with suppress(OSError):
            return self._owner == os.getpid() and os.path.samestat(
                self.path.stat(), self._file or os.stat_result([0] * 10)
            )
        return False

    def _is_current(self) -> bool:
        segments, place = self._segments.numbers(), self._read.place
        if not segments:
            return self._read.place == LogPosition()
        with suppress(OSError):
            return (segments[-1], self._segments.path(segments[-1]).stat().st_size) == place
        return False

    def _open(self) -> sqlite3.Connection | None:
        """Open the existing index if it belongs to this log."""
        if self._base is not None and self._is_there():
            return self._base if self._fits() else None
        self.close()
        if not self.path.exists():
            return None
        try:
            base = sqlite3.connect(self.path, _LOCK_SECONDS, isolation_level=None, check_same_thread=False)
            base.executescript(SHARED)
            meta = dict(base.execute("SELECT key, value FROM meta"))
            if meta.get("schema") != str(VERSION):
                base.close()
                return None
            self._read = _read_from(meta)
        except (sqlite3.DatabaseError, KeyError, ValueError):
            return None
        self._base, self._owner, self._file = base, os.getpid(), self.path.stat()
        return base if self._fits() else None

    def _fits(self) -> bool:
        """Return whether the log still has the last read record at its position."""
        read = self._read
        if read.link == Link():
            return True
        path = self._segments.path(read.line.segment)
        for line in scan(path, read.line.offset):
            return line.record is not None and line.record["hash"] == read.link.hash
        return False

    def _rebuild(self) -> sqlite3.Connection:
        self.close()
        temporary = self.path.with_name(f"{NAME}.{os.getpid()}.tmp")
        try:
            self._build(temporary, checks_ids=False)
        except sqlite3.IntegrityError:
            # A duplicate ID, which only a log merged from several ledgers has.
            self._build(temporary, checks_ids=True)
        for tail in ("-wal", "-shm"):
            # They belong to the replaced file.
            self.path.with_name(f"{NAME}{tail}").unlink(missing_ok=True)
        temporary.replace(self.path)
        base = sqlite3.connect(self.path, _LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        base.executescript(SHARED)
        self._base, self._owner, self._file = base, os.getpid(), self.path.stat()
        return base

    def _build(self, temporary: Path, *, checks_ids: bool) -> None:
        """Build the index in a new file.

        Unique IDs are indexed at the end, because single lookups are slow.
        """
        temporary.unlink(missing_ok=True)
        base = sqlite3.connect(temporary, isolation_level=None)
        try:
            base.executescript(BULK + TABLES + (RUNS_BY_ID if checks_ids else ""))
            self._read = ReadState()
            ingest = Ingest(base, self._segments.payload, checks_ids=checks_ids)
            self._fill(base, ingest, is_ranking=False)
            base.executescript(INDEXES if checks_ids else RUNS_BY_ID + INDEXES)
            # After the indexes, because the runs are read by strategy.
            base.execute("BEGIN")
            ingest.totals.update()
            base.execute("COMMIT")
        finally:
            base.close()

    def _fill(self, base: sqlite3.Connection, ingest: Ingest, *, is_ranking: bool = True) -> None:
        """Add new log records in one transaction, and rank their strategies."""
        read = self._read
        base.execute("BEGIN IMMEDIATE")
        try:
            place, last, link = read.place, read.line, read.link
            counts = [getattr(read, name) for name in _COUNTS]
            for piece in pieces(self._segments, place):
                place = piece.place
                counts = [one + two for one, two in zip(counts, piece.counts, strict=True)]
                if piece.first is not None:
                    counts[_COUNTS.index("n_changed")] += piece.first != link
                    last, link = piece.line, piece.link
                for item in piece.items:
                    ingest.add(item)
            ingest.flush()
            if is_ranking:
                ingest.totals.update()
            counts[_COUNTS.index("n_unread")] += ingest.n_unread
            done = ReadState(place, last, link, *counts)
            base.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", _meta_of(done).items())
            base.execute("COMMIT")
        except BaseException:
            base.execute("ROLLBACK")
            raise
        self._read = done


_COUNTS = ("n_torn", "n_changed", "n_unread", "n_newer")


def _meta_of(read: ReadState) -> dict[str, str]:
    values = {"schema": VERSION, "segment": read.place.segment, "offset": read.place.offset, "seq": read.link.seq}
    values |= {"line_segment": read.line.segment, "line_offset": read.line.offset}
    values |= {name: getattr(read, name) for name in _COUNTS}
    return {name: str(value) for name, value in values.items()} | {"hash": read.link.hash}


def _read_from(meta: dict[str, str]) -> ReadState:
    places = (
        LogPosition(int(meta["segment"]), int(meta["offset"])),
        LogPosition(int(meta["line_segment"]), int(meta["line_offset"])),
    )
    return ReadState(*places, Link(int(meta["seq"]), meta["hash"]), *(int(meta[name]) for name in _COUNTS))


def last_indexed_hash(folder: Path) -> str | None:
    """Return the last hash that the index has read, or None without an index.

    A log that was truncated since then lacks it.
    """
    path = folder / NAME
    if not path.exists():
        return None
    try:
        base = sqlite3.connect(path)
        try:
            found = dict(base.execute("SELECT key, value FROM meta WHERE key IN ('hash', 'seq')"))
        finally:
            base.close()
    except sqlite3.DatabaseError:
        return None
    return found.get("hash") if found.get("seq", "0") != "0" else None
