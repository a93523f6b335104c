"""Refusals of dates that do not show their year, their order or their form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

from openoutcry.data.readers.period_text import month_of
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import OpenOutcryError, refusal

_CLOCK = r"(?P<clock>[ T]+(?P<hours>\d\d?:\d\d(?P<seconds>:\d\d)?)(?P<half> ?[AaPp][Mm])?)?"
_TWO_DIGITS = re.compile(rf"\d\d?(?P<mark>[-./ ])(?:\d\d?|(?P<name>[A-Za-z]{{3}}))(?P=mark)\d\d{_CLOCK}", re.ASCII)
_MONTH_FIRST = re.compile(r"(?P<name>[A-Za-z]{3,9})(?P<mark>[-/. ']{1,2})(?P<number>\d\d?)", re.ASCII)
_MONTH_LAST = re.compile(r"(?P<number>\d\d?)(?P<mark>[-/. ']{1,2})(?P<name>[A-Za-z]{3,9})", re.ASCII)
_LONGEST = 48
# Texts by which a format is tried.
_MOST_TRIED = 2_000
# Directives of `strptime` that state a year.
_YEARS = ("%y", "%Y", "%G", "%c", "%x", "%D", "%F")


def refused(text: str, column: str, line_of: Mapping[str, int]) -> OpenOutcryError:
    """Return the refusal of a date, with what can be stated to read it.

    Args:
        text: The date.
        column: Name of its column.
        line_of: All dates of the column, and the line of each.
    """
    where = f"`{column}` on line {line_of.get(text, 0)}"
    short = text[:_LONGEST]
    two_digits = _TWO_DIGITS.fullmatch(short)
    if two_digits is not None:
        formats = _fitting(_formats(two_digits), line_of)
        keyword = " or ".join(f'date_format="{each}"' for each in formats)
        required = f"{where} must have a year of four digits, or `date_format`"
        return unstated(Question("date_invalid", required, repr(text), keyword, f"--date-format {_quoted(formats[0])}"))
    month = _MONTH_FIRST.fullmatch(short) or _MONTH_LAST.fullmatch(short)
    if month is not None and month_of(month["name"]):
        return _of_month(month, where, text)
    hint = "hint: dates such as 2024-01-31, 31.01.2024, 2024-01-31 09:30:00, 2024-01 and epoch times are read, and"
    hint += ' other forms with date_format="%d-%b-%y", `--date-format %d-%b-%y`'
    if re.fullmatch(r"\d{5}(\.0*)?", text):
        hint = "hint: a number of five digits is a date of a spreadsheet: format the column as dates"
    return refusal("date_invalid", f"{where} must be a date in one form; received {text[:60]!r}; {hint}")


def check_format(date_format: object, order: str | None) -> str:
    """Return a stated format of `strptime`.

    Raises:
        OpenOutcryError: `argument_invalid`: it is none, it states no year, or an order is stated too.
    """
    if not isinstance(date_format, str) or "%" not in date_format:
        message = f'`date_format` must be a format of strptime such as "%d-%b-%y"; received {date_format!r}'
        raise refusal("argument_invalid", message)
    if order is not None:
        raise refusal("argument_invalid", f"`date_order` or `date_format` is required; received both, {date_format!r}")
    if not any(directive in date_format for directive in _YEARS):
        message = f"`date_format` must state the year; received {date_format!r}"
        raise refusal("argument_invalid", f"{message}; hint: write the year in the file, such as 2024-01-31")
    return date_format


def _formats(match: re.Match[str]) -> list[str]:
    """Return formats that a date with a year of two digits can have."""
    mark = match["mark"]
    clock = ""
    if match["clock"]:
        hours = "%I:%M" if match["half"] else "%H:%M"
        half = " %p" if (match["half"] or "").startswith(" ") else "%p" if match["half"] else ""
        clock = f"{'T' if 'T' in match['clock'] else ' '}{hours}{':%S' if match['seconds'] else ''}{half}"
    days = ["%d{0}%b{0}%y"] if match["name"] else ["%d{0}%m{0}%y", "%m{0}%d{0}%y", "%y{0}%m{0}%d"]
    return [day.format(mark) + clock for day in days]


def _fitting(formats: list[str], texts: Iterable[str]) -> list[str]:
    """Return the formats that all texts fit; all of them if there is none."""
    tried = list(islice(texts, _MOST_TRIED))
    return [each for each in formats if all(_fits(text, each) for text in tried)] or formats


def _fits(text: str, date_format: str) -> bool:
    try:
        datetime.strptime(text, date_format)
    except ValueError:
        return False
    return True


def _of_month(match: re.Match[str], where: str, text: str) -> OpenOutcryError:
    """Return the question whether a month is that of a year or has a day."""
    name = "%B" if len(match["name"]) > 3 else "%b"
    is_first = match.string.startswith(match["name"])
    form = f"{name}{match['mark']}%y" if is_first else f"%y{match['mark']}{name}"
    required = f"{where} must show whether it is a month of a year or a day of a month"
    keyword = f'date_format="{form}" for months'
    rest = ", or write days with their year, such as 2024-01-31"
    return unstated(Question("date_invalid", required, repr(text), keyword, f"--date-format {_quoted(form)}", rest))


def _quoted(text: str) -> str:
    """Return a text as one word of a command."""
    return f'"{text}"' if " " in text or "'" in text else text
