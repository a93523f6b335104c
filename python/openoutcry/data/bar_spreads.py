"""Half-spreads estimated from the open, high, low and close of bars.

Source: Ardia, Guidotti and Kroencke (2024), "Efficient estimation of bid-ask spreads from open, high, low, and close
prices", Journal of Financial Economics 161.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from openoutcry.arguments import checked_integer
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]
_BPS = 1e4


def spread_from_bars(dataset: Dataset, n_bars: int = 21) -> Table:
    """Return half-spreads in bps, estimated from the bars before each bar.

    Row t is estimated from bars `t - n_bars` to `t - 1`, so that it can be the `half_spread_bps` of a market: no order
    pays a spread of its own future. The estimate is noisy; 21 daily bars give a few basis points at best.

    Args:
        dataset: A market with opens, highs and lows.
        n_bars: Bars of an estimate, at least 3.

    Returns:
        Shape `(n_bars, n_symbols)`; NaN where there are too few bars, or where the squared spread is estimated as 0 or
        less, which stands for the cost model.

    Raises:
        OpenOutcryError: `argument_invalid`: the market has no opens, highs or lows, or `n_bars` is below 3.
    """
    n_bars = checked_integer("n_bars", n_bars, 3, dataset.n_bars, "argument_invalid")
    tables = {"open": dataset.open, "high": dataset.high, "low": dataset.low}
    if missing := [name for name, table in tables.items() if table is None]:
        wanted = "a market with opens, highs and lows is required"
        raise refusal("argument_invalid", f"{wanted}; received one without {missing[0]}")
    prices = [np.asarray(table, dtype=np.float64) for table in (*tables.values(), dataset.close)]
    # Bars before a split are on another share basis.
    ratio = 1.0 if dataset.splits is None else np.cumprod(np.nan_to_num(dataset.splits, nan=1.0), axis=0)
    found = np.full(dataset.close.shape, np.nan)
    opens, highs, lows, closes = (table * ratio for table in prices)
    estimates = edge(opens, highs, lows, closes, n_bars)
    found[n_bars:] = estimates[n_bars - 1 : -1]
    half = found / 2.0 * _BPS
    with np.errstate(invalid="ignore"):
        return np.where((half > 0.0) & (half <= 9999.0), half, np.nan)


def edge(opens: Table, highs: Table, lows: Table, closes: Table, n_bars: int) -> Table:
    """Return signed full spreads of rolling windows, as fractions of the price.

    Args:
        opens: Shape `(n, n_symbols)`, account currency; so are the next three.
        highs: High prices.
        lows: Low prices.
        closes: Closing prices.
        n_bars: Bars of a window; the first is the bar before the others.

    Returns:
        Shape `(n, n_symbols)`: row t is of the window that ends with bar t. NaN where it is undefined. Negative where
        the squared spread is.
    """
    o, h, low, c = (np.log(prices) for prices in (opens, highs, lows, closes))
    middle = (h + low) / 2.0
    h1, l1, c1, m1 = (_before(table) for table in (h, low, c, middle))
    r1, r2, r3, r4, r5 = middle - o, o - m1, middle - c1, c1 - m1, o - c1
    is_known = np.isfinite(r1 + r2 + r3 + r4 + r5)
    moves = _where(is_known, (h != low) | (low != c1))
    at_open = _where(is_known, moves * (o != h)), _where(is_known, moves * (o != low))
    at_close = _where(is_known, moves * (c1 != h1)), _where(is_known, moves * (c1 != l1))
    rolled = _Windows(n_bars - 1)
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        # The mean of a window without a known bar is NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        share = rolled.mean(moves)
        p_open, p_close = (rolled.mean(each[0]) + rolled.mean(each[1]) for each in (at_open, at_close))
        d1, d3, d5 = (_demeaned(rolled, r, moves, share) for r in (r1, r3, r5))
        w_open, w_close = -4.0 / p_open[..., np.newaxis], -4.0 / p_close[..., np.newaxis]
        x1 = w_open * d1 * rolled.of(r2) + w_close * d3 * rolled.of(r4)
        x2 = w_open * d1 * rolled.of(r5) + w_close * d5 * rolled.of(r4)
        e1, e2 = np.nanmean(x1, axis=-1), np.nanmean(x2, axis=-1)
        v1, v2 = np.nanmean(x1**2, axis=-1) - e1**2, np.nanmean(x2**2, axis=-1) - e2**2
        squared = np.where(v1 + v2 > 0.0, (v2 * e1 + v1 * e2) / (v1 + v2), (e1 + e2) / 2.0)
        spread = np.sign(squared) * np.sqrt(np.abs(squared))
        is_defined = (rolled.total(moves) >= 2.0) & (p_open > 0.0) & (p_close > 0.0)
    found = np.full(o.shape, np.nan)
    found[n_bars - 1 :] = np.where(is_defined, spread, np.nan)[1:]
    return found


def _before(table: Table) -> Table:
    return np.vstack([np.full((1, table.shape[1]), np.nan), table[:-1]])


def _where(is_known: npt.NDArray[np.bool_], values: npt.NDArray[np.generic]) -> Table:
    return np.where(is_known, values.astype(np.float64), np.nan)


def _demeaned(rolled: _Windows, returns: Table, moves: Table, share: Table) -> Table:
    """Return returns less their mean over the bars that move, in windows."""
    mean = rolled.mean(np.where(np.isnan(moves), np.nan, returns)) / share
    difference: Table = rolled.of(returns) - mean[..., np.newaxis] * rolled.of(moves)
    return difference


class _Windows:
    """Rolling windows of bars; a mean leaves out unknown bars."""

    def __init__(self, n_bars: int) -> None:
        self._n_bars = n_bars

    def of(self, table: Table) -> Table:
        """Return windows, shape `(n - n_bars + 1, n_symbols, n_bars)`."""
        return sliding_window_view(table, self._n_bars, axis=0)

    def total(self, table: Table) -> Table:
        """Return the sum of each window."""
        found: Table = np.nansum(self.of(table), axis=-1)
        return found

    def mean(self, table: Table) -> Table:
        """Return the mean of each window."""
        found: Table = np.nanmean(self.of(table), axis=-1)
        return found
