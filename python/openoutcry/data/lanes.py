"""Restated numbers: what was known of a period, and since when.

A number of a company has two times: the period it is of, and the moment it could be known. The same symbol, name
and period at a later moment is a new version of the number; the old one stays what was known before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from openoutcry.errors import refusal

PERIODS = ("latest", "each")


class Report(NamedTuple):
    """One version of one number.

    Attributes:
        symbol: Whose number it is.
        available_at: ISO 8601, in the form of the dates of the market or finer: when it could be known.
        name: What it is of the symbol, such as `eps`.
        period: Which period it is of, as a text that sorts in the order of time, such as `2020-Q1`.
        value: The number.
    """

    symbol: str
    available_at: str
    name: str
    period: str
    value: float


def as_known(reports: Iterable[Report], periods: str = "latest") -> list[tuple[str, str, str, float]]:
    """Return reports as the `fundamentals` of `Dataset.from_arrays`.

    An observation at t then shows the newest version that was available at t.

    Args:
        reports: Versions, in any order; tuples of the fields of `Report` will do.
        periods: `latest` shows the number of the newest period known, under its name: a restatement of an older period
            is not shown. `each` shows every period, under `name@period`.

    Raises:
        OpenOutcryError: `value_invalid`: one moment has two values of the same number; `argument_invalid`: `periods`
            is neither.
    """
    if periods not in PERIODS:
        raise refusal("argument_invalid", f"`periods` must be {' or '.join(PERIODS)}; received {periods!r}")
    versions = _versions(Report(*report) for report in reports)
    if periods == "each":
        return [(each.symbol, each.available_at, f"{each.name}@{each.period}", each.value) for each in versions]
    newest: dict[tuple[str, str], str] = {}
    shown = []
    for each in versions:
        place = (each.symbol, each.name)
        if each.period >= newest.get(place, ""):
            newest[place] = each.period
            shown.append((each.symbol, each.available_at, each.name, each.value))
    return _last_of_a_moment(shown)


def restatements(reports: Iterable[Report]) -> list[tuple[Report, Report]]:
    """Return each version that changed a number, after the version before it."""
    before: dict[tuple[str, str, str], Report] = {}
    found = []
    for each in _versions(Report(*report) for report in reports):
        place = (each.symbol, each.name, each.period)
        if place in before and before[place].value != each.value:
            found.append((before[place], each))
        before[place] = each
    return found


def _versions(reports: Iterable[Report]) -> list[Report]:
    """Return reports in order of time; of one moment, older periods first."""
    values: dict[tuple[str, str, str, str], set[float]] = defaultdict(set)
    unique = set(reports)
    for each in unique:
        values[each[:4]].add(each.value)
    for (symbol, available_at, name, period), found in sorted(values.items()):
        if len(found) > 1:
            what = f"`{name}` of {symbol} for {period} must have one value at {available_at}"
            raise refusal("value_invalid", f"{what}; received {', '.join(map(repr, sorted(found)))}")
    return sorted(unique, key=lambda each: (each.available_at, each.symbol, each.name, each.period))


def _last_of_a_moment(shown: list[tuple[str, str, str, float]]) -> list[tuple[str, str, str, float]]:
    """Return what is shown without what a newer period of the same moment replaces."""
    last = {item[:3]: item for item in shown}
    return list(last.values())
