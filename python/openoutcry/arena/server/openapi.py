"""The OpenAPI document: FastAPI's own, fast routes, errors and security."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from openoutcry.arena.protocol import BASE
from openoutcry.arena.server import document_schemas, response_schemas
from openoutcry.arena.submission_schema import SubmissionBody
from openoutcry.arena.timestamps import ZONE

_MODELS: tuple[type[BaseModel], ...] = (
    SubmissionBody,
    response_schemas.Receipt,
    response_schemas.RegistrationBody,
    response_schemas.KeyBody,
    response_schemas.ErrorBody,
    response_schemas.NothingAccepted,
    document_schemas.IntelSnapshot,
)
_ERROR_CODES = {
    400: "invalid_payload",
    401: "bad_auth",
    403: "suspended",
    404: "not_found, unknown_snapshot or unknown_agent",
    409: "slug_taken or idempotency_conflict",
    410: "decision_cutoff_passed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "duplicate_market, stale_snapshot or invalid_registration",
    429: "rate_limited, with `Retry-After`",
    500: "internal_error",
    503: "snapshot_unavailable or unavailable, with `Retry-After`",
}
_WAIT = {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}}
_KEYED: list[dict[str, list[str]]] = [{"key": []}]
_PUBLIC: list[dict[str, list[str]]] = [{}, {"key": []}]


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application, generated once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _, schemas = models_json_schema([(each, "validation") for each in _MODELS], ref_template=_REF)
        components = document.setdefault("components", {})
        components.setdefault("schemas", {}).update(schemas["$defs"])
        # Schemas of FastAPI's own 422 response, which the server never returns.
        for name in ("HTTPValidationError", "ValidationError"):
            del components["schemas"][name]
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for name, operations in document["paths"].items():
            for method, operation in operations.items():
                _correct(name, method, operation)
        document["paths"] |= _fast_paths()
        app.openapi_schema = document
    return app.openapi_schema


_REF = "#/components/schemas/{model}"


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model.__name__)}}}


def _errors(*statuses: int, model: type[BaseModel] = response_schemas.ErrorBody) -> dict[str, Any]:
    """Return the error responses of the statuses, and of 500."""
    responses: dict[str, Any] = {}
    for status in (*statuses, 500):
        responses[str(status)] = {"description": _ERROR_CODES[status], "content": _schema(model)}
        if status in (429, 503):
            responses[str(status)]["headers"] = _WAIT
    return responses


def _correct(path: str, method: str, operation: dict[str, Any]) -> None:
    """Replace FastAPI's 422 response by the error responses of a route."""
    operation["responses"].pop("422", None)
    is_counted = path.startswith(BASE)
    statuses = [400, 401, 429] if is_counted else [400, 401, 413] if method == "post" else []
    if "{" in path:
        statuses.append(404)
    elif not is_counted and operation.get("parameters"):
        statuses.append(400)
    errors = _errors(*sorted(statuses))
    if not is_counted and method == "get":
        # A browser receives errors as HTML, except below the protocol's base path.
        for each in errors.values():
            each["content"] |= {"text/html": {"schema": {"type": "string"}}}
    operation["responses"] |= errors
    operation["security"] = _PUBLIC if is_counted else []


def _fast_paths() -> dict[str, Any]:
    as_of = {
        "name": "as_of",
        "in": "query",
        "required": False,
        "description": "Time of a published snapshot; the newest by default.",
        "schema": {"type": "string", "format": "date-time", "pattern": f"{ZONE}$"},
    }
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "Repeating a request with the same key returns the same response.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
    }
    intel = {
        "summary": "Return a snapshot; its bytes never change",
        "operationId": "intel",
        "parameters": [as_of],
        "security": _PUBLIC,
        "responses": {
            "200": {"description": "IntelSnapshot", "content": _schema(document_schemas.IntelSnapshot)},
            "304": {"description": "The client's copy is current."},
        }
        | _errors(400, 401, 404, 429, 503),
    }
    submit = _posting("Submit decisions", "submit", SubmissionBody, {"200": response_schemas.Receipt}, _KEYED)
    submit["parameters"] = [key]
    submit["responses"] |= _errors(401, 403, 404, 409, 413, 415, 429, 503)
    submit["responses"] |= _errors(400, 410, 422, model=response_schemas.NothingAccepted)
    register = _posting(
        "Register an agent", "register", response_schemas.RegistrationBody, {"201": response_schemas.KeyBody}, []
    )
    register["responses"] |= _errors(400, 409, 413, 415, 422, 429, 503)
    rotate = _posting(
        "Replace the API key; the old key is invalid at once", "rotate", None, {"200": response_schemas.KeyBody}, _KEYED
    )
    rotate["responses"] |= _errors(401, 429, 503)
    return {
        f"{BASE}/intel": {"get": intel},
        f"{BASE}/decisions": {"post": submit},
        f"{BASE}/register": {"post": register},
        f"{BASE}/keys/rotate": {"post": rotate},
    }


def _posting(
    summary: str,
    operation: str,
    body: type[BaseModel] | None,
    responses: dict[str, type[BaseModel]],
    security: list[dict[str, list[str]]],
) -> dict[str, Any]:
    post: dict[str, Any] = {
        "summary": summary,
        "operationId": operation,
        "security": security,
        "responses": {
            status: {"description": model.__doc__ or "", "content": _schema(model)}
            for status, model in responses.items()
        },
    }
    if body is not None:
        post["requestBody"] = {"required": True, "content": _schema(body)}
    return post
