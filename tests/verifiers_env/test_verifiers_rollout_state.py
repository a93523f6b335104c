"""The desk: whatever a model says, the episode goes on by a bar, holds what is held, and ends."""

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
from openoutcry.verifiers_env.parser import answer_call, answer_text, last_object, replies
from openoutcry.verifiers_env.rewards import REWARDS
from openoutcry.verifiers_env.rollout_state import HOLD, MOST_CHARACTERS, MOST_READS, Desk
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
    '{"orders": [], "reasoning": "' + "x" * MOST_CHARACTERS + '"}',
    "\ud800",
]


def _held(desk: Desk) -> Any:
    return json.loads(desk.observation)["portfolio"]


@pytest.mark.parametrize("text", MALFORMED)
def test_an_answer_that_is_no_decision_is_a_hold_and_is_told_so(text: str) -> None:
    desk, held = Desk(row_of()), Desk(row_of())
    for each in (desk, held):
        each.decide(decision({"S000": 0.5, "S001": -0.3}))
    shares = _held(desk)
    told = json.loads(answer_text(desk, text))
    held.decide(HOLD)
    assert told["error"].endswith("Everything was held for this bar.")
    assert "received" in told["error"]
    assert _held(desk) == shares
    assert (desk.observation, desk.n_left) == (held.observation, held.n_left)
    assert (desk.n_malformed, held.n_malformed) == (1, 0)


SAID_IN_THE_WRONG_PLACE = {
    "in words, where tools are called": ("tools", decision({"S000": 1.0})),
    "after more than is read": ("text", '{"a":' * 500_000 + " " * 1_000 + decision({"S000": 1.0})),
    "beside half of a letter": ("tools", decision({"S000": 1.0})[:-1] + ', "reasoning": "\ud800"}'),
}


@pytest.mark.parametrize("what", SAID_IN_THE_WRONG_PLACE)
def test_a_decision_in_the_wrong_place_is_a_hold_in_the_record_too(what: str) -> None:
    style, text = SAID_IN_THE_WRONG_PLACE[what]
    desk, held = Desk(row_of()), Desk(row_of())
    (told,) = replies(desk, style, {"role": "assistant", "content": text})
    assert "error" in json.loads(told["content"])
    for each in (desk, held):
        while not each.done:
            each.decide(HOLD)
    spoiled, kept = (outcome_of(each, capture=True) for each in (desk, held))
    assert (spoiled.played[0].run.nav == kept.played[0].run.nav).all()
    assert spoiled.played[0].run.nav[-1] == desk._env.nav
    assert list(spoiled.played[0].run.record.faults[0]) == [0]


def test_a_malformed_answer_costs_its_penalty_and_nothing_else() -> None:
    desk, held = Desk(row_of()), Desk(row_of())
    while not desk.done:
        answer_text(desk, "no")
        held.decide(HOLD)
    spoiled, kept = outcome_of(desk), outcome_of(held)
    for name, paid in REWARDS.items():
        if name not in ("format_penalty", "process_check_reward"):
            assert paid.reward(spoiled) == paid.reward(kept), name
    assert REWARDS["format_penalty"].reward(spoiled) == pytest.approx(-0.3)
    assert REWARDS["format_penalty"].reward(kept) == 0.0


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(TEXTS, max_size=14), st.integers(1, 2))
def test_any_text_moves_an_episode_on_by_one_bar_until_it_is_over(texts: list[str], n_windows: int) -> None:
    desk = Desk(row_of(n_windows=n_windows))
    for place, text in enumerate(texts[: 6 * n_windows], start=1):
        json.loads(answer_text(desk, text))
        assert desk.n_answers == place
    assert desk.done == (len(texts) >= 6 * n_windows)
    outcome = outcome_of(desk, capture=True)
    for played, window in zip(outcome.played, desk.windows, strict=False):
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
    desk, n_calls = Desk(row_of()), 0
    while not desk.done:
        name, arguments = calls[n_calls % len(calls)]
        json.loads(answer_call(desk, name, arguments))
        n_calls += 1
        assert n_calls <= (MOST_READS + 1) * 6
    assert json.loads(answer_call(desk, "trade", HOLD)) == {"error": "the episode is over; nothing was done"}


def test_questions_beyond_the_budget_of_a_bar_are_holds() -> None:
    desk = Desk(row_of())
    for _ in range(MOST_READS):
        assert "error" not in json.loads(answer_call(desk, "observe", ""))
    assert desk.n_answers == 0
    told = json.loads(answer_call(desk, "history", "{}"))
    assert told["error"].startswith(f"at most {MOST_READS} questions")
    assert (desk.n_answers, desk.n_malformed) == (1, 1)
    assert "error" not in json.loads(answer_call(desk, "observe", ""))


def test_history_is_what_the_market_has_shown() -> None:
    desk = Desk(row_of())
    dataset, start = desk.windows[0].dataset, desk.row.window[0]
    desk.decide(HOLD)
    shown = json.loads(answer_call(desk, "history", '{"symbol": "S001", "n_bars": 3}'))
    assert list(shown) == ["S001"]
    assert shown["S001"] == pytest.approx(dataset.close[start - 1 : start + 2, 1].tolist(), rel=1e-5)
    assert set(json.loads(answer_call(desk, "history", ""))) == set(dataset.symbols)


@pytest.mark.parametrize("market", ["extreme", "hard", "ecb-fx"])
def test_what_a_model_is_shown_is_the_observation_of_the_contract(market: str) -> None:
    row = row_of(market, 5, n_symbols=30, horizon=60, lookback=12)
    desk, policy = Desk(row), baseline("random", row)
    while not desk.done:
        seen = json.loads(desk.observation)
        closes = {each["symbol"]: each["close_history"] for each in seen["symbols"]}
        assert desk.history() == {name: [float(f"{close:.6g}") for close in each] for name, each in closes.items()}
        state = desk.state()
        assert state["closes"] == {name: each[-1] for name, each in desk.history().items()}
        assert state["cash"] == float(f"{seen['cash']:.6g}")
        shares = {each["symbol"]: each["shares"] for each in seen["portfolio"]}
        assert state["weights"] == pytest.approx(
            {name: held * closes[name][-1] / desk._env.nav for name, held in shares.items()}, rel=1e-5
        )
        desk.decide(policy(desk))


def test_the_luck_of_fills_is_another_in_each_task() -> None:
    costs = oo.CostModel(slippage_bps=100.0, slippage_jitter=1.0).to_dict()
    lucks = []
    for index in range(6):
        desk = Desk(row_of(index=index, costs=costs))
        while not desk.done:
            desk.decide(decision({"S000": 1.0}))
        run = outcome_of(desk).played[0].run
        assert run.nav[-1] == desk._env.nav
        lucks.append(float(run.costs["slippage"][0] / run.turnover[0]))
    # What is dear by chance for one is not for the next, so that it cannot be learned.
    assert max(lucks) > 2.0 * min(lucks)


def test_an_early_finish_holds_what_is_held() -> None:
    early, held = Desk(row_of(n_windows=2)), Desk(row_of(n_windows=2))
    for desk in (early, held):
        desk.decide(decision({"S000": 0.7}))
    assert json.loads(answer_call(early, "finish", "")) == {"finished": True}
    assert early.done
    while not held.done:
        held.decide(HOLD)
    for left, right in zip(outcome_of(early).played, outcome_of(held).played, strict=True):
        assert (left.run.nav == right.run.nav).all()


@pytest.mark.parametrize("market", ["pairs", "hard", "ecb-fx"])
def test_an_outcome_is_the_episode_bit_for_bit_and_that_of_a_backtest(market: str) -> None:
    row = row_of(market, 3, horizon=15)
    policy = baseline("random", row)
    desk, navs = Desk(row), [1.0]
    while not desk.done:
        desk.decide(policy(desk))
        navs.append(desk._env.nav)
    run = outcome_of(desk).played[0].run
    assert run.nav.tolist() == navs
    alone = oo.run_backtest(
        desk.windows[0].dataset, "random", row.window, row.cost_model, seed=1 + 64 * row.index, lookback=row.lookback
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
def test_no_text_keeps_the_other_rollouts_waiting(text: str) -> None:
    def seconds() -> float:
        began = time.process_time()
        last_object(text)
        return time.process_time() - began

    assert min(seconds() for _ in range(3)) < 0.05


def test_thoughts_hold_no_decision() -> None:
    desk = Desk(row_of())
    bought = decision({"S000": 1.0})
    answer_text(desk, f"<think>{bought}</think>{HOLD}")
    assert _held(desk) == []
    answer_text(desk, f"<think>{HOLD}</think> so {bought}")
    assert [each["symbol"] for each in _held(desk)] == ["S000"]
    assert "error" in json.loads(answer_text(desk, f"<think>{HOLD}</think>"))
