"""Bars on which a symbol can be traded, and warnings where these are few.

An order of a bar that cannot be traded is lost (step 8 of the timeline in `contract/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from openoutcry.untrusted.counted_nouns import counted

# Holidays of several countries leave more of the axis than this; weekends (5 of 7 days) leave less.
LEAST_FILLED = 0.9
"""Share of bars below which a symbol seldom fills."""

_MOST_NAMES = 3
_Mask = npt.NDArray[np.bool_]
ColumnOf = Callable[[str], Any]
"""Table of a market by its name; None if the market has none."""


class HasDates(Protocol):
    """A market with dates and tables, such as `Dataset`."""

    @property
    def dates(self) -> Sequence[str]: ...
    @property
    def symbols(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class FillMasks:
    """Bars and symbols, and which of them allow a fill.

    Attributes:
        dates: Date of each bar.
        symbols: Names of the symbols.
        closed: Whether a symbol has a close. Shape `(n_bars, n_symbols)`.
        causes: Whether a fill is allowed, by what can prevent it. Shape of each as `closed`.
    """

    dates: Sequence[str]
    symbols: Sequence[str]
    closed: _Mask
    causes: Mapping[str, _Mask]


@dataclass(frozen=True)
class FillBars:
    """Bars of a symbol after its first close, up to its last.

    Attributes:
        symbol: Name of the symbol.
        n_bars: Number of these bars.
        n_fills: Number of these bars on which an order fills.
        cause: Why most of the other bars cannot be traded: `closes`, `opens`, `mask` or `volume`; empty for none. If
            no order fills, all causes.
        example: Date of the first bar with this cause; empty for none.
        is_only: Whether the other bars have no other cause.
    """

    symbol: str
    n_bars: int
    n_fills: int
    cause: str = ""
    example: str = ""
    is_only: bool = True

    @property
    def share(self) -> float:
        """Share of the bars on which an order fills; 0 without bars."""
        return self.n_fills / self.n_bars if self.n_bars else 0.0


def fill_bars(dataset: HasDates, start: int = 0, end: int | None = None) -> dict[str, FillBars]:
    """Return the bars on which each symbol can be traded, within `[start, end)`.

    Symbols without a close there are left out.
    """
    rows, column_of = slice(start, end), partial(getattr, dataset)
    closed = np.isfinite(column_of("close")[rows])
    is_listed = np.atleast_1d(np.isfinite(column_of("close")[: start + 1]).any(axis=0))
    masks = FillMasks(dataset.dates[rows], dataset.symbols, closed, causes_of(column_of, closed, rows))
    return {
        masks.symbols[k]: _of_symbol(masks, k, bool(is_listed[k])) for k in np.flatnonzero(closed.any(axis=0)).tolist()
    }


def seldom_filled(masks: FillMasks) -> dict[str, FillBars]:
    """Return the bars of symbols that may never or seldom fill; see `fill_bars`."""
    is_filled = np.logical_and.reduce([masks.closed[1:], *(allowed[1:] for allowed in masks.causes.values())])
    # All others fill on all bars.
    doubtful = np.flatnonzero(~is_filled.all(axis=0) & masks.closed.any(axis=0))
    return {masks.symbols[k]: _of_symbol(masks, k, bool(masks.closed[0, k])) for k in doubtful.tolist()}


def _of_symbol(masks: FillMasks, column: int, is_listed: bool) -> FillBars:
    bars = np.flatnonzero(masks.closed[:, column])
    first = 0 if is_listed else int(bars[0])
    span = slice(first + 1, max(first, int(bars[-1])) + 1)
    is_open, lost = np.ones(span.stop - span.start, dtype=np.bool_), dict[str, npt.NDArray[np.int64]]()
    for cause, allowed in masks.causes.items():
        # A cause counts the bars that no earlier cause has.
        if len(bars_of := np.flatnonzero(is_open & ~allowed[span, column])):
            lost[cause] = bars_of
        is_open &= allowed[span, column]
    n_fills, symbol = int(is_open.sum()), masks.symbols[column]
    if not lost:
        return FillBars(symbol, len(is_open), n_fills)
    most = max(lost, key=lambda name: len(lost[name]))
    # A sentence about every bar must hold on every bar, so it names all causes.
    cause = most if n_fills else " ".join(lost)
    return FillBars(symbol, len(is_open), n_fills, cause, masks.dates[span.start + int(lost[most][0])], len(lost) == 1)


def fill_warnings(bars: Mapping[str, FillBars], *, hint: str = "") -> list[str]:
    """Return warnings about symbols that never fill, or seldom.

    Seldom is on less than `LEAST_FILLED` of their bars. Symbols with the same cause share a sentence.

    Args:
        bars: As `fill_bars` returns them.
        hint: What to do where the symbols of a market have different dates.
    """
    groups: dict[tuple[bool, str], list[FillBars]] = {}
    for each in bars.values():
        if each.share < LEAST_FILLED:
            groups.setdefault((each.n_fills > 0, each.cause), []).append(each)
    return [_sentence(group, hint) for _, group in sorted(groups.items())]


def causes_of(column_of: ColumnOf, closed: _Mask, rows: slice = slice(None)) -> dict[str, _Mask]:
    """Return where a fill is allowed, by what can prevent it.

    Args:
        column_of: Tables of the market.
        closed: Whether a symbol has a close.
        rows: Bars of `closed`.
    """
    causes = {"closes": closed}
    if (opens := column_of("open")) is not None:
        causes["opens"] = np.isfinite(opens[rows])
    else:
        # Orders fill at the close of the bar before.
        causes["opens"] = np.vstack([np.zeros((1, closed.shape[1]), dtype=np.bool_), closed[:-1]])
    del opens
    for cause, name in (("mask", "tradable"), ("volume", "volume")):
        if (table := column_of(name)) is not None:
            causes[cause] = table[rows] != 0.0
    return causes


def _sentence(group: Sequence[FillBars], hint: str) -> str:
    first, is_one = group[0], len(group) == 1
    names = ", ".join(each.symbol for each in group[:_MOST_NAMES])
    names += f" and {counted(len(group) - _MOST_NAMES, 'other symbol')}" if len(group) > _MOST_NAMES else ""
    if first.n_fills == 0:
        return f"{names} can never fill: {_never(first, 'its' if is_one else 'their')}"
    shares = sorted(each.share for each in group)
    share = " to ".join(dict.fromkeys((f"{shares[0]:.0%}", f"{shares[-1]:.0%}")))
    because = {
        "closes": f"no close, such as on {first.example}",
        "opens": f"no price to fill at, such as on {first.example}",
        "mask": f"trading is not allowed, such as on {first.example}",
        "volume": f"volume 0, such as on {first.example}",
    }[first.cause]
    because = because if all(each.is_only for each in group) else f"mostly {because}"
    text = f"{names} {'fills' if is_one else 'fill'} on only {share} of the bars ({because})"
    text += ": orders decided before the other bars are lost"
    return f"{text}; hint: {hint}" if hint and first.cause in ("closes", "opens") else text


def _never(bars: FillBars, its: str) -> str:
    if bars.n_bars == 0:
        return "no close follows the first one"
    causes = bars.cause.split()
    if len(causes) == 1:
        return {
            "opens": "no bar after the first close has a price to fill at",
            "mask": "trading is not allowed on any bar",
            "volume": f"{its} volume is 0 on every bar",
        }[bars.cause]
    reasons = {
        "closes": "has no close",
        "opens": "has no price to fill at",
        "mask": "does not allow trading",
        "volume": "has volume 0",
    }
    return f"every bar {' or '.join(reasons[cause] for cause in causes)}"
