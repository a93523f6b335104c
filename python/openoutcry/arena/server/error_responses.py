"""Error responses in the protocol's JSON form."""

from __future__ import annotations

import json
import logging

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from openoutcry.arena.protocol import UNPROCESSABLE, ArenaError
from openoutcry.arena.request_schema import validation_error
from openoutcry.untrusted.terminal import readable

_LOGGER = logging.getLogger("openoutcry.arena")
_CODES = {404: "not_found", 405: "method_not_allowed", 413: "payload_too_large", 415: "unsupported_media_type"}


def error_response(error: ArenaError) -> Response:
    """Return the HTTP response of an error."""
    headers = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, error.retry_after))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps(error.body(), ensure_ascii=False).encode()
    return Response(body, error.status, headers, media_type="application/json")


async def on_arena_error(request: Request, error: Exception) -> Response:
    """Respond to an `ArenaError` of a route."""
    assert isinstance(error, ArenaError)
    return error_response(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Respond to an error of the framework, such as an unknown path or method."""
    assert isinstance(error, HTTPException)
    code, headers = _CODES.get(error.status_code, "invalid_payload"), dict(error.headers or {})
    if code == "not_found":
        detail = f"a path of this server is required; received {request.url.path[:200]!r}"
    elif code == "method_not_allowed":
        allowed = {each.strip() for each in headers.pop("Allow", "").split(",")}
        # Every GET route also serves HEAD.
        headers["Allow"] = ", ".join(sorted(allowed | {"HEAD"} if "GET" in allowed else allowed))
        detail = f"{headers['Allow'].replace(', ', ' or ')} is required for this path; received {request.method}"
    else:
        detail = f"a valid request is required; received one with status {error.status_code}"
    response = error_response(ArenaError(code, detail))
    response.headers.update(headers)
    return response


async def on_validation_error(request: Request, error: Exception) -> Response:
    """Respond to invalid path or query parameters."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # The first part of `loc` is only "path" or "query".
    return error_response(validation_error(first | {"loc": first["loc"][1:]}))


async def on_unexpected_error(request: Request, error: Exception) -> Response:
    """Respond to an unexpected exception, which is logged without the request body."""
    _LOGGER.error("unexpected error at %s", readable(f"{request.method} {request.url.path}"), exc_info=error)
    return error_response(ArenaError("internal_error", UNPROCESSABLE))
