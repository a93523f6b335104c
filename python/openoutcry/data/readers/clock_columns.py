"""Times of day that have a column of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from openoutcry.data.readers.column_roles import is_clock_name, is_price_name
from openoutcry.data.readers.column_words import is_ticker
from openoutcry.data.readers.distinct import Distinct, of_texts
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError, refusal

_HALF = r"(?:[\s-]?(?P<half>[AaPp])\.?[Mm]\.?)"
_COLONS = re.compile(rf"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]0+)?)?{_HALF}?", re.ASCII)
_HOURS = re.compile(rf"(?P<hour>\d\d?){_HALF}", re.ASCII)
# Digits that may have lost their leading zeros.
_DIGITS = re.compile(r"(\d{1,6})(?:\.0+)?", re.ASCII)
_WIDTHS = {4: re.compile(r"(\d\d)(\d\d)(\d\d)?"), 6: re.compile(r"(\d\d)(\d\d)(\d\d)")}
_MIDNIGHT = re.compile(r"(.*\d)(?:T| +)(?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)? ?[Aa][Mm])", re.ASCII)
_DAY = 86_400


def is_clock_column(table: TextTable, place: int) -> bool:
    """Return whether a column has the name and the form of times of day."""
    if not is_clock_name(table.names[place]):
        return False
    if _COLONS.fullmatch(table.first(place).strip()):
        return True
    texts = [text.strip() for text in table.distinct(place).used().values]
    if all(map(_HOURS.fullmatch, texts)):
        return True
    digits = [match[1] for text in texts if (match := _DIGITS.fullmatch(text))]
    width = _width(digits)
    if is_ticker(table.names[place]) and not any(map(is_price_name, table.names)):
        # Prices of the ticker TIME can be whole.
        return False
    are_times = len(digits) == len(texts) and max(map(len, digits), default=0) > 2
    return are_times and all(_of_digits(text, width) is not None for text in digits)


def dates_and_clocks(table: TextTable, places: Mapping[str, int]) -> tuple[Distinct, Sequence[str] | None]:
    """Return the texts of the dates, and the times of the rows if dates have none.

    Without times, each distinct text is there once. A date at midnight has no time.
    """
    dates = table.distinct(places["date"]).used()
    if "clock" not in places:
        return dates, None
    days = [str(text).strip() for text in dates.values]
    if any(":" in text for text in days):
        midnights = [_MIDNIGHT.fullmatch(text) for text in days]
        if None in midnights:
            return dates, None
        days = [match[1] for match in midnights if match is not None]
    of_row = list(map(days.__getitem__, dates.places.tolist()))
    return Distinct(of_row, np.arange(len(of_row), dtype=np.uint32)), table.column(places["clock"])


def seconds_of(clocks: Sequence[str], column: str, lines: Sequence[int]) -> Distinct:
    """Return the seconds since midnight of times; 24:00 is the end of the day.

    Raises:
        OpenOutcryError: `date_invalid`: a text is no time, or some times have AM or PM and others have not.
    """
    found = of_texts([clock.strip() for clock in clocks])
    digits = [match[1] for text in found.values if (match := _DIGITS.fullmatch(text))]
    width = _width(digits)
    has_halves = any(text[-1:] in "mM." and text[-1:] for text in found.values)
    seconds = []
    for text, row in zip(found.values, found.first_rows().tolist(), strict=True):
        second = _second(text, width, has_halves=has_halves)
        if second is None:
            raise _no_time(text, column, lines[row], has_halves=has_halves)
        seconds.append(second)
    return Distinct(np.array(seconds, np.int64), found.places)


def hint_of(unread: Sequence[str]) -> str:
    """Return a hint if a column that is not read has the name of times of day."""
    names = [name for name in unread if is_clock_name(name)]
    return f", or write times such as 09:30 in the column {names[0]!r}, which is not read" if names else ""


def _width(digits: Sequence[str]) -> int:
    return 6 if max(map(len, digits), default=0) > 4 else 4


def _second(text: str, width: int, *, has_halves: bool) -> int | None:
    match = _COLONS.fullmatch(text) or _HOURS.fullmatch(text)
    if match is None:
        digits = None if has_halves else _DIGITS.fullmatch(text)
        return None if digits is None else _of_digits(digits[1], width)
    fields = match.groupdict()
    hour, minute, second = (int(fields.get(name) or 0) for name in ("hour", "minute", "second"))
    if has_halves:
        if not fields["half"] or not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if fields["half"] in "pP" else 0)
    return _in_day(hour, minute, second)


def _of_digits(digits: str, width: int) -> int | None:
    match = _WIDTHS[width].fullmatch(digits.zfill(width))
    return None if match is None else _in_day(*(int(field or 0) for field in match.groups()))


def _in_day(hour: int, minute: int, second: int) -> int | None:
    seconds = 3600 * hour + 60 * minute + second
    return seconds if minute < 60 and second < 60 and seconds <= _DAY else None


def _no_time(text: str, column: str, line: int, *, has_halves: bool) -> OpenOutcryError:
    wanted = "09:30 AM, as others have AM or PM" if has_halves else "09:30"
    hint = "hint: times such as 09:30, 9:30:00 AM and 93000 are read"
    return refusal(
        "date_invalid", f"`{column}` on line {line} must have a time such as {wanted}; received {text!r}; {hint}"
    )
