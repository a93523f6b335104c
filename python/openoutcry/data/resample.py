"""Longer bars from the bars of a market, without look-ahead.

A longer bar is dated by its last bar, so that all of it is known at its date. If the caller states where days start, a
bar of days is dated by the date on which its last day ends. In the timeline of the engine, dividends
and splits of a bar come first, then the fill at its open, then the mark at its close. All events of a period therefore
come before its open. So that a fill at the open gains or loses what it did in the shorter bars, prices of a period are
restated for the events that come after them within the period: less the dividend, then divided by the split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data import (
    bar_axis,
    bar_periods,
    carried_events,
    charges,
    feature_columns,
    market_warnings,
    session_cuts,
)
from openoutcry.data.bar_counts import is_count
from openoutcry.data.carried_events import Events, Indices, Table
from openoutcry.data.columns import STATED_PERIODS
from openoutcry.data.trading_days import DayStart, TradingDays
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

_PRICES = ("open", "high", "low", "close")


class _Groups(NamedTuple):
    """Periods of bars: the first bar of each, and the period of each bar."""

    starts: Indices
    of_bar: Indices

    def first(self, is_chosen: npt.NDArray[np.bool_]) -> Indices:
        """Return the first chosen bar of each period and symbol, or `n_bars`."""
        n_bars = len(is_chosen)
        bars = np.where(is_chosen, np.arange(n_bars)[:, None], n_bars)
        found: Indices = np.minimum.reduceat(bars, self.starts, axis=0)
        return found

    def last(self, is_chosen: npt.NDArray[np.bool_]) -> Indices:
        """Return the last chosen bar of each period and symbol, -1 if there is none."""
        bars = np.where(is_chosen, np.arange(len(is_chosen))[:, None], -1)
        found: Indices = np.maximum.reduceat(bars, self.starts, axis=0)
        return found


def resampled(values: Mapping[str, Any], every: str, tz: str | None, day_starts: str | None) -> dict[str, Any]:
    """Return a market in longer bars.

    Args:
        values: Arguments of `Dataset.from_arrays`, with the notices of the market and the bars per year of the new one.
        every: Period of the bars.
        tz: IANA zone of the days, for times in UTC.
        day_starts: Clock time at which days start; midnight by default.

    Raises:
        OpenOutcryError: the period is unknown or too short, fewer than 2 bars are left, or the start of the days does
            not fit the dates.
    """
    start = DayStart(day_starts, tz)
    days = start.days(values["dates"]) if start.is_stated else None
    numbers = bar_periods.periods(values["dates"], every, days)
    _, starts, of_bar = np.unique(numbers, return_index=True, return_inverse=True)
    n_groups, groups = len(starts), _Groups(starts, of_bar)
    if n_groups < 2:
        message = f"at least 2 periods of {every} are required; received 1, {values['dates'][0]} to"
        raise refusal("dataset_too_small", f"{message} {values['dates'][-1]}; hint: a shorter period")
    close = values["close"]
    events = Events.of(close, values.get("dividends"), values.get("splits"), values.get("delistings"))
    scale, less = _restatement(events, groups)
    known = {name: values[name] * scale - less for name in _PRICES if values.get(name) is not None}
    # A price that is below a later dividend of its period has no value without it.
    lost = {name: int((table <= 0.0).sum()) for name, table in known.items()}
    known = {name: np.where(table <= 0.0, np.nan, table) for name, table in known.items()}
    found = dict(values)
    lasts = np.append(starts[1:], len(of_bar)) - 1
    found |= _dated(values, lasts, every, start)
    found["periods_per_year"] = _periods_per_year(found, every)
    found |= _merged(values, known, scale, groups)
    dividends, splits = carried_events.carried(events, of_bar, n_groups)
    happened = np.logical_or.reduceat(np.isfinite(events.delistings), starts, axis=0)
    for name in (*_PRICES, "volume"):
        if found.get(name) is not None:
            found[name][happened] = np.nan
    carried = {"dividends": dividends, "splits": splits}
    carried["delistings"] = carried_events.settlements(close, events, of_bar, found["close"])
    found |= {name: table for name, table in carried.items() if values.get(name) is not None}
    found |= charges.of_periods(values, starts)
    if values.get("risk_free") is not None:
        found["risk_free"] = carried_events.compounded(values["risk_free"], of_bar, n_groups)
    found, others = bar_axis.without_empty(found, np.isfinite(close).any(axis=0))
    # A feature of a longer bar is the one that is known when it ends.
    kept = [values["symbols"].index(symbol) for symbol in found["symbols"]]
    found["features"] = feature_columns.cut(values.get("features", {}), lasts, kept)
    # The bars per year were those of the shorter bars.
    notices = [each for each in values["notices"] if not (each.startswith(STATED_PERIODS) or is_count(each))]
    days_said = _day_notices(values, every, start, days)
    said = (*market_warnings.renewed(notices, found), *days_said)
    found["notices"] = (*said, *_notices(values, groups, (every, start), sum(lost.values())), *others)
    return found


def _dated(values: Mapping[str, Any], lasts: Indices, every: str, start: DayStart) -> dict[str, Any]:
    """Return the dates of longer bars, and feeds dated in the same way."""
    if not start.is_stated or not bar_periods.period_of(every).is_days:
        return {"dates": [values["dates"][bar] for bar in lasts]}
    dates = [values["dates"][bar] for bar in lasts]
    facts, news = sorted(values["fundamentals"], key=itemgetter(1)), values["news"]
    # The last of several values of a day is the one that is known when it ends.
    known = {(symbol, day, name): value for (symbol, _, name, value), day in _with_days(facts, start)}
    headlines = [(symbol, day, headline) for (symbol, _, headline), day in _with_days(news, start)]
    return {
        "dates": start.texts(dates),
        "fundamentals": [(*key, value) for key, value in known.items()],
        "news": headlines,
    }


def _with_days(items: Sequence[Any], start: DayStart) -> Iterable[tuple[Any, str]]:
    """Return items of a feed, each on the first day that does not end before it."""
    return zip(items, start.texts([item[1] for item in items]) if items else (), strict=True)


def _day_notices(values: Mapping[str, Any], every: str, start: DayStart, days: TradingDays | None) -> tuple[str, ...]:
    """Return notices of days that start at a stated time, or inside of a session."""
    if days is not None:
        return session_cuts.stated_notices(days, values["dates"], start)
    if not bar_periods.period_of(every).is_days:
        return ()
    return session_cuts.midnight_notices(values["dates"], values["close"], values["symbols"], every)


def _periods_per_year(values: Mapping[str, Any], every: str) -> float | None:
    """Return the stated bars per year, or those of the days of longer bars.

    The last bar of a day has another time on half days and after a change of clocks.
    """
    stated: float | None = values["periods_per_year"]
    if stated is None and bar_periods.period_of(every).is_days:
        return native.inferred_periods_per_year([text[:10] for text in values["dates"]])
    return stated


def _restatement(events: Events, groups: _Groups) -> tuple[Table, Table]:
    """Return factor and amount that restate prices to the end of the period.

    A restated price is the price times the factor, less the amount.
    """
    scale, less = np.ones(events.splits.shape), np.zeros(events.splits.shape)
    for bar in events.bars():
        rows = slice(groups.starts[groups.of_bar[bar]], bar)
        scale[rows] /= events.splits[bar]
        less[rows] = (less[rows] + events.dividends[bar]) / events.splits[bar]
    return scale, less


def _merged(values: Mapping[str, Any], known: Mapping[str, Table], scale: Table, groups: _Groups) -> dict[str, Any]:
    """Return the prices, the volume and the mask of the periods.

    The open is that of the first bar of a symbol that can be traded: of a bar without trades, it is no price.
    """
    has_close = np.isfinite(values["close"])
    volume, mask = values.get("volume"), values.get("tradable")
    can_trade = has_close if volume is None else has_close & (volume != 0.0)
    can_trade = can_trade if mask is None else can_trade & mask
    found: dict[str, Any] = {"close": _taken(known["close"], groups.last(np.isfinite(known["close"])))}
    for name, extreme in (("high", np.fmax), ("low", np.fmin)):
        if name in known:
            found[name] = extreme.reduceat(known[name], groups.starts, axis=0)
    if "open" in known:
        first = groups.first(np.isfinite(known["open"]) & can_trade)
        found["open"] = _taken(known["open"], first)
    if volume is not None:
        found["volume"] = _volumes(volume / scale, has_close, groups)
    if mask is not None:
        # Without opens, an order fills in the first bar that closes.
        first = first if "open" in known else groups.first(has_close)
        found["tradable"] = (first < len(scale)) & np.take_along_axis(mask, np.minimum(first, len(scale) - 1), axis=0)
    return found


def _taken(table: Table, bars: Indices) -> Table:
    """Return the value of a bar for each period and symbol, NaN for no bar."""
    is_bar = (bars >= 0) & (bars < len(table))
    return np.where(is_bar, np.take_along_axis(table, np.where(is_bar, bars, 0), axis=0), np.nan)


def _volumes(volume: Table, has_close: npt.NDArray[np.bool_], groups: _Groups) -> Table:
    """Return the sums of volumes, NaN if one of a bar with a close is unknown."""
    is_known = np.isfinite(volume)
    total: Table = np.add.reduceat(np.where(is_known, volume, 0.0), groups.starts, axis=0)
    is_unknown = np.logical_or.reduceat(has_close & ~is_known, groups.starts, axis=0)
    has_any = np.logical_or.reduceat(is_known, groups.starts, axis=0)
    return np.where(has_any & ~is_unknown, total, np.nan)


def _notices(values: Mapping[str, Any], groups: _Groups, bars: tuple[str, DayStart], n_lost: int) -> tuple[str, ...]:
    every, start = bars
    is_day = start.is_stated and bar_periods.period_of(every).is_days
    dated = "the day on which it ends" if is_day else "its last one"
    notices = [f"bars of {every} from {len(groups.of_bar):,} shorter ones, each dated by {dated}"]
    if n_lost:
        notices.append(
            f"{counted(n_lost, 'price is', 'prices are')} left out: a later dividend in the period is not below"
        )
    if values.get("open") is None:
        last = groups.last(np.isfinite(values["close"]))
        ends = np.append(groups.starts[1:], len(groups.of_bar))[:, None] - 1
        n_early = int(((last >= 0) & (last < ends)).sum())
        if n_early:
            notices.append(
                f"{counted(n_early, 'close is', 'closes are')} older than the date of the bar, and orders fill there"
            )
    return tuple(notices)
