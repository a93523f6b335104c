"""A strategy as an agent that stores the closes it has observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.strategies.json_agent import orders_of
from openoutcry.backtest.strategies.rolling_windows import Array

# Digits that the ratio of a split is rounded to: prices before and after it hold rounding errors.
_RATIO_DIGITS = 9


class ObservingAgent:
    """An agent that decides with a strategy wherever observations come from.

    Observations of a suite, a test or an environment may hold fewer closes than the strategy needs. The agent stores
    them and holds until it has seen `lookback` closes of a symbol. Its windows equal those of `Strategy.agent`; only
    symbols that were never observed have no column. A date that does not follow the previous one starts a new run.

    Args:
        decide: Function from a window of closes to weights.
        lookback: Number of closes in a window.
        name: Name of the agent.
        symbols: All symbols of the market, in market order; without them, those observed so far in order of appearance.
    """

    def __init__(self, decide: Callable[[Array], Array], lookback: int, name: str, symbols: Sequence[str] = ()) -> None:
        self.lookback = lookback
        self.__name__ = name
        self._decide = decide
        self._symbols = tuple(symbols)
        self._date = ""
        self._closes: dict[str, list[float]] = {}

    def __call__(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        if not self._date < observation["date"]:
            self._closes = {}
        self._date = observation["date"]
        shown = {entry["symbol"]: entry["close_history"] for entry in observation["symbols"]}
        for symbol in self._symbols:
            self._closes.setdefault(symbol, [])
        for symbol in [symbol for symbol in self._closes if symbol not in shown]:
            # Settled symbols keep their column.
            self._closes[symbol] = []
        for symbol, history in shown.items():
            self._closes[symbol] = _extended(self._closes.get(symbol, []), history)[-self.lookback :]
        closes = np.full((self.lookback, len(self._closes)), np.nan)
        for place, known in enumerate(self._closes.values()):
            if known:
                closes[-len(known) :, place] = known
        if not np.isfinite(closes[0]).any():
            return {"orders": []}
        return orders_of(list(self._closes), self._decide(closes), shown)


def observing_agent(strategy: Strategy, name: str, symbols: Sequence[str] = ()) -> ObservingAgent:
    """Return the agent of a strategy in this process, for one run."""
    return ObservingAgent(strategy.decide, strategy.checked_lookback(), name, symbols)


def _extended(stored: list[float], history: Sequence[float]) -> list[float]:
    """Return stored closes, continued by the last close of a history.

    A history that does not continue them replaces them.

    A split divides all earlier closes of a history; the stored ones are divided by the same ratio.
    """
    before = list(history[:-1])
    if len(before) >= len(stored):
        return list(history)
    if not before:
        return [*stored, history[-1]]
    tail = stored[-len(before) :]
    if tail == before:
        return [*stored, history[-1]]
    exact = tail[-1] / before[-1]
    for ratio in (round(exact, _RATIO_DIGITS), exact):
        if ratio and [close / ratio for close in tail] == before:
            return [*(close / ratio for close in stored), history[-1]]
    # Bars are missing between the two observations.
    return list(history)
