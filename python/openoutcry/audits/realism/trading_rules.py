"""Thirty simple trading rules that must not earn alpha on a realistic market.

A rule takes closes, shape `(n_bars, n_symbols)`, dates, shape `(n_bars,)`, datetime64[D], and the bars per year of the
market. It returns weights as `run_backtest` takes them, with a gross exposure of at most 1. Row t depends only on rows
up to t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from openoutcry.audits.realism.market_panel import panel_of
from openoutcry.audits.realism.rule_signals import (
    change,
    deviation,
    highest,
    lowest,
    mean,
    ranked,
    scaled,
    shifted,
    smoothed,
    spread,
)
from openoutcry.data.dataset import Dataset

Table = npt.NDArray[np.float64]
Days = npt.NDArray[np.datetime64]
Mask = npt.NDArray[np.bool_]

YEAR, MONTH, WEEK = 250, 20, 5
TARGET = 0.10


@dataclass(frozen=True)
class Rule:
    """A trading rule with a name and a family such as `momentum`.

    Attributes:
        name: Name of the rule.
        family: Family of the rule.
        weigh: Function from closes and dates to weights.
        is_annual: Whether `weigh` also takes the bars per year.
    """

    name: str
    family: str
    weigh: Callable[..., Table]
    is_annual: bool = False

    def __call__(self, closes: Table, dates: Days, periods_per_year: float) -> Table:
        """Return the weights for each bar; 0 for a symbol without a close."""
        year = (periods_per_year,) if self.is_annual else ()
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.weigh(closes, dates, *year)


def total_return_index(dataset: Dataset) -> Table:
    """Return the total-return index of each symbol, 100 at its first close.

    Rules use it as closes. It is adjusted forward, so a later split or dividend changes no earlier value.
    """
    returns = panel_of(dataset).returns
    first = np.isfinite(dataset.close) & (np.cumsum(np.isfinite(dataset.close), axis=0) == 1)
    log = np.where(first, 0.0, np.vstack([np.full((1, dataset.n_symbols), np.nan), returns]))
    total = np.cumsum(np.nan_to_num(log), axis=0)
    listed = np.cumsum(first, axis=0) > 0
    if dataset.delistings is not None:
        listed &= np.cumsum(np.isfinite(dataset.delistings), axis=0) == 0
    return np.where(listed, 100.0 * np.exp(total), np.nan)


def trading_days(dataset: Dataset) -> Days:
    """Return the dates of a dataset as datetime64[D], shape `(n_bars,)`."""
    return np.array([date[:10] for date in dataset.dates], dtype="datetime64[D]")


def _trend(closes: Table, _: Days, *, bars: int, sign: float = 1.0) -> Table:
    return spread((sign * change(closes, bars) > 0.0).astype(float), closes)


def _both_ways(closes: Table, _: Days, *, bars: int, sign: float) -> Table:
    return spread(sign * np.sign(change(closes, bars)), closes)


def _across(closes: Table, _: Days, *, bars: int, skip: int = 0, sign: float = 1.0) -> Table:
    return scaled(sign * ranked(_past(closes, bars, skip)))


def _winners(closes: Table, _: Days, *, bars: int, skip: int) -> Table:
    return scaled((ranked(_past(closes, bars, skip)) > 0.5).astype(float))


def _past(closes: Table, bars: int, skip: int) -> Table:
    """Return the return over `bars` bars that ends `skip` bars ago; NaN if unlisted."""
    past = change(shifted(closes, skip) if skip else closes, bars)
    return np.where(np.isfinite(closes), past, np.nan)


def _channel(closes: Table, _: Days, *, enter: int, leave: int) -> Table:
    """Hold a symbol from a new `enter`-bar high until a new `leave`-bar low."""
    state = np.where(closes >= highest(closes, enter), 1.0, np.where(closes <= lowest(closes, leave), 0.0, np.nan))
    rows = np.maximum.accumulate(np.where(np.isfinite(state), np.arange(len(state))[:, None], 0), axis=0)
    return spread(np.take_along_axis(state, rows, axis=0), closes)


def _near_high(closes: Table, _: Days) -> Table:
    return spread((closes > 0.95 * highest(closes, YEAR)).astype(float), closes)


def _fresh_low(closes: Table, _: Days, *, bars: int) -> Table:
    return spread((closes <= lowest(closes, bars)).astype(float), closes)


def _above_mean(closes: Table, _: Days, *, fast: int, slow: int) -> Table:
    return spread((mean(closes, fast) > mean(closes, slow)).astype(float), closes)


def _macd(closes: Table, _: Days) -> Table:
    line = smoothed(closes, 12) - smoothed(closes, 26)
    return spread((line > smoothed(line, 9)).astype(float), closes)


def _band(closes: Table, _: Days) -> Table:
    """Hold symbols more than one standard deviation below their monthly mean."""
    return spread((closes < mean(closes, MONTH) - deviation(closes, MONTH)).astype(float), closes)


def _strength(closes: Table, _: Days) -> Table:
    """Hold symbols that are oversold by the 14-bar relative strength index."""
    moved = change(closes, 1)
    up, down = mean(np.maximum(moved, 0.0), 14), mean(np.maximum(-moved, 0.0), 14)
    return spread((up < 0.35 * (up + down)).astype(float), closes)


def _on(closes: Table, dates: Days, *, when: Callable[[Days], Mask]) -> Table:
    return spread(np.broadcast_to(when(dates)[:, None], closes.shape).astype(float), closes)


def _weekday(dates: Days, *, day: int) -> Mask:
    """Return where the next weekday is `day`; 0 is Monday."""
    following = np.busday_offset(dates + 1, 0, roll="forward")
    found: Mask = (following.astype(np.int64) + 3) % 7 == day
    return found


def _turn_of_month(dates: Days) -> Mask:
    """Return where tomorrow is one of the last two or first three days of a month."""
    following = dates + 1
    month = following.astype("datetime64[M]")
    day = (following - month.astype("datetime64[D]")).astype(np.int64)
    length = ((month + 1).astype("datetime64[D]") - month.astype("datetime64[D]")).astype(np.int64)
    found: Mask = (day < 3) | (day >= length - 2)
    return found


def _winter(dates: Days) -> Mask:
    month = (dates + 1).astype("datetime64[M]").astype(np.int64) % 12
    return (month >= 10) | (month < 4)


def _market(closes: Table) -> Table:
    """Return the mean return of all symbols as one column."""
    moved = change(closes, 1)
    known = np.isfinite(moved)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    found: Table = np.nan_to_num(moved).sum(axis=1, keepdims=True) / count
    return found


def _managed(closes: Table, _: Days, periods_per_year: float, *, bars: int) -> Table:
    """Scale the market to 10 % annual volatility, without leverage."""
    volatility = deviation(_market(closes), bars) * np.sqrt(periods_per_year)
    return spread(np.broadcast_to(np.minimum(TARGET / volatility, 1.0), closes.shape), closes)


def _quiet_market(closes: Table, _: Days) -> Table:
    """Hold all symbols while monthly volatility is below annual volatility."""
    market = _market(closes)
    quiet = deviation(market, MONTH) < deviation(market, YEAR)
    return spread(np.broadcast_to(quiet, closes.shape).astype(float), closes)


def _parity(closes: Table, _: Days) -> Table:
    volatility = deviation(change(closes, 1), 60)
    return scaled(np.where(volatility > 0.0, 1.0 / volatility, np.nan))


def _quiet_symbols(closes: Table, _: Days) -> Table:
    return scaled((ranked(deviation(change(closes, 1), 120)) < 0.0).astype(float))


RULES: tuple[Rule, ...] = (
    *(Rule(f"trend-{bars}", "momentum", partial(_trend, bars=bars)) for bars in (20, 60, 120, YEAR)),
    Rule("trend-long-short-120", "momentum", partial(_both_ways, bars=120, sign=1.0)),
    *(Rule(f"reversal-{bars}", "reversal", partial(_trend, bars=bars, sign=-1.0)) for bars in (1, WEEK)),
    Rule("reversal-long-short-1", "reversal", partial(_both_ways, bars=1, sign=-1.0)),
    Rule("across-momentum-60", "cross-section", partial(_across, bars=60)),
    Rule("across-momentum-250-20", "cross-section", partial(_across, bars=YEAR - MONTH, skip=MONTH)),
    Rule("winners-120-20", "cross-section", partial(_winners, bars=120 - MONTH, skip=MONTH)),
    *(Rule(f"across-reversal-{b}", "cross-section", partial(_across, bars=b, sign=-1.0)) for b in (1, WEEK)),
    *(Rule(f"breakout-{n}-{m}", "breakout", partial(_channel, enter=n, leave=m)) for n, m in ((20, 10), (55, 20))),
    Rule("near-high-250", "breakout", _near_high),
    Rule("fresh-low-20", "breakout", partial(_fresh_low, bars=MONTH)),
    *(
        Rule(f"average-{n}-{m}", "moving average", partial(_above_mean, fast=n, slow=m))
        for n, m in ((1, 50), (1, 200), (20, 100))
    ),
    Rule("macd-12-26-9", "moving average", _macd),
    Rule("band-20", "moving average", _band),
    Rule("relative-strength-14", "moving average", _strength),
    Rule("monday", "calendar", partial(_on, when=partial(_weekday, day=0))),
    Rule("turn-of-month", "calendar", partial(_on, when=_turn_of_month)),
    Rule("winter", "calendar", partial(_on, when=_winter)),
    Rule("volatility-target-20", "volatility", partial(_managed, bars=MONTH), is_annual=True),
    Rule("quiet-market", "volatility", _quiet_market),
    Rule("risk-parity-60", "volatility", _parity),
    Rule("quiet-symbols-120", "volatility", _quiet_symbols),
)
"""The rules, in the order of the printed table."""
