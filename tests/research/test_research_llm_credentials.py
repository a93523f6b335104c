"""Keys, URLs and model names of providers: sources, precedence and error messages (A17)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_llm import KEY, FakeLLM, Turn, client_of
from proposal_samples import ask

from openoutcry import OpenOutcryError
from openoutcry.research.llm_clients import CassetteClient, Message, ModelRequest, build_llm_client
from openoutcry.research.llm_clients.credentials import Secret, credentials_of
from openoutcry.research.proposal_requests import TokenMeter
from openoutcry.research.proposers import LLMProposer, RandomProposer, build_proposer

VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")
URL = "http://127.0.0.1:8000/v1"
TEXT = '{"strategy": "trend", "params": {}, "rationale": "Trends last for months."}'


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isolate the tests from this machine's settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in (*VARIABLES, "OPENOUTCRY_SETTINGS"):
        monkeypatch.delenv(name, raising=False)


def write(folder: Path, settings: Any) -> Path:
    path = folder / "openoutcry" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings), encoding="utf-8")
    return path


def test_the_settings_file_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:1234")
    assert credentials_of("openai").key.reveal() == "of-the-environment"  # type: ignore[union-attr]
    assert credentials_of("ollama").base_url == "http://127.0.0.1:1234"
    write(tmp_path, {"openai": {"api_key": "of-the-file", "base_url": "http://127.0.0.1:5/v1"}, "theme": 3})
    found = credentials_of("openai")
    assert (found.key.reveal(), found.base_url) == ("of-the-file", "http://127.0.0.1:5/v1")  # type: ignore[union-attr]
    assert credentials_of("anthropic").key is None
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"openai": {"api_key": "of-another"}}), encoding="utf-8")
    monkeypatch.setenv("OPENOUTCRY_SETTINGS", str(other))
    assert credentials_of("openai").key.reveal() == "of-another"  # type: ignore[union-attr]


def test_a_key_is_sent_only_to_its_own_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert credentials_of(URL).key is None
    write(tmp_path, {URL: {"api_key": "its-own"}})
    assert credentials_of(URL).key.reveal() == "its-own"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "settings",
    [f'{{"openai": {{"api_key": "{KEY}"', "[]", {"openai": {"key": KEY}}, {"openai": KEY}, {"openai": {"api_key": 3}}],
)
def test_an_invalid_settings_file_is_refused_without_showing_its_content(settings: Any, tmp_path: Path) -> None:
    path = write(tmp_path, settings)
    with pytest.raises(OpenOutcryError, match="the settings file must be") as caught:
        credentials_of("openai")
    assert str(path) in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in f"{error!r} {error}"
        error = error.__cause__


def test_a_named_settings_file_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENOUTCRY_SETTINGS", "gone.json")
    with pytest.raises(OpenOutcryError, match="which does not exist"):
        credentials_of("openai")


@pytest.mark.parametrize("key", ["", " ", "a b", "a\n", "ä", "a\r\nX-Other: b"])
def test_an_invalid_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(OpenOutcryError, match="a key must be printable ASCII") as caught:
        Secret(key)
    assert "Other" not in str(caught.value)


@pytest.mark.parametrize(
    ("provider", "model", "message"),
    [
        ("antropic", "m", "a provider must be `fixed:PATH`"),
        (None, "m", "must be a string"),
        ("random", "m", "`model` must be None"),
        ("fixed:gone.json", None, "No such file"),
        ("fixed:gone.json", "m", "`model` must be None"),
        ("cassette:gone.json", None, "which does not exist"),
        ("ollama", None, "such as `llama3.1`"),
        ("openai", "m", "OPENAI_API_KEY"),
        ("anthropic", "m", "ANTHROPIC_API_KEY"),
        ("http://user:word@127.0.0.1/v1", "m", "without a name or password"),
        ("http://", "m", "a URL must be"),
        ("http://127.0.0.1:99999/v1", "m", "not a URL"),
        ("http://127.0.0.1/v1?key=word", "m", "without a query"),
    ],
)
def test_an_invalid_provider_says_what_is_required(provider: Any, model: str | None, message: str) -> None:
    with pytest.raises(OpenOutcryError) as caught:
        build_proposer(provider, model)
    assert message in str(caught.value)
    assert caught.value.slug == "argument_invalid"
    assert "user:word" not in str(caught.value)


def test_proposers_and_clients_are_built_by_name(tmp_path: Path) -> None:
    assert isinstance(build_proposer("random"), RandomProposer)
    path = tmp_path / "list.json"
    path.write_text("[{}]", encoding="utf-8")
    assert build_proposer(f"fixed:{path}").name == "fixed"
    assert build_proposer("ollama", "llama3.1").name == "ollama:llama3.1"
    assert build_proposer(URL, "qwen").name == f"{URL}:qwen"
    assert build_llm_client(f"{URL}/chat/completions", "qwen").name == f"{URL}:qwen"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_missing_library_names_its_extra(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
    monkeypatch.setitem(sys.modules, provider, None)
    with pytest.raises(ModuleNotFoundError, match=rf"needs `pip install openoutcry\[{provider}\]`"):
        build_proposer(provider, "m")


def test_a_cassette_records_once_and_replays_without_a_model(tmp_path: Path, fake_llm: FakeLLM) -> None:
    path = tmp_path / "tape.json"
    fake_llm.play(Turn(TEXT), Turn("", tokens=None, status=500))
    recording = LLMProposer(CassetteClient(path, client_of("ollama", fake_llm.url)))
    first = recording.propose(ask(), TokenMeter())
    again = recording.propose(ask(), TokenMeter())
    assert first == again
    assert len(fake_llm.requests) == 1
    assert KEY not in path.read_text(encoding="utf-8")
    replayed = build_proposer(f"cassette:{path}")
    assert replayed.name == "ollama:m"
    assert replayed.propose(ask(), TokenMeter()) == first
    unknown = replayed.propose(ask(goal="Another one."), TokenMeter())
    assert (unknown.fault, unknown.attempts[0].fault, unknown.attempts[0].usage.total) == (
        "provider",
        "not_recorded",
        0,
    )


def test_a_cassette_records_no_faults_and_belongs_to_one_model(tmp_path: Path, fake_llm: FakeLLM) -> None:
    path = tmp_path / "tape.json"
    fake_llm.play(Turn("", tokens=None, status=500))
    client = CassetteClient(path, client_of("ollama", fake_llm.url))
    request = ModelRequest("", (Message("user", ""),), {}, 10)
    assert client.complete(request).fault == "http_500"
    assert not path.exists()
    fake_llm.play(Turn(TEXT))
    client.complete(request)
    with pytest.raises(OpenOutcryError, match="received one of `ollama:m`"):
        CassetteClient(path, client_of("compatible", fake_llm.url))
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(OpenOutcryError, match="a cassette must be"):
        CassetteClient(path)
