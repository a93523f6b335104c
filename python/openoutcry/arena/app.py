"""The FastAPI application of the Arena: its routes and their OpenAPI document."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openoutcry.arena.pages.page_routes import Pages
from openoutcry.arena.protocol import BASE, PROTOCOL_VERSION, ArenaError, Theater, slug_of
from openoutcry.arena.server import document_schemas, response_schemas
from openoutcry.arena.server.auth import Authenticator
from openoutcry.arena.server.board_cache import Boards
from openoutcry.arena.server.cosignatures import Cosignatures
from openoutcry.arena.server.error_responses import (
    on_arena_error,
    on_http_error,
    on_unexpected_error,
    on_validation_error,
)
from openoutcry.arena.server.fast_routes import Intel, Submissions
from openoutcry.arena.server.market_routes import STATUSES, list_markets
from openoutcry.arena.server.middleware import FastRoute, FastRouteMiddleware, first_headers, read_body
from openoutcry.arena.server.openapi import openapi_document
from openoutcry.arena.server.registration_routes import Registrations, Rotations
from openoutcry.arena.server.registry_routes import Registry
from openoutcry.arena.server.server_settings import MonotonicClock, Settings
from openoutcry.arena.store.arena_store import COSIGNATURES, Arena
from openoutcry.arena.timestamps import ALL

MAX_ROWS = 500
_SEASON = Query(
    description="A quarter such as `2026Q2`, or all.", json_schema_extra={"pattern": f"^({ALL}|[0-9]{{4}}Q[1-4])$"}
)
_TEXT = {"schema": {"type": "string"}}
_PROOF: dict[int | str, dict[str, Any]] = {200: {"model": document_schemas.ProofBody, "content": {"text/plain": _TEXT}}}
_BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


def create_app(arena: Arena, settings: Settings = Settings()) -> FastAPI:  # noqa: B008 it cannot change
    """Create the ASGI application of an arena.

        Args:
    arena: An open arena.
            settings: Rate limits, public address, proxies and witnesses.
    """
    settings = replace(settings, clock=MonotonicClock(settings.clock))
    authenticator = Authenticator(settings, arena.state)
    app = FastAPI(title="OpenOutcry Arena", version=PROTOCOL_VERSION, docs_url=None, redoc_url=None)
    app.description = "Every path that supports GET also supports HEAD, which returns the headers without a body."
    pages = Pages(app, arena, settings, authenticator)
    app.add_exception_handler(ArenaError, pages.with_error_pages(on_arena_error))
    app.add_exception_handler(HTTPException, pages.with_error_pages(on_http_error))
    app.add_exception_handler(RequestValidationError, pages.with_error_pages(on_validation_error))
    app.add_exception_handler(Exception, pages.with_error_pages(on_unexpected_error))
    # These two routes receive most requests, so they bypass FastAPI. Other methods on their paths still reach it.
    fast_routes: dict[str, FastRoute] = {
        f"{BASE}/decisions": Submissions(settings, arena.state, authenticator, arena.writer),
        f"{BASE}/intel": Intel(settings, arena.state, authenticator, arena.reading),
    }
    for path, route in fast_routes.items():
        app.router.add_route(path, route, [route.method])  # type: ignore[arg-type]
    build_stack = app.build_middleware_stack
    app.build_middleware_stack = lambda: _with_common_headers(FastRouteMiddleware(build_stack(), fast_routes))  # type: ignore[method-assign]
    app.router.add_route(f"{BASE}/register", Registrations(settings, authenticator, arena.writer).respond, ["POST"])
    app.router.add_route(f"{BASE}/keys/rotate", Rotations(settings, authenticator, arena.writer).respond, ["POST"])
    _add_markets(app, arena, settings, authenticator)
    boards, registry = Boards(arena, settings), Registry(arena, settings)
    _add_agents(app, arena, boards, authenticator)
    _add_registry(app, registry)
    cosignatures = Cosignatures(arena.folder / COSIGNATURES, arena.key, settings.witnesses)
    pages.add(boards, registry, cosignatures)
    _add_cosignatures(app, cosignatures, registry)
    app.openapi = lambda: openapi_document(app)  # type: ignore[method-assign]
    return app


def _with_common_headers(app: ASGIApp) -> ASGIApp:
    """Add `nosniff` to every response, and serve HEAD as GET without a body.

    Source: RFC 9110, 9.3.2.
    """

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"

        async def send_adjusted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
            elif is_head:
                message["body"] = b""
            await send(message)

        await app({**scope, "method": "GET"} if is_head else scope, receive, send_adjusted)

    return respond


def _add_markets(app: FastAPI, arena: Arena, settings: Settings, authenticator: Authenticator) -> None:
    @app.get(f"{BASE}/markets", response_model=None, responses={200: {"model": response_schemas.MarketsBody}})
    async def markets(
        request: Request,
        status: Annotated[str, Query(json_schema_extra={"enum": list(STATUSES)})] = "open",
        theater: Annotated[str | None, Query(description="Only markets of this region.")] = None,
    ) -> Response:
        """List markets, ordered by cutoff."""
        authenticator.admit(request)
        body = await run_in_threadpool(list_markets, arena.state, arena.reading, status, theater, settings.clock())
        return JSONResponse(body)


def _add_agents(app: FastAPI, arena: Arena, boards: Boards, authenticator: Authenticator) -> None:
    @app.get(f"{BASE}/leaderboard", response_model=None, responses={200: {"model": document_schemas.LeaderboardBody}})
    async def leaderboard(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=MAX_ROWS)] = 50,
        cursor: Annotated[int, Query(ge=0, description="`next_cursor` of the previous page.")] = 0,
        theater: Annotated[Theater | None, Query(description="Leaderboard of one region.")] = None,
        season: Annotated[str, _SEASON] = ALL,
        min_n: Annotated[int, Query(ge=0, description="Only agents with at least this many scored decisions.")] = 0,
    ) -> dict[str, Any]:
        """Rank agents by skill."""
        authenticator.admit(request)
        board = await run_in_threadpool(boards.board, theater, season)
        return boards.leaderboard(board, season, min_n, range(cursor, cursor + limit))

    @app.get(f"{BASE}/agents/{{slug}}", response_model=None, responses={200: {"model": document_schemas.AgentBody}})
    async def agent(request: Request, slug: str) -> Response:
        """Return an agent with its scores and its newest submissions."""
        owner = authenticator.admit(request)
        name = slug_of(slug) or slug[:64]
        is_owner = owner is not None and owner.slug == name
        body = await run_in_threadpool(boards.profile, name, is_owner=is_owner)
        # The owner's response contains decisions that are still secret, so no cache may store it.
        headers = {"Cache-Control": "no-store" if is_owner else "no-cache", "Vary": "Authorization"}
        return JSONResponse(body, headers=headers)


def _add_registry(app: FastAPI, registry: Registry) -> None:
    @app.get("/registry/vkey", response_class=PlainTextResponse)
    async def vkey() -> str:
        """Return the public key that verifies checkpoints."""
        return f"{registry.key}\n"

    @app.get("/registry/checkpoint", response_class=PlainTextResponse)
    async def checkpoint() -> str:
        """Return the newest checkpoint as a C2SP signed note."""
        return registry.checkpoint

    @app.get("/registry/tile/{path:path}", response_class=Response, responses=_BINARY)
    async def tile(path: str) -> Response:
        """Return a tile of hashes or a bundle of records (C2SP tlog-tiles)."""
        content = await run_in_threadpool(registry.tile, path)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, headers=headers, media_type="application/octet-stream")

    @app.get("/registry/proof/{submission_id}", responses=_PROOF)
    async def proof(request: Request, submission_id: str) -> Response:
        """Return the inclusion proof of a submission, as JSON or as `tlog-proof` text."""
        inclusion, record, opened = await run_in_threadpool(registry.proof, submission_id)
        if request.headers.get("accept", "").startswith("text/plain"):
            return PlainTextResponse(inclusion.text(), headers={"Vary": "Accept"})
        body = {"record": record.decode(), "salts": opened, **inclusion.members()}
        return JSONResponse(body, headers={"Vary": "Accept"})

    @app.get("/registry/consistency", response_model=None, responses={200: {"model": document_schemas.ConsistencyBody}})
    async def consistency(
        old: Annotated[int, Query(alias="from", json_schema_extra={"minimum": 1})], to: int
    ) -> dict[str, Any]:
        """Return the consistency proof between two sizes of the log."""
        return {"from": old, "to": to, "proof": await run_in_threadpool(registry.consistency, old, to)}


def _add_cosignatures(app: FastAPI, cosignatures: Cosignatures, registry: Registry) -> None:
    responses: dict[int | str, dict[str, Any]] = {
        status: {"model": response_schemas.ErrorBody} for status in (400, 401, 413)
    }
    responses[200] = {"model": document_schemas.CosignedBody}

    @app.post(
        "/registry/cosignatures",
        response_model=None,
        responses=responses,
        openapi_extra={"requestBody": {"required": True, "content": {"text/plain": _TEXT}}},
    )
    async def cosign(request: Request) -> dict[str, int]:
        """Store a checkpoint that a known witness has cosigned."""
        note = await read_body(first_headers(request.scope), request.receive)
        checkpoint = await run_in_threadpool(cosignatures.add, note, registry.has)
        return {"tree_size": checkpoint.size}

    @app.get("/registry/cosignatures/{key_id}", response_class=PlainTextResponse)
    async def cosigned(key_id: str) -> str:
        """Return the newest checkpoint that a witness has cosigned, by its key ID."""
        return await run_in_threadpool(cosignatures.__getitem__, key_id)
