"""Agents that remember a market, and clean ones that look as though they did.

Each is a callable from observation to decision that keeps nothing between runs.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import numpy as np

from openoutcry.dataset import Dataset

MEMORIES = ("date", "price", "returns", "drift")
"""What is recognised: name and date, the last two prices of a symbol, its last five returns, or name and year."""

_BARS = 5


class Memoriser:
    """An agent that remembers what a market did next.

    Of symbols that it remembers to rise it holds equal parts, of others nothing; where it recognises none, equal parts
    of all. By `drift` it remembers which symbols
    did better than others in a year, else which rose on the next bar.

    Args:
        market: What it remembers.
        recall: Share of days that it remembers, or of years by `drift`; 0 to 1.
        memory: What it recognises, one of `MEMORIES`.
        seed: Which days.
    """

    def __init__(self, market: Dataset, recall: float, memory: str = "date", seed: int = 0) -> None:
        self._recall, self._memory, self._seed = recall, memory, seed
        moves = np.diff(market.close, axis=0) / market.close[:-1]
        self._rises: dict[Any, bool] = {}
        if memory == "drift":
            years = np.array([date[:4] for date in market.dates[1:]])
            for year in dict.fromkeys(years.tolist()):
                went = moves[years == year].sum(axis=0)
                for symbol, rises in zip(market.symbols, (went > np.median(went)).tolist(), strict=True):
                    self._learn(year, (symbol, year), rises)
            return
        for bar, date in enumerate(market.dates[:-1]):
            for column, symbol in enumerate(market.symbols):
                closes = market.close[max(0, bar - _BARS) : bar + 1, column].tolist()
                self._learn(date, self._cue(symbol, date, closes), bool(moves[bar, column] > 0.0))

    @property
    def __name__(self) -> str:
        return f"{self._memory} {self._recall:.0%}"

    def _learn(self, when: str, cue: Any, rises: bool) -> None:
        if cue is not None and _drawn(f"{self._seed}\0{when}") < self._recall * 2.0**64:
            self._rises[cue] = rises

    def _cue(self, symbol: str, date: str, closes: list[float]) -> Any:
        if self._memory == "date":
            return symbol, date
        if self._memory == "drift":
            return symbol, date[:4]
        if self._memory == "price":
            return tuple(f"{close:.9g}" for close in closes[-2:])
        if len(closes) <= _BARS:
            return None
        return tuple(f"{after / before:.9f}" for before, after in pairwise(closes))

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Hold what is remembered to rise, or equal parts of everything."""
        shown = observation["symbols"]
        known = {}
        for each in shown:
            cue = self._cue(each["symbol"], observation["date"], each["close_history"][-_BARS - 1 :])
            known[each["symbol"]] = self._rises.get(cue)
        if all(rises is None for rises in known.values()):
            return _equal_parts(shown, set(known))
        return _equal_parts(shown, {symbol for symbol, rises in known.items() if rises})


def cheapest(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold the half of the symbols of the lowest prices, whatever they are."""
    shown = sorted(observation["symbols"], key=lambda each: (each["close_history"][-1], each["symbol"]))
    return _equal_parts(shown, {each["symbol"] for each in shown[: max(len(shown) // 2, 1)]})


def favourites(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold two symbols whose names it likes for no reason."""
    names = sorted(_drawn(each["symbol"]) for each in observation["symbols"])[:2]
    liked = {each["symbol"] for each in observation["symbols"] if _drawn(each["symbol"]) in names}
    return _equal_parts(observation["symbols"], liked)


def odd_days(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold everything on dates that end in an odd digit, and nothing on others."""
    is_odd = int(observation["date"][9]) % 2 == 1
    held = {each["symbol"] for each in observation["symbols"]} if is_odd else set()
    return _equal_parts(observation["symbols"], held)


CLEAN = (cheapest, favourites, odd_days)
"""Agents that remember nothing, and yet do otherwise under other names, prices or dates."""


def _drawn(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _equal_parts(shown: list[dict[str, Any]], held: set[str]) -> dict[str, Any]:
    weights = {each["symbol"]: (each["symbol"] in held) / max(len(held), 1) for each in shown}
    return {"orders": [{"symbol": symbol, "action": "buy", "target_weight": each} for symbol, each in weights.items()]}
