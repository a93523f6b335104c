"""Months, quarters and years, dated by their last day, when the value is known."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import datetime

from openoutcry.data.readers.questions import Question, unstated

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_FORMS = {
    "months": rf"{_YEAR}(?:[-/]M?|M)(?P<month>\d\d?)",
    "months, year last": rf"(?P<month>\d\d?)[-/]{_YEAR}",
    "names of months": rf"(?P<name>[A-Za-z]{{3,9}})\.?[-/ ]{_YEAR}",
    "names of months, year first": rf"{_YEAR}[-/ ]?(?P<name>[A-Za-z]{{3,9}})",
    "quarters": rf"{_YEAR}[-/ ]?[Qq](?P<quarter>[1-4])",
    "quarters, year last": rf"[Qq](?P<quarter>[1-4])[-/ ]?{_YEAR}",
    "months of six digits": rf"{_YEAR}(?P<month>\d\d)",
}
_YEARS = re.compile(r"(1[89]\d\d|2[01]\d\d|2200)(\.0)?", re.ASCII)
_PATTERNS = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
_LONGEST = 16
# Directives of `strptime` that state a day.
_DAYS = ("%d", "%j", "%x", "%c", "%D", "%F", "%a", "%A", "%u", "%w")
_MONTHS = ("%m", "%b", "%B")


def month_of(name: str) -> int:
    """Return the number of a month by its English name, 0 for another word."""
    lower = name.lower()
    found = [place for place, month in enumerate(MONTH_NAMES, 1) if len(lower) > 2 and month.startswith(lower)]
    return found[0] if found else 0


def looks_like_period(text: str) -> bool:
    """Return whether a text has the form of a month or a quarter."""
    return len(text) <= _LONGEST and any(_last_day(pattern.fullmatch(text)) for pattern in _PATTERNS.values())


def are_years(texts: Iterable[str]) -> bool:
    """Return whether every text is a year from 1800 to 2200."""
    return all(_YEARS.fullmatch(text.strip()) is not None for text in texts)


def last_days(texts: Sequence[str], column: str) -> tuple[list[datetime], str] | None:
    """Return the last days of months, quarters or years and their form, or None.

    Raises:
        OpenOutcryError: `date_invalid`: six digits can be a month or a day with a year of two digits.
    """
    if texts and are_years(texts):
        return [_end(int(text[:4]), 12) for text in texts], "years"
    if not texts or not looks_like_period(texts[0]):
        return None
    for name, pattern in _PATTERNS.items():
        days = [_last_day(pattern.fullmatch(text)) if len(text) <= _LONGEST else None for text in texts]
        present = [day for day in days if day is not None]
        if len(present) == len(texts):
            if name == "months of six digits" and all(1 <= int(text[2:4]) <= 12 for text in texts):
                keyword = 'date_format="%Y%m" for months or date_format="%y%m%d" for days'
                required = f"`{column}` must show whether six digits are months or days"
                raise unstated(
                    Question("date_invalid", required, repr(texts[0]), keyword, "--date-format %Y%m"),
                )
            return present, name
    return None


def ends_of(moments: Sequence[datetime], date_format: str) -> tuple[list[datetime], bool]:
    """Return the last days of periods of a format, and whether it has no day."""
    if any(directive in date_format for directive in _DAYS):
        return list(moments), False
    has_month = any(directive in date_format for directive in _MONTHS)
    return [_end(moment.year, moment.month if has_month else 12) for moment in moments], True


def _last_day(match: re.Match[str] | None) -> datetime | None:
    if match is None:
        return None
    fields = match.groupdict()
    if "quarter" in fields:
        month = 3 * int(fields["quarter"])
    else:
        month = month_of(fields["name"]) if "name" in fields else int(fields["month"])
    return _end(int(fields["year"]), month) if 1 <= month <= 12 else None


def _end(year: int, month: int) -> datetime:
    return datetime(year, month, monthrange(year, month)[1])
