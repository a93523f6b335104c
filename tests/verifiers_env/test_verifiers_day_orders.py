"""Day orders in rollouts: offered only by choice, in markets with opens, highs and lows."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from rollout_rows import row_of

import openoutcry as oo
from openoutcry.agents.day_orders import DAY_ORDER_FIELDS
from openoutcry.verifiers_env import prompts
from openoutcry.verifiers_env.episode_outcome import outcome_of
from openoutcry.verifiers_env.record_conversations import (
    EpisodeSpec,
    rebuild_conversation,
    recorded_decisions,
    recorded_outcome,
)
from openoutcry.verifiers_env.record_conversations import row_of as row_of_record
from openoutcry.verifiers_env.record_store import record_of
from openoutcry.verifiers_env.rewards import RewardTerms
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.task_rows import STYLES

pytestmark = pytest.mark.once

TOOLS_DIGEST = "3bf5869eb57805900d1d749e1c56af678443dea52e55dec473a3ed96b8044ccf"
"""SHA-256 of the tools in JSON before rows had day orders."""


def bracket(rollout: RolloutState, **fields: Any) -> str:
    close = rollout.state()["closes"]["S000"]
    exits = fields or {"stop_loss": 0.999 * close, "take_profit": 1.002 * close}
    return json.dumps({"orders": [{"symbol": "S000", "action": "buy", "target_weight": 0.5, **exits}]})


def fields_of(tools: list[dict[str, Any]]) -> set[str]:
    (trade,) = (each["function"] for each in tools if each["function"]["name"] == "trade")
    return set(trade["parameters"]["properties"]["orders"]["items"]["properties"])


def test_tools_without_day_orders_are_unchanged_to_the_byte() -> None:
    assert hashlib.sha256(json.dumps(prompts.TOOLS).encode()).hexdigest() == TOOLS_DIGEST
    assert fields_of(prompts.DAY_ORDER_TOOLS) == fields_of(prompts.TOOLS) | set(DAY_ORDER_FIELDS)


@pytest.mark.parametrize("style", STYLES)
def test_a_prompt_names_day_orders_only_where_they_are_offered(style: str) -> None:
    plain, day = (prompts.prompt(row_of(orders=orders), style, RewardTerms()) for orders in ("plain", "day"))
    assert not any(name in plain for name in ("limit_price", "stop_loss"))
    before, _, after = day.partition(f" {prompts._DAY_ORDERS}")
    assert before + after == plain
    assert prompts._DAY_ORDERS.count(". ") + 1 == 2
    assert all(f"`{name}`" in prompts._DAY_ORDERS for name in DAY_ORDER_FIELDS)
    # The market `fx` has no opens, highs and lows.
    fx = [prompts.prompt(row_of("fx", orders=orders), style, RewardTerms()) for orders in ("plain", "day")]
    assert fx[0] == fx[1]


def test_a_plain_rollout_holds_for_a_decision_with_a_day_order() -> None:
    for fields in ({}, {"limit_price": 1.0}, {"at": "open"}, {"stop_loss": 1.0, "at": "close"}):
        rollout = RolloutState(row_of())
        is_valid, reply = rollout.decide(bracket(rollout, **fields))
        assert not is_valid
        assert json.loads(reply)["error"].startswith("unknown_field: fields of an order must be among `symbol`")
        assert json.loads(reply)["weights"] == {}
        while not rollout.done:
            rollout.decide(HOLD)
        assert outcome_of(rollout).windows[0].run.nav[-1] == 1.0


def played(orders: str) -> tuple[RolloutState, list[dict[str, Any]]]:
    rollout = RolloutState(row_of("hard", orders=orders, horizon=12))
    replies = []
    while not rollout.done:
        replies.append(json.loads(rollout.decide(bracket(rollout))[1]))
    return rollout, replies


def test_day_orders_trade_and_their_exits_are_reported() -> None:
    rollout, replies = played("day")
    reasons = {event["reason"] for reply in replies for event in reply.get("events", []) if event["slug"] == "exited"}
    assert reasons == {"stop_loss", "take_profit"}
    assert rollout.n_malformed == 0


def test_a_conversation_with_day_orders_is_rebuilt_from_its_record() -> None:
    rollout, replies = played("day")
    outcome = outcome_of(rollout, capture=True)
    record, markets = record_of(outcome, "model"), [each.dataset for each in rollout.windows]
    spec = EpisodeSpec.from_json(EpisodeSpec(rollout.row).to_json())
    assert spec.row == rollout.row
    messages = rebuild_conversation(spec, markets, recorded_decisions(record))
    shown = [json.loads(each["content"]) for each in messages[1:] if each["role"] == "user"]
    assert shown == replies[:-1]
    again = recorded_outcome(spec, markets, recorded_decisions(record))
    assert list(again.windows[0].run.nav) == list(outcome.windows[0].run.nav)


def test_the_row_of_a_run_with_day_orders_has_them() -> None:
    (market,) = (each.dataset for each in RolloutState(row_of("hard")).windows)

    def guarded(observation: dict[str, Any]) -> dict[str, Any]:
        close = observation["symbols"][0]["close_history"][-1]
        return {"orders": [{"symbol": "S000", "action": "buy", "target_weight": 0.5, "stop_loss": 0.99 * close}]}

    for agent, orders in ((guarded, "day"), ("hold-cash", "plain")):
        record = oo.run_backtest(market, agent, (4, 9), capture=True).record
        assert record is not None
        row = row_of_record(record, market)
        assert row.orders == orders
        assert rebuild_conversation(EpisodeSpec(row), [market], recorded_decisions(record))


def test_the_stored_form_of_a_plain_row_has_no_field_of_day_orders() -> None:
    row = row_of()
    stored = json.loads(EpisodeSpec(row).to_json())
    assert "orders" not in stored["row"]
    assert EpisodeSpec.from_json(EpisodeSpec(row).to_json()) == EpisodeSpec(row)
    day = replace(row, orders="day")
    assert EpisodeSpec.from_json(EpisodeSpec(day).to_json()).row.orders == "day"


def test_an_unknown_kind_of_orders_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`orders` must be one of plain, day; received 'limit'"):
        row_of(orders="limit")


def test_the_environment_offers_day_orders_only_in_a_market_with_ranges() -> None:
    pytest.importorskip("verifiers", reason="needs the extra `verifiers`")
    from openoutcry.verifiers_env import load_environment

    offered = load_environment(market="calm", orders="day", task={"records": None})
    assert prompts._DAY_ORDERS in str(next(iter(offered.taskset)).data.prompt)
    usual = load_environment(market="calm", task={"records": None})
    assert "stop_loss" not in str(next(iter(usual.taskset)).data.prompt)
    with pytest.raises(oo.OpenOutcryError, match="must be `plain` in a market without opens, highs and lows"):
        next(iter(load_environment(market="fx", orders="day", task={"records": None}).taskset))
