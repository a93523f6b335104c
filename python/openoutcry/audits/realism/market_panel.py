"""What the facts are computed of: total returns, volume, ranges and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset

Table = npt.NDArray[np.float64]

MIN_RETURNS = 500


@dataclass(frozen=True)
class Panel:
    """Log total returns of bars by symbols and what goes with them.

    Attributes:
        returns: Shape `(n_bars - 1, n_symbols)`; NaN where a symbol did not close. After a halt, the return from the
            last close on.
        volume: As `returns`, in shares of the last bar's basis; None without volume.
        high: As `returns`; None without highs, as `low` is without lows.
        low: As `returns`.
        overnight: Log total return from the last close to the open; None without opens.
        periods_per_year: Bars a year.
    """

    returns: Table
    volume: Table | None = None
    high: Table | None = None
    low: Table | None = None
    overnight: Table | None = None
    periods_per_year: float = 252.0

    @property
    def n_bars(self) -> int:
        """Number of returns a symbol can have."""
        return len(self.returns)

    @cached_property
    def counted(self) -> list[int]:
        """The symbols with `MIN_RETURNS` returns, more than half of which are not 0."""
        finite = np.isfinite(self.returns).sum(axis=0)
        moved = (np.nan_to_num(self.returns) != 0.0).sum(axis=0)
        return [int(i) for i in np.flatnonzero((finite >= MIN_RETURNS) & (2 * moved > finite))]


def panel_of(dataset: Dataset) -> Panel:
    """Return the panel of a dataset.

    Dividends and splits are part of returns; the settlement of a delisted symbol is none.
    """
    dividends = 0.0 if dataset.dividends is None else np.nan_to_num(dataset.dividends)
    splits = np.ones_like(dataset.close) if dataset.splits is None else np.nan_to_num(dataset.splits, nan=1.0)
    basis = np.cumprod(splits, axis=0)
    known = _last_known(dataset.close * basis)
    # Cash per share of the first basis: a dividend is paid per share before the split of its bar.
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
    return Panel(returns, volume, high, low, overnight, dataset.periods_per_year)


def _last_known(table: Table) -> Table:
    """Return a table with each missing value replaced by the last one of its column."""
    rows = np.where(np.isfinite(table), np.arange(len(table))[:, None], 0)
    rows = np.maximum.accumulate(rows, axis=0)
    return np.take_along_axis(table, rows, axis=0)


def _since_last_close(paid: Table, closed: npt.NDArray[np.bool_]) -> Table:
    """Return what was paid on a bar and on the bars without a close right before it."""
    total = np.cumsum(paid, axis=0)
    at_close = np.where(closed, total, np.nan)
    before = np.vstack([np.zeros((1, paid.shape[1])), np.nan_to_num(_last_known(at_close))[:-1]])
    return total - before
