"""Agents that are programs or servers: names, answers and faults."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import agent_servers
import pytest
from agent_programs import HOLD, QUICK, python
from agent_servers import Post, serving

import openoutcry as oo
from openoutcry.agents import Answer
from openoutcry.harness import AgentError, Bounds, HttpAgent, SupervisedAgent, connect

pytestmark = pytest.mark.once

ABANDONED = Answer("", "agent_given_up")
LOST = Answer("", "agent_lost")


# Names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("momentum", "an agent must be `module:function`, `cmd:PROGRAM` or `http://HOST:PORT`; received 'momentum'"),
        ("cmd:", "an agent must be a command; received ''"),
        ("cmd:a 'b", 'an agent must be a command; received "a \'b": No closing quotation'),
        ("http://", "an agent's URL must be `http://HOST:PORT`; received 'http://'"),
        ("http://a?b=c", "an agent's URL must be `http://HOST:PORT`; received 'http://a?...'"),
        (":f", "an agent must be `module:function`; received ':f'"),
    ],
)
def test_an_invalid_agent_name_is_refused(name: str, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError) as caught:
        connect(name)
    assert message in str(caught.value)


def test_names_on_boards_contain_no_password() -> None:
    assert connect("cmd:python 'my agent.py' -x").name == "python 'my agent.py' -x"
    assert connect("http://me:secret@localhost:8000/").name == "http://localhost:8000"
    assert "secret" not in repr(connect("http://me:secret@localhost:8000/"))
    with pytest.raises(oo.OpenOutcryError, match="must be left out for an agent that is a server"):
        connect("http://localhost:8000", pass_on=["HOME"])


def test_records_state_the_transport_of_each_agent() -> None:
    assert connect("http://localhost:8000").harness == {"transport": "http", "tier": "T0", "allow_net": True}
    assert connect("cmd:cat").harness == {"transport": "stdio", "tier": "T0", "allow_net": True}
    assert connect("a:b").harness == {"transport": "stdio", "tier": "T0", "allow_net": True}


# Commands


def test_a_command_is_split_and_started() -> None:
    echo = connect(f"cmd:{sys.executable} -u -c \"import sys\nfor line in sys.stdin: print(line, end='')\"")
    echo.check()
    with echo.start() as session:
        assert session.answer('{"a": "b c"}') == '{"a": "b c"}'


@pytest.mark.parametrize("code", [125, 126, 127])
def test_a_command_that_cannot_start_is_an_error_before_the_run(code: int) -> None:
    with pytest.raises(AgentError, match=f"received its exit, exit code {code}, before the first observation"):
        python(f"import sys; sys.exit({code})").check()
    # The exit code at the end of an empty input is ignored.
    python("import sys; sys.stdin.read(); sys.exit(3)").check()
    # An exit while the input is open is a fault.
    with pytest.raises(AgentError, match="received its exit, exit code 3, before the first observation"):
        python("import sys; sys.exit(3)").check()
    with pytest.raises(oo.OpenOutcryError, match="must be a program that can be run; received 'no-such-program'"):
        connect("cmd:no-such-program").check()


def test_a_truncated_line_differs_from_no_line() -> None:
    for text, slug in (("import os; input(); os.write(1, b'{')", "answer_cut_short"), ("input()", "agent_died")):
        with python(text).start() as session, pytest.raises(AgentError) as caught:
            session.answer(HOLD)
        assert caught.value.slug == slug


AHEAD = """
import sys, time
for k, line in enumerate(sys.stdin):
    for _ in range(6 if k == 0 else 1):
        print('{"orders":[],"reasoning":"written at %d"}' % k)
        time.sleep(0.002)
"""


def test_lines_written_ahead_are_found_at_any_pace() -> None:
    with SupervisedAgent(python(AHEAD)) as agent:
        first, second = agent.answer(HOLD), agent.answer(HOLD)
    assert "written at 0" in first.text
    # The surplus line arrives before the observation is read.
    assert second == Answer("", "answer_too_early")


def test_an_answer_after_closing_the_input_is_a_fault() -> None:
    text = "import os; input(); print('{}'); os.close(0); import time; time.sleep(0.3); print('{}'); time.sleep(9)"
    with python(text).start() as session:
        session.answer(HOLD)
        time.sleep(0.2)
        with pytest.raises(AgentError, match=f"received one with {len(HOLD) + 1} bytes of it not read"):
            session.answer(HOLD)


def test_reading_up_to_the_last_brace_counts_as_reading_the_observation() -> None:
    """A JSON decoder may return an object before it has read the line end."""
    text = f"import os\nwhile os.read(0, {len(HOLD)}): os.write(1, b'{HOLD}\\n'); os.read(0, 1)"
    with python(text).start() as session:
        assert [session.answer(HOLD) for _ in range(3)] == [HOLD] * 3


# Servers


def test_observations_are_posted_over_one_connection() -> None:
    with serving() as server:
        agent = HttpAgent(f"{server.url}/", QUICK)
        agent.check()
        with agent.start() as session:
            assert [session.answer(f'{{"bar":{bar}}}') for bar in range(3)] == [HOLD] * 3
        with agent.start() as session:
            session.answer("{}")
    assert [body for _, _, body, _ in server.posts] == [{"bar": 0}, {"bar": 1}, {"bar": 2}, {}]
    assert {path for path, _, _, _ in server.posts} == {"/decide"}
    assert len({peer for _, _, _, peer in server.posts[:3]}) == 1
    runs = [{name.lower(): value for name, value in head.items()} for _, head, _, _ in server.posts]
    assert [run["openoutcry-step"] for run in runs] == ["0", "1", "2", "0"]
    assert len({run["openoutcry-run"] for run in runs[:3]}) == 1
    assert runs[0]["openoutcry-run"] != runs[3]["openoutcry-run"]
    assert all(run["content-type"] == "application/json" for run in runs)


@pytest.mark.parametrize(
    ("handle", "slug", "message"),
    [
        (agent_servers.dripping, "agent_late", "must answer within 0.7 s; received no complete answer"),
        (agent_servers.cut_short, "answer_cut_short", "must be complete"),
        (partial(Post.answer, status=500, body=b"boom\x1b[2J"), "answer_status", r"received 500: boom\x1b[2J"),
        (partial(Post.answer, status=307, location="http://127.0.0.1:1/"), "answer_status", "received 307"),
        (partial(Post.answer, body=b" " * 1001), "answer_too_long", "at most 1,000 bytes; received more"),
        (partial(Post.answer, body=b"\xff"), "answer_not_text", "received invalid start byte at byte 0"),
        (partial(Post.answer, body=b"x", content_encoding="gzip"), "answer_not_text", "received 'gzip' of it"),
        (agent_servers.no_http, "answer_status", "received RemoteProtocolError illegal status line"),
        (agent_servers.silent, "agent_unreachable", "RemoteProtocolError"),
        (partial(Post.answer, status=503, body=b"busy"), "agent_unavailable", "received 503: busy"),
        (partial(Post.answer, status=429, retry_after="3600"), "agent_unavailable", "received 429"),
    ],
)
def test_each_server_fault_has_a_slug(handle: Callable[[Post], None], slug: str, message: str) -> None:
    with serving(handle) as server, HttpAgent(server.url, QUICK).start() as session:
        began = time.monotonic()
        with pytest.raises(AgentError) as caught:
            session.answer("{}")
        assert (caught.value.slug, message in str(caught.value)) == (slug, True), caught.value
        assert caught.value.is_of_infrastructure == (slug in ("agent_unreachable", "agent_unavailable"))
        assert time.monotonic() - began < 5.0


def test_a_response_before_its_request_is_a_fault() -> None:
    """Bytes after a response would be parsed as the next response."""
    message: list[tuple[str, int]] = []
    with serving(agent_servers.twice) as server:
        agent = SupervisedAgent(HttpAgent(server.url, QUICK), lambda fault, step: message.append((fault.slug, step)))
        with agent:
            answers = [agent.answer(HOLD) for _ in range(6)]
    assert [answer.fault for answer in answers] == [None, "answer_too_early"] * 3
    assert [answer.text[-3] for answer in answers if answer.text] == ["1", "3", "5"]
    assert message == [("answer_too_early", step) for step in (1, 3, 5)]


def test_transient_errors_are_retried_with_the_same_step_header() -> None:
    calls: list[int] = []

    def handle(post: Post) -> None:
        calls.append(0)
        if len(calls) % 3:
            post.answer(b"", 503 if len(calls) % 3 == 1 else 429, retry_after="0")
        else:
            post.answer()

    bounds = Bounds(answer_seconds=20.0)
    with serving(handle) as server, HttpAgent(server.url, bounds).start() as session:
        assert [session.answer("{}") for _ in range(2)] == [HOLD] * 2
    steps = [head["openoutcry-step"] for _, head, _, _ in server.posts]
    assert steps == ["0"] * 3 + ["1"] * 3


def test_a_server_that_starts_late_is_retried() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{place.getsockname()[1]}"
    with pytest.raises(AgentError, match="agent_unreachable: an agent must be a server that can be reached"):
        HttpAgent(url, Bounds(0.1, 0.1)).start().answer("{}")
    with pytest.raises(AgentError, match="agent_unreachable"):
        HttpAgent("http://no-such-host.invalid", Bounds(0.1, 0.1)).start().answer("{}")


def test_kill_ends_a_pending_request() -> None:
    with serving(agent_servers.dripping) as server, HttpAgent(server.url, Bounds()).start() as session:
        timer = threading.Timer(0.2, session.kill)
        timer.start()
        with pytest.raises(AgentError, match="agent_died"):
            session.answer("{}")
        timer.join()
        with pytest.raises(AgentError, match="agent_died"):
            session.answer("{}")


def test_a_server_works_inside_a_running_event_loop() -> None:
    async def notebook(url: str) -> str:
        with HttpAgent(url).start() as session:
            return session.answer("{}")

    with serving() as server:
        assert asyncio.run(notebook(server.url)) == HOLD


def test_runs_leave_no_descriptor_and_no_thread() -> None:
    def left() -> tuple[int, int]:
        return sum(1 for _ in Path("/dev/fd").iterdir()), threading.active_count()

    with serving() as server:
        HttpAgent(server.url).check()
        before = left()
        for _ in range(3):
            with HttpAgent(server.url).start() as session:
                session.answer("{}")
            session.close()
        # The server threads detect the closed connection with a delay.
        until = time.monotonic() + 5.0
        while left() != before and time.monotonic() < until:
            time.sleep(0.01)
        assert left() <= before
