"""An arena that is served by a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("httpx")

import httpx


@contextmanager
def served(folder: Path, *more: str, data: str = "arena") -> Iterator[str]:
    """Serve the arena of a folder, and tell where."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["arena", "serve", "--port", str(port), "--data-dir", data, "--rate-anon", "0", *more]
    with subprocess.Popen(
        [sys.executable, "-m", "openoutcry", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            kind = "practice" if "--sandbox" in more else "demo"
            assert f"8 markets, {kind} season" in process.stdout.readline()
            deadline = time.monotonic() + 30.0
            while time.monotonic() < deadline:
                with socket.socket() as client:
                    if client.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


@contextmanager
def between(url: str, hand: Callable[[str, Callable[[], httpx.Response]], tuple[int, bytes] | None]) -> Iterator[str]:
    """Stand before a server, and tell where.

    Args:
        url: Where the server is.
        hand: Is given a path and what asks the server; returns status and body, or None to break the connection.
    """

    class Between(BaseHTTPRequestHandler):
        def hand_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = dict(self.headers)
            told = hand(self.path, lambda: httpx.request(self.command, url + self.path, content=body, headers=headers))
            if told is not None:
                status, content = told
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = hand_on  # noqa: N815 the names that are called

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
