"""Shapes of derived series: sizes of returns, and moving averages of prices.

The order of the sizes of returns does not depend on their signs or the direction of time. A copy of a market with other
signs, or in reverse, therefore shares these shapes. The shapes of a moving average are those of a smoothed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.ledger.market_fingerprints import Words, mix
from openoutcry.ledger.market_shapes import LEAST, RETURNS, Line, Prices, path_words, selected_shapes

SIMPLE = (2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200)
"""Lengths of the simple moving averages in bars."""
EXPONENTIAL = (5, 10, 20, 50, 200)
"""Spans of the exponential moving averages in bars; those between them are alike."""
# A copy shares a line if it shares one symbol, so the averages of some symbols identify a large market.
MOST_AVERAGED = 12
"""Number of symbols of a market, from the first one on, with lines of moving averages."""
# At least about this many shapes of a series, one in `2 ** bits` of its paths. A denser selection contains a sparser
# one.
_SIZES, _AVERAGES, _FEWEST_BITS, _MOST_BITS = 40, 14, 3, 8


def derived_lines(close: Prices, days: Words) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the lines of sizes of returns, and those of moving averages.

    Lines without shapes are omitted.

    Args:
        close: Shape `(n_bars, n_symbols)`, float64, any unit; values that are not positive are missing.
        days: Short hash of the date of each bar. Shape `(n_bars,)`, uint64.
    """
    sizes, averages = list[Words](), list[Words]()
    for place, column in enumerate(close.T):
        bars = np.flatnonzero(np.isfinite(column) & (column > 0.0))
        if len(bars) > RETURNS:
            sizes.append(_sizes(column[bars], days[bars]))
            averages += _averages(column[bars], days[bars]) if place < MOST_AVERAGED else ()
    return _lines(sizes), _lines(averages)


def _lines(found: Sequence[Words]) -> tuple[Line, ...]:
    lines: list[Line] = [tuple(np.unique(shapes).tolist()) for shapes in found]
    return tuple(line for line in lines if len(line) >= LEAST)


def _sizes(prices: Prices, days: Words) -> Words:
    sizes = np.abs(np.diff(np.log(prices)))
    words, usable = path_words(sizes)
    reverse, _ = path_words(sizes[::-1])
    # Both directions have one hash.
    return _selected(mix(words + reverse[::-1]), usable, days, _SIZES)


def _averages(prices: Prices, days: Words) -> Iterator[Words]:
    averages = [_simple(prices, n) for n in SIMPLE if n < len(prices)]
    averages += [_exponential(prices, span) for span in EXPONENTIAL]
    for average in averages:
        yield _selected(*path_words(np.diff(np.log(average))), days[len(days) - len(average) :], _AVERAGES)


def _selected(words: Words, usable: npt.NDArray[np.int64], days: Words, least: int) -> Words:
    bits = int(np.clip(np.log2(max(1, len(words)) / least), _FEWEST_BITS, _MOST_BITS))
    return selected_shapes(words, usable, days[RETURNS:], bits)


def _simple(prices: Prices, n: int) -> Prices:
    total = np.cumsum(np.append(0.0, prices))
    averages: Prices = (total[n:] - total[:-n]) / n
    return averages


def _exponential(prices: Prices, span: int) -> Prices:
    weight, out = 2.0 / (span + 1.0), np.empty_like(prices)
    level = prices[0]
    for at, price in enumerate(prices.tolist()):
        level += weight * (price - level)
        out[at] = level
    return out
