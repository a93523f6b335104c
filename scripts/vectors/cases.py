"""Builders of the JSON of vectors: datasets, decisions and cases."""

from __future__ import annotations

import json
from typing import Any

Case = dict[str, Any]
Table = list[list[float | None]]

DAYS = [f"2024-01-{day:02d}" for day in (2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 22, 23, 24, 25, 26, 29)]
SYMBOLS = ("AAA", "BBB", "CCC", "DDD", "EEE", "FFF", "GGG", "HHH", "III", "JJJ")
NO_COSTS = {
    "fee_bps": 0.0,
    "slippage_bps": 0.0,
    "slippage_jitter": 0.0,
    "impact_bps": 0.0,
    "financing_bps": 0.0,
    "cash_bps": 0.0,
    "borrow_bps": 0.0,
    "capital": 1000000.0,
}
NO_LIMITS = {
    "max_weight": None,
    "max_gross": None,
    "allow_short": True,
    "max_participation": None,
    "maintenance_margin": 0.0,
}
DEFAULT_LIMITS = NO_LIMITS | {"max_weight": 1.0, "max_gross": 1.0}


def rows(*columns: list[float | None]) -> Table:
    """Transpose one list per symbol to a table of bars by symbols."""
    return [list(row) for row in zip(*columns, strict=True)]


def dataset(close: Table, **columns: Any) -> dict[str, Any]:
    """Return a dataset in the JSON of vectors; `null` is a missing value."""
    base = {"dates": DAYS[: len(close)], "symbols": list(SYMBOLS[: len(close[0])]), "periods_per_year": 252.0}
    return base | {"close": close} | columns


def order(symbol: str, action: str, weight: float, **optional: Any) -> dict[str, Any]:
    return {"symbol": symbol, "action": action, "target_weight": weight} | optional


def says(*orders: dict[str, Any] | tuple[str, float], **optional: Any) -> str:
    """Return the JSON of a decision; a pair of symbol and weight is a buy or a sell."""
    listed = [o if isinstance(o, dict) else order(o[0], "sell" if o[1] < 0 else "buy", o[1]) for o in orders]
    return json.dumps({"orders": listed} | optional, ensure_ascii=False)


def close(symbol: str) -> dict[str, Any]:
    return order(symbol, "close", 0.0)


HOLD = says()


def case(
    name: str,
    about: str,
    steps: list[int],
    market: dict[str, Any],
    *decisions: str,
    costs: Any = None,
    limits: Any = None,
    **settings: Any,
) -> Case:
    """Return a case over all bars of a market; it ends after its last decision."""
    given = {
        "dataset": market,
        "window": settings.pop("window", [0, len(market["close"])]),
        "lookback": settings.pop("lookback", 20),
        "seed": settings.pop("seed", 0),
        "costs": NO_COSTS | (costs or {}),
        "limits": NO_LIMITS | (limits or {}),
        "decisions": list(decisions),
    }
    assert not settings, settings
    return {"name": name, "about": about, "timeline": steps, "given": given}
