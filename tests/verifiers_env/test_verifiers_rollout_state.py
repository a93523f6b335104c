"""Rollout state: every answer advances the episode by one bar, and invalid ones are holds."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_rows import row_of

import openoutcry as oo
from openoutcry.verifiers_env.episode_outcome import outcome_of
from openoutcry.verifiers_env.parser import execute_call, execute_text, last_object, respond
from openoutcry.verifiers_env.rewards import REWARDS
from openoutcry.verifiers_env.rollout_state import HOLD, MAX_CHARACTERS, MAX_READS, RolloutState
from openoutcry.verifiers_env.scripted_policies import baseline, decision, play

pytestmark = pytest.mark.once

TEXTS = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        [HOLD, "{}", "{" * 5_000, "[" * 100_000, '{"orders": null}', "\ud800", '{"orders":[]} {"a":', "null"]
    ),
    st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(
        lambda weights: decision(dict(zip(("S000", "S001", "S002"), weights, strict=True)))
    ),
)
MALFORMED = [
    "",
    "I cannot give financial advice.",
    '{"orders": "all"}',
    '{"orders": [{"symbol": "S000", "action": "buy"}]}',
    '{"orders": [{"symbol": "S000", "action": "buy", "target_weight": NaN}]}',
    '{"orders": [{"symbol": "S000", "action": "buy", "target_weight": 1e999}]}',
    '{"orders": [], "leverage": 2}',
    '{"orders": [], "reasoning": "' + "x" * MAX_CHARACTERS + '"}',
    "\ud800",
]


def _held(rollout: RolloutState) -> Any:
    return json.loads(rollout.observation)["portfolio"]


@pytest.mark.parametrize("text", MALFORMED)
def test_an_invalid_answer_is_a_hold_with_an_error(text: str) -> None:
    rollout, held = RolloutState(row_of()), RolloutState(row_of())
    for each in (rollout, held):
        each.decide(decision({"S000": 0.5, "S001": -0.3}))
    shares = _held(rollout)
    reply = json.loads(execute_text(rollout, text))
    held.decide(HOLD)
    assert reply["error"].endswith("All positions were held for this bar.")
    assert "received" in reply["error"]
    assert _held(rollout) == shares
    assert (rollout.observation, rollout.n_left) == (held.observation, held.n_left)
    assert (rollout.n_malformed, held.n_malformed) == (1, 0)


MISPLACED = {
    "in words, where tools are called": ("tools", decision({"S000": 1.0})),
    "after more than is read": ("text", '{"a":' * 500_000 + " " * 1_000 + decision({"S000": 1.0})),
    "beside half of a letter": ("tools", decision({"S000": 1.0})[:-1] + ', "reasoning": "\ud800"}'),
}


@pytest.mark.parametrize("what", MISPLACED)
def test_a_decision_in_the_wrong_place_is_a_hold_in_the_record_too(what: str) -> None:
    style, text = MISPLACED[what]
    rollout, held = RolloutState(row_of()), RolloutState(row_of())
    (reply,) = respond(rollout, style, {"role": "assistant", "content": text})
    assert "error" in json.loads(reply["content"])
    for each in (rollout, held):
        while not each.done:
            each.decide(HOLD)
    spoiled, kept = (outcome_of(each, capture=True) for each in (rollout, held))
    assert (spoiled.windows[0].run.nav == kept.windows[0].run.nav).all()
    assert spoiled.windows[0].run.nav[-1] == rollout._env.nav
    assert list(spoiled.windows[0].run.record.faults[0]) == [0]


def test_a_malformed_answer_costs_only_its_penalty() -> None:
    rollout, held = RolloutState(row_of()), RolloutState(row_of())
    while not rollout.done:
        execute_text(rollout, "no")
        held.decide(HOLD)
    spoiled, kept = outcome_of(rollout), outcome_of(held)
    for name, paid in REWARDS.items():
        if name not in ("format_penalty", "process_check_reward"):
            assert paid.reward(spoiled) == paid.reward(kept), name
    assert REWARDS["format_penalty"].reward(spoiled) == pytest.approx(-0.3)
    assert REWARDS["format_penalty"].reward(kept) == 0.0


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(TEXTS, max_size=14), st.integers(1, 2))
def test_any_text_advances_an_episode_by_one_bar(texts: list[str], n_windows: int) -> None:
    rollout = RolloutState(row_of(n_windows=n_windows))
    for place, text in enumerate(texts[: 6 * n_windows], start=1):
        json.loads(execute_text(rollout, text))
        assert rollout.n_answers == place
    assert rollout.done == (len(texts) >= 6 * n_windows)
    outcome = outcome_of(rollout, capture=True)
    for played, window in zip(outcome.windows, rollout.windows, strict=False):
        assert len(played.run.record.decisions[0]) == 6
        assert played.run.record.decisions[0][: len(window.answers)] == [each.text for each in window.answers]


NAMES = st.sampled_from(["observe", "history", "trade", "finish", "sell_all", ""])
ARGUMENTS = st.one_of(
    TEXTS,
    st.just(""),
    st.sampled_from(['{"symbol": "S000"}', '{"n_bars": 2}', '{"n_bars": true}', '{"symbol": [1]}', "[]"]),
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=5))
def test_calls_in_any_order_end_an_episode(calls: list[tuple[str, str]]) -> None:
    rollout, n_calls = RolloutState(row_of()), 0
    while not rollout.done:
        name, arguments = calls[n_calls % len(calls)]
        json.loads(execute_call(rollout, name, arguments))
        n_calls += 1
        assert n_calls <= (MAX_READS + 1) * 6
    assert json.loads(execute_call(rollout, "trade", HOLD)) == {"error": "the episode is over; nothing was done"}


def test_read_calls_beyond_the_limit_are_holds() -> None:
    rollout = RolloutState(row_of())
    for _ in range(MAX_READS):
        assert "error" not in json.loads(execute_call(rollout, "observe", ""))
    assert rollout.n_answers == 0
    reply = json.loads(execute_call(rollout, "history", "{}"))
    assert reply["error"].startswith(f"at most {MAX_READS} read calls")
    assert (rollout.n_answers, rollout.n_malformed) == (1, 1)
    assert "error" not in json.loads(execute_call(rollout, "observe", ""))


def test_history_equals_the_closes_so_far() -> None:
    rollout = RolloutState(row_of())
    dataset, start = rollout.windows[0].dataset, rollout.row.window[0]
    rollout.decide(HOLD)
    shown = json.loads(execute_call(rollout, "history", '{"symbol": "S001", "n_bars": 3}'))
    assert list(shown) == ["S001"]
    assert shown["S001"] == pytest.approx(dataset.close[start - 1 : start + 2, 1].tolist(), rel=1e-5)
    assert set(json.loads(execute_call(rollout, "history", ""))) == set(dataset.symbols)


@pytest.mark.parametrize("market", ["extreme", "hard", "ecb-fx"])
def test_the_state_shown_to_a_model_equals_the_observation(market: str) -> None:
    row = row_of(market, 5, n_symbols=30, horizon=60, lookback=12)
    rollout, policy = RolloutState(row), baseline("random", row)
    while not rollout.done:
        seen = json.loads(rollout.observation)
        closes = {each["symbol"]: each["close_history"] for each in seen["symbols"]}
        assert rollout.history() == {name: [float(f"{close:.6g}") for close in each] for name, each in closes.items()}
        state = rollout.state()
        assert state["closes"] == {name: each[-1] for name, each in rollout.history().items()}
        assert state["cash"] == float(f"{seen['cash']:.6g}")
        shares = {each["symbol"]: each["shares"] for each in seen["portfolio"]}
        assert state["weights"] == pytest.approx(
            {name: held * closes[name][-1] / rollout._env.nav for name, held in shares.items()}, rel=1e-5
        )
        rollout.decide(policy(rollout))


def test_each_task_has_its_own_fill_seed() -> None:
    costs = oo.CostModel(slippage_bps=100.0, slippage_jitter=1.0).to_dict()
    lucks = []
    for index in range(6):
        rollout = RolloutState(row_of(index=index, costs=costs))
        while not rollout.done:
            rollout.decide(decision({"S000": 1.0}))
        run = outcome_of(rollout).windows[0].run
        assert run.nav[-1] == rollout._env.nav
        lucks.append(float(run.costs["slippage"][0] / run.turnover[0]))
    # Random slippage differs between tasks, so it cannot be learned.
    assert max(lucks) > 2.0 * min(lucks)


def test_finish_holds_the_current_positions() -> None:
    early, held = RolloutState(row_of(n_windows=2)), RolloutState(row_of(n_windows=2))
    for rollout in (early, held):
        rollout.decide(decision({"S000": 0.7}))
    assert json.loads(execute_call(early, "finish", "")) == {"finished": True}
    assert early.done
    while not held.done:
        held.decide(HOLD)
    for left, right in zip(outcome_of(early).windows, outcome_of(held).windows, strict=True):
        assert (left.run.nav == right.run.nav).all()


@pytest.mark.parametrize("market", ["pairs", "hard", "ecb-fx"])
def test_an_outcome_equals_the_episode_and_a_backtest_bit_for_bit(market: str) -> None:
    row = row_of(market, 3, horizon=15)
    policy = baseline("random", row)
    rollout, navs = RolloutState(row), [1.0]
    while not rollout.done:
        rollout.decide(policy(rollout))
        navs.append(rollout._env.nav)
    run = outcome_of(rollout).windows[0].run
    assert run.nav.tolist() == navs
    alone = oo.run_backtest(
        rollout.windows[0].dataset, "random", row.window, row.cost_model, seed=1 + 64 * row.index, lookback=row.lookback
    )
    assert (alone.nav == run.nav).all()


def test_the_same_answers_have_the_same_outcome() -> None:
    row = row_of(n_windows=2)
    first, second = (play(row, baseline("random", row)) for _ in range(2))
    assert [paid.reward(first) for paid in REWARDS.values()] == [paid.reward(second) for paid in REWARDS.values()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('first {"a": 1} then {"b": {"c": 2}} done', '{"b": {"c": 2}}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ("{x} {", None),
        ("no", None),
        ('{"a": "}"} {', '{"a": "}"}'),
        ("{" * 2_000, None),
        ('{ }{\n"a": 1}', '{\n"a": 1}'),
        ("{" * 1_000_000 + HOLD, HOLD),
        ("\\frac{}{}" * 8_000 + HOLD, HOLD),
    ],
)
def test_the_last_object_of_a_text_counts(text: str, found: str | None) -> None:
    assert last_object(text) == found


@pytest.mark.parametrize("text", ["{" * 20_000, "{{ " * 300_000, '{"a' * 300_000, ('{"a":' * 900 + "x ") * 400])
def test_parsing_any_text_is_fast(text: str) -> None:
    def seconds() -> float:
        began = time.process_time()
        last_object(text)
        return time.process_time() - began

    assert min(seconds() for _ in range(3)) < 0.05


def test_reasoning_is_not_parsed_as_a_decision() -> None:
    rollout = RolloutState(row_of())
    bought = decision({"S000": 1.0})
    execute_text(rollout, f"<think>{bought}</think>{HOLD}")
    assert _held(rollout) == []
    execute_text(rollout, f"<think>{HOLD}</think> so {bought}")
    assert [each["symbol"] for each in _held(rollout)] == ["S000"]
    assert "error" in json.loads(execute_text(rollout, f"<think>{HOLD}</think>"))
