"""Agents with day orders for leak check tests: causal ones, and planted leaks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd


def bracket(observation: dict[str, Any]) -> dict[str, Any]:
    """Buy with a limit, or at the close, and with exits around the last close."""
    orders: list[dict[str, Any]] = []
    for place, each in enumerate(observation["symbols"]):
        close = each["close_history"][-1]
        order = {"symbol": each["symbol"], "action": "buy", "target_weight": 0.3}
        exits = {"stop_loss": 0.98 * close, "take_profit": 1.04 * close, "limit_price": 0.999 * close}
        orders.append(order | ({"at": "close"} if place == 0 else exits))
    return {"orders": orders}


def future_condition(frame: pd.DataFrame, name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return an agent with constant weights and one condition from the bar after its decision."""
    highs, lows = (frame.pivot(index="date", columns="symbol", values=each) for each in ("high", "low"))
    after = dict(pairwise(highs.index))

    def order(symbol: str, tomorrow: pd.Timestamp | None) -> dict[str, Any]:
        made: dict[str, Any] = {"symbol": symbol, "action": "buy", "target_weight": 0.3}
        if tomorrow is None:
            return made
        high, low = float(highs.loc[tomorrow, symbol]), float(lows.loc[tomorrow, symbol])
        if name == "at":
            return made | {"at": "close" if high - low > 1.0 else "open"}
        price = low if name in ("limit_price", "stop_loss") else high
        return made | ({name: price} if np.isfinite(price) and 1e-15 <= price <= 1e15 else {})

    def decide(observation: dict[str, Any]) -> dict[str, Any]:
        tomorrow = after.get(pd.Timestamp(observation["date"]))
        return {"orders": [order(each["symbol"], tomorrow) for each in observation["symbols"]]}

    return decide
