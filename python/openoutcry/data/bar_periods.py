"""Periods such as 15min, 1d or 1mo, and the period of each bar."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data.trading_days import TradingDays
from openoutcry.errors import refusal

# Spellings of polars, pandas and exchanges. `m` is a minute and `M` a month in all that have them.
_SPELLINGS = {
    "s": ("s", "S"),
    "min": ("min", "m", "T"),
    "h": ("h", "H"),
    "d": ("d", "D"),
    "w": ("w", "W", "W-SUN"),
    "mo": ("mo", "M", "ME"),
    "q": ("q", "Q", "QE", "QE-DEC", "Q-DEC"),
    "y": ("y", "Y", "YE", "A", "YE-DEC", "Y-DEC"),
}
_UNIT_OF = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_DAY = 86_400
# Days from 1970-01-01, a Thursday, back to a Monday.
_MONDAY = 3
_HINT = 'hint: every="1d", "1w", "1mo", "1q", "1y", or "15min", "1h", "4h" for bars with times; `--every 1w`'


class Period(NamedTuple):
    """A period: `n` units of `s`, `min`, `h`, `d`, `w`, `mo`, `q` or `y`."""

    n: int
    unit: str

    @property
    def is_days(self) -> bool:
        """Whether the period is a day or longer."""
        return self.unit not in _SECONDS

    def __str__(self) -> str:
        return f"{self.n}{self.unit}"


def period_of(every: str) -> Period:
    """Return a period by its text.

    Raises:
        OpenOutcryError: `argument_invalid`: the text is none, or its periods do not fit into a day or a year.
    """
    match = re.fullmatch(r"(\d{0,6})([A-Za-z-]+)", every) if isinstance(every, str) else None
    unit = None if match is None else _UNIT_OF.get(match[2])
    n = 0 if match is None else int(match[1] or 1)
    if match is not None and match[2].upper().startswith("W-"):
        unit = unit if match[2] == "W-SUN" else None
    if unit is None or n == 0:
        raise refusal("argument_invalid", f"`every` must be a period that is known; received {every!r}; {_HINT}")
    if unit in _SECONDS and _DAY % (n * _SECONDS[unit]):
        message = f"`every` must divide a day; received {every!r}"
        raise refusal("argument_invalid", f"{message}; hint: 5min, 15min, 1h, 4h or 12h do")
    months = n * _MONTHS.get(unit, 12)
    if 12 % months and months % 12:
        message = f"`every` must divide a year, or be whole years; received {every!r}"
        raise refusal("argument_invalid", f"{message}; hint: 1mo, 2mo, 1q, 6mo or 1y do")
    return Period(n, unit)


def periods(dates: Sequence[str], every: str, trading_days: TradingDays | None = None) -> npt.NDArray[np.int64]:
    """Return the number of the period of each bar, ascending.

    Periods of a day or less begin at the start of a day, weeks on Monday, and months, quarters and years by the
    calendar. Several days or weeks are counted from 1970.

    Args:
        dates: Dates of the bars, ascending.
        every: Period of the longer bars.
        trading_days: Day of each bar; by default days start at midnight of the dates.

    Raises:
        OpenOutcryError: `argument_invalid`: the period is unknown, or no longer than the spacing of the bars.
    """
    period = period_of(every)
    if not period.is_days:
        return _within_days(dates, period, trading_days)
    days = np.array([text[:10] for text in dates], dtype="datetime64[D]") if trading_days is None else trading_days.days
    if period.unit in _MONTHS:
        months = days.astype("datetime64[M]").astype(np.int64)
        # Year 0 is 1970 years before the epoch.
        found = (months + 12 * 1970) // (period.n * _MONTHS[period.unit])
    elif period.unit == "w":
        found = (days.astype(np.int64) + _MONDAY) // (7 * period.n)
    else:
        found = days.astype(np.int64) // period.n
    _check_coarser(found, dates, period)
    return found


def _within_days(dates: Sequence[str], period: Period, trading_days: TradingDays | None) -> npt.NDArray[np.int64]:
    if len(dates[0]) == 10:
        message = f"`every` must be longer than a day for bars of days; received {period}"
        raise refusal("argument_invalid", f"{message}; hint: 1w, 1mo, 1q or 1y")
    times = np.array([text[:19] for text in dates], dtype="datetime64[s]").astype(np.int64)
    seconds = period.n * _SECONDS[period.unit]
    gaps = Counter(np.diff(times).tolist()).most_common(1)
    spacing = int(gaps[0][0])
    if spacing < _DAY and (seconds <= spacing or seconds % spacing):
        message = f"`every` must be a multiple of the spacing of the bars, {spacing:,} seconds; received {period}"
        raise refusal("argument_invalid", message)
    found: npt.NDArray[np.int64] = times // seconds
    if trading_days is not None:
        # A day of 25 hours has more periods than others.
        found = trading_days.days.astype(np.int64) * (2 * _DAY // seconds) + trading_days.seconds // seconds
    _check_coarser(found, dates, period)
    return found


def _check_coarser(found: npt.NDArray[np.int64], dates: Sequence[str], period: Period) -> None:
    if len(np.unique(found)) == len(dates):
        message = f"`every` must be longer than the spacing of the bars; received {period} for {len(dates)} bars"
        raise refusal("argument_invalid", f"{message} from {dates[0]} to {dates[-1]}")
