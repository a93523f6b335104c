"""An MCP server for a `SessionManager`: its methods are the tools."""

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
from openoutcry.harness.mcp.session_manager import SessionManager
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.terminal import readable

try:
    import anyio
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError

    from openoutcry.harness.mcp.malformed_requests import Read, forward_requests
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "openoutcry.harness.mcp.mcp_server needs `pip install openoutcry[mcp]`", name=error.name
    ) from error

_LOG = logging.getLogger(__name__)

INSTRUCTIONS = """\
Trade an episode of a market, bar by bar. `reset` starts an episode and returns a session and the first observation: \
the data known at the close of a bar. Answer it with `step` and a decision: target weights, signed fractions of your \
account, filled at the next open or, if the market has no opens, at the close. A symbol without an order keeps its \
position; `{"orders": []}` keeps all positions. Repeat until `done`, then call `score`. No response contains data of a \
later bar.\
"""

_TITLES = {
    "reset": "Start an episode",
    "observe": "Repeat the observation",
    "step": "Execute a decision and advance one bar",
    "score": "Score the decisions so far",
}
_DESCRIPTIONS = {
    "reset": (
        "Start an episode and return its `session` and first `observation`. Choose a short `window`: every bar takes "
        "one decision. A `scenario` without a seed is a new synthetic market. A `dataset` is public: you may know its "
        "future, so a good score on it shows little."
    ),
    "observe": "Return the current observation of a session again, without any change of state.",
    "step": (
        "Execute a decision and advance one bar. `target_weight` is a signed fraction of NAV: 0.5 is long half the "
        "account, -0.5 is short half of it, 0 is no position. It alone sets the size; `buy` and `sell` are labels. "
        "Symbols without an order keep their position. Returns the `reward` (simple return of NAV), `info` (fills, "
        "refused orders, costs), the next `observation` and `done`. An invalid decision is refused and the state is "
        "unchanged."
    ),
    "score": (
        "Return metrics, costs and events of a session so far, and those of buy-and-hold and cash over the same bars. "
        "An undefined metric is null, with the reason. After the end of the episode the score names the record and the "
        "data."
    ),
}


def create_server(manager: SessionManager) -> Server[Any]:
    """Return an MCP server for a session manager, which it closes at its end."""
    tools = _tools(manager)
    scoring = anyio.Lock()

    async def list_tools(
        context: ServerRequestContext[Any], request: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        context: ServerRequestContext[Any], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if request.name not in _TITLES:
            known = ", ".join(_TITLES)
            raise MCPError(types.INVALID_PARAMS, f"a tool must be one of {known}; received {request.name!r}")
        try:
            answer = await _call_tool(manager, scoring, request.name, request.arguments or {})
        except OpenOutcryError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        except Exception as error:
            # The error text could disclose paths of the server.
            _LOG.exception("%s failed", readable(request.name))
            message = f"`{request.name}` must return a response; received an internal error, see the server's log"
            raise MCPError(types.INTERNAL_ERROR, message) from error
        text = native.canonicalize(json.dumps(answer))
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            manager.close()

    return Server(
        "openoutcry",
        version=_version(),
        title="OpenOutcry",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call_tool(
    manager: SessionManager, scoring: anyio.Lock, tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    if tool == "score":
        # A score runs backtests: other calls and signals are served meanwhile.
        async with scoring:
            return await anyio.to_thread.run_sync(manager.scoring(arguments))
    calls = {"reset": manager.reset, "observe": manager.observe, "step": manager.step}
    return calls[tool](arguments)


def _version() -> str:
    from openoutcry import __version__

    return __version__


def serve(manager: SessionManager) -> None:
    """Serve a session manager over standard input and output, until the input ends.

    Ctrl-C and SIGTERM close the sessions and end the process.
    """
    anyio.run(_serve, manager)


async def _serve(manager: SessionManager) -> None:
    server = create_server(manager)
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            tasks.start_soon(_end_by_signal, manager)
        async with stdio_server() as (read, write):
            send, requests = anyio.create_memory_object_stream[Read](0)
            tasks.start_soon(forward_requests, read, write, send)
            await server.run(requests, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_by_signal(manager: SessionManager) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            try:
                manager.close()
            except Exception:  # noqa: BLE001 the process must end in any case
                _LOG.exception("the sessions could not be closed")
            finally:
                # A thread is blocked in reading the client's next line and cannot be interrupted.
                os._exit(128 + number)


def _tools(manager: SessionManager) -> list[types.Tool]:
    takes, returns = tool_schemas.inputs(manager.markets), tool_schemas.outputs()
    return [
        types.Tool(
            name=name,
            title=title,
            description=_DESCRIPTIONS[name],
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
