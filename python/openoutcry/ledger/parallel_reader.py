"""Reader of the log in pieces, which parses ahead of index writes in a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

from openoutcry.ledger.index_rows import AT, READER, UNREADABLE, RunRow, row_of
from openoutcry.ledger.log_segments import LogPosition, Segments
from openoutcry.records.chained_lines import LONGEST_LINE
from openoutcry.records.chained_log import Line, Link, line_of
from openoutcry.untrusted.bounded_file import open_file

PIECE = 4 * 2**20
"""Approximate size of a piece in bytes."""
_AHEAD = 8


class Span(NamedTuple):
    """Byte range of lines in a segment; the last line may be incomplete."""

    path: str
    segment: int
    start: int
    end: int
    is_last: bool


class Piece(NamedTuple):
    """Parsed content of a span.

    Attributes:
        place: Start of the next line.
        first: Number and hash before the first complete record; None without one.
        line: Start of the last complete record.
        link: End of the chain.
        items: Runs as rows, and other records with their positions, in order.
        counts: Number of truncated, modified, unreadable and newer lines.
    """

    place: LogPosition
    first: Link | None
    line: LogPosition
    link: Link
    items: list[RunRow | tuple[dict[str, Any], LogPosition]]
    counts: tuple[int, int, int, int]


def piece_of(span: Span) -> Piece:
    """Read a span."""
    with open_file(span.path, "a log") as file:
        file.seek(span.start)
        content = file.read(span.end - span.start)
    reader, at = SpanReader(span), 0
    while at < len(content):
        rows, at, first, last, n_broken = READER.read(content, at, segment=span.segment, offset=span.start)
        if first is not None and last is not None:
            reader.n_changed += n_broken
            reader.chain(Link(*first), Link(*last), rows[-1][3][AT["offset"]])
            reader.items += map(RunRow._make, rows)
            reader.end = span.start + at
        if at < len(content):
            end = content.find(b"\n", at) + 1 or len(content)
            line = line_of(content[at:end], span.start + at)
            if not line.is_ended and span.is_last:
                # It may be incomplete; the next writer terminates it.
                break
            reader.add(line)
            at = end
    return reader.piece()


class SpanReader:
    """State of reading a span, with its hash chain."""

    def __init__(self, span: Span) -> None:
        self._segment = span.segment
        self.end = span.start
        self.items: list[RunRow | tuple[dict[str, Any], LogPosition]] = []
        self.n_changed = self._n_torn = self._n_unread = self._n_newer = 0
        self._first: Link | None = None
        self._last, self._line = Link(), LogPosition()

    def chain(self, before: Link, after: Link, start: int) -> None:
        """Extend the chain by records: link before, link after, and start of the last one."""
        if self._first is None:
            self._first = before
        else:
            self.n_changed += before != self._last
        self._last, self._line = after, LogPosition(self._segment, start)

    def add(self, line: Line) -> None:
        """Add a line of any kind."""
        self.end, record, place = line.end, line.record, LogPosition(self._segment, line.offset)
        if record is None:
            self._n_torn += line.fault == "torn"
            self.n_changed += line.fault != "torn"
            return
        before = Link(record["seq"], record["prev_hash"])
        self.chain(before, Link(record["seq"] + 1, record["hash"]), line.offset)
        if record["v"] != 1:
            # A later version needs a later reader; a version below 1 is invalid.
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
        """Return the parsed content."""
        counts = self._n_torn, self.n_changed, self._n_unread, self._n_newer
        return Piece(LogPosition(self._segment, self.end), self._first, self._line, self._last, self.items, counts)


def spans(segments: Segments, start: LogPosition, piece: int = PIECE) -> Iterator[Span]:
    """Yield the spans of a log from a position on."""
    numbers = [number for number in segments.numbers() if number >= start.segment]
    for number in numbers:
        path, at = segments.path(number), start.offset if number == start.segment else 0
        size = path.stat().st_size
        with open_file(path, "a log") as file:
            while at < size:
                end = size
                if at + piece < size:
                    file.seek(at + piece)
                    file.readline(LONGEST_LINE)
                    end = min(file.tell(), size)
                yield Span(str(path), number, at, end, number == numbers[-1])
                at = end


def pieces(segments: Segments, start: LogPosition, piece: int = PIECE) -> Iterator[Piece]:
    """Yield the parsed log from a position on, piece by piece.

    A thread reads ahead; most of its time is spent without the GIL.
    """
    found = spans(segments, start, piece)
    ahead = list(islice(found, _AHEAD))
    if len(ahead) < 2:
        yield from map(piece_of, ahead)
        return
    with ThreadPoolExecutor(1) as executor:
        waiting = deque(executor.submit(piece_of, span) for span in ahead)
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(executor.submit(piece_of, span) for span in islice(found, 1))
            yield done
