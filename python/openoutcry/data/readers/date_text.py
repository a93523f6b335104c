"""Dates as vendors write them, converted to ISO 8601.

A column has one form. The order of day and month must be stated or visible in the column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo

from openoutcry.errors import refusal

ORDERS = ("dmy", "mdy")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_CLOCK = (
    r"(?:(?:[T ]\s*|-(?=\d\d?[\s-]?[AaPp]))?(?P<hour>\d{1,2})"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r"(?:[\s-]?(?P<half>[AaPp]\.?[Mm]\.?))?)"
)
_ZONE = r"\s*(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?"
_FORMS = {
    "year first": rf"(?P<year>\d{{4}})([-./])(?P<month>\d\d?)\2(?P<day>\d\d?)(?:[T ]\s*{_CLOCK})?{_ZONE}",
    "digits": r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
    rf"(?:[T ]?(?P<hour>\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d))?)?{_ZONE}",
    "year last": rf"(?P<first>\d\d?)([-./ ])(?P<last>\d\d?)\2(?P<year>\d{{4}})(?:,?[T ]\s*{_CLOCK})?{_ZONE}",
    "month name": rf"(?P<day>\d\d?)[-/. ]?(?P<name>[A-Za-z]{{3,9}})[-/., ]*(?P<year>\d{{4}})"
    rf"(?:,?[T ]\s*{_CLOCK})?{_ZONE}",
    "name first": rf"(?:[A-Za-z]{{3}},? )?(?P<name>[A-Za-z]{{3,9}})\.? (?P<day>\d\d?),? (?P<year>\d{{4}})"
    rf"(?:,?[T ]\s*{_CLOCK})?{_ZONE}",
}
_PATTERNS = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
# A day of ten characters before a time of day. Neither has an effect on how the other is read.
_SPLIT = re.compile(r"(?:\d{4}[-./]\d\d[-./]\d\d|\d\d[-./ ]\d\d[-./ ]\d{4})[T ]", re.ASCII)
_EPOCH = re.compile(r"(\d{9,10}|\d{13}|\d{16}|\d{19})(?:\.0*)?", re.ASCII)
_UNITS = {9: 1, 10: 1, 13: 10**3, 16: 10**6, 19: 10**9}
_UNIT_NAMES = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
# `2024010209` is a date and an hour, and no epoch of 2034.
_LAST_EPOCH = 1_924_992_000
# No date is longer; the patterns need quadratic time for long blanks.
_LONGEST = 48
_EPOCH_0 = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Dates:
    """Dates of a column.

    Attributes:
        texts: ISO 8601: days, `T` times without a zone, or UTC times that end in `Z`.
        form: Description of the form.
    """

    texts: list[str]
    form: str


def looks_like_date(text: str) -> bool:
    """Return whether a text has the form of a date or an epoch time."""
    text = text.strip()
    if len(text) > _LONGEST:
        return False
    return any(pattern.fullmatch(text) for pattern in _PATTERNS.values()) or _EPOCH.fullmatch(text) is not None


def parse(
    values: Sequence[str],
    lines: Sequence[int],
    *,
    column: str = "date",
    clocks: Sequence[str] | None = None,
    order: str | None = None,
    zone: str | None = None,
    is_utc: bool = False,
) -> Dates:
    """Return the dates of a column in ISO 8601.

    Times with an offset become UTC. Times that are all midnight, in their own zone or in `zone`, become days.

    Args:
        values: Texts of the column.
        lines: Line of each text.
        column: Name of the column, for messages.
        clocks: Texts of a column of times, if date and time are apart.
        order: `dmy` or `mdy`; None if it must be visible in the column.
        zone: IANA name of the zone of times without an offset, and of the days of epoch times.
        is_utc: Whether the file states that its times are UTC.

    Raises:
        OpenOutcryError: `date_invalid`: a text is no date, the order is ambiguous, or a time has a fraction.
    """
    texts = [text.strip() for text in values]
    line_of = dict(zip(reversed(texts), reversed(list(lines)), strict=True))
    home = zone_of(zone)
    days = list(dict.fromkeys(texts))
    shown = _representatives(days)
    form = _form(shown, column, line_of)
    if form == "epoch":
        return _epochs(texts, column, home, line_of)
    fields = _Fields(form, _order(form, shown, column, order), column, line_of)
    midnights = _moments(days, {text: fields.time(text) for text in shown})
    # Without clocks, each distinct time is converted once.
    moments = list(midnights.values())
    if clocks is not None:
        hours = [clock.strip() for clock in clocks]
        width = 6 if max(map(len, hours)) > 4 else 4
        offsets = {clock: _clock(clock, width, column, line) for clock, line in zip(hours, lines, strict=True)}
        moments = [midnights[text] + offsets[clock] for text, clock in zip(texts, hours, strict=True)]
    try:
        found = _texts(moments, _described(form, fields.order), home, is_utc)
    except OverflowError as error:
        raise refusal("date_invalid", f"`{column}` must be dates of the years 1 to 9999; received others") from error
    if clocks is not None:
        return found
    text_of = dict(zip(midnights, found.texts, strict=True))
    return Dates([text_of[text] for text in texts], found.form)


def zone_of(name: str | None) -> tzinfo | None:
    """Return a time zone by its IANA name.

    Raises:
        OpenOutcryError: `argument_invalid`: the name is unknown.
    """
    if name is not None and not isinstance(name, str):
        raise refusal("argument_invalid", f"`tz` must be an IANA zone such as America/New_York; received {name!r}")
    if name is None or name.upper() in ("UTC", "GMT", "Z"):
        return None if name is None else timezone.utc
    # Importing it costs 10 ms, which a plain file need not pay.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise refusal(
            "argument_invalid", f"`tz` must be an IANA zone such as America/New_York; received {name!r}"
        ) from error


def _representatives(days: Sequence[str]) -> list[str]:
    """Return the first texts with each day and each time of day.

    Texts of other forms are all returned.
    """
    seen, shown = set[str](), []
    for text in days:
        parts = (text[:10], text[10:]) if _SPLIT.match(text) else (text,)
        if not seen.issuperset(parts):
            seen.update(parts)
            shown.append(text)
    return shown


def _moments(days: Sequence[str], known: dict[str, datetime]) -> dict[str, datetime]:
    """Return the time of each text, from the times of its representatives."""
    dates = {text[:10]: moment for text, moment in known.items()}
    times = {text[10:]: moment.timetz() for text, moment in known.items()}
    return {text: known.get(text) or datetime.combine(dates[text[:10]], times[text[10:]]) for text in days}


def _form(days: Sequence[str], column: str, line_of: dict[str, int]) -> str:
    """Return the form that all texts have."""
    first = days[0] if days else ""
    other = next((text for text in days if len(text) > _LONGEST or (":" in text) != (":" in first)), None)
    shown = first[:_LONGEST]
    forms = [name for name, pattern in _PATTERNS.items() if pattern.fullmatch(shown)]
    forms += ["epoch"] if _EPOCH.fullmatch(shown) else []
    # Days and times in one column are two forms.
    for form in forms if other is None else []:
        pattern = _EPOCH if form == "epoch" else _PATTERNS[form]
        other = next((text for text in days if pattern.fullmatch(text) is None), None)
        if other is None:
            return form
    text = first if not forms or other is None else other
    hint = "hint: dates such as 2024-01-31, 31.01.2024, 2024-01-31 09:30:00 and epoch times are read"
    if re.fullmatch(r"\d{5}", text or ""):
        hint = "hint: a number of five digits is a date of a spreadsheet: format the column as dates"
    if re.fullmatch(r"\d\d?[-/.]\d\d?[-/.]\d\d", text or ""):
        hint = "hint: write the year with four digits"
    message = (
        f"`{column}` on line {line_of.get(text or '', 0)} must be a date in one form; received {text[:60]!r}; {hint}"
    )
    raise refusal("date_invalid", message)


def _order(form: str, days: Sequence[str], column: str, order: str | None) -> str:
    """Return `dmy` or `mdy` for a form that ends in the year."""
    if order is not None and order not in ORDERS:
        raise refusal("argument_invalid", f"`date_order` must be `dmy` or `mdy`; received {order!r}")
    if form != "year last":
        if order is not None:
            message = f"`date_order` must be left out if dates state their order; received {order!r} with {days[0]!r}"
            raise refusal("argument_invalid", message)
        return ""
    matches = [match for text in days if (match := _PATTERNS[form].fullmatch(text)) is not None]
    may_be_dmy = all(int(match["last"]) <= 12 for match in matches)
    may_be_mdy = all(int(match["first"]) <= 12 for match in matches)
    visible = {(True, False): "dmy", (False, True): "mdy"}.get((may_be_dmy, may_be_mdy))
    # Dots are used for days first only.
    if visible is None and may_be_dmy and matches[0][2] == ".":
        visible = "dmy"
    if order is not None:
        if visible not in (None, order):
            message = f"`date_order` must fit the column `{column}`, which is {visible}; received {order!r}"
            raise refusal("argument_invalid", message)
        return order
    if visible is not None:
        return visible
    if not may_be_dmy:
        received = "both days and months above 12"
        raise refusal("date_invalid", f"`{column}` must have one order of day and month; received {received}")
    message = f"`{column}` must show the order of day and month; received {days[0]!r}, which is ambiguous"
    raise refusal("date_invalid", f'{message}; hint: date_order="dmy" or date_order="mdy", `--date-order dmy`')


class _Fields:
    """Reader of the fields of one form."""

    def __init__(self, form: str, order: str, column: str, line_of: dict[str, int]) -> None:
        self._pattern, self._column, self._line_of = _PATTERNS[form], column, line_of
        self.order = order

    def time(self, text: str) -> datetime:
        match = self._pattern.fullmatch(text)
        assert match is not None, "the form was checked"
        fields = match.groupdict()
        if self.order:
            day, month = (fields["first"], fields["last"])[:: 1 if self.order == "dmy" else -1]
        elif "name" in fields:
            day, month = fields["day"], str(_month(fields["name"]))
        else:
            day, month = fields["day"], fields["month"]
        if (fields.get("fraction") or "").strip("0"):
            self._refuse(
                text, "a time without a fraction of a second", "ticks are not bars: aggregate them to bars first"
            )
        try:
            hour = _hour(fields.get("hour"), fields.get("half"))
            clock = (hour, int(fields.get("minute") or 0), int(fields.get("second") or 0))
            return datetime(int(fields["year"]), int(month), int(day), *clock, tzinfo=_offset(fields.get("zone")))
        except ValueError:
            self._refuse(text, "a date that exists", "")
        raise AssertionError("`_refuse` raises")

    def _refuse(self, text: str, wanted: str, hint: str) -> None:
        hint = hint and f"; hint: {hint}"
        message = f"`{self._column}` on line {self._line_of.get(text, 0)} must be {wanted}; received {text!r}{hint}"
        raise refusal("date_invalid", message)


def _month(name: str) -> int:
    """Return the number of a month by its name, 0 for another word."""
    lower = name.lower()
    found = [place for place, month in enumerate(_MONTH_NAMES, 1) if len(lower) > 2 and month.startswith(lower)]
    return found[0] if found else 0


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
    if zone[0] not in "+-":
        return timezone.utc
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return timezone((1 if zone[0] == "+" else -1) * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))


def _clock(text: str, width: int, column: str, line: int) -> timedelta:
    """Return the time since midnight of a time that has its own column."""
    match = re.fullmatch(r"(\d\d?):(\d\d)(?::(\d\d)(?:\.0+)?)?", text) or re.fullmatch(r"(\d\d)(\d\d)(\d\d)?", text)
    # A number has lost its leading zeros.
    match = match or re.fullmatch(r"(\d\d)(\d\d)(\d\d)?", text.zfill(width))
    hour, minute, second = (int(field or 0) for field in match.groups()) if match else (24, 0, 0)
    if hour > 23 or minute > 59 or second > 59:
        raise refusal("date_invalid", f"`{column}` on line {line} must have a time such as 09:30; received {text!r}")
    return timedelta(hours=hour, minutes=minute, seconds=second)


def _epochs(texts: Sequence[str], column: str, home: tzinfo | None, line_of: dict[str, int]) -> Dates:
    counts = {len(text.partition(".")[0]) for text in texts}
    units = {_UNITS[count] for count in counts}
    if len(units) > 1:
        message = (
            f"`{column}` must be epoch times in one unit; received {' and '.join(map(str, sorted(counts)))} digits"
        )
        raise refusal("date_invalid", message)
    unit = units.pop()
    moments = []
    for text in texts:
        seconds, rest = divmod(int(text.partition(".")[0]), unit)
        if seconds >= _LAST_EPOCH:
            message = f"`{column}` on line {line_of[text]} must be an epoch before 2031, or a date; received {text}"
            raise refusal("date_invalid", f"{message}; hint: write dates such as 2024-01-31 09:00")
        if rest:
            message = f"`{column}` on line {line_of[text]} must be whole seconds; received {text}"
            raise refusal("date_invalid", f"{message}; hint: ticks are not bars: aggregate trades to bars first")
        moments.append(_EPOCH_0 + timedelta(seconds=seconds))
    if home is not None:
        moments = [moment.astimezone(home) for moment in moments]
    return _texts(moments, f"epoch {_UNIT_NAMES[unit]}", home, is_utc=True)


def _texts(moments: list[datetime], form: str, home: tzinfo | None, is_utc: bool) -> Dates:
    """Return times as days if all are midnight, else in UTC if their zone is known."""
    zoned = [moment.tzinfo is not None for moment in moments]
    if any(zoned) and not all(zoned):
        raise refusal("date_invalid", "times must all have an offset, or none; received both")
    if any(zoned) and home is not None:
        moments = [moment.astimezone(home) for moment in moments]
    if not any((moment.hour, moment.minute, moment.second) != (0, 0, 0) for moment in moments):
        return Dates([moment.date().isoformat() for moment in moments], f"{form}, days")
    if not any(zoned) and (home is not None or is_utc):
        moments = [_localized(moment, home or timezone.utc) for moment in moments]
        zoned = [True]
    if not any(zoned):
        return Dates([moment.isoformat() for moment in moments], f"{form}, times without a zone")
    shown = [moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z" for moment in moments]
    return Dates(shown, f"{form}, times in UTC")


def _localized(moment: datetime, home: tzinfo) -> datetime:
    """Return a local time with its offset; refuse one at a change of clocks."""
    first, second = (moment.replace(tzinfo=home, fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        message = f"times must be unambiguous in their zone; received {moment.isoformat()} at a change of clocks"
        raise refusal("date_invalid", f"{message}; hint: write times with an offset, or in UTC")
    return first


def _described(form: str, order: str) -> str:
    return {"dmy": "day first", "mdy": "month first"}.get(order, form)
