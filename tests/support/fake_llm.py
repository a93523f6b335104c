"""A local server that imitates three language model providers, with scripted responses and faults.

It implements Anthropic's messages, OpenAI's chat completions and Ollama's chat. It counts the tokens of each request
independently, from the bytes that it received and sent.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from openoutcry.research.llm_clients import (
    AnthropicClient,
    LLMClient,
    OllamaClient,
    OpenAIClient,
    OpenAICompatibleClient,
    Transport,
)
from openoutcry.research.llm_clients.credentials import Secret

Body = dict[str, Any]
KEY = "sk-made-up-0123456789abcdef"
MARGIN = 512
# The libraries take a second to import, and are not available for the oldest numpy.
CLIENTS = ["ollama", "compatible", *(pytest.param(each, marks=pytest.mark.once) for each in ("anthropic", "openai"))]
PATHS = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai", "/api/chat": "ollama"}


@dataclass(frozen=True)
class Tokens:
    """Token usage that a response reports."""

    input: int = 40
    output: int = 20
    created: int = 0
    read: int = 0
    outside: int = 0

    @property
    def total(self) -> int:
        """All tokens that count; Ollama reports the first two only."""
        return self.input + self.output + self.created + self.read + self.outside


@dataclass(frozen=True)
class Turn:
    """Scripted response to a request.

    Args:
        text: Text of the model; None for none.
        calls: Arguments of tool calls.
        tokens: Reported token counts; None to omit them.
        stop: `end`, `cut` or `refusal`.
        status: HTTP status; other than 200 is a fault with `text` as its body.
        headers: Additional headers.
        garbles: Send the text itself as body, like an HTML page.
        keeps: Truncate the body, and its announced length, to this many bytes.
        sends: Bytes sent before the connection is reset.
        seconds: Delay before the body.
        echoes: The body contains the key.
    """

    text: str | None = None
    calls: tuple[Any, ...] = ()
    tokens: Tokens | None = Tokens()
    stop: str = "end"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    garbles: bool = False
    keeps: int | None = None
    sends: int | None = None
    seconds: float = 0.0
    echoes: bool = False


def fault(status: int, text: str = "no", **more: Any) -> Turn:
    """Return an error status."""
    return Turn(text, status=status, tokens=None, **more)


def html(status: int = 200) -> Turn:
    """Return an HTML page, as gateways do."""
    return Turn("<html><body>Sorry, we are down { for now }</body></html>", status=status, tokens=None, garbles=True)


TRUNCATED = Turn('{"strategy": "trend"}', keeps=40)
RESET = Turn("", sends=0)
SHORT = Turn("x" * 100, sends=30)


@dataclass
class FakeLLM:
    """A server with a script, whose last turn repeats, and the requests it received."""

    script: list[Turn] = field(default_factory=list)
    url: str = ""
    requests: list[Body] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, *script: Turn) -> FakeLLM:
        """Restart with a script."""
        self.script = list(script)
        self.requests, self.headers, self.counted = [], [], []
        return self

    @property
    def tokens(self) -> int:
        """All tokens that count towards the budget."""
        return sum(self.counted)

    def take(self, wire: str, headers: Mapping[str, str], body: Body) -> tuple[Turn, bytes]:
        """Record and count a request, and return its scripted response."""
        with self.lock:
            self.requests.append(body)
            self.headers.append(headers)
            turn = self.script[min(len(self.requests), len(self.script)) - 1]
            content = content_of(wire, turn)
            self.counted.append(tokens_of(wire, turn, body, content))
        return turn, content


def content_of(wire: str, turn: Turn) -> bytes:
    """Return the body of a response."""
    if turn.status != 200:
        text = json.dumps({"error": {"message": (turn.text or "") + (f" for {KEY}" if turn.echoes else "")}})
        return (turn.text or "" if turn.garbles else text).encode()
    if turn.garbles:
        return (turn.text or "").encode()
    echoed = Turn(f"{turn.text} {KEY}", turn.calls, turn.tokens, turn.stop) if turn.echoes else turn
    text = json.dumps({"anthropic": _anthropic, "openai": _openai, "ollama": _ollama}[wire](echoed))
    return text.encode()[: turn.keeps]


def tokens_of(wire: str, turn: Turn, body: Body, content: bytes) -> int:
    """Return the tokens that a request counts for.

    The reported usage of a complete response; else a third of the bytes; or all reserved tokens without one.
    """
    prompt = sum(-(-len(text.encode()) // 3) for text in texts_of(body))
    most = max_tokens_of(body)
    if turn.sends is not None or turn.seconds > 0.3:
        return prompt + MARGIN + most
    if turn.status == 200 and turn.tokens is not None and turn.keeps is None and not turn.garbles:
        usage = turn.tokens
        return usage.input + usage.output if wire == "ollama" else usage.total
    return prompt + min(-(-len(content) // 3), most)


def max_tokens_of(body: Body) -> int:
    """Return the maximum output tokens of a request."""
    names = ("max_tokens", "max_completion_tokens")
    found: int = body["options"]["num_predict"] if "options" in body else next(body[n] for n in names if n in body)
    return found


def texts_of(body: Body) -> list[str]:
    """Return the texts of a request: system message, conversation and schema."""
    texts = [str(each["content"]) for each in body["messages"]]
    texts += [body["system"]] if "system" in body else []
    texts += [json.dumps(tool["input_schema"]) for tool in body.get("tools", [])]
    texts += [json.dumps(body["format"])] if "format" in body else []
    if "response_format" in body:
        texts.append(json.dumps(body["response_format"]["json_schema"]["schema"]))
    return texts


def _anthropic(turn: Turn) -> Body:
    blocks: list[Body] = [{"type": "text", "text": turn.text}] if turn.text is not None else []
    for place, call in enumerate(turn.calls):
        blocks.append({"type": "tool_use", "id": f"call_{place}", "name": "propose", "input": call})
    stop = {"cut": "max_tokens", "refusal": "refusal"}.get(turn.stop, "tool_use" if turn.calls else "end_turn")
    body: Body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks}
    body["stop_reason"] = stop
    if (usage := turn.tokens) is not None:
        body["usage"] = {
            "input_tokens": usage.input,
            "output_tokens": usage.output + usage.outside,
            "cache_creation_input_tokens": usage.created,
            "cache_read_input_tokens": usage.read,
        }
    return body


def _openai(turn: Turn) -> Body:
    message: Body = {"role": "assistant", "content": turn.text}
    if turn.stop == "refusal":
        message |= {"content": None, "refusal": turn.text or "no"}
    if turn.calls:
        message["tool_calls"] = [
            {"id": f"call_{place}", "type": "function", "function": {"name": "propose", "arguments": call}}
            for place, call in enumerate(turn.calls)
        ]
    reason = {"cut": "length"}.get(turn.stop, "tool_calls" if turn.calls else "stop")
    body: Body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    body["choices"] = [{"index": 0, "message": message, "finish_reason": reason}]
    if (usage := turn.tokens) is not None:
        prompt = usage.input + usage.created + usage.read
        body["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output,
            "total_tokens": prompt + usage.output + usage.outside,
            "prompt_tokens_details": {"cached_tokens": usage.read},
            "completion_tokens_details": {"reasoning_tokens": usage.output // 2},
        }
    return body


def _ollama(turn: Turn) -> Body:
    message: Body = {"role": "assistant", "content": turn.text or ""}
    if turn.calls:
        message["tool_calls"] = [{"function": {"name": "propose", "arguments": call}} for call in turn.calls]
    body: Body = {"model": "m", "message": message, "done": True}
    body["done_reason"] = "length" if turn.stop == "cut" else "stop"
    if (usage := turn.tokens) is not None:
        body |= {"prompt_eval_count": usage.input, "eval_count": usage.output}
    return body


def client_of(kind: str, url: str, transport: Transport | None = None) -> LLMClient:
    """Return a client of the server's model."""
    key = Secret(KEY)
    if kind == "anthropic":
        return AnthropicClient("m", key, url, transport)
    if kind == "openai":
        return OpenAIClient("m", key, f"{url}/v1", transport)
    if kind == "ollama":
        return OllamaClient("m", url, key, transport)
    return OpenAICompatibleClient("m", f"{url}/v1", key, transport)


@contextmanager
def serving() -> Iterator[FakeLLM]:
    """Yield a server without a script."""
    made = FakeLLM()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            # A proxy receives the complete URL.
            wire = PATHS[urlsplit(self.path).path]
            turn, content = made.take(wire, {n.lower(): v for n, v in self.headers.items()}, body)
            try:
                _send(self, turn, content)
            except ConnectionError:
                # The client timed out.
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


def _send(handler: BaseHTTPRequestHandler, turn: Turn, content: bytes) -> None:
    if turn.sends == 0:
        _reset(handler)
        return
    handler.send_response(turn.status)
    kind = "text/html" if turn.garbles else "application/json"
    for name, value in (("Content-Type", kind), ("Content-Length", str(len(content))), *turn.headers):
        handler.send_header(name, value)
    handler.end_headers()
    time.sleep(turn.seconds)
    handler.wfile.write(content[: turn.sends])
    if turn.sends is not None:
        _reset(handler)


def _reset(handler: BaseHTTPRequestHandler) -> None:
    """Reset a connection."""
    handler.close_connection = True
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture(scope="module")
def fake_llm() -> Iterator[FakeLLM]:
    """A server for all three formats; `play` sets its script."""
    with serving() as made:
        yield made
