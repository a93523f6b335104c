"""Agents that are HTTP servers with scripted behavior."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handler = Callable[["Post"], None]


class Post(BaseHTTPRequestHandler):
    """One POST request; `answer` is the usual response."""

    protocol_version = "HTTP/1.1"
    # Headers and body are two writes; Nagle's algorithm would delay the second.
    disable_nagle_algorithm = True
    server: Server

    def do_OPTIONS(self) -> None:
        self.answer(b"", 405)

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers["content-length"]))
        try:
            content = json.loads(self.body)
        except ValueError:
            content = None
        self.server.posts.append((self.path, dict(self.headers), content, self.client_address))
        self.server.handle_post(self)

    def answer(self, body: bytes = b'{"orders":[]}', status: int = 200, **headers: str) -> None:
        """Send a response."""
        self.start_response(len(body), status, **headers)
        self.wfile.write(body)

    def start_response(self, length: int, status: int = 200, **headers: str) -> None:
        """Send status and headers of a response."""
        self.send_response(status)
        for name, value in {"content-length": str(length), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """A local server that handles each POST request with a given function."""

    daemon_threads = True

    def __init__(self, handle_post: Handler) -> None:
        super().__init__(("127.0.0.1", 0), Post)
        self.handle_post = handle_post
        self.posts: list[tuple[str, dict[str, str], Any, Any]] = []

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: the harness may close the connection."""


@contextmanager
def serving(handle_post: Handler = Post.answer) -> Iterator[Server]:
    """Run the server for the block."""
    with Server(handle_post) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def dripping(post: Post) -> None:
    """Send single bytes for longer than any timeout."""
    post.start_response(10_000)
    for _ in range(100):
        post.wfile.write(b" ")
        time.sleep(0.05)


def cut_short(post: Post) -> None:
    """Close the connection within the answer."""
    post.start_response(100)
    post.wfile.write(b'{"orders":')
    post.close_connection = True


def twice(post: Post) -> None:
    """Send two responses at once, the second before its request."""
    body = b'{"orders":[],"reasoning":"%d"}' % len(post.server.posts)
    post.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body) * 2)


def no_http(post: Post) -> None:
    """Send a response that is not HTTP."""
    post.wfile.write(b"all of it\r\n\r\n")
    post.close_connection = True


def silent(post: Post) -> None:
    """Close the connection without an answer."""
    post.close_connection = True
