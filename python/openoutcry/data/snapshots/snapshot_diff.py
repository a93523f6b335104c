"""Describe the differences of two versions of a market, a sentence per symbol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from openoutcry.data.columns import periods_text
from openoutcry.data.dataset import Dataset
from openoutcry.data.snapshots import cell_diff
from openoutcry.data.snapshots.cell_diff import Part, listed
from openoutcry.data.snapshots.market_tables import tables_of
from openoutcry.untrusted.counted_nouns import counted

# A removed and an added symbol count as renamed if this fraction of their common closes is bit-identical.
_SAME = 0.99
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences of one symbol, or of the market.

    Attributes:
        about: Name of the symbol; empty for the market.
        parts: The individual differences.
    """

    about: str
    parts: list[Part] = field(default_factory=list)

    def __str__(self) -> str:
        sentence = "; ".join(part.text for part in self.parts)
        return f"{self.about}: {sentence}" if self.about else sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as JSON-serializable values."""
        facts = [{"kind": part.kind, "text": part.text, **part.facts} for part in self.parts]
        return {"about": self.about or None, "sentence": str(self), "parts": facts}


def differences(old: Dataset, new: Dataset) -> list[Difference]:
    """Return the differences between two versions of a market.

    Empty if their fingerprints are equal.

    Cells are compared bit for bit on common dates and symbols. Closes before a date that changed by one common factor
    count as re-adjusted; other changed cells count as revised.
    """
    if old.fingerprint == new.fingerprint:
        return []
    renamed = _renamed(old, new)
    described = [Difference("", [part]) for part in _of_market(old, new, renamed)]
    pairs = [(symbol, symbol) for symbol in old.symbols if symbol in new.symbols]
    common = cell_diff.Common.of(old, new)
    for before, now in [*pairs, *renamed]:
        parts = common.compare(before, now)
        parts += _feed("fundamentals", old, new, before, now) + _feed("news", old, new, before, now)
        if parts:
            described.append(Difference(now, parts))
    return described


def _of_market(old: Dataset, new: Dataset, renamed: list[tuple[str, str]]) -> list[Part]:
    parts = _bars("added", new.dates, old.dates) + _bars("removed", old.dates, new.dates)
    removed = [symbol for symbol in old.symbols if symbol not in new.symbols and symbol not in dict(renamed)]
    added = [symbol for symbol in new.symbols if symbol not in old.symbols and symbol not in dict(renamed).values()]
    for kind, symbols in (("symbols_removed", removed), ("symbols_added", added)):
        if symbols:
            text = f"{counted(len(symbols), 'symbol')} {kind.partition('_')[2]}: {listed(symbols)}"
            parts.append(Part(kind, text, {"symbols": symbols}))
    for before, now in renamed:
        parts.append(Part("symbol_renamed", f"{before} renamed {now}: the same closes", {"old": before, "new": now}))
    names = dict(renamed)
    order = [names.get(symbol, symbol) for symbol in old.symbols]
    stay = [symbol for symbol in order if symbol in new.symbols]
    if stay != [symbol for symbol in new.symbols if symbol in stay]:
        parts.append(Part("order", "the symbols are in another order", {}))
    parts += _columns(old, new)
    if old.periods_per_year != new.periods_per_year:
        facts = {"old": old.periods_per_year, "new": new.periods_per_year}
        parts.append(
            Part(
                "periods_per_year",
                f"{periods_text(old.periods_per_year)} became {periods_text(new.periods_per_year)}",
                facts,
            )
        )
    return parts


def _bars(kind: str, dates: Sequence[str], others: Sequence[str]) -> list[Part]:
    """Return the bars of `dates` that are not in `others`, grouped by position."""
    known = set(others)
    extra = [date for date in dates if date not in known]
    places = {
        "before the first": [date for date in extra if date < others[0]],
        "within": [date for date in extra if others[0] < date < others[-1]],
        "after the last": [date for date in extra if date > others[-1]],
    }
    parts = []
    for place, found in places.items():
        if found:
            span = ", ".join(found) if len(found) <= 3 else f"{found[0]} to {found[-1]}"
            where = f" {place}" if kind == "added" or place == "within" else ""
            if kind == "removed" and place != "within":
                where = " at the start" if place == "before the first" else " at the end"
            facts = {"place": place, "n": len(found), "dates": found}
            parts.append(Part(f"bars_{kind}", f"{counted(len(found), 'bar')} {kind}{where}: {span}", facts))
    return parts


def _columns(old: Dataset, new: Dataset) -> list[Part]:
    before, now = set(tables_of(old)), set(tables_of(new))
    before |= {"risk_free"} if old.risk_free is not None else set()
    now |= {"risk_free"} if new.risk_free is not None else set()
    parts = [
        Part("column_removed", f"the column {name} was removed", {"column": name}) for name in sorted(before - now)
    ]
    parts += [Part("column_added", f"the column {name} was added", {"column": name}) for name in sorted(now - before)]
    if old.risk_free is not None and new.risk_free is not None:
        rows = cell_diff.common_rows(old.dates, new.dates)
        changed = cell_diff.differ(old.risk_free[rows[0]], new.risk_free[rows[1]])
        if n := int(changed.sum()):
            dates = [old.dates[row] for row in rows[0][changed]]
            text = f"{counted(n, 'risk-free return')} changed, {dates[0]} to {dates[-1]}"
            parts.append(Part("risk_free_changed", text, {"n": n, "first": dates[0], "last": dates[-1]}))
    return parts


def _renamed(old: Dataset, new: Dataset) -> list[tuple[str, str]]:
    """Return pairs of a removed and an added symbol that uniquely share their closes."""
    removed = [symbol for symbol in old.symbols if symbol not in new.symbols]
    added = [symbol for symbol in new.symbols if symbol not in old.symbols]
    rows = cell_diff.common_rows(old.dates, new.dates)
    if not removed or not added or len(rows[0]) < 2:
        return []
    before = old.close[rows[0]][:, [old.symbols.index(symbol) for symbol in removed]]
    now = new.close[rows[1]][:, [new.symbols.index(symbol) for symbol in added]]
    match = np.array([[_is_same(before[:, i], now[:, j]) for j in range(len(added))] for i in range(len(removed))])
    alone = match & (match.sum(axis=0) == 1)[None, :] & (match.sum(axis=1) == 1)[:, None]
    return [(removed[i], added[j]) for i, j in np.argwhere(alone).tolist()]


def _is_same(old: cell_diff.Numbers, new: cell_diff.Numbers) -> bool:
    either = np.isfinite(old) | np.isfinite(new)
    n = int(either.sum())
    return n >= min(_FEWEST, len(old)) and float((old[either] == new[either]).mean()) >= _SAME


def _feed(feed: str, old: Dataset, new: Dataset, before: str, now: str) -> list[Part]:
    """Return the added and removed fundamentals or news of a symbol."""
    had = [item[1:] for item in getattr(old, feed) if item[0] == before]
    has = [item[1:] for item in getattr(new, feed) if item[0] == now]
    if had == has:
        return []
    removed, added = Counter(had) - Counter(has), Counter(has) - Counter(had)
    noun = {"fundamentals": "fundamental", "news": "headline"}[feed]
    parts = []
    for kind, items in (("removed", removed), ("added", added)):
        if n := items.total():
            since = sorted(item[0] for item in items)
            names = f" ({listed(sorted({item[1] for item in items}))})" if feed == "fundamentals" else ""
            text = f"{counted(n, noun)}{names} {kind}, known from {since[0]} on"
            parts.append(Part(f"{feed}_{kind}", text, {"n": n, "items": [list(item) for item in sorted(items)]}))
    # Observations show headlines of the same time in the given order, so the order matters.
    return parts or [Part(f"{feed}_order", f"{feed} of the same time are in another order", {})]
