"""Windows of closes, and what is computed over many of them at once.

A window holds what the `close_history` of an observation holds: halts carried forward, splits adjusted for, NaN where
a symbol is not yet listed or has settled.

The functions over windows of shape `(n, lookback, n_symbols)` add up row after row and use nothing but `+ - * /`,
square roots and comparisons. Those are exact to the last bit whatever the number and layout of the windows, which the
reductions of numpy are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from openoutcry.data.dataset import Dataset

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Below this share of the prices, what looks like a deviation is rounding.
NEGLIGIBLE = 1e-12


def histories(dataset: Dataset) -> Iterator[tuple[int, int, Array]]:
    """Yield closes as they are shown.

    They come as `(first, end, closes)` for bars `[first, end)`, one stretch after the other. A window that ends at
    one of those bars consists of rows of `closes`, of shape `(end, n_symbols)`. What comes next overwrites them: a
    split changes all rows before it, a settlement takes its symbol away.
    """
    closes, settled = dataset.close, dataset.delistings
    splits = np.ones(closes.shape) if dataset.splits is None else dataset.splits
    settles = np.zeros(closes.shape, np.bool_) if settled is None else np.isfinite(settled)
    known = _carried(closes, splits)
    known[np.logical_or.accumulate(settles, axis=0)] = np.nan
    first = 0
    for end in (*(int(bar) for bar in np.flatnonzero(((splits != 1.0) | settles).any(axis=1))), len(closes)):
        if end > first:
            yield first, end, known[:end]
            first = end
        if end < len(closes):
            # By 1 a close stays what it is.
            known[:end] /= splits[end]
            known[:, settles[end]] = np.nan


def _carried(closes: Array, splits: Array) -> Array:
    """Return closes with halts carried forward.

    Each is on the share basis of its own bar.
    """
    is_close = np.isfinite(closes)
    bars = np.arange(len(closes))[:, None]
    last = np.maximum.accumulate(np.where(is_close, bars, 0), axis=0)
    carried: Array = np.take_along_axis(closes, last, axis=0)
    for bar, symbol in zip(*np.nonzero((splits != 1.0) & ~is_close), strict=True):
        is_same_halt = last[bar:, symbol] == last[bar, symbol]
        carried[bar:, symbol][is_same_halt] /= splits[bar, symbol]
    return carried


def windows_of(closes: Array, lookback: int, first: int, end: int) -> Array:
    """Return the windows that end at bars `[first, end)` of closes.

    It is a view of shape `(end - first, lookback, n_symbols)`; `first` is at least `lookback - 1`.
    """
    rows = closes[first - lookback + 1 : end]
    view: Array = np.lib.stride_tricks.sliding_window_view(rows, lookback, axis=0).swapaxes(1, 2)
    return view


def shown_fully(windows: Array) -> Mask:
    """Return which symbols each window shows in all bars.

    Shape `(n, n_symbols)`.
    """
    # A symbol that is listed is shown from then on, until it settles.
    found: Mask = np.isfinite(windows[:, 0]) & np.isfinite(windows[:, -1])
    return found


def steps(windows: Array) -> Iterator[Array]:
    """Yield the simple returns of each bar but the first.

    Each is of shape `(n, n_symbols)`.
    """
    for bar in range(1, windows.shape[1]):
        yield windows[:, bar] / windows[:, bar - 1] - 1.0


def total(rows: Iterable[Array]) -> Array:
    """Return the sum of rows, added one after the other."""
    each = iter(rows)
    added: Array = next(each).copy()
    for row in each:
        added += row
    return added


def mean(windows: Array) -> Array:
    """Return the mean close of each symbol, shape `(n, n_symbols)`."""
    n_rows = windows.shape[1]
    found: Array = total(windows[:, bar] for bar in range(n_rows)) / n_rows
    return found


def deviation(windows: Array, around: Array) -> Array:
    """Return the standard deviation of closes around their mean.

    Its shape is `(n, n_symbols)`; it divides by the number of closes less one.
    """
    n_rows = windows.shape[1]
    apart = (windows[:, bar] - around for bar in range(n_rows))
    found: Array = np.sqrt(total(each * each for each in apart) / (n_rows - 1))
    return found


def volatility(windows: Array) -> Array:
    """Return the root of the mean squared return a bar of each symbol.

    Its shape is `(n, n_symbols)`. The mean return, small beside it, is taken for 0.
    """
    found: Array = np.sqrt(total(step * step for step in steps(windows)) / (windows.shape[1] - 1))
    return found


def across(values: Array) -> Array:
    """Return the sum over symbols, shape `(n, 1)`, one after the other."""
    return total(values[:, symbol : symbol + 1] for symbol in range(values.shape[1]))


def ratio(over: Array, under: Array, where: Mask) -> Array:
    """Return a quotient where it is asked for and 0 elsewhere."""
    shape = np.broadcast_shapes(over.shape, under.shape)
    found: Array = np.divide(over, under, out=np.zeros(shape), where=np.broadcast_to(where, shape))
    return found
