"""JSON interface of a strategy: an agent from observation to decision."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from openoutcry.arguments import checked_texts
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted


class StrategyAgent:
    """An agent that decides with a strategy, for one run.

    Args:
        decide: Function from a window of closes to weights.
        lookback: Number of closes in a window.
        symbols: All symbols of the market, in market order.
        name: Name of the agent.
    """

    def __init__(self, decide: Callable[[Array], Array], lookback: int, symbols: Sequence[str], name: str) -> None:
        self.lookback = lookback
        self.__name__ = name
        self._decide = decide
        self._symbols = checked_texts("symbols", symbols)
        self._previous: tuple[str, dict[str, int]] = ("", {})

    def __call__(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        shown = {entry["symbol"]: entry["close_history"] for entry in observation["symbols"]}
        self._check_depth(observation["date"], shown)
        closes = np.full((self.lookback, len(self._symbols)), np.nan)
        for place, symbol in enumerate(self._symbols):
            if history := shown.get(symbol, [])[-self.lookback :]:
                closes[-len(history) :, place] = history
        if not np.isfinite(closes[0]).any():
            return {"orders": []}
        return orders_of(self._symbols, self._decide(closes), shown)

    def _check_depth(self, date: str, shown: Mapping[str, Sequence[float]]) -> None:
        """Raise if observations hold fewer than `lookback` closes.

        A history grows by one close per bar until it has the maximum length.
        """
        day, lengths = self._previous
        now = {symbol: len(history) for symbol, history in shown.items()}
        for symbol, length in now.items():
            if length < self.lookback and day < date and lengths.get(symbol) == length:
                wanted = f"observations must show {counted(self.lookback, 'close')}"
                hint = f"hint: pass `lookback={self.lookback}` to `run_backtest`"
                raise refusal("argument_invalid", f"{wanted}; received {length} of {symbol}; {hint}")
        self._previous = date, now


def orders_of(symbols: Sequence[str], weights: Array, shown: Container[str]) -> dict[str, Any]:
    """Return the decision that trades the shown symbols to their weights."""
    targets = zip(symbols, weights.tolist(), strict=True)
    return {"orders": [_order(symbol, weight) for symbol, weight in targets if symbol in shown]}


def _order(symbol: str, weight: float) -> dict[str, Any]:
    action = "buy" if weight > 0.0 else "sell" if weight < 0.0 else "close"
    return {"symbol": symbol, "action": action, "target_weight": weight}
