"""Trading days, which start at a stated clock time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.date_zones import zone_of
from openoutcry.errors import refusal

_MIDNIGHT = "00:00"
# The start of the day of a time in UTC is at most this many calendar days away, in any zone.
_NEAR = np.arange(-2, 3)


class TradingDays(NamedTuple):
    """Trading days of bars.

    Attributes:
        days: Date on which the day of each bar ends, datetime64[D].
        seconds: Seconds from the start of the day to the start of each bar.
        lengths: Seconds of the day of each bar: 23 or 25 hours at a change of clocks.
    """

    days: npt.NDArray[np.datetime64]
    seconds: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]


class DayStart(NamedTuple):
    """Where days start: a clock time in a zone.

    Attributes:
        clock: Clock time such as 17:00; None for midnight.
        tz: IANA zone of that clock, for times in UTC; None for times without a zone.
    """

    clock: str | None = None
    tz: str | None = None

    @property
    def is_stated(self) -> bool:
        """Whether the caller states it; otherwise days start at midnight of the dates."""
        return self != DayStart()

    def __str__(self) -> str:
        return (self.clock or _MIDNIGHT) + (f" in {self.tz}" if self.tz else "")

    def texts(self, dates: Sequence[str]) -> list[str]:
        """Return the ISO 8601 date on which the day of each time ends; see `days`."""
        found: list[str] = self.days(dates).days.astype(str).tolist()
        return found

    def days(self, dates: Sequence[str]) -> TradingDays:
        """Return the day of each time, from a clock time to the next one.

        A day is dated by the date on which it ends: of days from 17:00 in New York, a bar of Sunday evening is
        Monday's.

        Args:
            dates: Starts of the bars: UTC if they end in `Z`, else of the file's own zone.

        Raises:
            OpenOutcryError: `argument_invalid`: the clock is no time, the zone is missing or has no effect, or the
                bars are days. `date_invalid`: a date is too close to the years 1 or 9999.
        """
        hour, minute = _clock(_MIDNIGHT if self.clock is None else self.clock, allows_midnight=True)
        _check_times(dates, self)
        home = zone_of(self.tz) or timezone.utc
        times = np.array([text[:19] for text in dates], dtype="datetime64[s]")
        near = np.unique(np.unique(times.astype("datetime64[D]"))[:, None] + _NEAR)
        try:
            clocks = [datetime(day.year, day.month, day.day, hour, minute, tzinfo=home) for day in near.tolist()]
            # The first of two equal clock times at a change of clocks.
            starts = np.array([int(clock.timestamp()) for clock in clocks], np.int64)
        except (AttributeError, OverflowError, ValueError) as error:
            message = f"dates of the years 2 to 9998 are required; received {dates[0]} to {dates[-1]}"
            raise refusal("date_invalid", message) from error
        seconds = times.astype(np.int64)
        place = np.searchsorted(starts, seconds, side="right") - 1
        ends = (near[place].astype(np.int64) + (hour + minute > 0)).astype("datetime64[D]")
        return TradingDays(ends, seconds - starts[place], starts[place + 1] - starts[place])


def trading_days(dates: Sequence[str], start: str, tz: str | None) -> list[str]:
    """Return the day on which each 24-hour bar ends.

    A bar of foreign exchange that starts on Sunday at 17:00 in New York is Monday's.

    Args:
        dates: Times of the bars: UTC if they end in `Z`, else of the file's own zone.
        start: Clock time at which each bar starts, such as 17:00.
        tz: IANA zone of that clock, for times in UTC.

    Raises:
        OpenOutcryError: `argument_invalid`: the start is no clock time, or the bars are days already.
            `date_invalid`: a bar starts at another time.
    """
    clock = (*_clock(start, allows_midnight=False), 0)
    if len(dates[0]) == 10:
        message = f"`day_starts` must be left out if the dates are days; received {start!r} with {dates[0]}"
        raise refusal("argument_invalid", message)
    _check_zone(dates, tz)
    is_utc = dates[0].endswith("Z")
    home = zone_of(tz) or timezone.utc
    days = []
    for text in dates:
        moment = datetime.fromisoformat(text.removesuffix("Z"))
        local = moment.replace(tzinfo=timezone.utc).astimezone(home) if is_utc else moment
        if (local.hour, local.minute, local.second) != clock:
            received = f"{text}, which is {local:%H:%M:%S}" + (f" in {tz}" if is_utc else "")
            message = f"24-hour bars that start at {start} are required by `day_starts`; received {received}"
            hint = "correct `tz` (`--tz`) or leave out `day_starts` (`--day-starts`)"
            shorter = f'make days of shorter bars with `resample("1d", day_starts="{start}")`, `--every 1d`'
            raise refusal("date_invalid", f"{message}; hint: {hint}; {shorter}")
        days.append((local.date() + timedelta(days=1)).isoformat())
    return days


def _check_times(dates: Sequence[str], start: DayStart) -> None:
    """Check that times have a zone exactly if that of the start is stated."""
    stated = {"day_starts": start.clock, "tz": start.tz}
    name, value = next((each for each in stated.items() if each[1] is not None), ("day_starts", _MIDNIGHT))
    if len(dates[0]) == 10:
        message = f"`{name}` must be left out if the dates are days; received {value!r} with {dates[0]}"
        raise refusal("argument_invalid", message)
    if start.tz is not None and not dates[0].endswith("Z"):
        message = f"`tz` must be left out for times without a zone; received {start.tz!r} with {dates[0]}"
        hint = "hint: state `tz` (`--tz`) where the file is read, or `day_starts` on the clock of the file"
        raise refusal("argument_invalid", f"{message}; {hint}")
    _check_zone(dates, start.tz)


def _check_zone(dates: Sequence[str], tz: str | None) -> None:
    if dates[0].endswith("Z") and tz is None:
        message = f"`tz` is required for `day_starts` with times in UTC; received {dates[0]}"
        raise refusal("argument_invalid", f'{message}; hint: tz="America/New_York", `--tz America/New_York`')


def _clock(start: str, *, allows_midnight: bool) -> tuple[int, int]:
    """Return hour and minute of a clock time."""
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", start) if isinstance(start, str) else None
    hour, minute = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if match is None or not (allows_midnight or hour + minute):
        raise refusal("argument_invalid", f"`day_starts` must be a time such as 17:00; received {start!r}")
    return hour, minute
