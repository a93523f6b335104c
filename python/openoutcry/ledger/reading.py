"""The log in pieces, so that a long one is read beside what is made of it."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

from openoutcry.chain import Link, broken, scan
from openoutcry.ledger.rows import UNREADABLE, RunRow, row_of
from openoutcry.ledger.segments import Place, Segments

PIECE = 4 * 2**20
"""Bytes of a piece, about."""
LONG = 32 * 2**20
"""Bytes from which on pieces are read in processes of their own."""
_MOST_WORKERS, _AHEAD = 4, 2


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
    first: tuple[int, str] | None
    line: Place
    link: Link
    items: list[RunRow | tuple[dict[str, Any], Place]]
    counts: tuple[int, int, int, int]


def piece_of(span: Span) -> Piece:
    """Read a span."""
    place, line_at, link = Place(span.segment, span.start), Place(), Link()
    first: tuple[int, str] | None = None
    items: list[RunRow | tuple[dict[str, Any], Place]] = []
    n_torn = n_changed = n_unread = n_newer = 0
    for line in scan(span.path, span.start, span.end):
        if not line.is_ended and span.is_last:
            # It may be under way; the next writer ends it.
            break
        place = Place(span.segment, line.end)
        record = line.record
        if record is None:
            n_torn += line.fault == "torn"
            n_changed += line.fault != "torn"
            continue
        if first is None:
            first = record["seq"], record["prev_hash"]
        else:
            n_changed += broken(record, link) is not None
        line_at, link = Place(span.segment, line.offset), Link(record["seq"] + 1, record["hash"])
        if record["v"] != 1:
            # There is no version before the first, and a later one is for a later reader.
            n_newer += record["v"] > 1
            n_unread += record["v"] < 1
        elif record["event"] == "run":
            try:
                items.append(row_of(record, line_at))
            except UNREADABLE:
                n_unread += 1
        else:
            items.append((record, line_at))
    return Piece(place, first, line_at, link, items, (n_torn, n_changed, n_unread, n_newer))


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


def pieces(segments: Segments, start: Place, *, long: int = LONG, piece: int = PIECE) -> Iterator[Piece]:
    """Yield what the log says from a place on, piece by piece.

    A long one is read in processes of their own, which changes nothing but the time it takes.
    """
    found = spans(segments, start, piece)
    ahead = list(islice(found, 1 + long // piece))
    n_workers = min(_MOST_WORKERS, (os.cpu_count() or 1) - 1)
    if sum(span.end - span.start for span in ahead) < long or n_workers < 1 or not sys.executable:
        yield from map(piece_of, chain(ahead, found))
    else:
        yield from _apart(chain(ahead, found), n_workers)


def _apart(asked: Iterator[Span], n_workers: int) -> Iterator[Piece]:
    # A `spawn` of multiprocessing would import the caller's script again.
    code = f"import sys; sys.path[:] = {sys.path!r}; from openoutcry.ledger.reading import work; work()"
    with ExitStack() as ends:
        workers = []
        for _ in range(n_workers):
            worker = ends.enter_context(Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE))
            ends.callback(worker.kill)
            workers.append(worker)
        waiting: deque[tuple[Popen[bytes], Span]] = deque()
        for turn, span in enumerate(asked):
            worker = workers[turn % n_workers]
            if len(waiting) == n_workers * _AHEAD:
                yield _answer(*waiting.popleft())
            _ask(worker, span)
            waiting.append((worker, span))
        while waiting:
            yield _answer(*waiting.popleft())


def _ask(worker: Popen[bytes], span: Span) -> None:
    assert worker.stdin is not None, "it was opened as a pipe"
    try:
        worker.stdin.write(json.dumps(span).encode() + b"\n")
        worker.stdin.flush()
    except OSError:
        # It is gone; its answer is missed where it is waited for.
        return


def _answer(worker: Popen[bytes], span: Span) -> Piece:
    assert worker.stdout is not None, "it was opened as a pipe"
    try:
        found: Piece = pickle.load(worker.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        return piece_of(span)
    return found


def work() -> None:
    """Read the spans that are asked for on stdin, and answer on stdout."""
    for line in sys.stdin.buffer:
        path, *numbers = json.loads(line)
        pickle.dump(piece_of(Span(str(Path(path)), *numbers)), sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
