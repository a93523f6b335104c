"""The reference agent that calls a language model: its requests, its parser, and faults of endpoints."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import socket
import sys
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import Endpoint, Reply, endpoint, ollama, openai

import openoutcry as oo
from openoutcry.harness import connect
from openoutcry.harness.child_environment import agent_environment
from openoutcry.harness.conformance import examine
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.harness.stdio_transport import StdioSession

pytestmark = pytest.mark.once

HOST = this_host()
AGENT = Path(__file__).parents[2] / "examples/reference-agent-llm.py"
KEY = "sk-that-nobody-may-see"
ORDER = {"symbol": "USD", "action": "buy", "target_weight": 0.25}
GOOD = json.dumps({"orders": [ORDER], "reasoning": "it rises"})
WANTED = {"orders": [ORDER], "reasoning": "it rises"}
OBSERVATION = {
    "date": "2024-01-09",
    "cash": 0.5,
    "symbols": [
        {"symbol": "USD", "close_history": [0.9 + k / 1000 for k in range(40)]},
        {"symbol": "GBP", "close_history": [1.25]},
    ],
    "portfolio": [{"symbol": "USD", "shares": 0.5, "avg_price": 0.9}],
}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("llm_agent", AGENT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


llm = load()


class Asked:
    """Answers and standard error of the agent."""

    def __init__(self, url: str, observations: list[Any], seconds: float) -> None:
        self.shown: list[str] = []
        command = [sys.executable, str(AGENT), "--url", url, "--model", "tiny", "--seconds", str(seconds)]
        environment = agent_environment() | {"OPENAI_API_KEY": KEY}
        with StdioSession(command, environment, show=self.shown.append) as session:
            self.answers = [json.loads(session.answer(json.dumps(each))) for each in observations]
        self.words = "\n".join(self.shown)


def asked(server: Endpoint, n_bars: int = 1, seconds: float = 20.0) -> Asked:
    return Asked(server.url, [OBSERVATION] * n_bars, seconds)


def held(got: Asked, *words: str) -> bool:
    """Return whether the answer is a hold, with the given words in its reasoning and on standard error."""
    (answer,) = got.answers
    reason = answer["reasoning"]
    assert answer["orders"] == []
    assert all(each in reason and each in got.words for each in words), (reason, got.words)
    return reason.startswith("hold: ") and "holds all positions: " in got.words


# Requests


def test_the_agent_trades_a_run_and_sends_its_account_to_the_model() -> None:
    with endpoint(openai(GOOD)) as server:
        command = [sys.executable, str(AGENT), "--url", server.url, "--model", "tiny"]
        with StdioSession(command, agent_environment() | {"OPENAI_API_KEY": KEY}) as session:
            run = oo.run_backtest(oo.data.load("ecb-fx"), session, (3000, 3006), capture=True)
    (texts,) = run.record.decisions
    assert [json.loads(text) for text in texts] == [WANTED] * 5
    assert [each["model"] for each in server.requests] == ["tiny"] * 5
    assert {each["stream"] for each in server.requests} == {False}
    assert server.keys == [f"Bearer {KEY}"] * 5
    first, second = server.prompts()[:2]
    assert "Positions, as fractions of it:\nnone\n" in first
    assert re.search(r"Positions, as fractions of it:\nUSD: \+0\.2[45]\d\d\n", second)
    assert f"Account value: {run.nav[1]:.6g} " in second
    assert all(f"\n{symbol}: " in first for symbol in ("USD", "JPY", "GBP"))
    assert len(re.findall(r"^USD: (.*)$", first, re.MULTILINE)[-1].split()) == 20


def test_an_ollama_endpoint_is_supported_without_a_key() -> None:
    with endpoint(ollama(GOOD), path="/api/chat") as server:
        command = [sys.executable, str(AGENT), "--url", server.url, "--model", "tiny"]
        with StdioSession(command, agent_environment()) as session:
            assert json.loads(session.answer(json.dumps(OBSERVATION))) == WANTED
    assert server.keys == [None]


def test_the_prompt_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    def universe(n_symbols: int) -> dict[str, Any]:
        views = [{"symbol": f"S{k:04}", "close_history": [1.23456] * 20} for k in range(n_symbols)]
        return OBSERVATION | {"symbols": views, "portfolio": [{"symbol": "S0000", "shares": 0.4}]}

    closes = [llm.prompt(universe(n)).splitlines()[-1].count(" ") for n in (10, 100, 200, 300, 600)]
    assert closes == [20, 10, 5, 2, 1]
    assert capsys.readouterr().err == ""
    prompt = llm.prompt(universe(3000))
    assert len(prompt) <= llm.MAX_PROMPT
    assert "S0000: +0.4969" in prompt
    assert prompt.splitlines()[-1].endswith(" 1.23456")
    assert "the prompt was truncated to" in capsys.readouterr().err


def test_an_invalid_observation_causes_no_request() -> None:
    with endpoint(openai(GOOD)) as server:
        got = Asked(server.url, [{}, [], "text", OBSERVATION], 20.0)
    assert got.answers == [{"orders": []}] * 3 + [WANTED]
    assert got.words.count("invalid observation, holds all positions") == 3
    assert len(server.requests) == 1


# Replies


READ = {
    "prose": f"Here you are:\n```json\n{GOOD}\n```\nGood luck! :-}}",
    "thought": f'<think>{{"orders": []}} or {{}}?</think> {GOOD}',
    "stray": f"An object begins with {{ and ends with its pair. {GOOD} {{",
    "strings": json.dumps(WANTED | {"reasoning": 'a } or "{" in \\ it'}),
    "quote": f'USD is 6" up, so {GOOD}',
}


@pytest.mark.parametrize("name", READ)
def test_a_decision_is_found_in_surrounding_text(name: str) -> None:
    got = llm.decision_of(READ[name], {"USD", "GBP"})
    assert got["orders"] == [ORDER]
    assert got["reasoning"] == ('a } or "{" in \\ it' if name == "strings" else "it rises")


REFUSED = {
    "nothing": ("I would rather not.", "no JSON object with a list of orders"),
    "cut short": (GOOD[:-1], "no JSON object with a list of orders"),
    "no list": ('{"orders": {}}', "no JSON object with a list of orders"),
    "a list": (json.dumps([1, 2]), "no JSON object with a list of orders"),
    "deep": ('{"orders":' * 100_000 + "}" * 100_000, "no JSON object with a list of orders"),
    "text": ('{"orders": ["buy"]}', "an order is not an object"),
    "unlisted": (GOOD.replace("USD", "XAU"), "an unlisted or repeated symbol"),
    "twice": (json.dumps({"orders": [ORDER, ORDER]}), "an unlisted or repeated symbol"),
    "shouted": (GOOD.replace("buy", "BUY"), "one of the four actions"),
    "large": (GOOD.replace("0.25", "25"), "a weight from -1 to 1"),
    "huge": (GOOD.replace("0.25", "1" * 400), "a weight from -1 to 1"),
    "no number": (GOOD.replace("0.25", "NaN"), "a weight from -1 to 1"),
    "quoted": (GOOD.replace("0.25", '"0.25"'), "a weight from -1 to 1"),
    "truth": (GOOD.replace("0.25", "true"), "a weight from -1 to 1"),
    "sure": (json.dumps({"orders": [ORDER | {"confidence": 2}]}), "the confidence of an order"),
    "wordless": (json.dumps({"orders": [ORDER | {"rationale": None}]}), "its rationale a string"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_decision_is_refused_completely(name: str) -> None:
    reply, wanted = REFUSED[name]
    with pytest.raises(llm.UnusableError, match=wanted):
        llm.decision_of(reply, {"USD", "GBP"})


@given(st.text(alphabet='{}"\\ax', max_size=40), st.text(alphabet="}ax\\", max_size=40))
def test_the_parser_finds_an_object_after_balanced_text(before: str, after: str) -> None:
    """Text after the last closed brace is always searched, whatever stands before it."""
    closed = before.replace("{", "").replace('"', "")
    assert llm.balanced(closed + GOOD + after)[-1] == GOOD
    assert all(text[0] + text[-1] == "{}" for text in llm.balanced(before + GOOD + after))


def test_unknown_fields_of_orders_are_removed_and_reported() -> None:
    more = ORDER | {"confidence": 0.7, "rationale": "up", "stop_loss": 0.1}
    with endpoint(openai(json.dumps({"orders": [more], "reasoning": "half a pair: \ud800"}))) as server:
        got = asked(server)
    assert got.answers == [{"orders": [ORDER | {"confidence": 0.7, "rationale": "up"}], "reasoning": "half a pair: ?"}]
    assert "fields removed from an order: stop_loss" in got.words


# Faults of endpoints


def test_a_busy_endpoint_is_retried() -> None:
    busy = Reply("try later", 429, (("Retry-After", "1"),))
    with endpoint(Reply("oops", 500), busy, openai(GOOD)) as server:
        got = asked(server)
    assert got.answers == [WANTED]
    assert server.at[2] - server.at[1] >= 1.0
    assert "retries in 0.5 s, after HTTP 500: oops" in got.words
    assert "retries in 1 s, after HTTP 429: try later" in got.words


def test_retry_after_is_a_number_or_a_date() -> None:
    later = format_datetime(datetime.now(timezone.utc) + timedelta(minutes=2), usegmt=True)
    assert llm.seconds_of("7") == 7.0
    assert 110.0 < llm.seconds_of(later) < 121.0
    assert [llm.seconds_of(each) for each in (None, "", "soon", "-1", "٣x")] == [0.0] * 5


FAULTS = {
    "down": ([Reply("out", 503)], 1.0, ["no reply in", "HTTP 503: out"]),
    "for an hour": (
        [Reply("", 429, (("Retry-After", "3600"),))],
        20.0,
        ["no reply in 1 of 5 attempts", "HTTP 429"],
    ),
    "refused": ([Reply(f"no such key: {KEY}", 401)], 20.0, ["HTTP 401: no such key: (the key)"]),
    "moved": ([Reply("", 307, (("Location", "/elsewhere"),))], 20.0, ["HTTP 307"]),
    "betrayed": ([Reply(f'{{"error": "{KEY}"}}')], 20.0, ["neither the OpenAI nor the Ollama format", "(the key)"]),
    "garbage": ([Reply("<html>")], 20.0, ["neither the OpenAI nor the Ollama format", "<html>"]),
    "other JSON": ([Reply("[]")], 20.0, ["neither the OpenAI nor the Ollama format"]),
    "no choice": ([Reply('{"choices": []}')], 20.0, ["neither the OpenAI nor the Ollama format"]),
    "no text": ([openai(None)], 20.0, ["the message has no text"]),
    "prose": ([openai("Buy low, sell high.")], 20.0, ["no JSON object with a list of orders", "Buy low"]),
    "cut short": ([Reply('{"choices": [', missing=50)], 20.0, ["neither the OpenAI nor the Ollama format"]),
    "slow": ([openai(GOOD, seconds=3.0)], 0.5, ["no reply in 1 of 5 attempts in 0.5 s", "timed out"]),
    "dribble": ([openai(GOOD, seconds=0.1, dribbles=True)], 0.5, ["no reply in 1 of 5 attempts", "does not end"]),
    "long": ([openai("x" * 2_000_000)], 20.0, ["longer than 1,000,000 bytes"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_failing_endpoint_gives_a_hold_with_the_reason(name: str) -> None:
    script, seconds, words = FAULTS[name]
    with endpoint(*script) as server:
        got = asked(server, seconds=seconds)
    assert held(got, *words)
    assert KEY not in got.words + json.dumps(got.answers)
    assert len(server.requests) == 1 or name == "down"


def test_after_a_fault_the_next_bar_is_requested() -> None:
    with endpoint(Reply("no", 400), openai(GOOD)) as server:
        got = asked(server, n_bars=2)
    assert [each["orders"] for each in got.answers] == [[], [ORDER]]


def test_an_unreachable_endpoint_gives_a_hold() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert held(Asked(f"http://127.0.0.1:{port}/api/chat", [OBSERVATION], 1.0), "no reply in", "refused")


def test_a_key_of_several_lines_is_refused_and_not_shown() -> None:
    command = [sys.executable, str(AGENT), "--url", "http://127.0.0.1:1", "--model", "tiny"]
    shown: list[str] = []
    session = StdioSession(command, agent_environment() | {"OPENAI_API_KEY": f"{KEY}\n{KEY}"}, show=shown.append)
    with session, pytest.raises(oo.OpenOutcryError, match="exit code 2"):
        session.answer(json.dumps(OBSERVATION))
    assert "one line of printable ASCII" in "\n".join(shown)
    assert KEY not in "\n".join(shown)


@pytest.mark.parametrize("url", ["127.0.0.1:1", "file:///etc/hostname", ""])
def test_an_invalid_endpoint_url_is_refused_at_start(url: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="exit code 2") as caught:
        Asked(url, [OBSERVATION], 1.0)
    assert "--url must start with http" in caught.value.stderr


@pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {dict(HOST.missing)}")
@pytest.mark.parametrize("allow_net", [True, False])
def test_in_the_sandbox_the_agent_reaches_its_endpoint_only_with_allow_net(
    allow_net: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shutil.copy(AGENT, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    sandbox = Sandbox.open(Profile(tmp_path, allow_net=allow_net, pass_on=["OPENAI_API_KEY"]))
    with endpoint(openai(GOOD)) as server:
        words = [
            sys.executable,
            agent,
            "--url",
            server.url,
            "--model",
            "tiny",
            "--seconds",
            "5" if allow_net else "0.3",
        ]
        with connect(f"cmd:{shlex.join(words)}", sandbox=sandbox, show=lambda text: None).start() as session:
            answer = json.loads(session.answer(json.dumps(OBSERVATION)))
    assert answer["orders"] == ([ORDER] if allow_net else [])
    assert server.keys == ([f"Bearer {KEY}"] if allow_net else [])


def test_the_llm_agent_conforms() -> None:
    with endpoint(openai('{"orders": []}')) as server:
        words = [sys.executable, str(AGENT), "--url", server.url, "--model", "tiny"]
        report = examine(connect(f"cmd:{shlex.join(words)}"))
    assert report.failure is None
    assert all(each.is_hold for each in report.advice)
