"""Texts that are a day and a time of day.

Neither part has an effect on how the other is read, so each distinct one is read once. Days of two years differ in
their year only, if both are leap years or neither is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from datetime import datetime, time, timezone

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.distinct import Distinct, of_texts
from openoutcry.data.readers.moments import DAY, Moments, of_datetimes

_DAY = r"(?:\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./]\d{4}|\d{8})"
_LINES = {mark: re.compile(rf"(?:{_DAY}{mark}[^\n]*(?:\n|\Z))+", re.ASCII) for mark in ("T", " ")}
_NAMED = r"(?:\d\d?[-/. ]?[A-Za-z]{3,9}[-/., ]*|(?:[A-Za-z]{3},? )?[A-Za-z]{3,9}\.? \d\d?,? )\d{4}"
# A day with a name, or of digits, and the time behind it.
_JOINED = {
    "name": re.compile(rf"^({_NAMED})(,?[T ][^\n]*)$", re.ASCII | re.MULTILINE),
    "digits": re.compile(r"^(\d{8})(\d{4}|\d{6})$", re.ASCII | re.MULTILINE),
}
_YEAR_FIRST = re.compile(r"(?:\d{4}(?:[-./]\d\d?[-./]\d\d?|\d{4})(?:\n|\Z))+", re.ASCII)
_YEAR_LAST = re.compile(rf"(?:(?:\d\d?[-./ ]\d\d?[-./ ]\d{{4}}|{_NAMED})(?:\n|\Z))+", re.ASCII)
# Formats of `strptime` for a day without blanks, or for such a day and a time.
_FORMAT = re.compile(r"(?P<day>%[dmyYbB]([-./]%[dmyYbB])*)( (?P<clock>%[HI](:%[MS])*( ?%p)?))?", re.ASCII)
_FORMAT_LINES = re.compile(r"(?:[^\s]*[0-9A-Za-z] [0-9][^\n]*(?:\n|\Z))+", re.ASCII)


class SplitTimes:
    """Days and times of day of texts; a text of another form is a day."""

    def __init__(self, texts: Sequence[str], date_format: str | None = None) -> None:
        self._texts = texts
        parts = _parts(texts) if date_format is None else _parts_of_format(texts, date_format)
        self.is_split = parts is not None
        days, clocks = parts if parts is not None else (texts, None)
        self._days = of_texts(days)
        self._clocks = Distinct([""], np.zeros(len(texts), np.uint32)) if clocks is None else of_texts(clocks)
        self._kinds, self._years = _by_year(list(self._days.values), date_format)
        first = self._days.first_rows()
        self._first_days = first[self._kinds.first_rows()].tolist()
        self._first_clocks = self._clocks.first_rows().tolist()
        self._shown = sorted({*self._first_days, *self._first_clocks})

    def shown(self) -> list[str]:
        """Return a text of each kind of day and of each time of day, in their order."""
        return [self._texts[row] for row in self._shown]

    def moments(self, known: Sequence[datetime]) -> Moments:
        """Return the times of all texts, from those of `shown`."""
        of_row = dict(zip(self._shown, known, strict=True))
        days = self._day_numbers(of_row)[self._days.places] * DAY
        rows, places = self._first_clocks, self._clocks.places
        if not self.is_split:
            rows, places = self._first_days, self._kinds.places[self._days.places]
        clocks = of_datetimes([of_row[row] for row in rows])
        return Moments(days + (clocks.seconds % DAY)[places], clocks.offsets[places])

    def iso(self, known: Sequence[datetime], *, is_utc: bool) -> list[str] | None:
        """Return the times of all texts in ISO 8601, from those of `shown`.

        None if they may be days: all are midnight, or there is one a day. None if they have an offset.
        """
        of_row = dict(zip(self._shown, known, strict=True))
        clocks = [of_row[row].timetz() for row in self._first_clocks]
        zones = {moment.tzinfo for moment in known}
        may_be_days = len(self._days.values) == len(self._texts)
        may_be_days = may_be_days or all(clock.replace(tzinfo=None) == time() for clock in clocks)
        if may_be_days or zones not in ({None}, {timezone.utc}):
            return None
        end = "Z" if is_utc or zones == {timezone.utc} else ""
        dates = np.datetime_as_string(self._day_numbers(of_row).astype("datetime64[D]")).tolist()
        hours = [f"T{clock.replace(tzinfo=None).isoformat()}{end}" for clock in clocks]
        return list(map(operator.add, self._of_rows(self._days, dates), self._of_rows(self._clocks, hours)))

    def _day_numbers(self, of_row: dict[int, datetime]) -> npt.NDArray[np.int64]:
        """Return the days since 1970 of the distinct days."""
        known = [of_row[row] for row in self._first_days]
        numbers = np.array([each.toordinal() - 719_163 for each in known], np.int64)
        if self._years is None:
            return numbers
        in_year = numbers - _first_day(np.array([each.year for each in known], np.int64))
        days: npt.NDArray[np.int64] = _first_day(self._years) + in_year[self._kinds.places]
        return days

    @staticmethod
    def _of_rows(column: Distinct, parts: Sequence[object]) -> map:  # type: ignore[type-arg]
        return map(parts.__getitem__, column.places.tolist())


def _first_day(years: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return (years - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)


def _parts(texts: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return the days and the times of day of texts, None if they are one part."""
    first = texts[0] if texts else ""
    mark = "T" if "T" in first else " "
    lines = "\n".join(texts)
    if lines.count("\n") != len(texts) - 1:
        return None
    if _fit(_LINES[mark], lines):
        # One text per part is faster than a tuple per row.
        halves = lines.replace(mark, "\n").split("\n") if lines.count(mark) == len(texts) else []
        return (halves[::2], halves[1::2]) if halves else _partitioned(texts, mark)
    joined = _JOINED["digits" if first.isdigit() else "name"]
    # Most files of days have no time at all.
    if joined.match(first) is None:
        return None
    parts = joined.findall(lines)
    if len(parts) < len(texts):
        return None
    return [day for day, _ in parts], [clock for _, clock in parts]


def _parts_of_format(texts: Sequence[str], date_format: str) -> tuple[list[str], list[str]] | None:
    match, lines = _FORMAT.fullmatch(date_format), "\n".join(texts)
    if match is None or match["clock"] is None or lines.count("\n") != len(texts) - 1:
        return None
    return _partitioned(texts, " ") if _fit(_FORMAT_LINES, lines) else None


def _fit(pattern: re.Pattern[str], lines: str) -> bool:
    """Return whether each line has a form.

    An empty last line, behind the mark of a line, has none.
    """
    return not lines.endswith("\n") and pattern.fullmatch(lines) is not None


def _partitioned(texts: Sequence[str], mark: str) -> tuple[list[str], list[str]]:
    parts = [text.partition(mark) for text in texts]
    return [day for day, _, _ in parts], [clock for _, _, clock in parts]


def _by_year(days: Sequence[str], date_format: str | None) -> tuple[Distinct, npt.NDArray[np.int64] | None]:
    """Return the kinds of days, and the year of each; None if they show no year.

    A kind is the day without its year, and whether the year is a leap year, another one, or 0.
    """
    lines = "\n".join(days)
    match = None if date_format is None else _FORMAT.fullmatch(date_format)
    form = "%Y.%Y" if date_format is None else match["day"] if match is not None else ""
    is_first = form.startswith("%Y") and _fit(_YEAR_FIRST, lines)
    if not is_first and not (form.endswith("%Y") and _fit(_YEAR_LAST, lines)):
        return Distinct(days, np.arange(len(days), dtype=np.uint32)), None
    years = np.fromiter(map(int, [day[:4] if is_first else day[-4:] for day in days]), np.int64, len(days))
    rest = of_texts([day[4:] if is_first else day[:-4] for day in days])
    is_leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    kinds = 3 * rest.places.astype(np.int64) + np.where(years == 0, 2, np.where(is_leap, 1, 0))
    known = np.zeros(3 * len(rest.values), bool)
    known[kinds] = True
    numbers = np.cumsum(known) - 1
    return Distinct(range(int(known.sum())), numbers[kinds].astype(np.uint32)), years
