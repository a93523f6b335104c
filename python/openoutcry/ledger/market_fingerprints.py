"""Hashes of a market's paths, which a market in disguise has, too.

A path is nine prices of one symbol, one every few bars: its eight returns without their signs. Nothing in it depends on
dates, on the unit of prices, on which bars are left out beside it, or on which way a quote is told. One path in 64 is
kept, chosen by what it is, so that whoever holds it has kept it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

KINDS_FROM = 48
"""Bit of a hash from which on its kind is told; anchors are of kind 0."""
DATED, UNDATED = 1, 2
"""Kinds of marks: with the date of the path's last price, and without any."""

# Distances of a path's prices in bars: of all, of every second, and so on to weeks of five and of seven days.
_STEPS = (1, 2, 3, 4, 5, 6, 7)
_RETURNS, _ONE_IN = 8, 64
# A path's returns are told to between 1 / 64 and 1 / 128 of their mean, which digits that were cut seldom change.
_CELLS = 10

Words = npt.NDArray[np.uint64]


def marks_of(dates: Sequence[str], close: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Return the marks of a market, in order.

    Args:
        dates: One a bar.
        close: Shape `(n_bars, n_symbols)`, float64, any unit; what is not above 0 is no price.
    """
    days = np.array([int.from_bytes(sha256(day(date)).digest()[:8], "big") for date in dates], dtype=np.uint64)
    found = [np.empty(0, dtype=np.uint64)]
    for column in close.T:
        bars = np.flatnonzero(np.isfinite(column) & (column > 0.0))
        prices = np.log(column[bars])
        for step in _STEPS:
            paths, last = _paths(prices, step)
            found += [_kind(paths, UNDATED), _kind(_mixed(paths ^ days[bars[last]]), DATED)]
    return tuple(np.unique(np.concatenate(found)).tolist())


def day(date: str) -> bytes:
    """Return the date of a bar as it is hashed: one bar a day has no time of day."""
    return date.removesuffix("Z").removesuffix("T00:00:00").encode()


def _paths(prices: npt.NDArray[np.float64], step: int) -> tuple[Words, npt.NDArray[np.int64]]:
    """Return hashes of the paths that are kept, and where their last prices are."""
    moves = np.abs(prices[step:] - prices[:-step])
    n_paths = max(0, len(moves) - (_RETURNS - 1) * step)
    path = np.stack([moves[at * step :][:n_paths] for at in range(_RETURNS)])
    level = np.frexp(path.sum(axis=0))[1]
    cells = np.rint(path * np.ldexp(1.0, _CELLS - level)).astype(np.uint64)
    words = level.astype(np.uint64)
    for row in cells:
        words = _mixed(words ^ row)
    # Of prices that did not move nothing can be told.
    kept = np.flatnonzero((words % np.uint64(_ONE_IN) == 0) & (cells > 0).all(axis=0))
    return words[kept], kept + _RETURNS * step


def _mixed(words: Words) -> Words:
    """Return words whose every bit depends on all bits of those given (SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed


def _kind(words: Words, kind: int) -> Words:
    told: Words = (words >> np.uint64(64 - KINDS_FROM)) | np.uint64(kind << KINDS_FROM)
    return told
