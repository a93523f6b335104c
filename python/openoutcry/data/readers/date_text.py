"""Dates as vendors write them, converted to ISO 8601.

A column has one form. The order of day and month must be stated or visible in the column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo

import numpy as np

from openoutcry.data.readers import clock_columns, date_questions, period_text, zone_abbreviations
from openoutcry.data.readers.date_forms import PATTERNS, Fields, form_of
from openoutcry.data.readers.date_zones import ask_zone, named_zone, zone_of
from openoutcry.data.readers.moments import NO_ZONE, Moments, iso_days, iso_times
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.data.readers.split_times import SplitTimes
from openoutcry.errors import refusal

ORDERS = ("dmy", "mdy")
_UNITS = {9: 1, 10: 1, 13: 10**3, 16: 10**6, 19: 10**9}
_UNIT_NAMES = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
# `2024010209` is a date and an hour, and no epoch of 2034.
_LAST_EPOCH = 1_924_992_000
_DAY = 86_400
# Blanks other than single ones within a text.
_BLANKS = re.compile(r"[^\S \n]|  |^ | $", re.MULTILINE)


@dataclass(frozen=True)
class Dates:
    """Dates of a column.

    Attributes:
        texts: ISO 8601: days, `T` times without a zone, or UTC times that end in `Z`.
        form: Description of the form.
        notice: Caveat about the labels, or an empty text.
    """

    texts: list[str]
    form: str
    notice: str = ""


@dataclass(frozen=True)
class DateOptions:
    """What a person states about dates.

    Attributes:
        order: `dmy` or `mdy`; None if it must be visible in the column.
        date_format: Format of `strptime`; None for the known forms.
        zone: IANA name of the zone of times without an offset, and of the days of epoch times.
        is_utc: Whether the file states that its times are UTC.
        symbols: Number of the symbol of each row, if the texts are rows: their order tells repeated hours apart.
    """

    order: str | None = None
    date_format: str | None = None
    zone: str | None = None
    is_utc: bool = False
    symbols: Sequence[int] | None = None


def parse(
    values: Sequence[str],
    lines: Sequence[int],
    options: DateOptions = DateOptions(),
    *,
    column: str = "date",
    clocks: Sequence[str] | None = None,
) -> Dates:
    """Return the dates of a column in ISO 8601.

    Times with an offset become UTC. Times that are all midnight, in their own zone or in the stated one, become days.
    So do times that are all the last second of a day.

    Args:
        values: Texts of the column.
        lines: Line of each text.
        options: What a person states.
        column: Name of the column, for messages.
        clocks: Texts of a column of times, if date and time are apart.

    Raises:
        OpenOutcryError: `date_invalid`: a text is no date, the order is ambiguous, or a time has a fraction.
    """
    if options.order not in (None, *ORDERS):
        raise refusal("argument_invalid", f"`date_order` must be `dmy` or `mdy`; received {options.order!r}")
    texts, named = named_zone(_trimmed(values), column)
    line_of = dict(zip(reversed(texts), reversed(list(lines)), strict=True))
    home = zone_of(options.zone)
    if named is not None and options.zone not in (None, named):
        message = f"`tz` must be left out if times name their zone; received {options.zone!r} with {named}"
        raise refusal("argument_invalid", message)
    home = zone_of(named) if named is not None else home
    try:
        if options.date_format is not None:
            return _by_format(texts, options, column, clocks, (home, line_of))
        periods = period_text.last_days(texts, column)
        if periods is not None:
            _check_no_order(options.order, texts)
            return _periods(periods[0], periods[1], texts)
        split = SplitTimes(texts)
        shown = split.shown()
        form = form_of(shown, column, line_of)
        if form == "epoch":
            _check_no_order(options.order, texts)
            return _epochs(texts, column, home, line_of)
        fields = Fields(form, _order(form, shown, column, options.order), column, line_of)
        are_days = clocks is None and home in (None, timezone.utc) and all(map(fields.is_day_end, shown))
        known = [fields.time(text, is_day=are_days) for text in shown]
        described = _described(form, fields.order)
        if clocks is not None:
            moments = _with_clocks(split.moments(known), clocks, column, lines)
            return _texts(moments, described, home, column=column, options=options)
        is_utc = options.is_utc or home is timezone.utc
        composed = split.iso(known, is_utc=is_utc) if home in (None, timezone.utc) else None
        if composed is not None:
            return Dates(composed, f"{described}, times {'in UTC' if composed[0].endswith('Z') else 'without a zone'}")
        moments = zone_abbreviations.checked(split.moments(known), texts, column, options.zone)
        return _texts(moments, described, home, column=column, options=options)
    except OverflowError as error:
        raise refusal("date_invalid", f"`{column}` must be dates of the years 1 to 9999; received others") from error


def _trimmed(values: Sequence[str]) -> list[str]:
    """Return texts with single blanks, and none at their ends."""
    if _BLANKS.search("\n".join(values)) is None:
        return list(values)
    return [" ".join(text.split()) for text in values]


def _with_clocks(moments: Moments, clocks: Sequence[str] | None, column: str, lines: Sequence[int]) -> Moments:
    if clocks is None:
        return moments
    hours = clock_columns.seconds_of(clocks, column, lines)
    return moments.plus(np.asarray(hours.values)[hours.places])


def _periods(days: Sequence[datetime], form: str, texts: Sequence[str]) -> Dates:
    labels = [day.date().isoformat() for day in days]
    notice = f"a date is the last day of its period: {texts[0]} is {labels[0]}"
    return Dates(labels, f"{form}, labelled with their last day", notice)


def is_of_format(text: str, date_format: str) -> bool:
    """Return whether a text fits a format of `strptime`."""
    try:
        datetime.strptime(text.strip(), date_format)
    except ValueError:
        return False
    return True


def _by_format(
    texts: list[str],
    options: DateOptions,
    column: str,
    clocks: Sequence[str] | None,
    known: tuple[tzinfo | None, dict[str, int]],
) -> Dates:
    """Return dates in a stated format."""
    home, line_of = known
    date_format = date_questions.check_format(options.date_format, options.order)
    are_periods = period_text.ends_of([], date_format)[1]
    split = SplitTimes(texts, None if are_periods else date_format)
    shown = list(dict.fromkeys(texts)) if are_periods else split.shown()
    found = [_of_format(text, date_format, column, line_of) for text in shown]
    if are_periods:
        ends = dict(zip(shown, period_text.ends_of(found, date_format)[0], strict=True))
        return _periods([ends[text] for text in texts], f"form {date_format}", texts)
    moments = _with_clocks(split.moments(found), clocks, column, [line_of[text] for text in texts])
    return _texts(moments, f"form {date_format}", home, column=column, options=options)


def _of_format(text: str, date_format: str, column: str, line_of: Mapping[str, int]) -> datetime:
    try:
        found = datetime.strptime(text, date_format)
    except ValueError as error:
        message = f"`{column}` on line {line_of[text]} must be a date of the form {date_format}; received {text!r}"
        raise refusal("date_invalid", message) from error
    if found.microsecond:
        message = f"`{column}` on line {line_of[text]} must be whole seconds; received {text!r}"
        raise refusal("date_invalid", f"{message}; hint: ticks are not bars: aggregate them to bars first")
    return found


def _check_no_order(order: str | None, days: Sequence[str]) -> None:
    if order is not None:
        message = f"`date_order` must be left out if dates state their order; received {order!r} with {days[0]!r}"
        raise refusal("argument_invalid", message)


def _order(form: str, days: Sequence[str], column: str, order: str | None) -> str:
    """Return `dmy` or `mdy` for a form that ends in the year."""
    if form != "year last":
        _check_no_order(order, days)
        return ""
    matches = [match for text in days if (match := PATTERNS[form].fullmatch(text)) is not None]
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
    required = f"`{column}` must show the order of day and month"
    received = f"{days[0]!r}, which is ambiguous"
    keyword, option = 'date_order="dmy" or date_order="mdy"', "--date-order dmy"
    raise unstated(Question("date_invalid", required, received, keyword, option))


def _epochs(texts: Sequence[str], column: str, home: tzinfo | None, line_of: dict[str, int]) -> Dates:
    wholes = [text.partition(".")[0] for text in texts] if "." in "".join(texts) else texts
    counts = set(map(len, wholes))
    units = {_UNITS[count] for count in counts}
    if len(units) > 1:
        message = (
            f"`{column}` must be epoch times in one unit; received {' and '.join(map(str, sorted(counts)))} digits"
        )
        raise refusal("date_invalid", message)
    unit = units.pop()
    numbers = list(map(int, wholes))
    are_days = home in (None, timezone.utc) and all(number % (_DAY * unit) == _DAY * unit - 1 for number in numbers)
    seconds, rest = np.divmod(np.array(numbers, np.int64) - (_DAY * unit - 1) * are_days, unit)
    if (seconds >= _LAST_EPOCH).any():
        text = texts[int(np.argmax(seconds >= _LAST_EPOCH))]
        message = f"`{column}` on line {line_of[text]} must be an epoch before 2031, or a date; received {text}"
        raise refusal("date_invalid", f"{message}; hint: write dates such as 2024-01-31 09:00")
    if rest.any():
        text = texts[int(np.argmax(rest != 0))]
        message = f"`{column}` on line {line_of[text]} must be whole seconds; received {text}"
        raise refusal("date_invalid", f"{message}; hint: ticks are not bars: aggregate trades to bars first")
    form = f"epoch {_UNIT_NAMES[unit]}"
    # Times that are no days need no conversion one by one.
    if home in (None, timezone.utc) and len(np.unique(seconds // _DAY)) < len(seconds) and (seconds % _DAY).any():
        shown = np.datetime_as_string(seconds.astype("datetime64[s]"), timezone="UTC")
        return Dates(shown.tolist(), f"{form}, times in UTC")
    return _texts(Moments(seconds, np.zeros_like(seconds)), form, home, column=column, options=DateOptions())


def _texts(moments: Moments, form: str, home: tzinfo | None, *, column: str, options: DateOptions) -> Dates:
    """Return times as days if all are midnight, else in UTC if their zone is known."""
    zoned = moments.offsets != NO_ZONE
    if zoned.any() and not zoned.all():
        raise refusal("date_invalid", "times must all have an offset, or none; received both")
    if zoned.any() and home is not None:
        moments = moments.in_zone(home)
    if not (moments.seconds % _DAY).any():
        return Dates(iso_days(moments.seconds), f"{form}, days")
    if not zoned.any() and home is None and not options.is_utc:
        return Dates(iso_times(moments.seconds), f"{form}, times without a zone")
    if not zoned.any():
        moments = moments.localized(home or timezone.utc, options.symbols)
    elif home is None:
        ask_zone(np.unique(moments.utc()), column)
    return Dates(iso_times(moments.utc(), "Z"), f"{form}, times in UTC")


def _described(form: str, order: str) -> str:
    return {"dmy": "day first", "mdy": "month first"}.get(order, form)
