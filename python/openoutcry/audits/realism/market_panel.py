"""Input of the stylized facts: total returns, volume, ranges and overnight gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from openoutcry.data.columns import known_periods
from openoutcry.data.dataset import Dataset

Table = npt.NDArray[np.float64]

MIN_RETURNS = 500


@dataclass(frozen=True)
class Panel:
    """Log total returns of a dataset, with volume, ranges and overnight returns.

    Attributes:
        returns: Shape `(n_bars - 1, n_symbols)`, float64; NaN where a symbol did not close. The bar after a halt has
            the return since the last close.
        volume: Volume, same shape, in shares of the first bar's basis; None without volume.
        high: High prices, same shape; None without highs.
        low: Low prices, same shape; None without lows.
        overnight: Log total return from the last close to the open, same shape; None without opens.
        periods_per_year: Bars per year; None if they are unknown, and annual facts undefined.
    """

    returns: Table
    volume: Table | None = None
    high: Table | None = None
    low: Table | None = None
    overnight: Table | None = None
    periods_per_year: float | None = None

    @property
    def n_bars(self) -> int:
        """Number of bars with a return."""
        return len(self.returns)

    @cached_property
    def counted(self) -> list[int]:
        """Indices of symbols with `MIN_RETURNS` returns, more than half of them nonzero."""
        finite = np.isfinite(self.returns).sum(axis=0)
        moved = (np.nan_to_num(self.returns) != 0.0).sum(axis=0)
        return [int(i) for i in np.flatnonzero((finite >= MIN_RETURNS) & (2 * moved > finite))]


def panel_of(dataset: Dataset) -> Panel:
    """Return the panel of a dataset.

    Returns include dividends and splits, and exclude the settlement of a delisted symbol.
    """
    dividends = 0.0 if dataset.dividends is None else np.nan_to_num(dataset.dividends)
    splits = np.ones_like(dataset.close) if dataset.splits is None else np.nan_to_num(dataset.splits, nan=1.0)
    basis = np.cumprod(splits, axis=0)
    known = _last_known(dataset.close * basis)
    # Cash per share of the first bar's basis: a dividend is paid per share before the split of its bar.
    paid = np.broadcast_to(dividends, basis.shape) * basis / splits
    paid = _since_last_close(paid, np.isfinite(dataset.close))
    closed = np.isfinite(dataset.close[1:])
    before = known[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        returns = np.where(closed, np.log((dataset.close * basis + paid)[1:] / before), np.nan)
        overnight = None
        if dataset.open is not None:
            overnight = np.where(closed, np.log((dataset.open * basis + paid)[1:] / before), np.nan)
    volume = None if dataset.volume is None else (dataset.volume / basis)[1:]
    high, low = (None if each is None else each[1:] for each in (dataset.high, dataset.low))
    return Panel(returns, volume, high, low, overnight, known_periods(dataset, "stylized facts"))


def _last_known(table: Table) -> Table:
    """Forward-fill missing values in each column."""
    rows = np.where(np.isfinite(table), np.arange(len(table))[:, None], 0)
    rows = np.maximum.accumulate(rows, axis=0)
    return np.take_along_axis(table, rows, axis=0)


def _since_last_close(paid: Table, closed: npt.NDArray[np.bool_]) -> Table:
    """Return payments on a bar plus those on directly preceding bars without a close."""
    total = np.cumsum(paid, axis=0)
    at_close = np.where(closed, total, np.nan)
    before = np.vstack([np.zeros((1, paid.shape[1])), np.nan_to_num(_last_known(at_close))[:-1]])
    return total - before
