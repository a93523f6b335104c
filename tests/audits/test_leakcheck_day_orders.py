"""Leak check of agents with day orders: their prices and times are compared too."""

from __future__ import annotations

from typing import Any

import day_order_targets as targets
import pytest

from openoutcry.agents.day_orders import DAY_ORDER_FIELDS
from openoutcry.audits.leakcheck import check, market_frames

pytestmark = pytest.mark.once


def frame() -> Any:
    return market_frames.synthetic("agent", "pandas", 60)


@pytest.mark.parametrize("name", DAY_ORDER_FIELDS)
def test_a_condition_from_the_next_bar_is_found(name: str) -> None:
    def ahead(frame: Any) -> Any:
        return targets.future_condition(frame, name)

    report = check(ahead, frame(), kind="agent", n_cuts=10)
    leaks = {leak.reach.column: leak.reach.horizon for leak in report.leaks}
    assert leaks == {f"{name}[S00{k}]": 1 for k in range(3)}


def test_a_bracket_around_the_last_close_has_no_leak() -> None:
    report = check(targets.bracket, frame(), n_cuts=10)
    assert report.leaks == ()
    # Columns of conditions that no order has are not listed.
    prices = [f"{name}[S00{k}]" for name in ("limit_price", "stop_loss", "take_profit") for k in (1, 2)]
    assert set(report.columns) == {*(f"weight[S00{k}]" for k in range(3)), *prices, "at[S000]"}


def test_a_price_that_differs_between_runs_is_refused_as_weights_are() -> None:
    n_runs = [0]

    def varying(frame: Any) -> Any:
        n_runs[0] += 1
        price = 1.0 + n_runs[0] / 100.0

        def decide(observation: dict[str, Any]) -> dict[str, Any]:
            order = {"symbol": "S000", "action": "buy", "target_weight": 0.3, "limit_price": price}
            return {"orders": [order]}

        return decide

    with pytest.raises(ValueError, match=r"received a different `limit_price\[S000\]` at row 0 in a second run"):
        check(varying, frame(), kind="agent", n_cuts=5)
