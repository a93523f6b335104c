"""Forms of dates as vendors write them, and the fields of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo

from openoutcry.data.readers.period_text import looks_like_period, month_of
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import OpenOutcryError, refusal

_CLOCK = (
    r"(?:(?:[T ]\s*|-(?=\d\d?[\s-]?[AaPp]))?(?P<hour>\d{1,2})"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r"(?:[\s-]?(?P<half>[AaPp]\.?[Mm]\.?))?)"
)
_ZONE = r"\s*(?P<zone>Z|E[SD]T|(?:UTC|GMT)?[+-]\d\d:?\d\d|(?:UTC|GMT)?[+-]\d\d|UTC|GMT)?"
_FORMS = {
    "year first": rf"(?P<year>\d{{4}})([-./])(?P<month>\d\d?)\2(?P<day>\d\d?)(?:[T ]\s*{_CLOCK})?{_ZONE}",
    "digits": r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
    rf"(?:(?:T| {{0,2}})(?P<hour>\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d))?)?{_ZONE}",
    "year last": rf"(?P<first>\d\d?)([-./ ])(?P<last>\d\d?)\2(?P<year>\d{{4}})(?:,?[T ]\s*{_CLOCK})?{_ZONE}",
    "month name": rf"(?P<day>\d\d?)[-/. ]?(?P<name>[A-Za-z]{{3,9}})[-/., ]*(?P<year>\d{{4}})"
    rf"(?:,?[T ]\s*{_CLOCK})?{_ZONE}",
    "name first": rf"(?:[A-Za-z]{{3}},? )?(?P<name>[A-Za-z]{{3,9}})\.? (?P<day>\d\d?),? (?P<year>\d{{4}})"
    rf"(?:,?[T ]\s*{_CLOCK})?{_ZONE}",
}
PATTERNS = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
EPOCH = re.compile(r"(\d{9,10}|\d{13}|\d{16}|\d{19})(?:\.0*)?", re.ASCII)
# Abbreviations of other zones mean several offsets.
_ABBREVIATIONS = {"EST": -5, "EDT": -4}
# No date is longer; the patterns need quadratic time for long blanks.
LONGEST = 48
_TWO_DIGITS = re.compile(r"\d\d?([-./ ])(?:\d\d?|(?P<name>[A-Za-z]{3}))\1\d\d", re.ASCII)

_SHORT_MONTH = re.compile(r"[A-Za-z]{3}[-/' ]\d\d", re.ASCII)


def looks_like_date(text: str) -> bool:
    """Return whether a text is a date, a month, a quarter or an epoch time."""
    text = text.strip()
    if len(text) > LONGEST:
        return False
    is_day = any(pattern.fullmatch(text) for pattern in PATTERNS.values()) or EPOCH.fullmatch(text) is not None
    return is_day or looks_like_period(text)


def form_of(days: Sequence[str], column: str, line_of: dict[str, int]) -> str:
    """Return the form that all texts have.

    Raises:
        OpenOutcryError: `date_invalid`: the texts have no form in common.
    """
    first = days[0] if days else ""
    other = next((text for text in days if len(text) > LONGEST or (":" in text) != (":" in first)), None)
    shown = first[:LONGEST]
    forms = [name for name, pattern in PATTERNS.items() if pattern.fullmatch(shown)]
    forms += ["epoch"] if EPOCH.fullmatch(shown) else []
    # Days and times in one column are two forms.
    for form in forms if other is None else []:
        pattern = EPOCH if form == "epoch" else PATTERNS[form]
        other = next((text for text in days if pattern.fullmatch(text) is None), None)
        if other is None:
            return form
    text = first if not forms or other is None else other
    raise _form_refusal(text or "", column, line_of)


def _form_refusal(text: str, column: str, line_of: dict[str, int]) -> OpenOutcryError:
    line = line_of.get(text, 0)
    match = _TWO_DIGITS.fullmatch(text[:LONGEST])
    if match is not None:
        mark = match[1]
        day_first = f"%d{mark}%b{mark}%y" if match["name"] else f"%d{mark}%m{mark}%y"
        others = "" if match["name"] else f' or date_format="%m{mark}%d{mark}%y"'
        required = f"`{column}` on line {line} must have a year of four digits, or `date_format`"
        keyword, option = f'date_format="{day_first}"{others}', f"--date-format {day_first}"
        return unstated(Question("date_invalid", required, repr(text), keyword, option))
    if _SHORT_MONTH.fullmatch(text) is not None:
        written = f"%b{text[3]}%y"
        required = f"`{column}` on line {line} must have a year of four digits, or `date_format`"
        keyword = f'date_format="{written}" for months of years of two digits'
        return unstated(Question("date_invalid", required, repr(text), keyword, f"--date-format {written}"))
    hint = "hint: dates such as 2024-01-31, 31.01.2024, 2024-01-31 09:30:00, 2024-01 and epoch times are read, and"
    hint += ' other forms with date_format="%d-%b-%y", `--date-format %d-%b-%y`'
    if re.fullmatch(r"\d{5}(\.0*)?", text):
        hint = "hint: a number of five digits is a date of a spreadsheet: format the column as dates"
    message = f"`{column}` on line {line} must be a date in one form; received {text[:60]!r}; {hint}"
    return refusal("date_invalid", message)


class Fields:
    """Reader of the fields of one form."""

    def __init__(self, form: str, order: str, column: str, line_of: dict[str, int]) -> None:
        self._pattern, self._column, self._line_of = PATTERNS[form], column, line_of
        self.order = order

    def is_day_end(self, text: str) -> bool:
        """Return whether a text is the last moment of a day, as some vendors label a day."""
        match = self._pattern.fullmatch(text)
        fields = match.groupdict() if match is not None else {}
        clock = (fields.get("hour"), fields.get("minute"), fields.get("second"))
        # Fractions of fewer digits are ticks.
        return clock == ("23", "59", "59") and re.fullmatch("(9{3,})?", fields.get("fraction") or "") is not None

    def time(self, text: str, *, is_day: bool = False) -> datetime:
        """Return the time of a text; without its clock if it labels a day."""
        match = self._pattern.fullmatch(text)
        assert match is not None, "the form was checked"
        fields = match.groupdict()
        if self.order:
            day, month = (fields["first"], fields["last"])[:: 1 if self.order == "dmy" else -1]
        elif "name" in fields:
            day, month = fields["day"], str(month_of(fields["name"]))
        else:
            day, month = fields["day"], fields["month"]
        if not is_day and (fields.get("fraction") or "").strip("0"):
            wanted, hint = "a time without a fraction of a second", "ticks are not bars: aggregate them to bars first"
            self._refuse(text, wanted, hint)
        try:
            hour = _hour(fields.get("hour"), fields.get("half"))
            clock = (hour, int(fields.get("minute") or 0), int(fields.get("second") or 0))
            if is_day:
                clock = (0, 0, 0)
            return datetime(int(fields["year"]), int(month), int(day), *clock, tzinfo=_offset(fields.get("zone")))
        except ValueError:
            self._refuse(text, "a date that exists", "")
        raise AssertionError("`_refuse` raises")

    def _refuse(self, text: str, wanted: str, hint: str) -> None:
        hint = hint and f"; hint: {hint}"
        message = f"`{self._column}` on line {self._line_of.get(text, 0)} must be {wanted}; received {text!r}{hint}"
        raise refusal("date_invalid", message)


def _hour(hour: str | None, half: str | None) -> int:
    number = int(hour or 0)
    if not half:
        return number
    if not 1 <= number <= 12:
        raise ValueError("an hour of a 12-hour clock is required")
    return number % 12 + (12 if half[0] in "pP" else 0)


def _offset(zone: str | None) -> tzinfo | None:
    if not zone:
        return None
    if zone in _ABBREVIATIONS:
        return timezone(timedelta(hours=_ABBREVIATIONS[zone]))
    offset = zone.removeprefix("GMT").removeprefix("UTC")
    if not offset or offset == "Z":
        return timezone.utc
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return timezone((1 if offset[0] == "+" else -1) * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
