"""Times of a column as numbers: local seconds, and their offsets from UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import repeated_hours

Seconds = npt.NDArray[np.int64]

DAY = 86_400
# Offset of a time without a zone.
NO_ZONE = -(1 << 40)
_EPOCH = datetime(1970, 1, 1)
_FIRST, _END = (
    int((moment - _EPOCH) / timedelta(seconds=1)) for moment in (datetime.min, datetime.max.replace(microsecond=0))
)


class Moments(NamedTuple):
    """Local seconds since 1970, and the offset of each in seconds.

    The offset is `NO_ZONE` without one.
    """

    seconds: Seconds
    offsets: Seconds

    def plus(self, seconds: Seconds) -> Moments:
        """Return later times.

        Raises:
            OverflowError: a time is after the year 9999.
        """
        return Moments(_in_years(self.seconds + seconds), self.offsets)

    def utc(self) -> Seconds:
        """Return the seconds in UTC of times with a zone.

        Raises:
            OverflowError: a time is not in the years 1 to 9999.
        """
        return _in_years(self.seconds - self.offsets)

    def in_zone(self, home: tzinfo) -> Moments:
        """Return times with a zone in another one.

        Raises:
            OverflowError: a time is not in the years 1 to 9999.
        """
        utc = self.utc()
        offsets = _offsets(utc, lambda second: _offset(_time(second).replace(tzinfo=timezone.utc).astimezone(home)))
        return Moments(_in_years(utc + offsets), offsets)

    def localized(self, home: tzinfo, symbols: Sequence[int] | None = None) -> Moments:
        """Return local times with their offset.

        A time in the hour that clocks repeat is refused, unless the order of the rows of each symbol tells it apart;
        see `repeated_hours.second_passes`.

        Args:
            home: Zone of the times.
            symbols: Number of the symbol of each row; None if the times are not rows.
        """
        repeated: dict[int, int] = {}

        def at_change(second: int) -> int:
            first, later = both(second)
            # Clocks that are set forward leave out times.
            if first < later or (first != later and symbols is None):
                raise repeated_hours.ambiguous(_time(second).isoformat())
            if first != later:
                repeated[second] = later
            return first

        def at_midnight(second: int) -> int:
            first, later = both(second)
            return first if first == later else NO_ZONE

        def both(second: int) -> tuple[int, int]:
            local = _time(second).replace(tzinfo=home)
            return _offset(local), _offset(local.replace(fold=1))

        offsets = _offsets(self.seconds, at_change, at_midnight)
        if repeated and symbols is not None:
            marks = np.isin(self.seconds, list(repeated))
            rows = repeated_hours.second_passes(self.seconds, marks, symbols)
            offsets[rows] = [repeated[second] for second in self.seconds[rows].tolist()]
        return Moments(self.seconds, offsets)


def of_datetimes(times: Sequence[datetime]) -> Moments:
    """Return datetimes of whole seconds as numbers."""
    seconds = [(time.toordinal() - 719_163) * DAY + clock_seconds(time) for time in times]
    return Moments(np.array(seconds, np.int64), np.array(list(map(_offset, times)), np.int64))


def clock_seconds(time: datetime) -> int:
    """Return the seconds since midnight."""
    return 3600 * time.hour + 60 * time.minute + time.second


def iso_days(seconds: Seconds) -> list[str]:
    """Return the days of seconds in ISO 8601."""
    return _shown((seconds // DAY).astype("datetime64[D]"))


def iso_times(seconds: Seconds, end: str = "") -> list[str]:
    """Return times in ISO 8601; `end` is empty or Z."""
    return _shown(seconds.astype("datetime64[s]"), timezone="UTC" if end else "naive")


def _shown(times: npt.NDArray[Any], **options: Any) -> list[str]:
    texts: list[str] = np.datetime_as_string(times, **options).tolist()
    return texts


def _offsets(
    seconds: Seconds, offset_of: Callable[[int], int], at_midnight: Callable[[int], int] | None = None
) -> Seconds:
    """Return the offset at each second.

    It is constant on a day with one offset at both ends: no zone has changed its clocks back on the same day.
    """
    days, places = np.unique(seconds // DAY, return_inverse=True)
    midnights, ends = np.unique(np.concatenate([days, days + 1]), return_inverse=True)
    known = [
        (at_midnight or offset_of)(second) if _FIRST + DAY <= second <= _END - DAY else NO_ZONE
        for second in (midnights * DAY).tolist()
    ]
    of_end = np.array(known, np.int64)[ends]
    first, last = of_end[: len(days)], of_end[len(days) :]
    found = np.where(first == last, first, NO_ZONE)[places]
    changes = np.flatnonzero(found == NO_ZONE)
    of_second: dict[int, int] = {}
    for row, second in zip(changes.tolist(), seconds[changes].tolist(), strict=True):
        if second not in of_second:
            of_second[second] = offset_of(second)
        found[row] = of_second[second]
    return found


def _in_years(seconds: Seconds) -> Seconds:
    if len(seconds) and not _FIRST <= int(seconds.min()) <= int(seconds.max()) <= _END:
        raise OverflowError("a time is not in the years 1 to 9999")
    return seconds


def _time(second: int) -> datetime:
    return _EPOCH + timedelta(seconds=second)


def _offset(time: datetime) -> int:
    offset = time.utcoffset()
    return NO_ZONE if offset is None else offset.days * DAY + offset.seconds
