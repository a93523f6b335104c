"""Dividends, splits and settlements of bars that become part of a later bar.

The bars of a market are divided into groups of consecutive bars, and each group becomes one bar. Events of a group
happen on that bar, before its fills: they pay the cash, and give the shares, that the holder of a share at the end of
the previous group would have received.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class Events(NamedTuple):
    """Events of bars.

    Attributes:
        dividends: Cash per pre-split share, 0 for none. Shape `(n_bars, n_symbols)`, as of all tables.
        splits: New shares per old share, 1 for none.
        delistings: Return from the last close to the cash settlement; NaN for none.
    """

    dividends: Table
    splits: Table
    delistings: Table

    @classmethod
    def of(cls, close: Table, dividends: Table | None, splits: Table | None, delistings: Table | None) -> Events:
        """Return events that are stated, up to the settlement of each symbol."""
        settles = np.full(close.shape, np.nan) if delistings is None else delistings
        paid = np.zeros(close.shape) if dividends is None else np.nan_to_num(dividends, nan=0.0)
        shares = np.ones(close.shape) if splits is None else np.nan_to_num(splits, nan=1.0)
        # A settled symbol has no holder.
        is_over = np.zeros(close.shape, dtype=bool)
        is_over[1:] = np.logical_or.accumulate(np.isfinite(settles), axis=0)[:-1]
        return cls(np.where(is_over, 0.0, paid), np.where(is_over, 1.0, shares), settles)

    def bars(self) -> Indices:
        """Return the bars that have a dividend or a split."""
        return np.flatnonzero(((self.dividends != 0.0) | (self.splits != 1.0)).any(axis=1))


def carried(events: Events, group_of: Indices, n_groups: int) -> tuple[Table, Table]:
    """Return the dividends and splits of groups.

    Of events (D1, s1) and then (D2, s2), the dividend is D1 + s1 D2 and the split s1 s2.

    Args:
        events: Events of the bars.
        group_of: Group of each bar, ascending; `n_groups` for bars after the last group.
        n_groups: Number of groups.
    """
    dividends, splits = np.zeros((n_groups, events.splits.shape[1])), np.ones((n_groups, events.splits.shape[1]))
    for bar in events.bars():
        group = group_of[bar]
        if group < n_groups:
            dividends[group] += splits[group] * events.dividends[bar]
            splits[group] *= events.splits[bar]
    return dividends, splits


def settlements(close: Table, events: Events, group_of: Indices, merged: Table) -> Table:
    """Return settlements of groups, relative to the close of an earlier group.

    The cash per share is unchanged. A symbol without an earlier close has no settlement.

    Args:
        close: Closes of the bars.
        events: Events of the bars.
        group_of: Group of each bar, as of `carried`.
        merged: Closes of the groups.
    """
    found = np.full(merged.shape, np.nan)
    basis = np.cumprod(events.splits, axis=0)
    for bar, symbol in np.argwhere(np.isfinite(events.delistings)):
        group = int(group_of[bar])
        known = np.flatnonzero(np.isfinite(close[:bar, symbol]))
        kept = np.flatnonzero(np.isfinite(merged[:group, symbol]))
        if group >= len(merged) or not len(known) or not len(kept):
            continue
        end = int(np.searchsorted(group_of, kept[-1], side="right")) - 1
        value = close[known[-1], symbol] * (basis[known[-1], symbol] / basis[end, symbol])
        ratio, settled = value / merged[kept[-1], symbol], events.delistings[bar, symbol]
        # An unchanged settlement stays the same to the bit.
        found[group, symbol] = settled if ratio == 1.0 else ratio * (1.0 + settled) - 1.0
    return found


def compounded(rates: Table, group_of: Indices, n_groups: int) -> Table:
    """Return the risk-free returns of groups from those of bars."""
    growth = np.ones(n_groups)
    inside = group_of < n_groups
    np.multiply.at(growth, group_of[inside], 1.0 + rates[inside])
    first = np.searchsorted(group_of, np.arange(n_groups))
    is_single = np.bincount(group_of[inside], minlength=n_groups) == 1
    return np.where(is_single, rates[first], growth - 1.0)
