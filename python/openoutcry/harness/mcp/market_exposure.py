"""Overlap of the bars that sessions have shown, compared by data and not by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset
from openoutcry.harness.mcp.market_selection import Market

Bars = npt.NDArray[np.int64]
Returns = npt.NDArray[np.float64]

# Returns of one series in different units differ by rounding only. Returns beyond the limit count as equal.
_SAME, _MOST = 1e-9, 10.0
_N_SIZES = 2**35


@dataclass(frozen=True)
class Exposure:
    """The bars that an episode shows.

    Args:
        market: A named market without its mask, or name and seed of a synthetic one.
        first: First bar, that of the oldest close shown.
        end: Exclusive end bar.
    """

    market: Market | tuple[str, int]
    first: int
    end: int


class ExposureLog:
    """The bars that the sessions of a server have shown.

    Two exposures overlap if both contain a bar of the same date with a symbol of the same returns, independent of the
    names of markets and symbols and of the currency unit.
    """

    def __init__(self) -> None:
        self._exposures: list[Exposure] = []
        self._in_both: dict[tuple[str, str], tuple[Bars, Bars]] = {}

    def add(self, exposure: Exposure) -> None:
        """Add the bars of a new episode."""
        self._exposures.append(exposure)

    def n_overlapping(self, exposure: Exposure) -> int:
        """Return the number of other episodes so far that overlap with an episode."""
        return sum(other is not exposure and self._overlap(exposure, other) for other in self._exposures)

    def _overlap(self, one: Exposure, other: Exposure) -> bool:
        if one.market == other.market:
            return one.first < other.end and other.first < one.end
        if isinstance(one.market, tuple) or isinstance(other.market, tuple):
            return False
        names = one.market.name, other.market.name
        if names not in self._in_both:
            self._in_both[names] = bars_in_both(one.market.dataset, other.market.dataset)
        bars, others = self._in_both[names]
        return bool(np.any(_within(one, bars) & _within(other, others)))


def bars_in_both(one: Dataset, other: Dataset) -> tuple[Bars, Bars]:
    """Return the bars of two markets with a common date and a common series.

    Two symbols are the same series if their returns between common dates agree at more than half of the bars at which
    either return is not 0.
    """
    _, bars, others = np.intersect1d(np.array(one.dates), np.array(other.dates), return_indices=True)
    is_shown = np.zeros(len(bars), dtype=np.bool_)
    first, second = one.close[bars], other.close[others]
    for symbol, twin in _same_series(first[1:] / first[:-1] - 1.0, second[1:] / second[:-1] - 1.0):
        is_shown |= np.isfinite(first[:, symbol]) & np.isfinite(second[:, twin])
    return bars[is_shown], others[is_shown]


def _same_series(first: Returns, second: Returns) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns that are the same series."""
    (keys, symbols), (other_keys, twins) = _moves(first), _moves(second)
    _, here, there = np.intersect1d(keys, other_keys, return_indices=True)
    pairs, n_agree = np.unique(symbols[here] * second.shape[1] + twins[there], return_counts=True)
    for pair, agree in zip(pairs.tolist(), n_agree.tolist(), strict=True):
        symbol, twin = divmod(pair, second.shape[1])
        own, its = first[:, symbol], second[:, twin]
        if 2 * agree > np.sum(np.isfinite(own) & np.isfinite(its) & ((own != 0.0) | (its != 0.0))):
            yield symbol, twin


def _moves(returns: Returns) -> tuple[Bars, Bars]:
    """Return a key for each nonzero return, and its column.

    Equal returns of the same bar have equal keys.
    """
    bars, symbols = np.nonzero(np.isfinite(returns) & (returns != 0.0))
    sizes = np.rint(np.clip(returns[bars, symbols], -_MOST, _MOST) / _SAME).astype(np.int64)
    return bars * _N_SIZES + sizes, symbols


def _within(exposure: Exposure, bars: Bars) -> npt.NDArray[np.bool_]:
    return (exposure.first <= bars) & (bars < exposure.end)
