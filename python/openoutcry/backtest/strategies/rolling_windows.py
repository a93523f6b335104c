"""Rolling windows of closes, and vectorized statistics over many windows.

A window equals the `close_history` of an observation: closes are carried forward through halts and adjusted for splits,
and NaN before the listing and after the settlement of a symbol.

The functions over windows of shape `(n, lookback, n_symbols)` add row by row and use only `+ - * /`, square roots and
comparisons. Their results do not depend on the number and memory layout of the windows; numpy reductions do.
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

# A deviation below this fraction of the price is rounding error.
NEGLIGIBLE = 1e-12


def histories(dataset: Dataset) -> Iterator[tuple[int, int, Array]]:
    """Yield the closes that observations show, as consecutive segments of bars.

    A segment is `(first, end, closes)`: for a bar in `[first, end)`, the window that ends at the bar consists of rows
    of `closes`, shape `(end, n_symbols)`. The next segment overwrites the array: a split adjusts all earlier rows, a
    settlement sets its symbol to NaN.
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
            # Division by 1 is exact.
            known[:end] /= splits[end]
            known[:, settles[end]] = np.nan


def _carried(closes: Array, splits: Array) -> Array:
    """Return closes carried forward through halts and adjusted for splits.

    A close is adjusted for the splits up to its own bar.
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

    The result is a view of shape `(end - first, lookback, n_symbols)`; `first` is at least `lookback - 1`.
    """
    rows = closes[first - lookback + 1 : end]
    view: Array = np.lib.stride_tricks.sliding_window_view(rows, lookback, axis=0).swapaxes(1, 2)
    return view


def fully_listed(windows: Array) -> Mask:
    """Return which symbols have a close on every bar of each window.

    Shape `(n, n_symbols)`.
    """
    # A symbol has a close on every bar between its listing and its settlement.
    is_listed: Mask = np.isfinite(windows[:, 0]) & np.isfinite(windows[:, -1])
    return is_listed


def simple_returns(windows: Array) -> Iterator[Array]:
    """Yield the simple returns of each bar but the first, shape `(n, n_symbols)`."""
    for bar in range(1, windows.shape[1]):
        yield windows[:, bar] / windows[:, bar - 1] - 1.0


def total(rows: Iterable[Array]) -> Array:
    """Return the sum of rows, added in order."""
    remaining = iter(rows)
    added: Array = next(remaining).copy()
    for row in remaining:
        added += row
    return added


def mean(windows: Array) -> Array:
    """Return the mean close of each symbol, shape `(n, n_symbols)`."""
    n_rows = windows.shape[1]
    means: Array = total(windows[:, bar] for bar in range(n_rows)) / n_rows
    return means


def deviation(windows: Array, around: Array) -> Array:
    """Return the standard deviation of closes around `around`, shape `(n, n_symbols)`.

    The divisor is the number of closes minus one.
    """
    n_rows = windows.shape[1]
    residuals = (windows[:, bar] - around for bar in range(n_rows))
    deviations: Array = np.sqrt(total(residual * residual for residual in residuals) / (n_rows - 1))
    return deviations


def volatility(windows: Array) -> Array:
    """Return the root mean squared return of each symbol, shape `(n, n_symbols)`.

    The mean return is taken as 0, as it is small in comparison.
    """
    volatilities: Array = np.sqrt(total(step * step for step in simple_returns(windows)) / (windows.shape[1] - 1))
    return volatilities


def across(values: Array) -> Array:
    """Return the sum over symbols, shape `(n, 1)`, added in order."""
    return total(values[:, symbol : symbol + 1] for symbol in range(values.shape[1]))


def ratio(over: Array, under: Array, where: Mask) -> Array:
    """Return `over / under` where `where` is True, and 0 elsewhere."""
    shape = np.broadcast_shapes(over.shape, under.shape)
    quotient: Array = np.divide(over, under, out=np.zeros(shape), where=np.broadcast_to(where, shape))
    return quotient
