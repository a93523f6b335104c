"""URLs of agents: schemes ignore case, and passwords appear nowhere."""

from __future__ import annotations

import base64
import contextlib
import logging
from pathlib import Path

import pytest
from agent_servers import serving
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.audits.contamination import check
from openoutcry.cli import main
from openoutcry.cli.commands import app
from openoutcry.errors import without_password
from openoutcry.harness import CommandAgent, connect
from openoutcry.harness.agent_lookup import public_name
from openoutcry.research.llm_clients.client_factory import build_llm_client
from openoutcry.research.proposers.proposer_factory import build_proposer

pytestmark = pytest.mark.once

SECRET = "hunter2"
PORT_INVALID = f"http://user:{SECRET}@127.0.0.1:99999"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"http://user:{SECRET}@host:8000/v1", "http://host:8000/v1"),
        (f"HTTP://user:{SECRET}@host", "HTTP://host"),
        (f"http://user:{SECRET}@host:99999", "http://host:99999"),
        (f"http://user:{SECRET}@[::1", "http://[::1"),
        (f"http://user:a@{SECRET}@host/x", "http://host/x"),
        (f"http://user:a/{SECRET}@host/x", "http://host/x"),
        (f"http://user:a#{SECRET}@host", "http://host"),
        (f"http://user:a {SECRET}@host", "http://host"),
        (f"http:/user:{SECRET}@host", "http:/host"),
        (f"postgresql+psycopg://user:{SECRET}@host/arena", "postgresql+psycopg://host/arena"),
        ("http://host:8000/a@b", "http://host:8000/a@b"),
        ("my_agent:decide", "my_agent:decide"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (f"HtTps://user:{SECRET}@Host/V1", "https://Host/V1"),
        (f"user:{SECRET}@127.0.0.1:8000", "127.0.0.1:8000"),
        (f"http://host:8000/?api_key={SECRET}", "http://host:8000/?..."),
        (f"ftp://u:{SECRET}@host?x={SECRET}", "ftp://host?..."),
        (f"http://host#{SECRET}\n{SECRET}", "http://host?..."),
        (f"cmd:node a.js --from http://u:{SECRET}@h:1/x", "cmd:node a.js --from http://h:1/x"),
        (f"cmd:node 'a b' http://u:{SECRET}@h 'open", "cmd:node 'a b' http://h 'open"),
        ("cmd:mail a@b 'c  d'", "cmd:mail a@b 'c  d'"),
    ],
)
def test_the_public_name_of_an_agent_has_no_password(name: str, shown: str) -> None:
    assert public_name(name) == shown


def test_errors_of_agents_and_providers_repeat_no_password() -> None:
    attempts = [
        lambda: connect(PORT_INVALID),
        lambda: connect(f"http://user:{SECRET}@127.0.0.1:8000/decide"),
        lambda: connect(f"http://user:{SECRET}@127.0.0.1:8000", pass_on=["PATH"]),
        lambda: connect(f"http://127.0.0.1:8000/?token={SECRET}"),
        lambda: connect(f"http://127.0.0.1:8000/decide#{SECRET}"),
        lambda: connect(f"http:/user:{SECRET}@127.0.0.1:8000"),
        lambda: connect(f"user:{SECRET}@127.0.0.1:8000"),
        lambda: connect(f"cmd:curl 'http://user:{SECRET}@127.0.0.1:8000"),
        lambda: connect(f"cmd:http://user:{SECRET}@127.0.0.1:8000").start(),
        lambda: check(PORT_INVALID, oo.data.load("ecb-fx"), [(19, 40)]),
        lambda: build_proposer(f"ftp://user:{SECRET}@host"),
        lambda: build_llm_client(f"http://user:{SECRET}@host", None),
        lambda: build_llm_client(f"HTTP://user:{SECRET}@host", "m"),
    ]
    for attempt in attempts:
        with pytest.raises(oo.OpenOutcryError) as caught:
            attempt()
        assert SECRET not in str(caught.value)
    assert SECRET not in CommandAgent(["curl", f"http://user:{SECRET}@h"]).name


@pytest.mark.parametrize(
    "name",
    [
        PORT_INVALID,
        f"http://127.0.0.1:1/?token={SECRET}",
        f"HTTP://user:{SECRET}@127.0.0.1:1",
        f"user:{SECRET}@127.0.0.1:1",
        f"cmd:no-program http://u:{SECRET}@h",
    ],
)
@pytest.mark.parametrize(
    "command", [["run", "--agent"], ["conformance"], ["contamination", "--data", "ecb-fx", "--agent"]]
)
def test_a_refused_command_repeats_no_password(name: str, command: list[str]) -> None:
    made = CliRunner().invoke(app, [*command, name, "--timeout", "0.1", "--start-timeout", "0.1"])
    assert made.exit_code != 0
    assert SECRET not in f"{made.output}{made.exception}"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "URL"],
        ["run", "--data", "URL", "--agent", "momentum"],
        ["run", "--agent", "momentum", "--timeout", "URL"],
        ["suite", "run", "URL", "--agent", "momentum", "--record", "x.json"],
        ["score", "URL"],
    ],
)
def test_a_url_in_the_wrong_place_is_refused_without_its_password(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://user:{SECRET}@127.0.0.1:8000"
    monkeypatch.setattr("sys.argv", ["openoutcry", *(url if word == "URL" else word for word in words)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    text = capsys.readouterr().err
    assert SECRET not in text
    assert "user" not in text
    assert text.startswith("error: ")


def test_a_run_with_a_password_writes_it_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    with serving() as server:
        url = f"HTTP://user:{SECRET}@127.0.0.1:{server.server_port}/"
        command = ["run", "--agent", url, "--window", "19:24", "--ledger", "--ledger-dir", "ledger@2"]
        command += ["--output-dir", "out", "--record", "record.json", "--report", "report.html"]
        monkeypatch.setattr("sys.argv", ["openoutcry", *command])
        made = CliRunner().invoke(app, command)
        assert made.exit_code == 0, made.output
        sent = server.posts[0][1]["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")).decode() == f"user:{SECRET}"
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert not any(SECRET.encode() in content for content in written)
    assert SECRET not in made.output + caplog.text
    assert "--ledger-dir ledger@2" in (tmp_path / "report.html").read_text()
    assert oo.RunRecord.load("record.json").agent_id == f"{server.url}/"


def test_the_scheme_of_a_url_ignores_case() -> None:
    with serving() as server, contextlib.ExitStack() as exits:
        session = exits.enter_context(connect(server.url.replace("http", "Http")).start())
        assert session.answer("{}") == '{"orders":[]}'
        assert connect(server.url.upper()).name == server.url
