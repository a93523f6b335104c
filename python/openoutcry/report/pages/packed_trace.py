"""A trace as the page carries it: columns of whole numbers, deflated, as base64.

Numbers are rounded for display: a column keeps about six digits of its largest value. Long texts are cut to one
length when all of them together would not fit; the record of the run holds everything whole.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.report.text_format import clean, shorten
from openoutcry.report.views.run_view import RunView
from openoutcry.report.views.trace_view import Step
from openoutcry.report.views.view_checks import Floats

__all__ = ["CELLS", "TEXT_CHARACTERS", "Packed", "pack"]

CELLS = 60_000
"""Most prices that a page carries; of a larger run it holds the last bars."""

TEXT_CHARACTERS = 240_000
"""Most characters of all texts together."""

_DIGITS = 6
_WEIGHT, _CONFIDENCE = 4, 3
_EXACT = 2.0**52


@dataclass(frozen=True)
class Packed:
    """What a page carries of a trace.

    Attributes:
        text: Base64 of the deflated JSON.
        first: Index of the first bar in it.
        longest: Characters that texts were cut to; `None` if none was.
    """

    text: str
    first: int
    longest: int | None


@dataclass
class Words:
    """Every different text once; the empty one is number 0."""

    numbers: dict[str, int] = field(default_factory=lambda: {"": 0})

    def number(self, text: str) -> int:
        """Return the number of a text, a new one if it has none."""
        return self.numbers.setdefault(text, len(self.numbers))

    def numbers_of(self, texts: Iterable[str]) -> list[int]:
        """Return the number of each text."""
        numbers = self.numbers
        return [numbers.setdefault(text, len(numbers)) for text in texts]


def pack(view: RunView) -> Packed:
    """Return what the inspector of a run shows, small enough for its page."""
    trace = view.trace
    if trace is None:
        raise ValueError("a view with a `trace` is required; received one without")
    first = max(0, len(view.dates) - max(CELLS // max(len(view.symbols), 1), 2))
    closes, shares = trace.closes[first:], trace.shares[first:]
    words, steps = Words(), trace.steps[first:]
    columns = {symbol: i for i, symbol in enumerate(view.symbols)}
    traded = np.zeros(len(columns))
    for fill in (fill for step in steps for fill in step.fills):
        traded[columns[fill.symbol]] = max(traded[columns[fill.symbol]], abs(fill.shares))
    prices = [_whole_column(column) for column in closes.T]
    # What is bought and closed within a bar is held at no close, and has digits of its own.
    holdings = [_whole_column(column, most) for column, most in zip(shares.T, traded.tolist(), strict=True)]
    body = {
        "dates": list(view.dates[first:]),
        "symbols": [clean(symbol) for symbol in view.symbols],
        "first": first,
        "cash": _whole_column(trace.cash[first:]).packed(),
        "nav": _whole_column(view.nav[first:]).packed(),
        "closes": [column.packed() for column in prices],
        "shares": [column.packed() for column in holdings],
        "orders": _orders(steps, words),
        "fills": _fills(steps, columns, prices, holdings),
        "events": _events(steps, words),
        "faults": _sparse([step.fault for step in steps], words),
        "reasoning": _sparse([step.reasoning for step in steps], words),
    }
    texts, longest = _fit([clean(text) for text in words.numbers])
    raw = json.dumps({**body, "texts": texts}, separators=(",", ":"), ensure_ascii=False).encode()
    # Without a header: a browser's `deflate-raw`.
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    return Packed(base64.b64encode(squeeze.compress(raw) + squeeze.flush()).decode(), first, longest)


@dataclass(frozen=True)
class Column:
    """Values as whole numbers, in units of the last of `decimals` digits.

    0 where they are not `known`.
    """

    decimals: int
    whole: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]

    def packed(self) -> dict[str, Any]:
        """Return the steps from value to value; null is undefined and moves nothing."""
        moves = np.diff(self.whole[self.known], prepend=0).tolist()
        if self.known.all():
            return {"d": self.decimals, "v": moves}
        rest = iter(moves)
        return {"d": self.decimals, "v": [next(rest) if is_known else None for is_known in self.known.tolist()]}


def _whole_column(values: Floats, least: float = 0.0) -> Column:
    known = np.isfinite(values)
    largest = float(np.abs(values[known]).max(initial=least))
    # Below zero for what no whole number of 64 bits could hold: in units of tens, of thousands, and so on.
    decimals = 0 if largest == 0.0 else min(_DIGITS - 1 - math.floor(math.log10(largest)), 12)
    decimals = max(decimals, 0) if largest < _EXACT else decimals
    whole = np.zeros(len(values), dtype=np.int64)
    whole[known] = np.rint(values[known] * 10.0**decimals).astype(np.int64)
    return Column(decimals, whole, known)


def _wholes(values: Iterable[float | None], decimals: int) -> list[int | None]:
    scale, is_finite = 10**decimals, math.isfinite
    return [None if value is None or not is_finite(value) else round(value * scale) for value in values]


def _orders(steps: Sequence[Step], words: Words) -> dict[str, list[Any]]:
    orders = [order for step in steps for order in step.orders]
    symbols, actions, weights, confidences, whys = zip(*orders, strict=True) if orders else [()] * 5
    return {
        "n": [len(step.orders) for step in steps],
        "symbol": words.numbers_of(symbols),
        "action": words.numbers_of(actions),
        "weight": _wholes(weights, _WEIGHT),
        "confidence": _wholes(confidences, _CONFIDENCE),
        "why": words.numbers_of(whys),
    }


def _fills(
    steps: Sequence[Step], columns: dict[str, int], prices: Sequence[Column], holdings: Sequence[Column]
) -> dict[str, list[Any]]:
    """Return the trades, mostly as zeros.

    Shares come less the change of what is held, prices less the close before.
    """
    rows = [(t, columns[fill.symbol], fill) for t, step in enumerate(steps) for fill in step.fills]
    per, cents = ([10**column.decimals for column in each] for each in (holdings, prices))
    held, closes = [column.whole.tolist() for column in holdings], [column.whole.tolist() for column in prices]
    return {
        "n": [len(step.fills) for step in steps],
        "symbol": [i for _, i, _ in rows],
        "shares": [round(fill.shares * per[i]) - (held[i][t + 1] - held[i][t]) for t, i, fill in rows],
        "price": [round(fill.price * cents[i]) - closes[i][t] for t, i, fill in rows],
    }


def _events(steps: Sequence[Step], words: Words) -> dict[str, list[Any]]:
    events = [event for step in steps for event in step.events]
    return {
        "n": [len(step.events) for step in steps],
        "slug": [words.number(event.slug) for event in events],
        "symbol": [words.number(event.symbol) for event in events],
        "reason": [words.number(event.reason) for event in events],
    }


def _sparse(texts: Iterable[str], words: Words) -> dict[str, int]:
    """Return the place of each text that is not empty to its number."""
    return {str(place): words.number(text) for place, text in enumerate(texts) if text}


def _fit(texts: list[str]) -> tuple[list[str], int | None]:
    lengths = np.array([len(text) for text in texts])
    if lengths.sum() <= TEXT_CHARACTERS:
        return texts, None
    low, high = 1, int(lengths.max())
    while high - low > 1:
        middle = (low + high) // 2
        fits = np.minimum(lengths, middle).sum() <= TEXT_CHARACTERS
        low, high = (middle, high) if fits else (low, middle)
    return [shorten(text, low) for text in texts], low
