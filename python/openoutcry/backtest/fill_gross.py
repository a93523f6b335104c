"""Account just after the fills of a phase: gross exposure and lowest value."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.backtest.fee_rates import fee_rates
from openoutcry.backtest.fill_phases import INSIDE, OPENS, FillPhases, RunOfFills
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel

__all__ = ["lowest_nav_inside", "max_gross_at_fill"]

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class RunOfGross(RunOfFills, Protocol):
    """The parts of a run that its account inside a bar depends on."""

    @property
    def nav(self) -> Floats: ...
    @property
    def weights(self) -> Floats: ...
    @property
    def cost_model(self) -> CostModel: ...


def max_gross_at_fill(run: RunOfGross) -> float:
    """Return the largest gross exposure after fills at the open; 0 without a fill.

    It is the sum of abs(shares) times the reference price of the bar, over the value of the account at these prices.
    It is infinite if that value is 0 or less. Fills inside a bar, exits and fills at the close do not count.
    """
    is_open = FillPhases.of(run).phases == OPENS
    bars = np.unique(run._fills[0][is_open])
    if not len(bars):
        return 0.0
    account = _Account.before_fills(run, bars).filled(run, is_open)
    values = np.where(account.shares != 0.0, account.shares * account.prices, 0.0)
    gross, nav = np.abs(values).sum(axis=1), account.cash + values.sum(axis=1)
    exposures = np.divide(gross, nav, out=np.full(len(bars), np.inf), where=nav > 0.0)
    return float(exposures.max())


def lowest_nav_inside(run: RunOfGross) -> float:
    """Return the lowest value of the account that its bars allow, before exits.

    Every long position is valued at the low of the bar and every short one at its high, at once, after the fills of the
    open and after those inside the bar. Bars after an early end of the account do not count.
    """
    dataset, (start, end) = run.dataset, run._settings["window"]
    bars = np.arange(start + 1, end if run.terminated_at is None else start + run.terminated_at + 2)
    known = (dataset.open, dataset.close, dataset.low, dataset.high)
    opens, closes, lows, highs = (None if each is None else each[bars] for each in known)
    after_opens = _Account.before_fills(run, bars)
    phases = FillPhases.of(run).phases
    lowest = np.inf
    for phase in (OPENS, INSIDE):
        after_opens = after_opens.filled(run, phases == phase)
        given = [each for each in (after_opens.prices, opens, closes) if each is not None]
        low, high = (
            np.fmin.reduce([*given, *([] if lows is None else [lows])]),
            np.fmax.reduce([*given, *([] if highs is None else [highs])]),
        )
        shares = after_opens.shares
        worst = np.where(shares > 0.0, shares * low, np.where(shares < 0.0, shares * high, 0.0))
        lowest = min(lowest, float((after_opens.cash + worst.sum(axis=1)).min()))
    return lowest


class _Account(NamedTuple):
    """Cash, shares and reference prices on some bars, a row per bar."""

    bars: Places
    cash: Floats
    shares: Floats
    prices: Floats

    @classmethod
    def before_fills(cls, run: RunOfGross, bars: Places) -> _Account:
        """Return the account on the share basis of each bar, after its corporate actions."""
        dataset, places = run.dataset, bars - 1 - run._settings["window"][0]
        navs = run.nav[places]
        held = run.weights[places] * navs[:, None]
        cash = navs - held.sum(axis=1)
        marks = _marks(dataset, bars - 1)
        shares = np.divide(held, marks, out=np.zeros_like(held), where=held != 0.0)
        prices = marks
        if dataset.dividends is not None:
            paid = np.nan_to_num(dataset.dividends[bars])
            cash = cash + (shares * paid).sum(axis=1)
            prices = marks - paid if dataset.open is None else marks
        if dataset.splits is not None:
            ratios = np.nan_to_num(dataset.splits[bars], nan=1.0)
            shares, prices, marks = shares * ratios, prices / ratios, marks / ratios
        if dataset.delistings is not None:
            settled = dataset.delistings[bars]
            ends = np.isfinite(settled)
            cash = cash + np.where(ends & (shares != 0.0), shares * marks * (1.0 + settled), 0.0).sum(axis=1)
            shares = np.where(ends, 0.0, shares)
        if dataset.open is not None:
            prices = np.where(np.isfinite(dataset.open[bars]), dataset.open[bars], prices)
        return cls(bars, cash, shares, prices)

    def filled(self, run: RunOfGross, is_filled: npt.NDArray[np.bool_]) -> _Account:
        """Return the account after some of the fills, all on its bars."""
        bars, symbols, shares, prices = run._fills
        bars, symbols, shares, prices = bars[is_filled], symbols[is_filled], shares[is_filled], prices[is_filled]
        rows, traded = np.searchsorted(self.bars, bars), self.shares.copy()
        np.add.at(traded, (rows, symbols), shares)
        spent = shares * prices + fee_rates(run, bars, symbols) * np.abs(shares) * prices
        return self._replace(cash=self.cash - np.bincount(rows, spent, len(self.bars)), shares=traded)


def _marks(dataset: Dataset, bars: Places) -> Floats:
    """Return the last close of each symbol, on the share basis of each of the bars."""
    close, splits = dataset.close, dataset.splits
    places = np.where(np.isfinite(close), np.arange(len(close))[:, None], 0)
    np.maximum.accumulate(places, axis=0, out=places)
    marks: Floats = np.take_along_axis(close, places[bars], axis=0)
    if splits is None:
        return marks
    basis = np.cumprod(np.nan_to_num(splits, nan=1.0), axis=0)
    return marks * np.take_along_axis(basis, places[bars], axis=0) / basis[bars]
