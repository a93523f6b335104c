"""The MCP server line by line: invalid requests, and how a server ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from mcp_sessions import HOLD

import openoutcry as oo
from openoutcry.backtest.replay import replay
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once
pytest.importorskip("mcp")

from mcp_types import INVALID_REQUEST, PARSE_ERROR  # noqa: E402 only where its package is installed

from openoutcry.harness.mcp.malformed_requests import id_of  # noqa: E402

SECONDS = 60.0
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def called(number: int, tool: str, **given: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": given}}


class Wire:
    """A server in a separate process that receives lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def answered(self, *lines: str) -> dict[str, Any]:
        """Write lines and return the response to the last one."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def request(self, *messages: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self.answered(*map(json.dumps, messages))["result"]
        return result


@contextmanager
def served(folder: Path, log: Path) -> Iterator[Wire]:
    words = [sys.executable, "-m", "openoutcry", "mcp", "--data", "us-treasury", "--records", "kept"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        log.open("w") as errors,
        subprocess.Popen(words, cwd=folder, text=True, stderr=errors, env=dict(os.environ), **pipes) as process,  # type: ignore[call-overload]
    ):
        # The timeout ends a wait for a missing response.
        watch = Timer(SECONDS, process.kill)
        watch.start()
        try:
            wire = Wire(process)
            assert wire.request(HELLO)["serverInfo"]["name"] == "openoutcry"
            yield wire
        finally:
            watch.cancel()
            process.kill()


def new_session(wire: Wire) -> str:
    """Start a session, make one decision and return its id."""
    session: str = wire.request(READY, called(2, "reset"))["structuredContent"]["session"]
    assert wire.request(called(3, "step", session=session, decision=HOLD))["structuredContent"]["reward"] == 0.0
    return session


def check_left(folder: Path, session: str) -> None:
    record = RunRecord.load(folder / "kept" / f"{session}.jsonl")
    assert record.unfinished
    assert replay(record, oo.data.load("us-treasury")).n_steps == 1


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=str)
def test_a_terminated_server_leaves_the_record_so_far(end: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with served(tmp_path, log) as wire:
        session = new_session(wire)
        wire.process.send_signal(end)
        assert wire.process.wait(SECONDS) == (128 + end if end == signal.SIGTERM else -end)
    assert log.read_text() == ""
    check_left(tmp_path, session)


def test_a_server_ends_even_if_its_records_cannot_be_written(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with served(tmp_path, log) as wire:
        new_session(wire)
        (tmp_path / "kept").rename(tmp_path / "away")
        wire.process.send_signal(signal.SIGTERM)
        assert wire.process.wait(SECONDS) == 128 + signal.SIGTERM
    assert "not every record could be written" in log.read_text()


STEP = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"step","arguments":{"id":9,"decision":%s}}}'
REFUSED = [
    (STEP % (7, "[" * 900 + "]" * 900), 7, PARSE_ERROR),
    (STEP % ('"a"', '{"a":' * 50_000 + "1" + "}" * 50_000), "a", PARSE_ERROR),
    (STEP % (8, r'{"orders":[],"reasoning":"\ud800"}'), 8, PARSE_ERROR),
    (STEP % (10, "1" + "0" * 5000), 10, PARSE_ERROR),
    (STEP % (r'"\ud800"', "[]"), None, PARSE_ERROR),
    ("hello", None, PARSE_ERROR),
    ("", None, PARSE_ERROR),
    ("[]", None, INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":11}', 11, INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":12,"method":"tools/call","params":[1]}', 12, INVALID_REQUEST),
]


def test_an_invalid_line_is_answered_and_the_server_ends_with_its_client(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with served(tmp_path, log) as wire:
        session = new_session(wire)
        for line, number, code in REFUSED:
            answer = wire.answered(line)
            assert (answer["id"], answer["error"]["code"]) == (number, code), line[:80]
            assert answer["error"]["message"].startswith("a line must be a JSON-RPC request; received ")
        assert not wire.request(called(4, "observe", session=session))["structuredContent"]["done"]
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(SECONDS) == 0
    assert log.read_text().count("a line of the client was refused") == len(REFUSED)
    check_left(tmp_path, session)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"a":{"id":1},"id" : 2}', 2),
        ('{"a":{"id":1}}', None),
        ('{"a":["id",":",3],"b":"\\"id\\":4","id":"x\\"y"}', 'x"y'),
        ('{"x":"id","id":-5,', -5),
        ('"id":1', None),
        ('{"id":true}', None),
        (r'{"id":"\ud800"}', None),
        ('{"id":1e3}', None),
        ('{"id":' + "9" * 30 + "}", None),
        ("}}}{", None),
    ],
)
def test_the_id_of_a_line_is_that_of_the_outermost_object(line: str, found: int | str | None) -> None:
    assert id_of(line) == found


def test_the_id_of_a_long_line_with_an_unterminated_string_is_found_in_linear_time() -> None:
    # A quadratic search would take hours and block signals.
    assert id_of('{"id":7,"x":"' + '\\"' * 500_000) == 7
