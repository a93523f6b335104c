"""The index of a ledger: a SQLite file beside the log, disposable."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from openoutcry.ledger.index_schema import BULK, INDEXES, RUNS_BY_ID, SHARED, TABLES, VERSION
from openoutcry.ledger.ingest import Filling
from openoutcry.ledger.log_segments import Place, Segments
from openoutcry.ledger.parallel_reader import pieces
from openoutcry.records.chained_log import Link, scan

NAME = "index.sqlite"

Answer = TypeVar("Answer")


class Read(NamedTuple):
    """How far the log was read, and what of it could not be.

    Attributes:
        place: Where the next line begins.
        line: Where the last whole record begins.
        link: The end of the chain.
        n_torn: Lines that were cut while they were written.
        n_changed: Lines that nobody wrote so, and breaks of the chain.
        n_unread: Records that are whole, and not what a ledger's must be.
        n_newer: Records of a later version.
    """

    place: Place = Place()
    line: Place = Place()
    link: Link = Link()
    n_torn: int = 0
    n_changed: int = 0
    n_unread: int = 0
    n_newer: int = 0


class Index:
    """The tables, caught up with the log whenever they are asked.

    One that was removed, is of other tables, cannot be read or is not of this log is made anew.
    """

    def __init__(self, segments: Segments) -> None:
        self.path = segments.folder / NAME
        self._segments = segments
        self._base: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._owner = 0
        self._read = Read()
        self._thread = segments.thread

    def ask(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Return what a question finds in the tables, caught up.

        Damaged ones are made anew.
        """
        with self._thread:
            try:
                return question(self.caught_up())
            except sqlite3.OperationalError:
                # Of the disk or of who else uses the file, not of what is in it.
                raise
            except sqlite3.DatabaseError:
                self.rebuild()
                return question(self.caught_up())

    @property
    def read(self) -> Read:
        """How far the log was read when the tables were last asked."""
        return self._read

    def caught_up(self) -> sqlite3.Connection:
        """Return the tables after what others have written meanwhile."""
        with self._thread:
            if self._base is not None and self._is_there() and self._is_current():
                return self._base
            with self._segments.locked():
                base = self._opened() or self._rebuilt()
                self._fill(base, Filling(base))
                return base

    def rebuild(self) -> None:
        """Make the tables anew from the whole log."""
        with self._thread, self._segments.locked():
            self.close()
            self._rebuilt()

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
            return self._read.place == Place()
        with suppress(OSError):
            return (segments[-1], self._segments.path(segments[-1]).stat().st_size) == place
        return False

    def _opened(self) -> sqlite3.Connection | None:
        """Return the tables that are there, if they are of this log."""
        if self._base is not None and self._is_there():
            return self._base if self._fits() else None
        self.close()
        if not self.path.exists():
            return None
        try:
            base = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
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
        """Return whether the last record that was read is still where it was."""
        read = self._read
        if read.link == Link():
            return True
        path = self._segments.path(read.line.segment)
        for line in scan(path, read.line.offset):
            return line.record is not None and line.record["hash"] == read.link.hash
        return False

    def _rebuilt(self) -> sqlite3.Connection:
        self.close()
        made = self.path.with_name(f"{NAME}.{os.getpid()}.tmp")
        try:
            self._make(made, is_by_id=False)
        except sqlite3.IntegrityError:
            # An id is there twice, which only a log of several that were put together has.
            self._make(made, is_by_id=True)
        for tail in ("-wal", "-shm"):
            # They belong to the file that goes.
            self.path.with_name(f"{NAME}{tail}").unlink(missing_ok=True)
        made.replace(self.path)
        base = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
        base.executescript(SHARED)
        self._base, self._owner, self._file = base, os.getpid(), self.path.stat()
        return base

    def _make(self, made: Path, *, is_by_id: bool) -> None:
        """Make the tables in a new file.

        Ids are fast to sort, and slow to look up one by one.
        """
        made.unlink(missing_ok=True)
        base = sqlite3.connect(made, isolation_level=None)
        try:
            base.executescript(BULK + TABLES + (RUNS_BY_ID if is_by_id else ""))
            self._read = Read()
            self._fill(base, Filling(base, is_by_id=is_by_id))
            base.executescript(INDEXES if is_by_id else RUNS_BY_ID + INDEXES)
        finally:
            base.close()

    def _fill(self, base: sqlite3.Connection, filling: Filling) -> None:
        """Read what the log has beyond what was read, in one transaction."""
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
                    filling.take(item)
            filling.finish()
            counts[_COUNTS.index("n_unread")] += filling.n_unread
            done = Read(place, last, link, *counts)
            base.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", _meta_of(done).items())
            base.execute("COMMIT")
        except BaseException:
            base.execute("ROLLBACK")
            raise
        self._read = done


_COUNTS = ("n_torn", "n_changed", "n_unread", "n_newer")


def _meta_of(read: Read) -> dict[str, str]:
    told = {"schema": VERSION, "segment": read.place.segment, "offset": read.place.offset, "seq": read.link.seq}
    told |= {"line_segment": read.line.segment, "line_offset": read.line.offset}
    told |= {name: getattr(read, name) for name in _COUNTS}
    return {name: str(value) for name, value in told.items()} | {"hash": read.link.hash}


def _read_from(meta: dict[str, str]) -> Read:
    places = (
        Place(int(meta["segment"]), int(meta["offset"])),
        Place(int(meta["line_segment"]), int(meta["line_offset"])),
    )
    return Read(*places, Link(int(meta["seq"]), meta["hash"]), *(int(meta[name]) for name in _COUNTS))


def remembered(folder: Path) -> str | None:
    """Return the last hash that an index has read, or None where there is none.

    It is an anchor: a log that lost its end since then lacks it.
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
