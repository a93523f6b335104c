"""Every refusal in the one form of the protocol (R-03)."""

from __future__ import annotations

import json
import logging

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.request_schema import wrong

_LOGGER = logging.getLogger("openoutcry.arena")
_CODES = {404: "not_found", 405: "method_not_allowed", 413: "payload_too_large", 415: "unsupported_media_type"}


def refused(error: ArenaError) -> Response:
    """Return the answer of a refusal."""
    headers = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, error.retry_after))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps(error.body(), ensure_ascii=False).encode()
    return Response(body, error.status, headers, media_type="application/json")


async def on_refusal(request: Request, error: Exception) -> Response:
    """Answer what a route has refused."""
    assert isinstance(error, ArenaError)
    return refused(error)


async def on_http(request: Request, error: Exception) -> Response:
    """Answer what the framework has refused: no such path, no such method."""
    assert isinstance(error, HTTPException)
    code, told = _CODES.get(error.status_code, "invalid_payload"), dict(error.headers or {})
    if code == "not_found":
        detail = f"a path that is served is required; received {request.url.path[:200]!r}"
    elif code == "method_not_allowed":
        allowed = {each.strip() for each in told.pop("Allow", "").split(",")}
        # What answers the one answers the other.
        told["Allow"] = ", ".join(sorted(allowed | {"HEAD"} if "GET" in allowed else allowed))
        detail = f"{told['Allow'].replace(', ', ' or ')} is required of this path; received {request.method}"
    else:
        detail = f"a request of the protocol is required; received one of status {error.status_code}"
    answer = refused(ArenaError(code, detail))
    answer.headers.update(told)
    return answer


async def on_query(request: Request, error: Exception) -> Response:
    """Answer a path or a query whose values no route takes."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # Where in a request it stands goes without saying.
    return refused(wrong(first | {"loc": first["loc"][1:]}))


async def on_fault(request: Request, error: Exception) -> Response:
    """Answer what nobody has foreseen; the server's log has it, without the body."""
    _LOGGER.error("fault at %s %s", request.method, request.url.path, exc_info=error)
    return refused(ArenaError("internal_error", "a request that this server can answer is required"))
