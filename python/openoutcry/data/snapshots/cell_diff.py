"""Compare the cells of one symbol in two versions of a market."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.data.charges import CHARGES
from openoutcry.data.dataset import Dataset
from openoutcry.data.snapshots import back_adjustment
from openoutcry.data.snapshots.back_adjustment import Event, Steps
from openoutcry.data.snapshots.market_tables import PRICES, tables_of
from openoutcry.untrusted.counted_nouns import counted

Numbers = npt.NDArray[Any]
Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_ACTIONS = {"splits": "split", "dividends": "dividend", "delistings": "settlement", "tradable": "trading flag"}
_ACTIONS |= {"half_spread_bps": "half-spread", "fee_bps": "fee", "borrow_bps": "borrow fee", "funding": "funding rate"}
_NOUNS = {"close": "close", "open": "open", "high": "high", "low": "low", "volume": "volume"}
_SHOWN = 3
# Volumes are integers, and vendors round them again after rescaling.
_VOLUME_NEAR = 1e-3


@dataclass(frozen=True, slots=True)
class Part:
    """One difference: its kind, a description, and its values for JSON."""

    kind: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict, repr=False)


class Common(NamedTuple):
    """Two versions of a market on their common dates."""

    dates: list[str]
    old: dict[str, Numbers]
    new: dict[str, Numbers]
    old_symbols: Sequence[str]
    new_symbols: Sequence[str]

    @classmethod
    def of(cls, old: Dataset, new: Dataset) -> Common:
        """Return the common tables of two versions on their common dates."""
        before, now = tables_of(old), tables_of(new)
        rows = common_rows(old.dates, new.dates)
        both = [name for name in before if name in now]
        return cls(
            [old.dates[row] for row in rows[0].tolist()],
            {name: before[name][rows[0]] for name in both},
            {name: now[name][rows[1]] for name in both},
            old.symbols,
            new.symbols,
        )

    def compare(self, before: str, now: str) -> list[Part]:
        """Return the differences of a symbol, given its old and new name."""
        columns = self.old_symbols.index(before), self.new_symbols.index(now)
        old = {name: table[:, columns[0]] for name, table in self.old.items()}
        new = {name: table[:, columns[1]] for name, table in self.new.items()}
        if not any(differ(old[name], new[name]).any() for name in old):
            return []
        both = np.isfinite(old["close"]) & np.isfinite(new["close"])
        found = back_adjustment.steps(old["close"][both], new["close"][both])
        ratio, slack = _on_every_bar(found, both)
        parts = self._readjustment(found, both, ratio)
        for name in PRICES:
            if name in old:
                fits = np.abs(new[name] - ratio * old[name]) <= _slack_of(slack, ratio, old["close"], old[name])
                parts += self._prices(name, ratio * old[name], new[name], fits & (ratio != 1.0))
        if "volume" in old:
            parts += self._volumes(old["volume"], new["volume"], ratio)
        for name in ("splits", "dividends", "delistings", "tradable", *CHARGES):
            if name in old:
                parts += self._actions(name, old[name], new[name])
        return parts

    def _readjustment(self, found: Steps, both: Numbers, ratio: Numbers) -> list[Part]:
        n = int(((ratio != 1.0) & both).sum())
        if not found.events:
            return []
        bars = np.flatnonzero(both)
        dated = [(event, self._when(event, bars)) for event in found.events]
        events = [{"kind": each.kind, "when": when, "factor": each.factor, "what": each.what} for each, when in dated]
        text = f"{counted(n, 'row')} re-adjusted {_reasons(dated)}"
        return [Part("readjusted", text, {"n": n, "events": events})]

    def _when(self, event: Event, bars: npt.NDArray[np.int64]) -> str:
        """Return the date of an event, or `after` the last common date."""
        if event.bar < len(bars):
            return f"of {self.dates[bars[event.bar]]}"
        return f"after {self.dates[bars[-1]]}"

    def _prices(self, name: str, old: Numbers, new: Numbers, readjusted_cells: Numbers) -> list[Part]:
        # `old` is already on the new basis, so cells adjusted with the others are not revisions.
        changed = differ(old, new) & ~readjusted_cells
        revised = changed & np.isfinite(old) & np.isfinite(new)
        parts = []
        if n := int(revised.sum()):
            most = float(np.max(np.abs(new[revised] / old[revised] - 1.0)))
            text = f"{counted(n, _NOUNS[name])} revised{self._where(revised)}, by up to {100.0 * most:.2g} %"
            parts.append(Part("revised", text, {"column": name, "n": n, "most": most, "cells": self._cells(revised)}))
        return parts + self._added_and_removed(name, old, new)

    def _volumes(self, old: Numbers, new: Numbers, ratio: Numbers) -> list[Part]:
        changed = differ(old, new) & np.isfinite(old) & np.isfinite(new)
        rescaled = changed & (ratio != 1.0) & (np.abs(new * ratio - old) <= _VOLUME_NEAR * old + ratio)
        parts = []
        for kind, mask in (("rescaled with them", rescaled), ("changed", changed & ~rescaled)):
            if n := int(mask.sum()):
                where = self._where(mask) if kind == "changed" else ""
                facts = {"column": "volume", "n": n, "cells": self._cells(mask)}
                parts.append(Part(f"volume_{kind.split()[0]}", f"{counted(n, 'volume')} {kind}{where}", facts))
        return parts + self._added_and_removed("volume", old, new)

    def _added_and_removed(self, name: str, old: Numbers, new: Numbers) -> list[Part]:
        parts = []
        for kind, mask in (
            ("added", np.isnan(old) & np.isfinite(new)),
            ("removed", np.isfinite(old) & np.isnan(new)),
        ):
            if n := int(mask.sum()):
                text = f"{counted(n, _NOUNS[name])} {kind}{self._where(mask)}"
                parts.append(Part(kind, text, {"column": name, "n": n, "cells": self._cells(mask)}))
        return parts

    def _actions(self, name: str, old: Numbers, new: Numbers) -> list[Part]:
        changed = np.flatnonzero(differ(old, new))
        noun = _ACTIONS.get(name, name)
        if not len(changed):
            return []
        cells = [{"date": self.dates[bar], "old": _plain(old[bar]), "new": _plain(new[bar])} for bar in changed]
        none = {"splits": 1.0, "dividends": 0.0}.get(name)
        if name in ("tradable", *CHARGES) or len(cells) > _SHOWN:
            text = f"{counted(len(cells), noun)} changed, {cells[0]['date']} to {cells[-1]['date']}"
        else:
            text = ", ".join(_action(noun, cell, none) for cell in cells)
        return [Part(f"{name}_changed", text, {"column": name, "n": len(cells), "cells": cells})]

    def _cells(self, mask: Numbers) -> list[str]:
        return [self.dates[bar] for bar in np.flatnonzero(mask)]

    def _where(self, mask: Numbers) -> str:
        dates = self._cells(mask)
        return f" ({', '.join(dates)})" if len(dates) <= _SHOWN else ""


def common_rows(old: Sequence[str], new: Sequence[str]) -> Rows:
    """Return the rows of the common dates in each version."""
    _, rows, others = np.intersect1d(np.array(old), np.array(new), assume_unique=True, return_indices=True)
    return rows.astype(np.int64), others.astype(np.int64)


def differ(old: Numbers, new: Numbers) -> npt.NDArray[np.bool_]:
    """Return a mask of cells that are not bit-identical. All NaN values are equal."""
    if old.dtype == np.bool_:
        return np.asarray(old != new)
    bits = [np.where(np.isnan(each), np.nan, each).view(np.int64) for each in (old, new)]
    return np.asarray(bits[0] != bits[1])


def listed(names: Sequence[str]) -> str:
    """Return names on one line, at most ten of them."""
    return ", ".join(names) if len(names) <= 10 else f"{', '.join(names[:10])} and {len(names) - 10} more"


def _on_every_bar(found: Steps, both: Numbers) -> tuple[Numbers, Numbers]:
    """Return ratio and slack on all bars.

    Bars without a common close take those of the next bar.
    """
    ratio, slack = np.full(len(both), np.nan), np.full(len(both), np.nan)
    ratio[both], slack[both] = found.ratio, found.slack
    last_ratio, last_slack = 1.0, 0.0
    for bar in range(len(both) - 1, -1, -1):
        if both[bar]:
            last_ratio, last_slack = ratio[bar], slack[bar]
        ratio[bar], slack[bar] = last_ratio, last_slack
    return ratio, slack


def _slack_of(slack: Numbers, ratio: Numbers, close: Numbers, prices: Numbers) -> Numbers:
    """Return the slack of a price column: twice that of the closes."""
    return slack + np.where(np.isfinite(close), slack * prices / close, slack)


def _reasons(dated: list[tuple[Event, str]]) -> str:
    if len(dated) > _SHOWN:
        kinds = [event.kind for event, _ in dated]
        groups = [counted(kinds.count(kind), kind) for kind in ("split", "dividend", "factor") if kind in kinds]
        return f"for {' and '.join(groups)}, the last {dated[-1][1].replace('of ', 'on ')}"
    articles = ["the" if when.startswith("of ") else "a" for _, when in dated]
    phrases = [
        f"{article} {event.kind} {when} ({event.what})" for article, (event, when) in zip(articles, dated, strict=True)
    ]
    return f"for {' and '.join(phrases)}"


def _action(noun: str, cell: dict[str, Any], none: float | None) -> str:
    old, new, date = cell["old"], cell["new"], cell["date"]
    if old == none:
        return f"{noun} of {date} added ({new:g})"
    if new == none:
        return f"{noun} of {date} removed ({old:g})"
    return f"{noun} of {date} changed from {old:.10g} to {new:.10g}"


def _plain(value: Any) -> float | bool | None:
    """Return a cell as a JSON-serializable value."""
    if isinstance(value, np.bool_):
        return bool(value)
    return None if np.isnan(value) else float(value)
