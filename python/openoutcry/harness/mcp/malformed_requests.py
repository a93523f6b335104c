"""Error responses to lines that are not valid requests.

The reader of the `mcp` package forwards lines that it cannot parse, and its server ignores them: a client would wait
until its own timeout.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterable
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from openoutcry.untrusted.terminal import readable

_LOG = logging.getLogger(__name__)

# An unterminated string is one token, too: a search from each of its quotes would take quadratic time.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_INTEGER = re.compile(r"-?[0-9]{1,18}")

Read = SessionMessage | Exception


async def forward_requests(read: AsyncIterable[Read], write: Any, requests: MemoryObjectSendStream[Read]) -> None:
    """Forward valid messages to the server, and answer invalid lines."""
    async with requests:
        async for item in read:
            try:
                await (write.send(error_response(item)) if isinstance(item, Exception) else requests.send(item))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # The server ended before its client.
                return


def error_response(error: Exception) -> SessionMessage:
    """Return the error response to a line that the reader refused."""
    found = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    is_json = bool(found) and found[0]["type"] != "json_invalid"
    reason = (
        found[0]["msg"] if found and not is_json else "JSON that is not a request" if is_json else type(error).__name__
    )
    message = f"a line must be a JSON-RPC request; received {reason}"
    _LOG.warning("a line of the client was refused: %s", readable(message))
    error_data = types.ErrorData(code=types.INVALID_REQUEST if is_json else types.PARSE_ERROR, message=message)
    try:
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=_id(found), error=error_data))
    except ValidationError:
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error_data))


def _id(found: list[Any]) -> Any:
    for each in found:
        if each["type"] == "json_invalid":
            return id_of(each["input"])
        # The input is the complete message if a top-level field is missing; nested fields have longer locations.
        if each["type"] == "missing" and len(each["loc"]) == 2:
            return each["input"].get("id")
    return None


def id_of(line: str) -> int | str | None:
    """Return the id of a request that a JSON parser refuses.

    Such a request is too deep, or contains a too long number or a lone surrogate.
    """
    depth, found = 0, None
    before = ["", ""]
    for token in _TOKEN.findall(line):
        if token in "}]":
            depth -= 1
        if depth == 1 and before == ['"id"', ":"]:
            found = token
        if token in "{[":
            depth += 1
        before = [before[1], token] if depth == 1 else ["", ""]
    if found is None or not (found.startswith('"') or _INTEGER.fullmatch(found)):
        return None
    try:
        value: int | str = json.loads(found)
        # A lone surrogate cannot be encoded in the response.
        str(value).encode()
    except ValueError:
        return None
    return value
