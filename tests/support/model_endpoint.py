"""An OpenAI-compatible endpoint with a scripted model: complete or streamed responses, and faults.

It implements chat completions, complete or as server-sent events, with tool calls. It rejects conversations that every
provider rejects.

As a command, `python model_endpoint.py` serves a trading model and prints its URL.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

Body = dict[str, Any]


@dataclass
class Reply:
    """A scripted reply, or a fault.

    Args:
        text: Its content.
        calls: Tool calls, each a name and the JSON text of its arguments.
        status: HTTP status; anything but 200 is a fault.
        error: Message of a fault.
        is_dropped: Whether the connection is closed without a response.
        is_cut: Whether it is closed in the middle of a response.
        seconds: Delay before the response.
        more: Additional fields of the message, which override those above.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    status: int = 200
    error: str = ""
    is_dropped: bool = False
    is_cut: bool = False
    seconds: float = 0.0
    more: Body = field(default_factory=dict)


Script = Callable[[Body], Reply]
Served = TypeVar("Served", bound="Endpoint")


@dataclass
class Endpoint:
    """A server of one model.

    Args:
        script: Returns the reply to the body of a request.
        keeps_bodies: Whether requests are stored.
        bodies: All requests, if stored.
        n_requests: Number of requests.
        url: Its URL.
    """

    script: Script
    keeps_bodies: bool = False
    bodies: list[Body] = field(default_factory=list)
    n_requests: int = 0
    url: str = ""

    def routes(self) -> list[web.RouteDef]:
        """Return its routes."""
        return [web.post("/v1/chat/completions", self.answer)]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Respond to a request according to the script."""
        body = await request.json()
        self.n_requests += 1
        if self.keeps_bodies:
            self.bodies.append(body)
        fault = fault_of(body["messages"])
        reply = Reply(status=400, error=fault) if fault else self.script(body)
        await asyncio.sleep(reply.seconds)
        if reply.is_dropped:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if reply.status != 200:
            return web.json_response({"error": {"message": reply.error, "type": "scripted"}}, status=reply.status)
        message = self._message(reply)
        reason = "tool_calls" if reply.calls else "stop"
        head = {"id": f"chat-{self.n_requests}", "created": 0, "model": body.get("model", "scripted")}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if body.get("stream"):
            return await _streamed(request, head, message, reason, usage)
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        whole = head | {"object": "chat.completion", "choices": [choice], "usage": usage}
        return await _cut(request, whole) if reply.is_cut else web.json_response(whole)

    def _message(self, reply: Reply) -> Body:
        message: Body = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{self.n_requests}_{place}",
                    "type": "function",
                    "function": {"name": name, "arguments": given},
                }
                for place, (name, given) in enumerate(reply.calls)
            ]
        return message | reply.more


def fault_of(messages: list[Body]) -> str:
    """Return why a provider would reject a conversation; empty if it is valid."""
    wanted: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if not wanted or message["tool_call_id"] != wanted.pop(0):
                return f"messages[{place}] answers no call of the message before"
            continue
        if wanted:
            return f"messages[{place}] comes before all calls are answered"
        if message["role"] != "assistant":
            continue
        wanted = [call["id"] for call in message.get("tool_calls") or []]
        if not wanted and not isinstance(message.get("content"), str | list):
            return f"messages[{place}] of the assistant has neither content nor calls"
    return f"{len(wanted)} calls are not answered" if wanted else ""


def turn_of(body: Body) -> int:
    """Return the number of answers in a conversation."""
    return sum(message["role"] == "assistant" for message in body["messages"])


async def _cut(request: web.Request, whole: Body) -> web.StreamResponse:
    text = json.dumps(whole).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(text))}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    await response.write(text[: len(text) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _streamed(request: web.Request, head: Body, message: Body, reason: str, usage: Body) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    delta = dict(message)
    if "tool_calls" in delta:
        delta["tool_calls"] = [call | {"index": place} for place, call in enumerate(delta["tool_calls"])]
    for choice in (
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ):
        event = head | {"object": "chat.completion.chunk", "choices": [choice]}
        await response.write(f"data: {json.dumps(event)}\n\n".encode())
    last = head | {"object": "chat.completion.chunk", "choices": [], "usage": usage}
    await response.write(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())
    return response


async def _begin(endpoint: Endpoint) -> web.AppRunner:
    app = web.Application(client_max_size=2**26)
    app.add_routes(endpoint.routes())
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    endpoint.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    return runner


async def _cancelled() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def serve(script: Script, *, keeps_bodies: bool = False) -> AbstractContextManager[Endpoint]:
    """Serve a scripted model on a free port, in a separate thread."""
    return serving(Endpoint(script, keeps_bodies))


@contextmanager
def serving(endpoint: Served) -> Iterator[Served]:
    """Serve an endpoint on a free port, in a separate thread."""
    loop, is_up = asyncio.new_event_loop(), threading.Event()

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(_begin(endpoint))
        is_up.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.run_until_complete(_cancelled())
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert is_up.wait(30)
        yield endpoint
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@contextmanager
def serve_apart() -> Iterator[str]:
    """Serve a trading model in a separate process, and yield its URL."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def trader(body: Body) -> Reply:
    """Alternate between two symbols, with a tool call if there are tools, else in the text."""
    turn = turn_of(body)
    orders = [{"symbol": f"S{turn % 2:03d}", "action": "buy", "target_weight": 0.25 + 0.25 * (turn % 3)}]
    text = json.dumps({"orders": orders})
    return Reply(calls=(("trade", text),)) if body.get("tools") else Reply(f"It rises. {text}")


if __name__ == "__main__":

    async def stay() -> None:
        endpoint = Endpoint(trader)
        await _begin(endpoint)
        print(endpoint.url, flush=True)
        await asyncio.Event().wait()

    asyncio.run(stay())
