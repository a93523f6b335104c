"""Compact encoding of a trace for a page: integer columns, deflated, base64.

Numbers are rounded for display to about six digits of the largest value of a column. Long texts are truncated to a
common length if their total exceeds `TEXT_CHARACTERS`. The record of the run has the exact, complete data.
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

__all__ = ["CELLS", "CELLS_WITH_DATA", "TEXT_CHARACTERS", "Packed", "pack"]

CELLS = 60_000
"""Maximum prices in a page; of a larger run it contains the last bars."""

CELLS_WITH_DATA = 20_000
"""Maximum in a self-verifying page, which contains its market."""

TEXT_CHARACTERS = 240_000
"""Maximum total characters of all texts."""

_DIGITS = 6
_WEIGHT, _CONFIDENCE = 4, 3
_EXACT = 2.0**52


@dataclass(frozen=True)
class Packed:
    """An encoded trace.

    Attributes:
        text: Base64 of the deflated JSON.
        first: Index of the first bar included.
        longest: Length that texts were truncated to; `None` if none was truncated.
    """

    text: str
    first: int
    longest: int | None


@dataclass
class TextTable:
    """Distinct texts by number; the empty text is number 0."""

    numbers: dict[str, int] = field(default_factory=lambda: {"": 0})

    def number(self, text: str) -> int:
        """Return the number of a text; a new text gets the next number."""
        return self.numbers.setdefault(text, len(self.numbers))

    def numbers_of(self, texts: Iterable[str]) -> list[int]:
        """Return the number of each text."""
        numbers = self.numbers
        return [numbers.setdefault(text, len(numbers)) for text in texts]


def pack(view: RunView, n_cells: int = CELLS) -> Packed:
    """Encode the trace of a run for its inspector, with at most `n_cells` prices."""
    trace = view.trace
    if trace is None:
        raise ValueError("a view with a `trace` is required; received one without")
    first = max(0, len(view.dates) - max(n_cells // max(len(view.symbols), 1), 2))
    closes, shares = trace.closes[first:], trace.shares[first:]
    text_table, steps = TextTable(), trace.steps[first:]
    columns = {symbol: i for i, symbol in enumerate(view.symbols)}
    traded = np.zeros(len(columns))
    for fill in (fill for step in steps for fill in step.fills):
        traded[columns[fill.symbol]] = max(traded[columns[fill.symbol]], abs(fill.shares))
    prices = [_whole_column(column) for column in closes.T]
    # A position opened and closed within one bar appears at no close, so fills also determine the digits.
    holdings = [_whole_column(column, most) for column, most in zip(shares.T, traded.tolist(), strict=True)]
    body = {
        "dates": list(view.dates[first:]),
        "symbols": [clean(symbol) for symbol in view.symbols],
        "first": first,
        "cash": _whole_column(trace.cash[first:]).packed(),
        "nav": _whole_column(view.nav[first:]).packed(),
        "closes": [column.packed() for column in prices],
        "shares": [column.packed() for column in holdings],
        "orders": _orders(steps, text_table),
        "fills": _fills(steps, columns, prices, holdings),
        "events": _events(steps, text_table),
        "faults": _sparse([step.fault for step in steps], text_table),
        "reasoning": _sparse([step.reasoning for step in steps], text_table),
    }
    texts, longest = _fit([clean(text) for text in text_table.numbers])
    raw = json.dumps({**body, "texts": texts}, separators=(",", ":"), ensure_ascii=False).encode()
    # Without a header, for `deflate-raw` of browsers.
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    return Packed(base64.b64encode(squeeze.compress(raw) + squeeze.flush()).decode(), first, longest)


@dataclass(frozen=True)
class Column:
    """Values as integers, in units of 10^-decimals; 0 where not `known`."""

    decimals: int
    integers: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]

    def packed(self) -> dict[str, Any]:
        """Return differences of consecutive values.

        Null is undefined and does not change the running sum.
        """
        moves = np.diff(self.integers[self.known], prepend=0).tolist()
        if self.known.all():
            return {"d": self.decimals, "v": moves}
        rest = iter(moves)
        return {"d": self.decimals, "v": [next(rest) if is_known else None for is_known in self.known.tolist()]}


def _whole_column(values: Floats, least: float = 0.0) -> Column:
    known = np.isfinite(values)
    largest = float(np.abs(values[known]).max(initial=least))
    # Negative for values that overflow a 64-bit integer: units of tens, thousands, and so on.
    decimals = 0 if largest == 0.0 else min(_DIGITS - 1 - math.floor(math.log10(largest)), 12)
    decimals = max(decimals, 0) if largest < _EXACT else decimals
    integers = np.zeros(len(values), dtype=np.int64)
    integers[known] = np.rint(values[known] * 10.0**decimals).astype(np.int64)
    return Column(decimals, integers, known)


def _scaled_integers(values: Iterable[float | None], decimals: int) -> list[int | None]:
    scale, is_finite = 10**decimals, math.isfinite
    return [None if value is None or not is_finite(value) else round(value * scale) for value in values]


def _orders(steps: Sequence[Step], text_table: TextTable) -> dict[str, list[Any]]:
    orders = [order for step in steps for order in step.orders]
    shown = [order[:5] for order in orders]
    symbols, actions, weights, confidences, whys = zip(*shown, strict=True) if shown else [()] * 5
    return {
        "n": [len(step.orders) for step in steps],
        "symbol": text_table.numbers_of(symbols),
        "action": text_table.numbers_of(actions),
        "weight": _scaled_integers(weights, _WEIGHT),
        "confidence": _scaled_integers(confidences, _CONFIDENCE),
        "why": text_table.numbers_of(whys),
    }


def _fills(
    steps: Sequence[Step], columns: dict[str, int], prices: Sequence[Column], holdings: Sequence[Column]
) -> dict[str, list[Any]]:
    """Encode fills as residuals, which are mostly zero.

    Shares are stored less the change of the position, prices less the previous close.
    """
    rows = [(t, columns[fill.symbol], fill) for t, step in enumerate(steps) for fill in step.fills]
    per, cents = ([10**column.decimals for column in each] for each in (holdings, prices))
    held, closes = [column.integers.tolist() for column in holdings], [column.integers.tolist() for column in prices]
    return {
        "n": [len(step.fills) for step in steps],
        "symbol": [i for _, i, _ in rows],
        "shares": [round(fill.shares * per[i]) - (held[i][t + 1] - held[i][t]) for t, i, fill in rows],
        "price": [round(fill.price * cents[i]) - closes[i][t] for t, i, fill in rows],
    }


def _events(steps: Sequence[Step], text_table: TextTable) -> dict[str, list[Any]]:
    events = [event for step in steps for event in step.events]
    return {
        "n": [len(step.events) for step in steps],
        "slug": [text_table.number(event.slug) for event in events],
        "symbol": [text_table.number(event.symbol) for event in events],
        "reason": [text_table.number(event.reason) for event in events],
    }


def _sparse(texts: Iterable[str], text_table: TextTable) -> dict[str, int]:
    """Return index to text number for every non-empty text."""
    return {str(place): text_table.number(text) for place, text in enumerate(texts) if text}


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
