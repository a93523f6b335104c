"""Day orders of every form, and ranges of bars for random markets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORMS = ("plain", "limit", "stop", "stop_limit", "exits", "entry_and_exits", "close", "limit_at_close", "held_exits")
"""Forms of orders; `held_exits` belongs to a hold, and `close` is the time."""
N_MOVES = 4


def conditions(form: str, close: float, moves: Sequence[float]) -> dict[str, Any]:
    """Return the conditions of a form of order, at prices that differ from a close by `moves`."""
    price = [min(max(close * (1.0 + move), 1e-14), 1e14) for move in moves]
    exits = {"stop_loss": min(price[2:]), "take_profit": max(price[2:])}
    return {
        "plain": {},
        "limit": {"limit_price": price[0]},
        "stop": {"stop_price": price[1]},
        "stop_limit": {"limit_price": price[0], "stop_price": price[1]},
        "exits": exits,
        "entry_and_exits": {"limit_price": price[0], **exits},
        "close": {"at": "close"},
        "limit_at_close": {"at": "close", "limit_price": price[0]},
        "held_exits": exits,
    }[form]


def day_order(rng: np.random.Generator, symbol: str, close: float) -> dict[str, Any]:
    """Return a random order of a random form near a close."""
    form = FORMS[int(rng.integers(len(FORMS)))]
    order = {"symbol": symbol, "action": "buy", "target_weight": float(rng.uniform(-0.6, 0.9))}
    if form == "held_exits":
        order["action"] = "hold"
    return order | conditions(form, close, rng.normal(0.0, 0.03, N_MOVES).tolist())


def ranges(rng: np.random.Generator, close: Any, opens: Any) -> dict[str, Array]:
    """Return highs and lows around closes and opens, some missing."""
    closes = np.asarray(close, dtype=float)
    first = closes if opens is None else np.asarray(opens, dtype=float)
    spread = np.abs(rng.normal(0.0, 0.03, (2, *closes.shape)))
    high, low = np.fmax(closes, first) * (1.0 + spread[0]), np.fmin(closes, first) * np.exp(-spread[1])
    for each in (high, low):
        each[rng.random(closes.shape) < 0.03] = np.nan
    return {"high": high, "low": low}
