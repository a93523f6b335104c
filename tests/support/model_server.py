"""A local server of a language model with scripted responses."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A scripted response.

    Args:
        body: Response body.
        status: HTTP status.
        headers: Additional headers.
        seconds: Delay before the body, or before each byte with `dribbles`.
        dribbles: Send byte by byte.
        missing: Bytes announced in the length but not sent.
    """

    body: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    dribbles: bool = False
    missing: int = 0


def openai(text: str | None, **more: Any) -> Reply:
    """Return a response in the format of OpenAI."""
    return Reply(json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}), **more)


def ollama(text: str) -> Reply:
    """Return a response in the format of Ollama."""
    return Reply(json.dumps({"message": {"role": "assistant", "content": text}, "done": True}))


@dataclass
class Endpoint:
    """A server with its script, whose last reply repeats, and the received requests."""

    script: list[Reply]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    at: list[float] = field(default_factory=list)

    def prompts(self) -> list[str]:
        """Return the user messages of all requests."""
        return [each["messages"][-1]["content"] for each in self.requests]

    def next(self, headers: Any, body: bytes) -> Reply:
        """Store a request and return the reply to it."""
        self.at.append(time.monotonic())
        self.requests.append(json.loads(body))
        self.keys.append(headers.get("Authorization"))
        return self.script[min(len(self.requests), len(self.script)) - 1]


@contextmanager
def endpoint(*script: Reply, path: str = "/v1/chat/completions") -> Iterator[Endpoint]:
    """Yield a server that follows a script."""
    made = Endpoint(list(script))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                _send(self, made.next(self.headers, body))
            except ConnectionError:
                # The agent closed the connection.
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_address[1]}{path}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    content = reply.body.encode()
    handler.send_response(reply.status)
    for name, value in (*reply.headers, ("Content-Length", str(len(content) + reply.missing))):
        handler.send_header(name, value)
    handler.end_headers()
    if reply.dribbles:
        for at in range(len(content)):
            handler.wfile.write(content[at : at + 1])
            time.sleep(reply.seconds)
    else:
        time.sleep(reply.seconds)
        handler.wfile.write(content)
