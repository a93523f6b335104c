"""Restated numbers: what was known of a period, and since when.

A number of a company has two times: the period it is of, and the moment it could be known. The same symbol, name
and period at a later moment is a new version of the number; the old one stays what was known before it. A split is a
restatement too, of what is counted by the share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

PERIODS = ("latest", "each")

Fundamental: TypeAlias = tuple[str, str, str, float]


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


def as_known(reports: Iterable[Report], periods: str = "latest") -> list[Fundamental]:
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
    versions = _versions(_reports(reports))
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
    for each in _versions(_reports(reports)):
        place = (each.symbol, each.name, each.period)
        if place in before and before[place].value != each.value:
            found.append((before[place], each))
        before[place] = each
    return found


def rebased(
    fundamentals: Iterable[Fundamental], market: Dataset, per_share: Iterable[str] = (), counts: Iterable[str] = ()
) -> list[Fundamental]:
    """Return fundamentals with a new version of what each split changes.

    The version is known from the bar of the split on, as the adjusted closes are, so that an observation at t shows
    both on the share basis of t. A number published before the day of a split is on the old basis, one published on
    that day or later on the new one.

    Args:
        fundamentals: Tuples `(symbol, available_at, name, value)`, each value as it was published.
        market: Whose splits they are.
        per_share: Names of numbers per share, such as `eps`, which a split of s new shares per old divides by s. The
            name of `eps@2020-Q1` is `eps`.
        counts: Names of numbers of shares, which it multiplies by s.

    Raises:
        OpenOutcryError: `argument_invalid`: a name is of no fundamental, or in both lists; `symbol_invalid`: a symbol
            is not in the market.
    """
    names = ("symbol", "available_at", "name", "value")
    given = [item for place, item in enumerate(fundamentals) if _is_item("fundamentals", place, item, names)]
    powers = _powers({"per_share": per_share, "counts": counts}, {_stem(item[2]) for item in given})
    splits = {symbol: _splits(market, i) for i, symbol in enumerate(market.symbols)}
    published: dict[tuple[str, str], list[Fundamental]] = defaultdict(list)
    for item in given:
        if item[0] not in splits:
            raise refusal("symbol_invalid", f"a symbol of `fundamentals` must be in the market; received {item[0]!r}")
        if _stem(item[2]) in powers:
            published[item[0], item[2]].append(item)
    for (symbol, name), items in published.items():
        given += _after_splits(sorted(items, key=lambda item: item[1]), splits[symbol], powers[_stem(name)])
    return given


def _after_splits(items: list[Fundamental], splits: list[tuple[str, float]], power: int) -> list[Fundamental]:
    """Return the version of one number after each split, from those published."""
    made = []
    for k, (date, _) in enumerate(splits):
        before = [item for item in items if item[1][:10] < date[:10]]
        # What is published on the day itself, by the bar of the split, is already the version to be shown.
        if not before or any(date[:10] <= item[1] <= date for item in items):
            continue
        symbol, available_at, name, value = before[-1]
        for day, ratio in splits[: k + 1]:
            if available_at[:10] < day[:10]:
                value = value / ratio if power < 0 else value * ratio
        made.append((symbol, date, name, value))
    return made


def _splits(market: Dataset, column: int) -> list[tuple[str, float]]:
    """Return the dates and ratios of the splits of a symbol."""
    if market.splits is None:
        return []
    ratios = market.splits[:, column]
    bars = np.flatnonzero(~np.isnan(ratios) & (ratios != 1.0)).tolist()
    return [(market.dates[bar], float(ratios[bar])) for bar in bars]


def _powers(lists: dict[str, Iterable[str]], known: set[str]) -> dict[str, int]:
    """Return to which power of the ratio a split changes each name."""
    powers: dict[str, int] = {}
    for argument, names in lists.items():
        for name in [names] if isinstance(names, str) else names:
            if name not in known:
                found = ", ".join(sorted(known)) or "none"
                message = f"`{argument}` must name fundamentals, of which there are {found}; received {name!r}"
                raise refusal("argument_invalid", message)
            power = -1 if argument == "per_share" else 1
            if powers.setdefault(name, power) != power:
                message = f"a name must be in `per_share` or in `counts`; received {name!r} in both"
                raise refusal("argument_invalid", message)
    return powers


def _stem(name: str) -> str:
    return name.partition("@")[0]


def _reports(reports: Iterable[Any]) -> list[Report]:
    fields = Report._fields
    return [Report(*each) for place, each in enumerate(reports) if _is_item("reports", place, each, fields)]


def _is_item(lane: str, place: int, item: Any, fields: tuple[str, ...]) -> bool:
    is_shaped = isinstance(item, tuple | list) and len(item) == len(fields)
    if not is_shaped or not all(isinstance(text, str) for text in item[:-1]):
        wanted = f"`{lane}[{place}]` must be ({', '.join(fields)})"
        raise refusal("value_invalid", f"{wanted}, texts but for a value; received {item!r}")
    return True


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


def _last_of_a_moment(shown: list[Fundamental]) -> list[Fundamental]:
    """Return what is shown without what a newer period of the same moment replaces."""
    last = {item[:3]: item for item in shown}
    return list(last.values())
