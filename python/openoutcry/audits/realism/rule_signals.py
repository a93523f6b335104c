"""Causal building blocks of trading rules: row t uses only closes up to row t."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]


def shifted(table: Table, bars: int) -> Table:
    """Shift a table by `bars` rows, with NaN in the first rows."""
    later = np.full(table.shape, np.nan)
    later[bars:] = table[:-bars]
    return later


def change(closes: Table, bars: int) -> Table:
    """Return the simple return over `bars` bars."""
    return closes / shifted(closes, bars) - 1.0


def mean(table: Table, bars: int) -> Table:
    """Return the rolling mean; NaN where a value of the window is missing."""
    found: Table = _windows(table, bars).mean(axis=-1)
    return found


def deviation(table: Table, bars: int) -> Table:
    """Return the rolling standard deviation."""
    found: Table = _windows(table, bars).std(axis=-1)
    return found


def highest(table: Table, bars: int) -> Table:
    """Return the rolling maximum."""
    return _extreme(table, bars, np.maximum)


def lowest(table: Table, bars: int) -> Table:
    """Return the rolling minimum."""
    return _extreme(table, bars, np.minimum)


def smoothed(table: Table, bars: int) -> Table:
    """Return the exponential moving average of span `bars` from the first value."""
    share = 2.0 / (bars + 1.0)
    level, rows = np.full(table.shape[1], np.nan), np.empty(table.shape)
    for row, now in enumerate(table):
        moved = level + share * (now - level)
        level = np.where(np.isnan(level), now, np.where(np.isnan(now), level, moved))
        rows[row] = level
    return rows


def ranked(table: Table) -> Table:
    """Return cross-sectional ranks from -1 to 1; NaN for a missing value."""
    known = np.isfinite(table)
    order = np.where(known, table, np.inf).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    most = np.maximum(known.sum(axis=1, keepdims=True) - 1, 1)
    return np.where(known, 2.0 * order / most - 1.0, np.nan)


def spread(chosen: Table, listed: Table) -> Table:
    """Return equal weights of the listed symbols, multiplied by `chosen`."""
    count = np.maximum(np.isfinite(listed).sum(axis=1, keepdims=True), 1)
    weights: Table = np.nan_to_num(chosen) * np.isfinite(listed) / count
    return weights


def scaled(weights: Table) -> Table:
    """Scale weights to a gross exposure of 1; rows of zeros stay zero."""
    weights = np.nan_to_num(weights)
    gross = np.abs(weights).sum(axis=1, keepdims=True)
    normalized: Table = np.divide(weights, gross, out=np.zeros(weights.shape), where=gross > 0.0)
    return normalized


def _windows(table: Table, bars: int) -> Table:
    padded = np.vstack([np.full((bars - 1, table.shape[1]), np.nan), table])
    return np.lib.stride_tricks.sliding_window_view(padded, bars, axis=0)


def _extreme(table: Table, bars: int, of: np.ufunc) -> Table:
    """Return the rolling extreme by window doubling, in log2(bars) passes."""
    found, width = table, 1
    while width < bars:
        step = min(width, bars - width)
        found = of(found, shifted(found, step))
        width += step
    return found
