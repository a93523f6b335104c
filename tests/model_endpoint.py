"""An OpenAI-compatible endpoint whose model is a script: replies, token by token, and faults on purpose.

It speaks what verifiers asks of a provider: chat completions, whole or as server-sent events, with calls of tools.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Body = dict[str, Any]


@dataclass
class Reply:
    """What the model says, or the fault it has.

    Args:
        text: Its content.
        calls: Calls of tools, each a name and the text of its arguments.
        status: Of an HTTP answer; anything but 200 is a fault.
        error: What a fault says.
        is_dropped: Whether the connection is cut in place of an answer.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    status: int = 200
    error: str = ""
    is_dropped: bool = False


@dataclass
class Endpoint:
    """A server of one model.

    Args:
        script: Given the body of a request, what the model says.
        bodies: Every request that came.
    """

    script: Callable[[Body], Reply]
    keeps_bodies: bool = False
    bodies: list[Body] = field(default_factory=list)
    n_requests: int = 0
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request as the script says."""
        body = await request.json()
        self.n_requests += 1
        if self.keeps_bodies:
            self.bodies.append(body)
        reply = self.script(body)
        if reply.is_dropped:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if reply.status != 200:
            return web.json_response({"error": {"message": reply.error, "type": "scripted"}}, status=reply.status)
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
        reason = "tool_calls" if reply.calls else "stop"
        head = {"id": f"chat-{self.n_requests}", "created": 0, "model": body.get("model", "scripted")}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if body.get("stream"):
            return await _streamed(request, head, message, reason, usage)
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        return web.json_response(head | {"object": "chat.completion", "choices": [choice], "usage": usage})


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


@contextmanager
def serve(script: Callable[[Body], Reply], *, keeps_bodies: bool = False) -> Iterator[Endpoint]:
    """Serve a scripted model on a port of its own, from a thread of its own."""
    endpoint, loop, is_up = Endpoint(script, keeps_bodies), asyncio.new_event_loop(), threading.Event()

    async def begin() -> web.AppRunner:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", endpoint.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        endpoint.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        is_up.set()
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(begin())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert is_up.wait(30)
        yield endpoint
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
