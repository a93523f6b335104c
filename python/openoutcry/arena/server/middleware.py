"""What stands before the framework: routes of a burst are plain ASGI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from openoutcry.arena.protocol import MOST_BODY, ArenaError
from openoutcry.arena.server.error_responses import on_fault, refused

Headers = list[tuple[bytes, bytes]]


class Answer(NamedTuple):
    """What a plain route answers; its length goes without saying."""

    status: int
    headers: Headers
    body: bytes


class Plain(ABC):
    """A route that reads and writes ASGI itself."""

    method: str

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        """Answer a request.

        Raises:
            ArenaError: it is refused.
        """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever comes of it."""
        try:
            status, headers, body = await self.answer(scope, receive)
        except ArenaError as error:
            await refused(error)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 whoever asks must be told
            await (await on_fault(Request(scope), error))(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})


class Front:
    """Takes plain routes out of what comes to an application.

    Args:
        app: What has all other routes, and these for other methods.
        routes: Plain ones, by their whole paths.
    """

    def __init__(self, app: ASGIApp, routes: Mapping[str, Plain]) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its route."""
        found = self._routes.get(scope["path"]) if scope["type"] == "http" else None
        is_plain = found is not None and scope["method"] == found.method
        await (found if found is not None and is_plain else self._app)(scope, receive, send)


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request; of those that come twice, the first."""
    return dict(reversed(list(scope["headers"])))


async def read_body(headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
    """Return the body of a request, by its headers.

    Raises:
        ArenaError: `payload_too_large`: it has more than 1 MiB.
    """
    wanted = f"a body of at most {MOST_BODY} bytes is required"
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length[:12]) > MOST_BODY:
        raise ArenaError("payload_too_large", f"{wanted}; received {int(length[:12])}")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ArenaError("invalid_payload", "a whole body is required; received a part of one")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BODY:
            raise ArenaError("payload_too_large", f"{wanted}; received more")
    return bytes(body)


def check_media(headers: Mapping[bytes, bytes]) -> None:
    """See that a body says to be JSON, or says nothing (R-30).

    Raises:
        ArenaError: `unsupported_media_type`.
    """
    told = headers.get(b"content-type", b"").decode("latin-1")
    kind = told.partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ArenaError("unsupported_media_type", f"application/json is required; received {told[:80]!r}")
