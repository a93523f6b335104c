"""A floor of sessions, and how tests trade on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from recorded import COSTS, DATA, LIMITS, trend

import openoutcry as oo
from openoutcry.mcp import Floor, Market

WINDOW = (19, 40)
RULES = {
    "window": "+19:+40",
    "seed": 7,
    "costs": {"slippage_jitter": 0.5, "cash_bps": 80, "fee_bps": 0.1},
    "limits": {"max_gross": None, "max_participation": 0.5},
}
HOLD: dict[str, Any] = {"orders": []}
Decide = Callable[[dict[str, Any]], dict[str, Any]]


def floor_of(dataset: oo.Dataset = DATA, **given: Any) -> Floor:
    return Floor((Market("market", dataset),), **given)


def begun(floor: Floor, **given: Any) -> dict[str, Any]:
    return floor.reset(RULES | given)


def stepped(floor: Floor, answer: dict[str, Any], decide: Decide = trend) -> dict[str, Any]:
    return floor.step({"session": answer["session"], "decision": decide(answer["observation"])})


def bought(symbol: str) -> dict[str, Any]:
    return {"orders": [{"symbol": symbol, "action": "buy", "target_weight": 0.1}]}


def played(floor: Floor, answer: dict[str, Any], decide: Decide = trend) -> list[dict[str, Any]]:
    """Play an episode to its end and return its steps."""
    steps = [answer]
    while not steps[-1].get("done"):
        steps.append(stepped(floor, steps[-1], decide))
    return steps[1:]


def backtest(dataset: oo.Dataset, window: tuple[int, int] = WINDOW, agent: Any = trend) -> oo.Run:
    return oo.run_backtest(dataset, agent, window, COSTS, LIMITS, 7, capture=True)


def without_session(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in answer.items() if name != "session"} for answer in answers]


def refused(call: Callable[[], Any]) -> oo.OpenOutcryError:
    with pytest.raises(oo.OpenOutcryError) as caught:
        call()
    return caught.value
