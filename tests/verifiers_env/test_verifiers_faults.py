"""Temporary and permanent provider failures, and context overflows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import aiohttp
import openai
from model_endpoint import Body, Reply, Script, serve, turn_of
from verifiers_rollouts import client, environment, episodes, facts, play, said, scores, spoken, trace

from openoutcry.verifiers_env import chat_harness
from openoutcry.verifiers_env.prompts import TOOLS
from openoutcry.verifiers_env.task_rows import STYLES

HOLD = '{"orders":[]}'
BUY = '{"orders":[{"symbol":"S000","action":"buy","target_weight":0.5}]}'
PLACE = 3
FAULTS = {
    "an error of the server": Reply(status=500, error="overloaded"),
    "a rate limit": Reply(status=429, error="slow down"),
    "a timeout": Reply(status=408, error="too slow"),
    "a dropped connection": Reply(is_dropped=True),
    "an answer that is cut": Reply(is_cut=True),
    "no chat completion": Reply(more={"content": 3}),
}
OVERFLOWS = [
    Reply(status=400, error="This model's maximum context length is 100 tokens. However, you requested 200."),
    Reply(status=413, error="Request Entity Too Large"),
]


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_harness, "_FIRST_WAIT_S", 0.01)


def failing(fault: Reply, n_times: int, place: int = PLACE) -> Script:
    """Return a script that buys and holds, with failures before its answer at one turn."""
    left = [n_times]

    def script(body: Body) -> Reply:
        turn = turn_of(body)
        if turn == place and left[0]:
            left[0] -= 1
            return fault
        return said(HOLD if turn else BUY, body)

    return script


@pytest.mark.parametrize("style", STYLES)
def test_the_test_endpoint_gives_an_openai_client_the_same_complete_and_streamed_response(style: str) -> None:
    arguments = {"model": "scripted", "messages": [{"role": "user", "content": "now"}]}
    arguments |= {"tools": TOOLS} if style == "tools" else {}
    with serve(spoken(BUY)) as endpoint, openai.OpenAI(base_url=endpoint.url, api_key="none") as asker:
        whole = asker.chat.completions.create(**arguments).choices[0].message
        parts = list(asker.chat.completions.create(**arguments, stream=True))
    first, last, usage = parts
    delta = first.choices[0].delta
    assert (delta.role, delta.content) == (whole.role, whole.content)
    calls = [[each.function for each in message.tool_calls or []] for message in (whole, delta)]
    assert [[(each.name, each.arguments) for each in one] for one in calls] == [
        [("trade", BUY)] * (style == "tools")
    ] * 2
    assert last.choices[0].finish_reason == ("tool_calls" if style == "tools" else "stop")
    assert usage.usage.total_tokens == 15


@pytest.mark.parametrize("what", FAULTS)
def test_a_temporary_fault_does_not_change_the_episode(what: str) -> None:
    each, whole = (trace(environment(), script) for script in (failing(FAULTS[what], 2), spoken(BUY, HOLD)))
    assert len(each.branches) == 1
    assert each.num_turns == whole.num_turns == facts(each)["n_answers"]
    assert [message.role for message in each.messages] == [message.role for message in whole.messages]
    assert facts(each) == facts(whole)
    assert scores(each) == scores(whole)
    assert each.stop_condition == "agent_completed"
    assert sum(call.error is not None for call in each.calls) == 2


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("what", ["an error of the server", "a dropped connection"])
def test_an_episode_with_a_permanent_provider_failure_has_no_reward(style: str, what: str) -> None:
    (episode,) = episodes(environment(style=style), failing(FAULTS[what], 2**31))
    assert not episode.ok
    (each,) = episode.traces
    assert each.stop_condition == "provider_error"
    assert not any(each.rewards.values())
    assert "openoutcry" not in each.info
    assert sum(call.error is not None for call in each.calls) == chat_harness._N_TRIES


def test_a_rejected_request_is_not_retried() -> None:
    (episode,) = episodes(environment(), failing(Reply(status=400, error="`tools` is not supported"), 2**31, place=0))
    assert not episode.ok
    (each,) = episode.traces
    assert each.stop_condition == "provider_error"
    assert len(each.calls) == 1
    assert "is not supported" in each.errors[0].message


def test_a_malformed_tool_call_that_the_provider_rejects_ends_the_episode_with_its_reward() -> None:
    """A provider that renders earlier calls rejects a conversation with invalid JSON arguments."""

    def script(body: Body) -> Reply:
        called = [call for message in body["messages"] for call in message.get("tool_calls", [])]
        if any(call["function"]["arguments"] == "{broken" for call in called):
            return Reply(status=400, error="arguments of a call must be JSON")
        return Reply(calls=(("trade", "{broken" if len(called) == 3 else BUY if not called else HOLD),))

    each = trace(environment(), script)
    assert each.stop_condition == chat_harness.UNREADABLE
    assert facts(each)["n_answers"] == 4
    assert scores(each)["format_penalty"] == -0.05
    whole = trace(environment(), spoken(BUY, HOLD))
    assert scores(each)["excess_return_reward"] == scores(whole)["excess_return_reward"]


def test_an_unwritable_record_folder_fails_before_any_model_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with serve(spoken(HOLD)) as endpoint:
        (episode,) = asyncio.run(play(environment(tmp_path / "file"), client(endpoint.url), 1, 1, 1))
        assert endpoint.n_requests == 0
    assert not episode.ok
    assert str(tmp_path / "file") in episode.traces[0].errors[0].message


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("overflow", OVERFLOWS, ids=["400", "413"])
def test_a_full_context_ends_an_episode_with_its_reward(style: str, overflow: Reply) -> None:
    each = trace(environment(style=style), failing(overflow, 2**31))
    assert each.stop_condition == chat_harness.OVERFLOW
    assert each.num_turns == facts(each)["n_answers"] == PLACE
    assert len(each.branches) == 1
    whole = trace(environment(style=style), spoken(BUY, HOLD))
    assert facts(each)["windows"] == facts(whole)["windows"]
    assert scores(each)["excess_return_reward"] == scores(whole)["excess_return_reward"]


def test_a_prompt_that_exceeds_the_context_is_rewarded_as_holding() -> None:
    each, held = (trace(environment(), script) for script in (failing(OVERFLOWS[0], 9, place=0), spoken(HOLD)))
    assert each.stop_condition == chat_harness.OVERFLOW
    assert each.num_turns == facts(each)["n_answers"] == 0
    assert scores(each)["excess_return_reward"] == scores(held)["excess_return_reward"]


def test_a_failed_episode_does_not_affect_others() -> None:
    prompts: list[str] = []

    def script(body: Body) -> Reply:
        prompt = body["messages"][0]["content"]
        if prompt not in prompts:
            prompts.append(prompt)
        return Reply(status=500) if prompt == prompts[0] else said(BUY, body)

    played = episodes(environment(num_tasks=8), script, n_tasks=8)
    assert sorted(episode.ok for episode in played) == [False] + [True] * 7


@pytest.mark.parametrize("fault", [aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError])
def test_a_turn_with_a_lost_response_is_not_played_twice(
    fault: type[aiohttp.ClientError], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, n_read = aiohttp.ClientResponse.text, 0

    async def text(response: aiohttp.ClientResponse) -> str:
        nonlocal n_read
        n_read += 1
        if n_read == PLACE:
            raise fault
        return await read(response)

    monkeypatch.setattr(aiohttp.ClientResponse, "text", text)
    with serve(spoken(BUY, HOLD)) as endpoint:
        (episode,) = asyncio.run(play(environment(), client(endpoint.url), 1, 1, 1))
    assert episode.ok
    (each,) = episode.traces
    assert endpoint.n_requests == each.num_turns == facts(each)["n_answers"] == 10
    assert n_read == 11
    assert len(each.branches) == 1


def test_a_slow_model_is_rewarded_as_holding_and_does_not_delay_others() -> None:
    def script(body: Body) -> Reply:
        is_late = body["messages"][0]["content"] == first and turn_of(body) == PLACE
        return replace(said(HOLD, body), seconds=60.0 * is_late)

    env = environment(agent={"timeout": {"rollout": 2.0}}, num_tasks=2)
    first = next(iter(env.taskset.take(1))).data.prompt
    late, other = episodes(env, script, n_tasks=2)
    assert late.ok
    assert other.ok
    assert late.traces[0].stop_condition == "agent_timeout"
    assert facts(late.traces[0])["n_answers"] == PLACE
    assert late.traces[0].rewards["excess_return_reward"] is not None
    assert other.traces[0].stop_condition == "agent_completed"
