"""Dates of bars by their start or their end.

A bar is known at its end. One that is longer than the bars of another symbol, and dated by its start, would show later
prices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data.columns import TABLES
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import refusal

LABELS = ("start", "end")
_LEAST_BARS, _LEAST_TIMES = 3, 10
# At least this share of the distances of bars is that of their period.
_REGULAR = 0.8
# Share of weeks that begin with a session; days from the start of a month or a week to its first session.
_MOSTLY, _LATEST_SESSION = 0.7, 3
# A smaller share of one distance is that of a symbol without a trade in most bars.
_THIN = 0.4
_MONTHS = {1: "month", 2: "two months", 3: "quarter", 4: "four months", 6: "half year", 12: "year"}
# Weeks of vendors start on Sunday or Monday; 1970-01-01 is a Thursday.
_WEEK_STARTS = {3: "Sunday", 4: "Monday"}
_WEEKEND = (2, 3)
# Cells of a table that is copied without a reason.
_SMALL = 1 << 20
_HOUR, _DAY = 3600, 86_400
# Days between the dates of weeks, months, quarters and years.
_LENGTHS = ((6, 8), (26, 35), (84, 98), (355, 375))
_NEUTRAL = {"dividends": 0.0, "splits": 1.0}
_START_NAMES = re.compile(
    r"(.*[ _])?(open|start|begin)([ _]?(time|date|at|ts|timestamp))?|begins?_?at|ts_event|.*_start", re.I
)
_END_NAMES = re.compile(r"(.*[ _])?(close|end)[ _]?(time|date|at|ts|timestamp)|end|.*_end", re.I)
_HINT = 'label="start" for dates of the start, label="end" for dates of the end'
_LAST = np.datetime64("9999-12-31T23:59:59", "s")
Dates = npt.NDArray[np.datetime64]


class Period(NamedTuple):
    """Period of bars that are dated by their start, or may be.

    Attributes:
        name: Name of the period, such as month.
        seconds: Length; of months, the number of months as a negative number.
        is_certain: Whether the dates can be nothing but starts.
        has_rest: Whether the last bar is unfinished, and dated by its last day, as Yahoo does.
        week_start: Weekday on which weeks start, 0 for Thursday.
    """

    name: str
    seconds: int
    is_certain: bool
    has_rest: bool = False
    week_start: int = 0

    @property
    def length(self) -> int:
        """Length in seconds, about that of months."""
        return self.seconds if self.seconds > 0 else -30 * _DAY * self.seconds

    def ends(self, starts: Dates) -> Dates:
        """Return the last day of each period, or the time of its end."""
        if self.has_rest:
            ends = self._replace(has_rest=False).ends(starts[:-1])
            return np.append(np.minimum(ends, starts[-1] - 1), starts[-1])
        if self.seconds < 0:
            return (starts.astype("datetime64[M]") - self.seconds).astype("datetime64[D]") - 1
        if self.seconds % _DAY == 0 and starts.dtype == np.dtype("datetime64[D]"):
            return starts - _days_late(starts, self.week_start) + self.seconds // _DAY - 1
        return starts + np.timedelta64(self.seconds, "s")


def labelled(values: Mapping[str, Any], label: str | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a market with bars dated by their end, and notices.

    Args:
        values: Arguments of `Dataset.from_arrays`, validated.
        label: `start` or `end`: what the dates are; None if the caller does not say.

    Raises:
        OpenOutcryError: `date_invalid`: longer bars may be dated by their start, next to shorter ones.
            `argument_invalid`: the label is unknown, or has no effect.
    """
    if label not in (None, *LABELS):
        raise refusal("argument_invalid", f"`label` must be one of {', '.join(LABELS)}; received {label!r}")
    dates, rows = _times(values["dates"]), _rows(values)
    bars, found = _bars_and_periods(dates, rows)
    said: tuple[str, ...] = ()
    moved = dict(values)
    if label is None:
        _check_no_leak(values["symbols"], bars, found, dates)
        said = _said(bars, found) if len(values["dates"][0]) == 10 else ()
    elif label == "start":
        found = _periods_of_all(bars, found)
        if not any(found):
            message = "`label` must be left out for bars of days, which are known on their date"
            raise refusal("argument_invalid", f'{message}; received "start" with {values["dates"][0]}')
        moved, said = _moved(values, rows, bars, found), (_moved_notice(values, bars, found),)
    return _without_early_opens(moved, said)


def _bars_and_periods(dates: Dates, rows: npt.NDArray[np.bool_]) -> tuple[list[Dates], list[Period | None]]:
    """Return the dates of each symbol, and their period; most symbols share both."""
    known: dict[bytes, tuple[Dates, Period | None]] = {}
    keys = [column.tobytes() for column in np.packbits(rows, axis=0).T]
    for place, key in enumerate(keys):
        if key not in known:
            bars = dates[rows[:, place]]
            known[key] = bars, _period(bars)
    return [known[key][0] for key in keys], [known[key][1] for key in keys]


def may_be_starts(dates: Sequence[str], n_symbols: int) -> bool:
    """Return whether bars may be dated by their start where it matters.

    The tables of a large market are copied for the check only if its dates give a reason: a month starts on a weekend
    two times in seven.
    """
    if len(dates[0]) > 10:
        return n_symbols > 1
    if len(dates) * n_symbols <= _SMALL:
        return True
    weekdays = _times(dates).astype("datetime64[D]").astype(np.int64) % 7
    return bool(np.isin(weekdays, _WEEKEND).any())


def bar_times(described: Sequence[tuple[str, str]], dates: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return what the name of their column says times are: starts or ends of bars."""
    if len(dates[0]) == 10:
        return ()
    if any("Binance klines" in taken or "binance-klines" in taken for _, taken in described):
        return (("times of bars", "starts, as Binance writes them"),)
    names = [what.removeprefix("column ").strip("'\"") for what, taken in described if taken.startswith("date: ")]
    name = names[0] if names else ""
    if _START_NAMES.fullmatch(name):
        return (("times of bars", f"starts, as {name!r} says"),)
    if _END_NAMES.fullmatch(name):
        return (("times of bars", f"ends, as {name!r} says; `resample` takes them for starts"),)
    return (("times of bars", "taken for starts; the file does not say"),)


def _times(dates: Sequence[str]) -> Dates:
    if len(dates[0]) == 10:
        return np.array(dates, dtype="datetime64[D]")
    return np.array([text[:19] for text in dates], dtype="datetime64[s]")


def _rows(values: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    """Return the bars of each symbol: those with a value."""
    has_value: npt.NDArray[np.bool_] = np.isfinite(values["close"])
    for name in TABLES:
        if values.get(name) is not None:
            has_value |= np.isfinite(values[name]) & (values[name] != _NEUTRAL.get(name, np.nan))
    return has_value


def _period(bars: Dates) -> Period | None:
    """Return the period of bars that are dated by its start, or may be."""
    if bars.dtype != np.dtype("datetime64[D]"):
        return _within_days(bars)
    whole = _period_of_days(bars)
    rest = _period_of_days(bars[:-1]) if whole is None else None
    return whole if rest is None else rest._replace(has_rest=True)


def _period_of_days(bars: Dates) -> Period | None:
    if len(bars) < _LEAST_BARS:
        return None
    months = bars.astype("datetime64[M]")
    day_of_month = (bars - months.astype("datetime64[D]")).astype(np.int64)
    gaps, counts = np.unique(np.diff(months).astype(np.int64), return_counts=True)
    # The first session of a month, or of a year, may be its fourth day.
    if day_of_month.max() <= _LATEST_SESSION and gaps[0] > 0:
        n = int(gaps[counts.argmax()])
        is_regular = counts.max() >= _REGULAR * counts.sum() and n in _MONTHS
        return Period(_MONTHS[n], -n, is_certain=day_of_month.max() == 0) if is_regular else None
    weekdays, counts = np.unique(bars.astype(np.int64) % 7, return_counts=True)
    start = int(weekdays[counts.argmax()])
    late = _days_late(bars, start)
    # Some weeks are dated by their first session after a holiday.
    is_start = start in _WEEK_STARTS and counts.max() >= _MOSTLY * counts.sum() and late.max() <= _LATEST_SESSION
    days = np.diff(bars - late).astype(np.int64)
    is_weekly = is_start and days.min() > 0 and (days == 7).mean() >= _REGULAR
    return Period("week", 7 * _DAY, is_certain=False, week_start=start) if is_weekly else None


def _days_late(bars: Dates, start: int) -> npt.NDArray[np.int64]:
    """Return the days from the start of its week to each bar."""
    days: npt.NDArray[np.int64] = (bars.astype(np.int64) - start) % 7
    return days


def _within_days(bars: Dates) -> Period | None:
    """Return the period of bars with times, if all lie on one grid."""
    if len(bars) < _LEAST_TIMES:
        return None
    spacing = _length(bars)
    # A change of clocks moves the bars of a session by whole hours.
    is_on_grid = len(np.unique(bars.astype(np.int64) % min(spacing, _HOUR))) == 1
    return Period(f"{spacing:,} seconds", spacing, is_certain=False) if is_on_grid else None


def _periods_of_all(bars: Sequence[Dates], found: Sequence[Period | None]) -> list[Period | None]:
    """Return the periods of bars that are dated by their start.

    Few or irregular bars have that of a symbol with the same dates. Days have none.
    """
    pairs = [(period, each) for each, period in zip(bars, found, strict=True) if period is not None]
    known = sorted(pairs, key=lambda pair: pair[0].length)
    return [
        _period_like(each, known) if period is None and len(each) else period
        for each, period in zip(bars, found, strict=True)
    ]


def _period_like(bars: Dates, known: Sequence[tuple[Period, Dates]]) -> Period | None:
    for period, others in known:
        if np.isin(bars, others).all():
            return period._replace(has_rest=period.has_rest and bool(bars[-1] == others[-1]))
    if bars.dtype == np.dtype("datetime64[D]"):
        return None
    if len(bars) < _LEAST_TIMES:
        return known[0][0] if known else None
    return Period(f"{_length(bars):,} seconds", _length(bars), is_certain=False)


def _check_no_leak(symbols: Sequence[str], bars: Sequence[Dates], found: Sequence[Period | None], axis: Dates) -> None:
    """Refuse bars that may be dated by their start, before bars within them.

    Raises:
        OpenOutcryError: `date_invalid`: the dates may show later prices.
    """
    for symbol, starts, period in zip(symbols, bars, found, strict=True):
        if period is not None and _holds_others(starts, axis):
            required = "the end of each bar is required where bars of a symbol hold those of another"
            received = (
                f"a bar of {symbol} per {period.name} dated {starts[0]}, which may be its start: it would show later"
            )
            rest = '; bars of one length need no label: `resample` after label="end" makes them'
            raise unstated(Question("date_invalid", required, f"{received} prices", _HINT, "--label start", rest))


def _holds_others(bars: Dates, axis: Dates) -> bool:
    """Return whether most bars have dates of other symbols within them."""
    if len(bars) < _LEAST_BARS or len(bars) == len(axis):
        return False
    ends = bars[1:]
    if bars.dtype != np.dtype("datetime64[D]"):
        ends = np.minimum(ends, bars[:-1] + np.timedelta64(_length(bars), "s"))
    n_between = np.searchsorted(axis, ends) - np.searchsorted(axis, bars[:-1], side="right")
    return bool((n_between > 0).mean() >= 0.5)


def _length(bars: Dates) -> int:
    """Return the length of bars in seconds; some bars may be missing."""
    gaps, counts = np.unique(np.diff(bars).astype(np.int64), return_counts=True)
    return int(gaps[counts.argmax()] if counts.max() >= _THIN * counts.sum() else np.gcd.reduce(gaps))


def _without_early_opens(values: dict[str, Any], said: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a market without opens that are before the bar on which they are decided.

    The open of a month is before its last days: an order of these days cannot fill at it.
    """
    if values.get("open") is None:
        return values, said
    axis, rows = _times(values["dates"]), _rows(values)
    is_early = [
        _is_long(axis[rows[:, column]]) and _holds_others(axis[rows[:, column]], axis)
        for column in range(rows.shape[1])
    ]
    if not any(is_early):
        return values, said
    names = ", ".join(symbol for symbol, early in zip(values["symbols"], is_early, strict=True) if early)
    opens = np.where(is_early, np.nan, values["open"])
    notice = f"opens of {names} are left out: they are before bars of other symbols, so that no order can fill at them"
    return values | {"open": opens}, (*said, notice)


def _is_long(bars: Dates) -> bool:
    """Return whether bars have one length: weeks or longer, or a grid of times."""
    if bars.dtype != np.dtype("datetime64[D]"):
        return _within_days(bars) is not None
    days = np.diff(bars).astype(np.int64)
    return any(((days >= low) & (days <= high)).sum() >= max(2, _REGULAR * len(days)) for low, high in _LENGTHS)


def _said(bars: Sequence[Dates], found: Sequence[Period | None]) -> tuple[str, ...]:
    """Return a notice of days that are, or may be, starts of bars."""
    place = next((place for place, period in enumerate(found) if period is not None), None)
    if place is None or (period := found[place]) is None:
        return ()
    first = bars[place][0]
    if period.seconds > 0:
        weekday = _WEEK_STARTS[period.week_start]
        said = f"weekly bars are dated on {weekday}s, as {first}; if they start then, they are known a week later"
        return (f'{said}; hint: label="start", `--label start`, or label="end"',)
    are = "are" if period.is_certain else "may be"
    said = f"bars {are} dated at the start of their {period.name}, as {first}, and known at its end"
    return (
        f'{said}; hint: label="start", `--label start`, dates them by its last day, as {period.ends(bars[place])[0]}',
    )


def _moved(
    values: Mapping[str, Any], rows: npt.NDArray[np.bool_], bars: Sequence[Dates], found: Sequence[Period | None]
) -> dict[str, Any]:
    """Return a market in which the bars of each symbol have the dates of their ends."""
    ends = [each if period is None else period.ends(each) for each, period in zip(bars, found, strict=True)]
    axis = np.unique(np.concatenate(ends))
    if axis[-1] > _LAST.astype(axis.dtype):
        message = f"ends of bars up to the year 9999 are required; received a bar that ends on {axis[-1]}"
        raise refusal("date_invalid", f'{message}; hint: leave out label="start" (`--label start`)')
    names = [name for name in ("close", *TABLES, "tradable") if values.get(name) is not None]
    tables = {name: np.full((len(axis), len(ends)), _NEUTRAL.get(name, np.nan)) for name in names}
    for column, dates in enumerate(ends):
        places = np.searchsorted(axis, dates)
        for name in names:
            tables[name][places, column] = values[name][rows[:, column], column]
    if "tradable" in tables:
        tables["tradable"] = np.nan_to_num(tables["tradable"]) != 0.0
    suffix = "Z" if values["dates"][0].endswith("Z") else ""
    return dict(values) | tables | {"dates": [f"{text}{suffix}" for text in axis.astype(str).tolist()]}


def _moved_notice(values: Mapping[str, Any], bars: Sequence[Dates], found: Sequence[Period | None]) -> str:
    place = next(place for place, period in enumerate(found) if period is not None)
    period = found[place]
    assert period is not None, "chosen so"
    n_moved = sum(period is not None for period in found)
    of = "" if n_moved == len(found) else f" of {n_moved} of {len(found)} symbols"
    return f"bars{of} are dated by their end: {bars[place][0]} is {period.ends(bars[place])[0]}"
