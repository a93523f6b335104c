"""ASGI middleware that serves the fast routes without FastAPI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from openoutcry.arena.protocol import MAX_BODY_BYTES, ArenaError
from openoutcry.arena.server.error_responses import error_response, on_unexpected_error

Headers = list[tuple[bytes, bytes]]


class RawResponse(NamedTuple):
    """Response of a fast route; `headers` include the content length."""

    status: int
    headers: Headers
    body: bytes


class FastRoute(ABC):
    """A route that reads and writes ASGI messages directly."""

    method: str

    @abstractmethod
    async def respond(self, scope: Scope, receive: Receive) -> RawResponse:
        """Respond to a request.

        Raises:
            ArenaError: the request is refused.
        """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request, with an error response if it fails."""
        try:
            status, headers, body = await self.respond(scope, receive)
        except ArenaError as error:
            await error_response(error)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 the client needs a response
            await (await on_unexpected_error(Request(scope), error))(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})


class FastRouteMiddleware:
    """Sends requests of fast routes to them, and all others to the application.

    Args:
        app: The application that serves all other requests.
        routes: Fast routes by their full paths.
    """

    def __init__(self, app: ASGIApp, routes: Mapping[str, FastRoute]) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Dispatch a request."""
        route = self._routes.get(scope["path"]) if scope["type"] == "http" else None
        is_fast = route is not None and scope["method"] == route.method
        await (route if route is not None and is_fast else self._app)(scope, receive, send)


def first_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request; the first value of a repeated header wins."""
    return dict(reversed(list(scope["headers"])))


async def read_body(headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
    """Read the body of a request.

    Raises:
        ArenaError: `payload_too_large`: the body exceeds 1 MiB. `invalid_payload`: the client disconnected.
    """
    wanted = f"a body of at most {MAX_BODY_BYTES} bytes is required"
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length[:12]) > MAX_BODY_BYTES:
        raise ArenaError("payload_too_large", f"{wanted}; received {int(length[:12])}")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ArenaError("invalid_payload", "a complete body is required; received a part of one")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise ArenaError("payload_too_large", f"{wanted}; received more")
    return bytes(body)


def check_content_type(headers: Mapping[bytes, bytes]) -> None:
    """Check that the content type of a body is JSON or absent.

    Raises:
        ArenaError: `unsupported_media_type`.
    """
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    kind = content_type.partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ArenaError("unsupported_media_type", f"application/json is required; received {content_type[:80]!r}")
