"""Hashes of price paths ("marks") that identify a transformed market.

Transformations are masking, resampling and the inversion of quotes.

A path is nine prices of a symbol at a fixed distance in bars, as the absolute values of its eight returns. It does not
depend on dates, the unit of prices, omitted bars between its prices, or the direction of a quote. One path in 64 is
selected by its own hash, so every market that contains it selects it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

KINDS_FROM = 48
"""First bit of the kind in a hash; anchors have kind 0."""
DATED, UNDATED = 1, 2
"""Kinds of marks: with the date of the last price, and without a date."""

# Distances between the prices of a path in bars: 1, 2, and so on to weeks of five and seven days.
_STEPS = (1, 2, 3, 4, 5, 6, 7)
_RETURNS, _ONE_IN = 8, 64
# Returns are rounded to between 1/64 and 1/128 of their mean, so rounding of prices rarely changes a hash.
_CELLS = 10

Words = npt.NDArray[np.uint64]


def marks_of(dates: Sequence[str], close: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Return the sorted marks of a market.

    Args:
        dates: Date of each bar.
        close: Shape `(n_bars, n_symbols)`, float64, any unit; values that are not positive are missing.
    """
    days = days_of(dates)
    found = [np.empty(0, dtype=np.uint64)]
    for column in close.T:
        bars = np.flatnonzero(np.isfinite(column) & (column > 0.0))
        prices = np.log(column[bars])
        for step in _STEPS:
            paths, last = _paths(prices, step)
            found += [_kind(paths, UNDATED), _kind(mix(paths ^ days[bars[last]]), DATED)]
    return tuple(np.unique(np.concatenate(found)).tolist())


def day(date: str) -> bytes:
    """Return the date of a bar in its hashed form, without a midnight time."""
    return date.removesuffix("Z").removesuffix("T00:00:00").encode()


def days_of(dates: Sequence[str]) -> Words:
    """Return a hash of each date."""
    return np.array([int.from_bytes(sha256(day(date)).digest()[:8], "big") for date in dates], dtype=np.uint64)


def _paths(prices: npt.NDArray[np.float64], step: int) -> tuple[Words, npt.NDArray[np.int64]]:
    """Return hashes of the selected paths, and the index of their last prices."""
    moves = np.abs(prices[step:] - prices[:-step])
    n_paths = max(0, len(moves) - (_RETURNS - 1) * step)
    path = np.stack([moves[at * step :][:n_paths] for at in range(_RETURNS)])
    level = np.frexp(path.sum(axis=0))[1]
    cells = np.rint(path * np.ldexp(1.0, _CELLS - level)).astype(np.uint64)
    words = level.astype(np.uint64)
    for row in cells:
        words = mix(words ^ row)
    # Constant prices do not identify a market.
    kept = np.flatnonzero((words % np.uint64(_ONE_IN) == 0) & (cells > 0).all(axis=0))
    return words[kept], kept + _RETURNS * step


def mix(words: Words) -> Words:
    """Mix the bits of 64-bit words (SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed


def _kind(words: Words, kind: int) -> Words:
    tagged: Words = (words >> np.uint64(64 - KINDS_FROM)) | np.uint64(kind << KINDS_FROM)
    return tagged
