"""Weights of overlapping windows of one market, so that each moment counts once.

The longest window that covers a moment counts for it. A window within another one therefore has no weight: the best
weeks of a run cannot be counted a second time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from openoutcry.ledger.summary_numbers import timestamp_of

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)


class CountedWindow(NamedTuple):
    """Window of a trial.

    Attributes:
        start: Microseconds from 1970 to the first date.
        end: The same of the last date; later than `start`.
    """

    start: int = 0
    end: int = 1


def window_of(first: str, last: str) -> CountedWindow:
    """Return the window between two dates.

    Labels that are no dates have one window in common.
    """
    start, end = _microseconds(first), _microseconds(last)
    if start is None or end is None:
        return CountedWindow()
    return CountedWindow(start, max(end, start + 1))


def weights_of(windows: Collection[CountedWindow]) -> dict[CountedWindow, int]:
    """Return the microseconds of each window that no longer window covers.

    Of equally long windows, the earlier one counts.
    """
    if len(windows) == 1:
        return {window: window.end - window.start for window in windows}
    ordered = sorted(windows, key=lambda window: (window.start - window.end, window.start))
    return dict(zip(ordered, _uncovered(ordered), strict=True))


def _uncovered(ordered: Sequence[CountedWindow]) -> list[int]:
    """Return the time of each window that none before it covers."""
    by_start = sorted(range(len(ordered)), key=lambda rank: ordered[rank].start)
    found, open_ranks, at = [0] * len(ordered), list[int](), 0
    for begin, end in pairwise(sorted({date for window in ordered for date in window})):
        while at < len(by_start) and ordered[by_start[at]].start <= begin:
            heappush(open_ranks, by_start[at])
            at += 1
        while open_ranks and ordered[open_ranks[0]].end <= begin:
            heappop(open_ranks)
        if open_ranks:
            found[open_ranks[0]] += end - begin
    return found


@lru_cache(65_536)
def _microseconds(date: str) -> int | None:
    try:
        return (timestamp_of(date) - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        return None
