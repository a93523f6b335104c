"""Lines of a client that are no request, which are answered all the same.

The package's reader hands on what it cannot read, and nobody answers that: a client would wait for its own timeout.
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

_LOG = logging.getLogger(__name__)

# A string that does not end is one token, too: looked for anew from each quote in it, its end would take for ever.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_WHOLE = re.compile(r"-?[0-9]{1,18}")

Read = SessionMessage | Exception


async def pass_on(read: AsyncIterable[Read], write: Any, requests: MemoryObjectSendStream[Read]) -> None:
    """Pass on what is a message, and answer what is none."""
    async with requests:
        async for item in read:
            try:
                await (write.send(answer_to(item)) if isinstance(item, Exception) else requests.send(item))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # The server has ended before its client.
                return


def answer_to(error: Exception) -> SessionMessage:
    """Return the answer to a line that was refused with an error."""
    found = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    is_json = bool(found) and found[0]["type"] != "json_invalid"
    reason = found[0]["msg"] if found and not is_json else "JSON that is none" if is_json else type(error).__name__
    message = f"a line must be a request of JSON-RPC; received {reason}"
    _LOG.warning("a line of the client was refused: %s", message)
    told = types.ErrorData(code=types.INVALID_REQUEST if is_json else types.PARSE_ERROR, message=message)
    try:
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=_id(found), error=told))
    except ValidationError:
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=told))


def _id(found: list[Any]) -> Any:
    for each in found:
        if each["type"] == "json_invalid":
            return id_of(each["input"])
        # What lacks a field of a message is the message; a field of a field has a longer place.
        if each["type"] == "missing" and len(each["loc"]) == 2:
            return each["input"].get("id")
    return None


def id_of(line: str) -> int | str | None:
    """Return the id of a request that a reader of JSON refuses.

    It may be too deep, or hold too long a number, or half an emoji.
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
    if found is None or not (found.startswith('"') or _WHOLE.fullmatch(found)):
        return None
    try:
        value: int | str = json.loads(found)
        # Half a pair cannot be written back.
        str(value).encode()
    except ValueError:
        return None
    return value
