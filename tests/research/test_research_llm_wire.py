"""Requests to language models and their responses, within limits of time and size (A13, A17)."""

from __future__ import annotations

import json
import logging
import pickle
import socket
from contextlib import suppress
from threading import Event, Thread
from typing import Any

import pytest
from fake_llm import CLIENTS, KEY, FakeLLM, Tokens, Turn, client_of, fault
from proposal_samples import ask

from openoutcry.research.llm_clients import LLMClient, Message, ModelReply, ModelRequest, RetryPolicy, Transport
from openoutcry.research.proposal_requests import TokenMeter, Usage
from openoutcry.research.proposers import LLMProposer

TEXT = '{"strategy": "trend", "params": {}, "rationale": "Trends last for months."}'
SCHEMA = {"type": "object", "properties": {}}
REQUEST = ModelRequest("Be brief.", (Message("user", "Propose."),), SCHEMA, 100, seed=5)
UNREACHABLE = "http://127.0.0.1:9"


def response_to(client: LLMClient, server: FakeLLM, *script: Turn) -> ModelReply:
    server.play(*script)
    return client.complete(REQUEST)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_request_has_the_format_of_its_provider(kind: str, fake_llm: FakeLLM) -> None:
    assert response_to(client_of(kind, fake_llm.url), fake_llm, Turn(TEXT)).text == TEXT
    body, headers = fake_llm.requests[0], fake_llm.headers[0]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["accept-encoding"] == "identity"
    assert body["model"] == "m"
    user, system = {"role": "user", "content": "Propose."}, {"role": "system", "content": "Be brief."}
    if kind == "anthropic":
        assert (body["system"], body["messages"], body["max_tokens"]) == ("Be brief.", [user], 100)
        assert body["tools"][0]["input_schema"] == SCHEMA
        assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}
        return
    assert body["messages"] == [system, user]
    if kind == "ollama":
        assert (body["format"], body["stream"]) == (SCHEMA, False)
        assert body["options"] == {"num_predict": 100, "seed": 5}
        return
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["max_completion_tokens" if kind == "openai" else "max_tokens"] == 100
    assert ("seed" in body) == (kind == "compatible")


@pytest.mark.parametrize(
    ("kind", "tokens", "usage"),
    [
        pytest.param("anthropic", Tokens(37, 9, 40, 24), Usage(37, 9, 40, 24), marks=pytest.mark.once),
        ("compatible", Tokens(37, 9, 0, 64), Usage(37, 9, 0, 64)),
        # Some servers report reasoning in the total only.
        ("compatible", Tokens(37, 9, 0, 0, 55), Usage(37, 9, reasoning=55)),
        ("ollama", Tokens(37, 9), Usage(37, 9)),
    ],
)
def test_cached_and_reasoning_tokens_count(kind: str, tokens: Tokens, usage: Usage, fake_llm: FakeLLM) -> None:
    assert response_to(client_of(kind, fake_llm.url), fake_llm, Turn(TEXT, tokens=tokens)).usage == usage


@pytest.mark.parametrize(
    "reported",
    [None, [], {"prompt_tokens": "7", "completion_tokens": True}, {"prompt_tokens": -1}, {"prompt_tokens": 1e300}],
)
def test_an_invalid_usage_is_estimated_and_flagged(reported: Any, fake_llm: FakeLLM) -> None:
    body = json.dumps({"choices": [{"message": {"content": TEXT}}], "usage": reported})
    reply = response_to(client_of("compatible", fake_llm.url), fake_llm, Turn(body, tokens=None, garbles=True))
    assert reply.usage == Usage(REQUEST.input_tokens, min(-(-len(body) // 3), 100), is_estimated=True)
    assert reply.text == TEXT


def test_an_unsent_request_counts_no_tokens_and_a_lost_one_counts_all_reserved_tokens(fake_llm: FakeLLM) -> None:
    reply = client_of("ollama", UNREACHABLE).complete(REQUEST)
    assert (reply.fault, reply.usage.total, reply.is_passing) == ("unreachable", 0, True)
    late = client_of("ollama", fake_llm.url, Transport(seconds=0.3))
    reply = response_to(late, fake_llm, Turn(TEXT, seconds=1.0))
    assert (reply.fault, reply.usage.total, reply.is_passing) == ("timeout", REQUEST.reserve, True)


def test_a_server_that_sends_byte_by_byte_is_disconnected_at_the_time_limit() -> None:
    done = Event()

    def dribble(server: socket.socket) -> None:
        channel, _ = server.accept()
        with channel, suppress(OSError):
            channel.sendall(b"HTTP/1.1 200 OK\r\n")
            while not done.wait(0.05):
                channel.sendall(b"a: b\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=dribble, args=(server,), daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        reply = client_of("ollama", url, Transport(seconds=0.4)).complete(REQUEST)
        done.set()
    assert (reply.fault, reply.status) == ("timeout", None)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_body_is_limited_and_a_redirect_is_not_followed(kind: str, fake_llm: FakeLLM) -> None:
    small = client_of(kind, fake_llm.url, Transport(most_bytes=5_000))
    reply = response_to(small, fake_llm, Turn("x" * 10_000))
    assert (reply.fault, reply.is_passing) == ("body_too_long", False)
    reply = response_to(small, fake_llm, fault(307, headers=(("Location", f"{fake_llm.url}/api/chat"),)))
    assert (reply.fault, len(fake_llm.requests)) == ("http_307", 1)


def test_a_proxy_is_used_except_for_this_machine(fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", UNREACHABLE)
    assert response_to(client_of("ollama", fake_llm.url), fake_llm, Turn(TEXT)).fault is None
    monkeypatch.setenv("http_proxy", fake_llm.url.replace("//", "//user:pass%20word@"))
    assert response_to(client_of("ollama", "http://model.example"), fake_llm, Turn(TEXT)).text == TEXT
    assert fake_llm.headers[0]["proxy-authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="
    assert fake_llm.headers[0]["host"] == "model.example"
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    reply = client_of("ollama", "http://model.example").complete(REQUEST)
    assert (reply.fault, reply.usage.total) == ("unreachable", 0)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("turn", [fault(401, "bad key", echoes=True), Turn(TEXT, echoes=True), fault(500, echoes=True)])
def test_a_key_is_never_stored_or_shown(
    kind: str, turn: Turn, fake_llm: FakeLLM, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake_llm.play(turn)
    client = client_of(kind, fake_llm.url)
    proposer = LLMProposer(client, retry_policy=RetryPolicy(sleep=lambda _: None))
    reply = proposer.propose(ask(), TokenMeter())
    if turn.status == 200:
        assert "[key]" in reply.attempts[0].reply
    for shown in (repr(reply), repr(client), str(client), repr(proposer), caplog.text, str(vars(proposer))):
        assert KEY not in shown
    with pytest.raises((TypeError, AttributeError)):
        pickle.dumps(client)
