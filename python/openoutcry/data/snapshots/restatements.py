"""Point-in-time fundamentals: restatements and splits as new versions of a value.

A value has two dates: its fiscal period and the time it became available. A report of the same symbol, name and period
at a later time is a new version; the old version stays valid before that time. A split also restates per-share values.
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
    """One version of one reported value.

    Attributes:
        symbol: Symbol of the company.
        available_at: When the value became available. ISO 8601, in the format of the dates of the market or finer.
        name: Name of the fundamental, such as `eps`.
        period: Fiscal period, as a string that sorts by time, such as `2020-Q1`.
        value: The value.
    """

    symbol: str
    available_at: str
    name: str
    period: str
    value: float


def as_known(reports: Iterable[Report], periods: str = "latest") -> list[Fundamental]:
    """Return reports as the `fundamentals` argument of `Dataset.from_arrays`.

    An observation at `t` then shows the newest version available at `t`.

    Args:
        reports: Versions in any order, as `Report` or as plain tuples.
        periods: `latest` shows the value of the newest period under `name`; restatements of older periods are not
            shown. `each` shows every period under `name@period`.

    Raises:
        OpenOutcryError: `value_invalid`: two values of one report have the same time; `argument_invalid`: `periods`
            is invalid.
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
    return _last_per_time(shown)


def restatements(reports: Iterable[Report]) -> list[tuple[Report, Report]]:
    """Return pairs `(previous, restated)` of versions with different values."""
    before: dict[tuple[str, str, str], Report] = {}
    pairs = []
    for each in _versions(_reports(reports)):
        place = (each.symbol, each.name, each.period)
        if place in before and before[place].value != each.value:
            pairs.append((before[place], each))
        before[place] = each
    return pairs


def rebased(
    fundamentals: Iterable[Fundamental], market: Dataset, per_share: Iterable[str] = (), counts: Iterable[str] = ()
) -> list[Fundamental]:
    """Return fundamentals with restated per-share values after each split.

    The new version is available from the bar of the split, like the adjusted closes, so that an observation at `t`
    shows both on the share basis of `t`. A value published before the day of a split is on the old basis. A value
    published on that day or later is on the new one.

    Args:
        fundamentals: Tuples `(symbol, available_at, name, value)`, with values as published.
        market: Dataset with the splits.
        per_share: Names of per-share values, such as `eps`. A split of `s` new shares per old divides them by `s`. The
            name of `eps@2020-Q1` is `eps`.
        counts: Names of share counts. A split multiplies them by `s`.

    Raises:
        OpenOutcryError: `argument_invalid`: a name is not among the fundamentals, or in both lists;
            `symbol_invalid`: a symbol is not in the market.
    """
    names = ("symbol", "available_at", "name", "value")
    rows = [item for place, item in enumerate(fundamentals) if _is_item("fundamentals", place, item, names)]
    powers = _powers({"per_share": per_share, "counts": counts}, {_stem(item[2]) for item in rows})
    splits = {symbol: _splits(market, i) for i, symbol in enumerate(market.symbols)}
    published: dict[tuple[str, str], list[Fundamental]] = defaultdict(list)
    for item in rows:
        if item[0] not in splits:
            raise refusal("symbol_invalid", f"a symbol of `fundamentals` must be in the market; received {item[0]!r}")
        if _stem(item[2]) in powers:
            published[item[0], item[2]].append(item)
    for (symbol, name), items in published.items():
        rows += _after_splits(sorted(items, key=lambda item: item[1]), splits[symbol], powers[_stem(name)])
    return rows


def _after_splits(items: list[Fundamental], splits: list[tuple[str, float]], power: int) -> list[Fundamental]:
    """Return the versions of one value after each split, from the published versions."""
    adjusted = []
    for k, (date, _) in enumerate(splits):
        before = [item for item in items if item[1][:10] < date[:10]]
        # A value published on the day of the split, by its bar, is already on the new basis.
        if not before or any(date[:10] <= item[1] <= date for item in items):
            continue
        symbol, available_at, name, value = before[-1]
        for day, ratio in splits[: k + 1]:
            if available_at[:10] < day[:10]:
                value = value / ratio if power < 0 else value * ratio
        adjusted.append((symbol, date, name, value))
    return adjusted


def _splits(market: Dataset, column: int) -> list[tuple[str, float]]:
    """Return the dates and ratios of the splits of a symbol."""
    if market.splits is None:
        return []
    ratios = market.splits[:, column]
    bars = np.flatnonzero(~np.isnan(ratios) & (ratios != 1.0)).tolist()
    return [(market.dates[bar], float(ratios[bar])) for bar in bars]


def _powers(lists: dict[str, Iterable[str]], known: set[str]) -> dict[str, int]:
    """Return the exponent of the split ratio by name: -1 per share, 1 for counts."""
    powers: dict[str, int] = {}
    for argument, names in lists.items():
        for name in [names] if isinstance(names, str) else names:
            if name not in known:
                names_known = ", ".join(sorted(known)) or "none"
                message = f"`{argument}` must name fundamentals, here {names_known}; received {name!r}"
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


def _is_item(argument: str, place: int, item: Any, fields: tuple[str, ...]) -> bool:
    is_shaped = isinstance(item, tuple | list) and len(item) == len(fields)
    if not is_shaped or not all(isinstance(text, str) for text in item[:-1]):
        wanted = f"`{argument}[{place}]` must be ({', '.join(fields)})"
        raise refusal("value_invalid", f"{wanted}, texts except `value`; received {item!r}")
    return True


def _versions(reports: Iterable[Report]) -> list[Report]:
    """Return reports ordered by time; older periods first at the same time."""
    values: dict[tuple[str, str, str, str], set[float]] = defaultdict(set)
    unique = set(reports)
    for each in unique:
        values[each[:4]].add(each.value)
    for (symbol, available_at, name, period), found in sorted(values.items()):
        if len(found) > 1:
            what = f"`{name}` of {symbol} for {period} must have one value at {available_at}"
            raise refusal("value_invalid", f"{what}; received {', '.join(map(repr, sorted(found)))}")
    return sorted(unique, key=lambda each: (each.available_at, each.symbol, each.name, each.period))


def _last_per_time(shown: list[Fundamental]) -> list[Fundamental]:
    """Return fundamentals without those that a newer period replaces at the same time."""
    last = {item[:3]: item for item in shown}
    return list(last.values())
