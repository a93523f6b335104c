"""The tools of a floor, served over the Model Context Protocol."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.harness.mcp import tool_schemas
from openoutcry.harness.mcp.session_manager import Floor
from openoutcry.openoutcry_py import OpenOutcryError

try:
    import anyio
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError

    from openoutcry.harness.mcp.malformed_requests import Read, pass_on
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "openoutcry.harness.mcp.mcp_server needs `pip install openoutcry[mcp]`", name=error.name
    ) from error

_LOG = logging.getLogger(__name__)

INSTRUCTIONS = """\
Trade an episode of a market, bar by bar. `reset` begins one and returns a session and the first observation: what is \
known at the close of a bar. Answer it with `step` and a decision: target weights, signed fractions of your account, \
filled at the next open or, where the market has none, at the close. A symbol without an order is held; \
`{"orders": []}` holds everything. Repeat until `done`, then ask for the `score`. Nothing shows a bar that is still to \
come.\
"""

_TITLES = {
    "reset": "Begin an episode",
    "observe": "See the market again",
    "step": "Decide and move on by one bar",
    "score": "See what it came to",
}
_TOLD = {
    "reset": (
        "Begin an episode and return its `session` and first `observation`. Give a short `window`: there is one "
        "decision a bar. A `scenario` without a seed is a market that nobody has seen; of a `dataset`, which is "
        "public, you may know the future, so that a good score on it shows little."
    ),
    "observe": "Return the present observation of a session again. It changes nothing.",
    "step": (
        "Carry out a decision and move on by one bar. `target_weight` is a signed fraction of NAV: 0.5 is half the "
        "account long, -0.5 half of it short, 0 nothing; it sizes, and `buy` and `sell` are labels. Symbols without an "
        "order are held. Returns the `reward` (simple return of NAV), `info` (fills, refused orders, costs), the next "
        "`observation` and `done`. A decision that is none is refused, and nothing moves."
    ),
    "score": (
        "Return metrics, costs and events of a session so far, beside buy-and-hold and cash over the same bars. A "
        "metric that is undefined is null, with the reason. Once the episode is over it names the record and the data."
    ),
}


def server_of(floor: Floor) -> Server[Any]:
    """Return a server of a floor, whose sessions end with it."""
    tools = _tools(floor)
    scoring = anyio.Lock()

    async def listed(
        context: ServerRequestContext[Any], asked: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def called(context: ServerRequestContext[Any], asked: types.CallToolRequestParams) -> types.CallToolResult:
        if asked.name not in _TITLES:
            known = ", ".join(_TITLES)
            raise MCPError(types.INVALID_PARAMS, f"a tool must be one of {known}; received {asked.name!r}")
        try:
            answer = await _answered(floor, scoring, asked.name, asked.arguments or {})
        except OpenOutcryError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        except Exception as error:
            # Its text could name what is none of the client's business.
            _LOG.exception("%s failed", asked.name)
            message = f"`{asked.name}` must come to an answer; received a fault of the server, which its log explains"
            raise MCPError(types.INTERNAL_ERROR, message) from error
        text = native.canonicalize(json.dumps(answer))
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)

    @asynccontextmanager
    async def living(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            floor.close()

    return Server(
        "openoutcry",
        version=_version(),
        title="OpenOutcry",
        instructions=INSTRUCTIONS,
        lifespan=living,
        on_list_tools=listed,
        on_call_tool=called,
    )


async def _answered(floor: Floor, scoring: anyio.Lock, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    if tool == "score":
        # Backtests of all decisions: meanwhile other calls are served, and signals.
        async with scoring:
            return await anyio.to_thread.run_sync(floor.scoring(given))
    calls = {"reset": floor.reset, "observe": floor.observe, "step": floor.step}
    return calls[tool](given)


def _version() -> str:
    from openoutcry import __version__

    return __version__


def serve(floor: Floor) -> None:
    """Serve a floor over standard input and output, until the input ends.

    Ctrl-C and SIGTERM end the process, with the sessions as they are.
    """
    anyio.run(_served, floor)


async def _served(floor: Floor) -> None:
    server = server_of(floor)
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            tasks.start_soon(_end_by_signal, floor)
        async with stdio_server() as (read, write):
            send, requests = anyio.create_memory_object_stream[Read](0)
            tasks.start_soon(pass_on, read, write, send)
            await server.run(requests, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_by_signal(floor: Floor) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            try:
                floor.close()
            except Exception:  # noqa: BLE001 whatever it is, the process must end
                _LOG.exception("the sessions did not end as they should")
            finally:
                # A thread waits for the client's next line, and nothing but that line would end it.
                os._exit(128 + number)


def _tools(floor: Floor) -> list[types.Tool]:
    takes, returns = tool_schemas.inputs(floor.markets), tool_schemas.outputs()
    return [
        types.Tool(
            name=name,
            title=title,
            description=_TOLD[name],
            input_schema=takes[name],
            output_schema=returns[name],
            annotations=types.ToolAnnotations(
                read_only_hint=name in ("observe", "score"),
                destructive_hint=False,
                idempotent_hint=name in ("observe", "score"),
                open_world_hint=False,
            ),
        )
        for name, title in _TITLES.items()
    ]
