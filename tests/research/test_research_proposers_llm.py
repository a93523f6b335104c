"""The LLM proposer: every failure becomes a reply, and all tokens are counted (A13, A17)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest
from fake_llm import CLIENTS, RESET, SHORT, TRUNCATED, FakeLLM, Tokens, Turn, client_of, fault, html
from hypothesis import given, settings
from hypothesis import strategies as st
from proposal_samples import ask

from openoutcry import OpenOutcryError
from openoutcry.research.llm_clients import LLMClient, RetryPolicy
from openoutcry.research.proposal_requests import ProposalReply, TokenMeter
from openoutcry.research.proposers import LLMProposer

GOOD = {
    "kind": "tune",
    "strategy": "trend",
    "params": {"lookback": 40},
    "rationale": 'Trends last; a "{" or } in a text is no brace.',
}
TEXT = json.dumps(GOOD)
NO_PARAMS = {"kind": "tune", "strategy": "trend", "params": [], "rationale": "x"}
MOST = 600
FULL = bool(os.environ.get("OPENOUTCRY_FULL"))


def proposer_of(client: LLMClient, waits: list[float] | None = None, **more: Any) -> LLMProposer:
    kept = [] if waits is None else waits
    return LLMProposer(client, max_tokens=MOST, retry_policy=RetryPolicy(sleep=kept.append), **more)


def reply_to(kind: str, server: FakeLLM, *script: Turn, waits: list[float] | None = None) -> ProposalReply:
    """Return the reply of a round, after comparing its tokens with the server's count."""
    server.play(*script)
    meter = TokenMeter()
    reply = proposer_of(client_of(kind, server.url), waits).propose(ask(), meter)
    assert [attempt.usage.total for attempt in reply.attempts] == server.counted
    assert meter.used == server.tokens
    return reply


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize(
    "turn",
    [
        Turn(TEXT),
        Turn(f"Let me think {{metadata it}}.\n```json\n{json.dumps(GOOD, indent=2)}\n```\nThat is {{it}}."),
        Turn(f'<think>{{"kind": "tune", "strategy": "x", "rationale": "a draft"}}</think>{TEXT}'),
        Turn(json.dumps({"name": "propose", "arguments": GOOD})),
        Turn(None, (GOOD,)),
        Turn("I call the tool.", (TEXT,)),
        Turn("", (NO_PARAMS, "{", GOOD, {**GOOD, "params": {}})),
        Turn(f"{TEXT} and so on", stop="cut"),
    ],
    ids=["text", "around", "draft", "named", "call", "call as text", "calls", "cut after it"],
)
def test_a_proposal_is_parsed_from_any_common_format(kind: str, turn: Turn, fake_llm: FakeLLM) -> None:
    reply = reply_to(kind, fake_llm, turn)
    assert (reply.proposal, reply.fault) == (GOOD, None)
    assert [attempt.purpose for attempt in reply.attempts] == ["propose"]
    assert reply.attempts[0].reply


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize(
    ("turn", "slug", "n_attempts"),
    [
        (fault(429), "provider", 3),
        (fault(500), "provider", 3),
        (fault(529), "provider", 3),
        (fault(401), "provider", 1),
        (fault(404), "provider", 1),
        (fault(302, headers=(("Location", "/api/chat"),)), "provider", 1),
        (html(), "provider", 3),
        (html(502), "provider", 3),
        (TRUNCATED, "provider", 3),
        (RESET, "provider", 3),
        (SHORT, "provider", 3),
        (Turn("[" * 100_000, garbles=True, tokens=None), "provider", 3),
        (Turn("[1]", garbles=True, tokens=None), "provider", 3),
        (Turn("{}", garbles=True, tokens=None), "parse", 2),
        (Turn(None), "parse", 2),
        (Turn("I would rather not say."), "parse", 2),
        (Turn('{"strategy": "trend"'), "parse", 2),
        (Turn(TEXT.replace("40", "NaN")), "parse", 2),
        (Turn(TEXT.replace("Trends", "\\ud800")), "parse", 2),
        (Turn("{" * 5000), "parse", 2),
        (Turn('{"a":' * 5000 + "1" + "}" * 5000), "parse", 2),
        (Turn("x" * 200_000), "parse", 2),
        (Turn("", (NO_PARAMS,)), "parse", 2),
        (Turn(TEXT[:30], stop="cut"), "parse", 2),
    ],
)
def test_a_fault_is_reported_with_every_attempt(
    kind: str, turn: Turn, slug: str, n_attempts: int, fake_llm: FakeLLM
) -> None:
    reply = reply_to(kind, fake_llm, turn)
    assert (reply.proposal, reply.fault, len(reply.attempts)) == (None, slug, n_attempts)
    assert reply.detail
    assert not reply.is_exhausted


@pytest.mark.parametrize("kind", ["compatible", *CLIENTS[2:]])
def test_a_refusal_is_not_retried(kind: str, fake_llm: FakeLLM) -> None:
    reply = reply_to(kind, fake_llm, Turn("I cannot help with that.", stop="refusal"))
    assert (reply.fault, len(reply.attempts)) == ("refusal", 1)
    assert "I cannot help" in reply.detail


@pytest.mark.parametrize("kind", CLIENTS)
def test_an_invalid_response_is_repaired_once_and_a_network_fault_is_retried(kind: str, fake_llm: FakeLLM) -> None:
    waits: list[float] = []
    reply = reply_to(kind, fake_llm, RESET, Turn('{"kind": "other"}'), fault(503), Turn(TEXT), waits=waits)
    assert reply.proposal == GOOD
    assert [(a.purpose, a.status, a.fault) for a in reply.attempts] == [
        ("propose", None, "connection_lost"),
        ("propose", 200, None),
        ("repair", 503, "http_503"),
        ("repair", 200, None),
    ]
    assert len(waits) == 2
    turns = fake_llm.requests[-1]["messages"][-2:]
    assert turns[0] == {"role": "assistant", "content": '{"kind": "other"}'}
    assert "`kind` must be `tune` or `code`" in turns[1]["content"]


def test_waits_depend_on_the_seed_and_respect_retry_after(fake_llm: FakeLLM) -> None:
    def waited(*turns: Turn, seed: int = 7) -> list[float]:
        waits: list[float] = []
        fake_llm.play(*turns)
        proposer_of(client_of("ollama", fake_llm.url), waits).propose(ask(seed=seed), TokenMeter())
        return waits

    first = waited(fault(500))
    assert waited(fault(500)) == first
    assert waited(fault(500), seed=8) != first
    assert 1.0 <= first[0] < 2.0 <= first[1] < 4.0
    assert waited(fault(429, headers=(("retry-after", "17"),))) == [17.0, 17.0]
    assert waited(fault(429, headers=(("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),))) == first
    assert waited(fault(429, headers=(("retry-after", "soon"),))) == first
    # A provider may block clients that retry too early.
    assert waited(fault(429, headers=(("retry-after", "3600"),))) == []
    assert len(fake_llm.requests) == 1


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_schema_is_sent_until_the_provider_rejects_it(kind: str, fake_llm: FakeLLM) -> None:
    fake_llm.play(fault(400, "unknown field"), Turn(TEXT))
    meter, proposer = TokenMeter(), proposer_of(client_of(kind, fake_llm.url))
    for round_ in range(2):
        assert proposer.propose(ask(round_), meter).proposal == GOOD
    assert meter.used == fake_llm.tokens
    fields = {"anthropic": "tools", "ollama": "format"}
    assert [fields.get(kind, "response_format") in body for body in fake_llm.requests] == [True, False, False]


def a_turn() -> st.SearchStrategy[Turn]:
    tokens = st.builds(
        Tokens,
        input=st.integers(0, 200),
        output=st.integers(0, MOST - 60),
        created=st.integers(0, 90),
        read=st.integers(0, 90),
        outside=st.integers(0, 60),
    )
    said = [Turn(TEXT), Turn("", (GOOD,)), Turn("no"), Turn(None), Turn("never", stop="refusal"), Turn("a", stop="cut")]
    turn_ = st.builds(lambda turn, tokens: replace(turn, tokens=tokens), st.sampled_from(said), st.none() | tokens)
    statuses = st.sampled_from([400, 401, 408, 429, 500, 503, 529]).map(fault)
    return turn_ | statuses | st.sampled_from([html(), html(504), TRUNCATED, RESET, SHORT])


@pytest.mark.parametrize("kind", CLIENTS)
@settings(max_examples=300 if FULL else 25)
@given(script=st.lists(a_turn(), min_size=1, max_size=12), cap=st.none() | st.integers(0, 12_000))
def test_tokens_equal_the_server_s_count_and_never_exceed_the_limit(
    kind: str, script: list[Turn], cap: int | None, fake_llm: FakeLLM
) -> None:
    fake_llm.play(*script)
    meter, proposer = TokenMeter(cap), proposer_of(client_of(kind, fake_llm.url))
    attempts = []
    for round_ in range(3):
        reply = proposer.propose(ask(round_), meter)
        assert (reply.proposal is None) == (reply.fault is not None)
        assert reply.fault in (None, "budget", "provider", "parse", "refusal")
        attempts += reply.attempts
    assert [attempt.usage.total for attempt in attempts] == fake_llm.counted
    assert meter.used == fake_llm.tokens
    assert cap is None or meter.used <= cap
    assert not any(attempt.is_over_reserve for attempt in attempts)


def test_the_limit_refuses_the_first_request_a_retry_and_a_repair(fake_llm: FakeLLM) -> None:
    proposer = proposer_of(client_of("ollama", fake_llm.url))
    reserve = proposer.reserve(ask())
    fake_llm.play(Turn(TEXT))
    assert proposer.propose(ask(), TokenMeter(reserve - 1)).fault == "budget"
    assert fake_llm.requests == []
    assert proposer.propose(ask(), TokenMeter(reserve)).proposal == GOOD
    for turn in (fault(429), Turn("no")):
        fake_llm.play(turn, Turn(TEXT))
        reply = proposer.propose(ask(), TokenMeter(reserve))
        assert (reply.fault, len(reply.attempts), len(fake_llm.requests)) == ("budget", 1, 1)


def test_tokens_beyond_the_reserve_are_counted_and_reported(fake_llm: FakeLLM) -> None:
    fake_llm.play(Turn(TEXT, tokens=Tokens(50_000, 10)))
    meter, proposer = TokenMeter(20_000), proposer_of(client_of("ollama", fake_llm.url))
    reply = proposer.propose(ask(), meter)
    assert reply.attempts[0].is_over_reserve
    assert meter.used == 50_010
    assert proposer.propose(ask(1), meter).fault == "budget"


@pytest.mark.parametrize("options", [{"training_cutoff": "2021"}, {"training_cutoff": "soon"}, {"max_tokens": 0}])
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OpenOutcryError, match="must be"):
        LLMProposer(client_of("ollama", "http://127.0.0.1:9"), **options)


def test_the_reserve_of_a_round_does_not_depend_on_earlier_rounds(fake_llm: FakeLLM) -> None:
    """A18: a resumed session stops where the uninterrupted one would."""
    fake_llm.play(fault(400), Turn(TEXT))
    proposer = proposer_of(client_of("ollama", fake_llm.url))
    before = proposer.reserve(ask())
    proposer.propose(ask(), TokenMeter())
    assert proposer.reserve(ask()) == before
