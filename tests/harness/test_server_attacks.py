"""Servers with malformed HTTP: each is a named fault, in time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

import openoutcry as oo
from openoutcry.harness import AgentError, Bounds, HttpAgent, connect

pytestmark = pytest.mark.once

QUICK = Bounds(start_seconds=0.2, answer_seconds=0.4, answer_bytes=1000)
OK = b"HTTP/1.1 200 OK\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 9\r\nContent-Length: 100000\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@contextmanager
def saying(first: bytes, again: bytes = b"") -> Iterator[str]:
    """Send bytes in response to each request, then repeat others while the connection lasts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, first, again), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket, first: bytes, again: bytes) -> None:
    with suppress(OSError):
        while True:
            peer, _ = server.accept()
            threading.Thread(target=_say, args=(peer, first, again), daemon=True).start()


def _say(peer: socket.socket, first: bytes, again: bytes) -> None:
    with peer, suppress(OSError):
        # The body is a separate write.
        while (post := peer.recv(2**16)) and (post.endswith(b"{}") or peer.recv(2**16)):
            peer.sendall(first)
            while again:
                peer.sendall(again)
                time.sleep(0.01)


@pytest.mark.parametrize(
    ("first", "again", "slug"),
    [
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", "agent_late"),
        (OK + (b"X: " + b"a" * 9000 + b"\r\n") * 20, b"", "answer_status"),
        (OK + b"X: ", b"a", "agent_late"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"", "answer_status"),
        (b"HTTP/1.1 204 None\r\n\r\n", b"", "answer_status"),
        (b"HTTP/1.1 999 None\r\nContent-Length: 0\r\n\r\n", b"", "answer_status"),
        (b"\x16\x03\x01\x00\n" * 9, b"", "answer_status"),
        (OK + b"Content-Length: -5\r\n\r\n{}", b"", "answer_status"),
        (OK + b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}", b"", "answer_status"),
        (CHUNKED, b"1\r\n \r\n", "agent_late"),
        (CHUNKED + b"1;" + b"a" * 180_000, b"", "answer_cut_short"),
        (CHUNKED + b"zz\r\n", b"", "answer_cut_short"),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: a\r\n", "agent_late"),
        (b"HTTP/1.1 302 Away\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n", b"", "answer_status"),
        # The body of a gateway error does not count as a long or late answer.
        (BUSY + b" " * 100_000, b"", "agent_unavailable"),
        (BUSY, b" ", "agent_unavailable"),
        (BUSY, b"", "agent_unavailable"),
        (BUSY.replace(b"503 Busy", b"500 Broken") + b" " * 100_000, b"", "answer_status"),
    ],
)
def test_malformed_responses_are_faults_in_time(
    first: bytes, again: bytes, slug: str, capsys: pytest.CaptureFixture[str]
) -> None:
    n_threads = threading.active_count()
    with saying(first, again) as url, HttpAgent(url, QUICK).start() as session:
        began = time.monotonic()
        with pytest.raises(AgentError) as caught:
            session.answer("{}")
        assert caught.value.slug == slug, caught.value
        assert time.monotonic() - began < 5.0
    assert threading.active_count() <= n_threads + 3
    # No pending task remains in the event loop.
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "head", [b"X: \xff\xfe\r\n", b"Set-Cookie: a=b; Domain=\xff\r\n", b"Content-Encoding: Identity\r\n"]
)
def test_unusual_valid_headers_are_not_faults(head: bytes) -> None:
    with saying(OK + head + b"Content-Length: 2\r\n\r\n{}") as url, HttpAgent(url, QUICK).start() as session:
        assert [session.answer("{}"), session.answer("{}")] == ["{}", "{}"]


def test_a_server_that_accepts_no_connection_is_unreachable() -> None:
    waiting = []
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        # The accept queue is full: further connections never complete.
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(server.getsockname())
            waiting.append(client)
        agent = HttpAgent(f"http://127.0.0.1:{server.getsockname()[1]}", QUICK)
        with agent.start() as session, pytest.raises(AgentError, match=r"received no connection for 0\.6 s") as caught:
            session.answer("{}")
    for client in waiting:
        client.close()
    assert (caught.value.slug, caught.value.is_of_infrastructure) == ("agent_unreachable", True)


@pytest.mark.parametrize("url", ["http://[::1", "http://a:99999", "http://a:b", "http://a:0", "http://a/\x00"])
def test_an_invalid_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="an agent's URL must be `http://HOST:PORT`; received"):
        connect(url)


def test_a_url_with_the_appended_path_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="hint: remove `/decide`"):
        connect("http://localhost:8000/decide/")
    assert connect("http://localhost:8000/v1").name == "http://localhost:8000/v1"


ENDLESS = {
    "one-byte chunks": (CHUNKED, b"1\r\nA\r\n" * 2000),
    "interim responses": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
    "headers": (OK, b"a: b\r\n"),
    "body": (OK + b"Content-Length: 100000\r\n\r\n", b" "),
    "trailers": (CHUNKED + b"0\r\n", b"a: b\r\n"),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_response_ends_in_the_time_of_its_answer(kind: str) -> None:
    """The time to start counts once, and the time of an answer is that of all its reads."""
    bounds = Bounds(start_seconds=0.5, answer_seconds=0.1)
    with saying(*ENDLESS[kind]) as url:
        agent = HttpAgent(url, bounds)
        started = time.monotonic()
        with suppress(AgentError):
            agent.check()
        with agent.start() as session:
            for _ in range(4):
                with pytest.raises(AgentError, match="an agent must answer within"):
                    session.answer("{}")
        # 0.6 s to be reached, 0.6 s for the first answer and 0.1 s for each other.
        assert time.monotonic() - started < 2.3
