"""Malformed answers: each is a hold with an error message and a penalty, and never ends the episode."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import verifiers.v1 as vf
from model_endpoint import Body, Reply, turn_of
from verifiers_rollouts import decisions, environment, episodes, facts, rows, said, scores, spoken, trace

from openoutcry.verifiers_env import scripted_policies
from openoutcry.verifiers_env.rewards import MALFORMED, excess_return_reward
from openoutcry.verifiers_env.rollout_state import MAX_READS

HOLD = '{"orders":[]}'
BUY = '{"orders":[{"symbol":"S000","action":"buy","target_weight":0.5}]}'
PLACE = 8
MEGABYTE = 2**20


def call(name: str, arguments: str) -> Reply:
    return Reply(calls=((name, arguments),))


def between(reply: Reply) -> Any:
    """Return a script that buys, gives one scripted reply, and holds."""

    def script(body: Body) -> Reply:
        turn = turn_of(body)
        return reply if turn == PLACE else said(HOLD if turn else BUY, body)

    return script


def messages_after(each: vf.Trace) -> list[str]:
    """Return the messages to the model after its malformed answer."""
    spoke = [place for place, message in enumerate(each.messages) if message.role == "assistant"]
    return [str(message.content) for message in each.messages[spoke[PLACE] + 1 : spoke[PLACE + 1]]]


TOOLS = {
    "no JSON": (call("trade", "buy everything"), "not JSON|expected"),
    "no arguments": (call("trade", ""), "JSON|expected"),
    "a list": (call("trade", "[]"), "object|struct|map|decision"),
    "half a decision": (call("trade", BUY[:-2]), "EOF|JSON|expected"),
    "another field": (call("trade", '{"orders":[],"leverage":3}'), "leverage"),
    "a weight that is no number": (call("trade", BUY.replace("0.5", "NaN")), "JSON|expected|number"),
    "a weight without bound": (call("trade", BUY.replace("0.5", "1e999")), "number|range|finite"),
    "half of a letter": (call("trade", BUY[:-1] + ',"reasoning":"\\ud800"}'), "surrogate|escape|JSON|unicode"),
    "a megabyte": (call("trade", BUY[:-1] + ',"reasoning":"' + "x" * MEGABYTE + '"}'), "at most 20,000 characters"),
    "no such tool": (call("buy", BUY), "tools are observe, history, trade, finish; received `buy`"),
    "a tool without a name": (call("", "{}"), "received ``"),
    "a call of another kind": (
        Reply(more={"tool_calls": [{"id": "0", "type": "custom", "custom": {"name": "trade", "input": BUY}}]}),
        "received `custom`",
    ),
    "a decision in words": (Reply(BUY.replace("0.5", "0.9")), "must call one of"),
    "no call": (Reply("I shall hold."), "must call one of"),
    "nothing": (Reply(), "must call one of"),
    "thoughts": (Reply(f"<think>{HOLD}</think>"), "must call one of"),
    "a read call with a list": (call("observe", "[]"), "must be a JSON object; received list"),
    "a read call of no JSON": (call("history", "{"), "must be a JSON object; received text that is not JSON"),
    "a read call of a field": (call("observe", '{"bar":9}'), "must be among none; received `bar`"),
    "a read call of no symbol": (call("history", '{"symbol":"GOLD"}'), "`symbol` must be one of the market"),
    "a read call of a list of symbols": (call("history", '{"symbol":["S000"]}'), "`symbol` must be one of the market"),
    "a read call of no bars": (call("history", '{"n_bars":0}'), "`n_bars` must be an integer of at least 1"),
    "a read call of half a letter": (call("history", '{"symbol":"\\ud800"}'), "`symbol` must be one of the market"),
    "a read call of a field of half a letter": (call("observe", '{"\\ud800":9}'), "must be among none"),
    "depth": (call("observe", "[" * 500), "must be a JSON object"),
}
TEXTS = {
    "nothing": (Reply(), "must end with a decision"),
    "words": (Reply("I shall hold."), "must end with a decision"),
    "a list": (Reply("[1, 2]"), "must end with a decision"),
    "half a decision": (Reply(BUY[:-2]), "."),
    "a decision that is only thought": (Reply(f"<think>{BUY}</think> I hold."), "must end with a decision"),
    "a decision and an afterthought": (Reply(BUY + ' {"sure":true}'), "sure|orders"),
    "half of a letter": (Reply(BUY[:-1] + ',"reasoning":"\\ud800"}'), "surrogate|escape|JSON|unicode"),
    "a megabyte of words": (Reply("x" * MEGABYTE), "must end with a decision"),
    "a megabyte of braces": (Reply("{" * MEGABYTE), "must end with a decision"),
    "a megabyte of reasons": (Reply(BUY[:-1] + ',"reasoning":"' + "x" * MEGABYTE + '"}'), "."),
    "a megabyte of numbers": (Reply('{"a":' * 900 + "[" + "1," * (MEGABYTE // 2)), "must end with a decision"),
    "depth": (Reply('{"a":' * 100_000), "must end with a decision"),
    "a number too long to read": (Reply('{"orders":' + "1" * 10_000 + "}"), "must end with a decision"),
    "calls": (call("trade", BUY), "must end with a decision"),
}


CASES = {"tools": TOOLS, "text": TEXTS}


@cache
def episode_by_case(style: str) -> dict[str, vf.Episode]:
    """Return an episode for each malformed answer of a style, played concurrently."""
    cases = CASES[style]
    env = environment(style=style, num_tasks=len(cases))
    prompts = [task.data.prompt for task in env.taskset.take(len(cases))]
    scripts = {prompt: between(reply) for prompt, (reply, _) in zip(prompts, cases.values(), strict=True)}
    found = episodes(env, lambda body: scripts[body["messages"][0]["content"]](body), n_tasks=len(cases))
    return dict(zip(cases, found, strict=True))


@pytest.mark.parametrize(("style", "what"), [(style, what) for style, cases in CASES.items() for what in cases])
def test_a_malformed_answer_is_a_hold_with_an_error_and_a_penalty(style: str, what: str) -> None:
    episode = episode_by_case(style)[what]
    assert episode.ok, episode
    (each,) = episode.traces
    state = json.loads(messages_after(each)[-1])
    assert state["error"].endswith("All positions were held for this bar.")
    assert re.search(CASES[style][what][1], state["error"]), state["error"]
    assert state["bars_left"] == 10 - PLACE - 1
    held = scripted_policies.play(episode.task.data.row, lambda rollout: HOLD if rollout.n_answers else BUY)
    assert [window["nav"] for window in facts(each)["windows"]] == [part.run.nav[-1] for part in held.windows]
    assert scores(each)["excess_return_reward"] == excess_return_reward(held)
    assert scores(each)["format_penalty"] == -MALFORMED
    assert facts(each)["n_malformed"] == 1
    assert facts(each)["n_answers"] == each.num_turns == 10
    assert len(each.branches) == 1


def test_a_refused_order_is_reported_without_a_penalty() -> None:
    each = trace(environment(), between(call("trade", BUY.replace("S000", "GOLD"))))
    (event,) = json.loads(messages_after(each)[0])["events"]
    assert event["slug"] == "refused"
    assert facts(each)["n_malformed"] == 0
    assert each.metrics["n_refused"] == 1.0
    assert scores(each)["process_check_reward"] == 0.8


def test_a_model_that_never_decides_is_rewarded_as_holding_minus_the_penalty() -> None:
    each, held = trace(environment(style="text"), lambda body: Reply("No.")), trace(environment(), spoken(HOLD))
    assert scores(each)["format_penalty"] == -10 * MALFORMED
    assert scores(each)["excess_return_reward"] == scores(held)["excess_return_reward"]
    assert each.reward == held.reward - 10 * MALFORMED


def test_text_before_a_decision_is_ignored() -> None:
    thought = f"<think>Sell? {HOLD}</think> By \\frac{{a}}{{b}} and {HOLD} and [1], so " + "\\frac{1}{2} " * 2_000
    (row,) = rows(environment(style="text"), 1)
    made = decisions(row, scripted_policies.baseline("momentum", row))
    long = trace(environment(style="text"), spoken(*(f"{thought}```json\n{decision}\n``` " for decision in made)))
    assert facts(long) == facts(trace(environment(style="text"), spoken(*made)))
    assert facts(long)["n_malformed"] == 0


def test_the_calls_of_a_message_are_executed_in_order() -> None:
    def script(body: Body) -> Reply:
        calls = [("trade", BUY)] + [("observe", "{}")] * (MAX_READS + 2) + [("trade", HOLD)]
        return Reply(calls=tuple(calls)) if turn_of(body) == 0 else Reply(calls=(("trade", HOLD),) * 20)

    each = trace(environment(), script)
    first, *seen, last = (json.loads(str(message.content)) for message in each.messages if message.role == "tool")
    assert [state["bars_left"] for state in (first, *seen, last)] == [9] * (1 + MAX_READS) + [8, 8, 7]
    assert [place for place, state in enumerate(seen) if "error" in state] == [MAX_READS]
    assert "at most 4 read calls are allowed per bar" in seen[MAX_READS]["error"]
    # The episode ends during the second message; its remaining calls do nothing.
    assert each.num_turns == 2
    assert facts(each)["n_answers"] == 10
    assert facts(each)["n_malformed"] == 1


def test_calls_after_the_end_do_nothing() -> None:
    many = Reply(calls=(("finish", "{}"), ("trade", BUY), ("buy", ""), ("observe", "{}")))
    each = trace(environment(), lambda body: many)
    assert each.num_turns == 1
    assert facts(each)["n_answers"] == facts(each)["n_malformed"] == 0
    assert facts(each)["has_finished"] is True
