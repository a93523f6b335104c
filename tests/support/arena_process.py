"""An arena served by a separate process, and a proxy in front of a server."""

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
    """Serve the arena of a folder and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["arena", "serve", "--port", str(port), "--data-dir", data, "--rate-anon", "0", *more]
    with subprocess.Popen(
        [sys.executable, "-m", "openoutcry", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            kind = "practice" if "--practice" in more else "demo"
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
    """Run a proxy in front of a server and yield its address.

    Args:
        url: Address of the server.
        hand: Gets a path and a function that forwards the request; returns status and body, or None to break the
            connection.
    """

    class Between(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = dict(self.headers)
            response = hand(
                self.path, lambda: httpx.request(self.command, url + self.path, content=body, headers=headers)
            )
            if response is not None:
                status, content = response
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = forward  # noqa: N815 names of the base class

        def log_message(self, *words: object) -> None:
            """Suppress the log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
