"""An agent that states reasons and confidence, for tests of reports."""

from __future__ import annotations

import json
from typing import Any


class Outspoken:
    """Buys symbols that rose over the lookback, states confidence and reasons, and stores its decision texts."""

    def __init__(self, every: int = 1, stated: bool = True) -> None:
        self.every, self.stated = every, stated
        self.texts: list[str] = []

    def __call__(self, observation: dict[str, Any]) -> str:
        """Return a decision: every `every` bars, one order per symbol."""
        orders = [] if len(self.texts) % self.every else [self.order(view) for view in observation["symbols"]]
        words = f"{sum(order['action'] == 'buy' for order in orders)} of {len(orders)} rose." if orders else ""
        self.texts.append(json.dumps({"orders": orders, "reasoning": words}))
        return self.texts[-1]

    def order(self, view: dict[str, Any]) -> dict[str, Any]:
        """Return the order of one symbol."""
        closes = view["close_history"]
        rise = closes[-1] / closes[0] - 1.0
        order = {"symbol": view["symbol"], "action": "buy", "target_weight": 0.11 if rise > 0.0 else -0.05}
        order["action"] = "buy" if rise > 0.0 else "sell"
        order["rationale"] = f"{100.0 * rise:+.1f}% over {len(closes)} bars"
        if self.stated:
            order["confidence"] = round(min(0.5 + 5.0 * abs(rise), 0.95), 2)
        return order
