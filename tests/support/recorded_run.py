"""A recorded run shared by the tests of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openoutcry as oo
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

KEY = bytes(range(32))
COSTS = oo.CostModel(slippage_jitter=0.5, cash_bps=80.0, fee_bps=0.1)
LIMITS = oo.Limits(max_gross=float("inf"), max_participation=0.5)
WINDOW = (19, 50)
DATA = Scenario(ScenarioSpec("hard", n_symbols=3, n_days=80, late_listings=0.5), 5).dataset()


def trend(observation: dict[str, Any]) -> dict[str, Any]:
    """Buy symbols that rose and sell symbols that fell."""
    orders = []
    for view in observation["symbols"]:
        up = view["close_history"][-1] >= view["close_history"][0]
        orders.append({"symbol": view["symbol"], "action": "buy", "target_weight": 0.3 if up else -0.1})
    return {"orders": orders, "reasoning": f"é \u2028 {observation['date']}"}


def attempt(read: Callable[[], oo.RunRecord]) -> oo.RunRecord | str:
    """Return the record, or the slug of the error."""
    try:
        return read()
    except oo.OpenOutcryError as error:
        return error.slug


def captured(agent: Any = trend, **changes: Any) -> oo.Run:
    return oo.run_backtest(DATA, agent, WINDOW, COSTS, LIMITS, 2**64 - 1, capture=True, **changes)


RECORD = captured().record
