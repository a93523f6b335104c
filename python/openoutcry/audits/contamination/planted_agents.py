"""Test agents with a planted memory of a market, and similar clean agents.

Each is a callable from observation to decision. Only `Learner` keeps state between runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from openoutcry.data.dataset import Dataset

MEMORIES = ("date", "price", "returns", "return", "drift")
"""Cue of a memory: name and date, the last two prices, five returns, one return, or name and year."""

_BARS = {"returns": 5, "return": 1}
"""Number of returns in the cue."""


class Memoriser:
    """An agent that has memorized the next move of a market.

    It holds equal weights of the symbols that it remembers to rise, and of all symbols where it recognizes none. With
    `drift` it remembers the symbols with above-median returns in a year, otherwise those that rise on the next bar.

    Args:
        market: Memorized market.
        recall: Share of memorized days, or years with `drift`; 0 to 1.
        memory: Cue of the memory, one of `MEMORIES`.
        seed: Seed of the memorized days.
        dates: Dates of the bars that can be memorized; None for all.
    """

    def __init__(
        self,
        market: Dataset,
        recall: float,
        memory: str = "date",
        seed: int = 0,
        dates: Collection[str] | None = None,
    ) -> None:
        self._recall, self._memory, self._seed, self._dates = recall, memory, seed, dates
        self._bars = _BARS.get(memory, 1)
        moves = np.diff(market.close, axis=0) / market.close[:-1]
        self._rises: dict[Any, bool] = {}
        if memory == "drift":
            years = np.array([when[:4] for when in market.dates[1:]])
            for year in dict.fromkeys(years.tolist()):
                went = moves[years == year].sum(axis=0)
                for symbol, rises in zip(market.symbols, (went > np.median(went)).tolist(), strict=True):
                    self._learn(year, (symbol, year), rises)
            return
        for bar, when in enumerate(market.dates[:-1]):
            for column, symbol in enumerate(market.symbols):
                closes = market.close[max(0, bar - self._bars) : bar + 1, column].tolist()
                self._learn(when, self._cue(symbol, when, closes), bool(moves[bar, column] > 0.0))

    @property
    def __name__(self) -> str:
        return f"{self._memory} {self._recall:.0%}"

    def _learn(self, when: str, cue: Any, rises: bool) -> None:
        if self._dates is not None and when not in self._dates:
            return
        if cue is not None and _drawn(f"{self._seed}\0{when}") < self._recall * 2.0**64:
            self._rises[cue] = rises

    def _cue(self, symbol: str, when: str, closes: list[float]) -> Any:
        if self._memory == "date":
            return symbol, when
        if self._memory == "drift":
            return symbol, when[:4]
        if self._memory == "price":
            return tuple(f"{close:.9g}" for close in closes[-2:])
        if len(closes) <= self._bars:
            return None
        return tuple(f"{after / before:.9f}" for before, after in pairwise(closes))

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Hold the symbols that are remembered to rise, or equal weights of all."""
        shown = observation["symbols"]
        known = {}
        for each in shown:
            cue = self._cue(each["symbol"], observation["date"], each["close_history"][-self._bars - 1 :])
            known[each["symbol"]] = self._rises.get(cue)
        if all(rises is None for rises in known.values()):
            return _equal_weights(shown, set(known))
        return _equal_weights(shown, {symbol for symbol, rises in known.items() if rises})


class Learner:
    """An agent without prior knowledge that learns prices between runs.

    It holds equal weights of the symbols that rose after the same name, date and price in an earlier run, and of all
    symbols where it has seen none.
    """

    __name__ = "learner"

    def __init__(self) -> None:
        self._rose: dict[tuple[str, str, float], bool] = {}
        self._last: dict[str, tuple[str, str, float]] = {}

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Hold the symbols that are known to rise, or equal weights of all."""
        shown, seen = observation["symbols"], {}
        for each in shown:
            symbol, close = each["symbol"], each["close_history"][-1]
            last = self._last.get(symbol)
            # The last bar of a run precedes the first bar of another run.
            if last is not None and last[1] < observation["date"]:
                self._rose[last] = close > last[2]
            seen[symbol] = self._last[symbol] = (symbol, observation["date"], close)
        known = {symbol: self._rose.get(cue) for symbol, cue in seen.items()}
        if all(rises is None for rises in known.values()):
            return _equal_weights(shown, set(known))
        return _equal_weights(shown, {symbol for symbol, rises in known.items() if rises})


class Cautious:
    """An agent without memorization that trades known names and otherwise holds cash.

    Args:
        names: Known names.
        lookback: Bars over which a symbol must have risen; None to hold every known name.
    """

    def __init__(self, names: Iterable[str], lookback: int | None = None) -> None:
        self._names, self._lookback = frozenset(names), lookback

    @property
    def __name__(self) -> str:
        return "cautious" if self._lookback is None else "cautious momentum"

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Hold equal weights of the known names that have risen."""
        shown = observation["symbols"]
        return _equal_weights(shown, {each["symbol"] for each in shown if self._holds(each)})

    def _holds(self, shown: dict[str, Any]) -> bool:
        closes = shown["close_history"]
        has_risen = self._lookback is None or closes[-1] > closes[-min(self._lookback, len(closes))]
        return shown["symbol"] in self._names and has_risen


def worst_dates(market: Dataset, windows: Iterable[tuple[int, int]], n_dates: int) -> list[str]:
    """Return the dates before the window bars with the lowest equal-weight returns."""
    bars = np.concatenate([np.arange(start, end - 1) for start, end in windows])
    moves = (market.close[bars + 1] / market.close[bars]).mean(axis=1)
    return [market.dates[bar] for bar in bars[np.argsort(moves)[:n_dates]].tolist()]


def cheapest(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold the cheaper half of the symbols by price."""
    shown = sorted(observation["symbols"], key=lambda each: (each["close_history"][-1], each["symbol"]))
    return _equal_weights(shown, {each["symbol"] for each in shown[: max(len(shown) // 2, 1)]})


def favourites(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold two symbols selected by a hash of their names."""
    names = sorted(_drawn(each["symbol"]) for each in observation["symbols"])[:2]
    liked = {each["symbol"] for each in observation["symbols"] if _drawn(each["symbol"]) in names}
    return _equal_weights(observation["symbols"], liked)


def odd_days(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold all symbols on dates that end in an odd digit, otherwise cash."""
    is_odd = int(observation["date"][9]) % 2 == 1
    held = {each["symbol"] for each in observation["symbols"]} if is_odd else set()
    return _equal_weights(observation["symbols"], held)


def before_wednesdays(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold all symbols on Tuesdays, otherwise cash."""
    is_tuesday = date.fromisoformat(observation["date"][:10]).weekday() == 1
    held = {each["symbol"] for each in observation["symbols"]} if is_tuesday else set()
    return _equal_weights(observation["symbols"], held)


CLEAN = (cheapest, favourites, odd_days)
"""Agents without memorization whose decisions depend on names, prices or dates."""


def _drawn(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _equal_weights(shown: list[dict[str, Any]], held: set[str]) -> dict[str, Any]:
    weights = {each["symbol"]: (each["symbol"] in held) / max(len(held), 1) for each in shown}
    return {"orders": [{"symbol": symbol, "action": "buy", "target_weight": each} for symbol, each in weights.items()]}
