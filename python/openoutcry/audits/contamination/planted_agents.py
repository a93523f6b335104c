"""Agents that remember a market, and clean ones that look as though they did.

Each is a callable from observation to decision that keeps nothing between runs.
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
"""What is recognised of a symbol: name and date, its last two prices, five returns or one, or name and year."""

_BARS = {"returns": 5, "return": 1}
"""Returns that are recognised together."""


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
        dates: Of the bars that it may remember; None for all.
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
        """Hold what is remembered to rise, or equal parts of everything."""
        shown = observation["symbols"]
        known = {}
        for each in shown:
            cue = self._cue(each["symbol"], observation["date"], each["close_history"][-self._bars - 1 :])
            known[each["symbol"]] = self._rises.get(cue)
        if all(rises is None for rises in known.values()):
            return _equal_parts(shown, set(known))
        return _equal_parts(shown, {symbol for symbol, rises in known.items() if rises})


class Learner:
    """An agent that knows nothing and keeps what it is shown from run to run.

    It holds equal parts of what rose on the next bar when it last was shown this price of this name on this date;
    where it was shown none, of all.
    """

    __name__ = "learner"

    def __init__(self) -> None:
        self._rose: dict[tuple[str, str, float], bool] = {}
        self._last: dict[str, tuple[str, str, float]] = {}

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Hold what is known to rise, or equal parts of everything."""
        shown, seen = observation["symbols"], {}
        for each in shown:
            symbol, close = each["symbol"], each["close_history"][-1]
            last = self._last.get(symbol)
            # The last bar of a run is followed by the first of another.
            if last is not None and last[1] < observation["date"]:
                self._rose[last] = close > last[2]
            seen[symbol] = self._last[symbol] = (symbol, observation["date"], close)
        known = {symbol: self._rose.get(cue) for symbol, cue in seen.items()}
        if all(rises is None for rises in known.values()):
            return _equal_parts(shown, set(known))
        return _equal_parts(shown, {symbol for symbol, rises in known.items() if rises})


class Cautious:
    """An agent without memory that trades names it knows, and holds cash under others.

    Args:
        names: What it knows.
        lookback: Bars over which what it holds has risen; None where it holds all it knows.
    """

    def __init__(self, names: Iterable[str], lookback: int | None = None) -> None:
        self._names, self._lookback = frozenset(names), lookback

    @property
    def __name__(self) -> str:
        return "cautious" if self._lookback is None else "cautious momentum"

    def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
        """Hold equal parts of the names that it knows, of those that rise."""
        shown = observation["symbols"]
        return _equal_parts(shown, {each["symbol"] for each in shown if self._holds(each)})

    def _holds(self, shown: dict[str, Any]) -> bool:
        closes = shown["close_history"]
        has_risen = self._lookback is None or closes[-1] > closes[-min(self._lookback, len(closes))]
        return shown["symbol"] in self._names and has_risen


def worst_dates(market: Dataset, windows: Iterable[tuple[int, int]], n_dates: int) -> list[str]:
    """Return the dates before the worst bars of windows, of equal parts of symbols."""
    bars = np.concatenate([np.arange(start, end - 1) for start, end in windows])
    moves = (market.close[bars + 1] / market.close[bars]).mean(axis=1)
    return [market.dates[bar] for bar in bars[np.argsort(moves)[:n_dates]].tolist()]


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


def before_wednesdays(observation: dict[str, Any]) -> dict[str, Any]:
    """Hold everything on Tuesdays, and nothing on other days."""
    is_tuesday = date.fromisoformat(observation["date"][:10]).weekday() == 1
    held = {each["symbol"] for each in observation["symbols"]} if is_tuesday else set()
    return _equal_parts(observation["symbols"], held)


CLEAN = (cheapest, favourites, odd_days)
"""Agents that remember nothing, and yet do otherwise under other names, prices or dates."""


def _drawn(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _equal_parts(shown: list[dict[str, Any]], held: set[str]) -> dict[str, Any]:
    weights = {each["symbol"]: (each["symbol"] in held) / max(len(held), 1) for each in shown}
    return {"orders": [{"symbol": symbol, "action": "buy", "target_weight": each} for symbol, each in weights.items()]}
