"""The log in pieces, so that a long one is read beside what is made of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from openoutcry.ledger.index_rows import AT, READER, UNREADABLE, RunRow, row_of
from openoutcry.ledger.log_segments import Place, Segments
from openoutcry.records.chained_log import Line, Link, line_of

PIECE = 4 * 2**20
"""Bytes of a piece, about."""
_AHEAD = 8


class Span(NamedTuple):
    """Whole lines of a segment; the end of the last one may be under way."""

    path: str
    segment: int
    start: int
    end: int
    is_last: bool


class Piece(NamedTuple):
    """What a span of lines says.

    Attributes:
        place: Where the next line begins.
        first: Number and hash before the first whole record; None where there is none.
        line: Where the last whole record begins.
        link: The end of the chain.
        items: Runs as rows, and other records with their places, in order.
        counts: Lines that were torn, changed, not read, and of a later version.
    """

    place: Place
    first: Link | None
    line: Place
    link: Link
    items: list[RunRow | tuple[dict[str, Any], Place]]
    counts: tuple[int, int, int, int]


def piece_of(span: Span) -> Piece:
    """Read a span."""
    with Path(span.path).open("rb") as file:
        file.seek(span.start)
        content = file.read(span.end - span.start)
    reading, at = Reading(span), 0
    while at < len(content):
        rows, at, first, last, n_broken = READER.read(content, at, segment=span.segment, offset=span.start)
        if first is not None and last is not None:
            reading.n_changed += n_broken
            reading.chain(Link(*first), Link(*last), rows[-1][3][AT["offset"]])
            reading.items += map(RunRow._make, rows)
            reading.end = span.start + at
        if at < len(content):
            end = content.find(b"\n", at) + 1 or len(content)
            line = line_of(content[at:end], span.start + at)
            if not line.is_ended and span.is_last:
                # It may be under way; the next writer ends it.
                break
            reading.take(line)
            at = end
    return reading.piece()


class Reading:
    """What was read of a span, and the chain through it."""

    def __init__(self, span: Span) -> None:
        self._segment = span.segment
        self.end = span.start
        self.items: list[RunRow | tuple[dict[str, Any], Place]] = []
        self.n_changed = self._n_torn = self._n_unread = self._n_newer = 0
        self._first: Link | None = None
        self._last, self._line = Link(), Place()

    def chain(self, before: Link, after: Link, start: int) -> None:
        """Go on with records: what they are after, what follows, where the last begins."""
        if self._first is None:
            self._first = before
        else:
            self.n_changed += before != self._last
        self._last, self._line = after, Place(self._segment, start)

    def take(self, line: Line) -> None:
        """Take a line of any kind."""
        self.end, record, place = line.end, line.record, Place(self._segment, line.offset)
        if record is None:
            self._n_torn += line.fault == "torn"
            self.n_changed += line.fault != "torn"
            return
        before = Link(record["seq"], record["prev_hash"])
        self.chain(before, Link(record["seq"] + 1, record["hash"]), line.offset)
        if record["v"] != 1:
            # There is no version before the first, and a later one is for a later reader.
            self._n_newer += record["v"] > 1
            self._n_unread += record["v"] < 1
        elif record["event"] == "run":
            try:
                self.items.append(row_of(record, place))
            except UNREADABLE:
                self._n_unread += 1
        else:
            self.items.append((record, place))

    def piece(self) -> Piece:
        """Return all of it."""
        counts = self._n_torn, self.n_changed, self._n_unread, self._n_newer
        return Piece(Place(self._segment, self.end), self._first, self._line, self._last, self.items, counts)


def spans(segments: Segments, start: Place, piece: int = PIECE) -> Iterator[Span]:
    """Yield the spans of a log from a place on."""
    numbers = [number for number in segments.numbers() if number >= start.segment]
    for number in numbers:
        path, at = segments.path(number), start.offset if number == start.segment else 0
        size = path.stat().st_size
        with path.open("rb") as file:
            while at < size:
                end = size
                if at + piece < size:
                    file.seek(at + piece)
                    file.readline()
                    end = min(file.tell(), size)
                yield Span(str(path), number, at, end, number == numbers[-1])
                at = end


def pieces(segments: Segments, start: Place, piece: int = PIECE) -> Iterator[Piece]:
    """Yield what the log says from a place on, piece by piece.

    Some are read ahead, beside what is made of those before: most of the time it takes needs no lock of Python.
    """
    found = spans(segments, start, piece)
    ahead = list(islice(found, _AHEAD))
    if len(ahead) < 2:
        yield from map(piece_of, ahead)
        return
    with ThreadPoolExecutor(1) as reader:
        waiting = deque(reader.submit(piece_of, span) for span in ahead)
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(reader.submit(piece_of, span) for span in islice(found, 1))
            yield done
