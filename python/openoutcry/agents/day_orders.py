"""Fields of day orders, which decisions of contract 1.1 may have."""

from __future__ import annotations

from typing import Any

DAY_ORDER_FIELDS = ("limit_price", "stop_price", "at", "stop_loss", "take_profit")
"""Optional fields of an order, in the order of `decision.schema.json`."""


def day_order_field(decision: Any) -> str | None:
    """Return the first field of a day order in a decision; None without one.

    Args:
        decision: Parsed JSON, valid as a decision or not.
    """
    orders = decision.get("orders") if isinstance(decision, dict) else None
    parts = [order for order in orders if isinstance(order, dict)] if isinstance(orders, list) else []
    return next((name for order in parts for name in order if name in DAY_ORDER_FIELDS), None)
