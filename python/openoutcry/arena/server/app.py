"""The application: every route, and the document that describes them."""

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
from openoutcry.arena.server.auth import Door
from openoutcry.arena.server.board_cache import Boards
from openoutcry.arena.server.cosignatures import Cosignatures
from openoutcry.arena.server.error_responses import on_fault, on_http, on_query, on_refusal
from openoutcry.arena.server.fast_routes import Intel, Submissions
from openoutcry.arena.server.market_routes import STATUSES, listed
from openoutcry.arena.server.middleware import Front, Plain, headers_of, read_body
from openoutcry.arena.server.openapi import described
from openoutcry.arena.server.registration_routes import Registrations, Rotations
from openoutcry.arena.server.registry_routes import Registry
from openoutcry.arena.server.server_settings import Forward, Settings
from openoutcry.arena.store.arena_store import COSIGNATURES, Arena
from openoutcry.arena.timestamps import ALL

MOST_ROWS = 500
_SEASON = Query(
    description="A quarter such as `2026Q2`, or all.", json_schema_extra={"pattern": f"^({ALL}|[0-9]{{4}}Q[1-4])$"}
)
_TEXT = {"schema": {"type": "string"}}
_PROOF: dict[int | str, dict[str, Any]] = {200: {"model": document_schemas.ProofBody, "content": {"text/plain": _TEXT}}}
_BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


def app_of(arena: Arena, settings: Settings = Settings()) -> FastAPI:  # noqa: B008 it cannot change
    """Return the application of an arena, for any ASGI server.

    Args:
        arena: Open.
        settings: What the server is told.
    """
    settings = replace(settings, clock=Forward(settings.clock))
    door = Door(settings, arena.state)
    app = FastAPI(title="OpenOutcry Arena", version=PROTOCOL_VERSION, docs_url=None, redoc_url=None)
    app.description = "What answers GET answers HEAD, too, without a body."
    pages = Pages(app, arena, settings, door)
    app.add_exception_handler(ArenaError, pages.refusing(on_refusal))
    app.add_exception_handler(HTTPException, pages.refusing(on_http))
    app.add_exception_handler(RequestValidationError, pages.refusing(on_query))
    app.add_exception_handler(Exception, pages.refusing(on_fault))
    # What a burst asks for is read and written without the framework, which has these routes for other methods.
    plain: dict[str, Plain] = {
        f"{BASE}/decisions": Submissions(settings, arena.state, door, arena.writer),
        f"{BASE}/intel": Intel(settings, arena.state, door, arena.reading),
    }
    for path, route in plain.items():
        app.router.add_route(path, route, [route.method])  # type: ignore[arg-type]
    whole = app.build_middleware_stack
    app.build_middleware_stack = lambda: _as_told(Front(whole(), plain))  # type: ignore[method-assign]
    app.router.add_route(f"{BASE}/register", Registrations(settings, door, arena.writer).answer, ["POST"])
    app.router.add_route(f"{BASE}/keys/rotate", Rotations(settings, door, arena.writer).answer, ["POST"])
    _add_markets(app, arena, settings, door)
    boards, registry = Boards(arena, settings), Registry(arena, settings)
    _add_agents(app, arena, boards, door)
    _add_registry(app, registry)
    held = Cosignatures(arena.folder / COSIGNATURES, arena.key, settings.witnesses)
    pages.add(boards, registry, held)
    _add_cosignatures(app, held, registry)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def _as_told(app: ASGIApp) -> ASGIApp:
    """Return an application whose answers are taken for what they say to be.

    What answers GET answers HEAD with the same, but the body (RFC 9110, 9.3.2).
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
            elif is_head:
                message["body"] = b""
            await send(message)

        await app({**scope, "method": "GET"} if is_head else scope, receive, sent)

    return answer


def _add_markets(app: FastAPI, arena: Arena, settings: Settings, door: Door) -> None:
    @app.get(f"{BASE}/markets", response_model=None, responses={200: {"model": response_schemas.MarketsBody}})
    async def markets(
        request: Request,
        status: Annotated[str, Query(json_schema_extra={"enum": list(STATUSES)})] = "open",
        theater: Annotated[str | None, Query(description="Those of one region.")] = None,
    ) -> Response:
        """Return markets by their cutoffs."""
        door.admitted(request)
        found = await run_in_threadpool(listed, arena.state, arena.reading, status, theater, settings.clock())
        return JSONResponse(found)


def _add_agents(app: FastAPI, arena: Arena, boards: Boards, door: Door) -> None:
    @app.get(f"{BASE}/leaderboard", response_model=None, responses={200: {"model": document_schemas.LeaderboardBody}})
    async def leaderboard(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50,
        cursor: Annotated[int, Query(ge=0, description="`next_cursor` of the page before.")] = 0,
        theater: Annotated[Theater | None, Query(description="The board of one region.")] = None,
        season: Annotated[str, _SEASON] = ALL,
        min_n: Annotated[int, Query(ge=0, description="Agents with so many scored decisions at least.")] = 0,
    ) -> dict[str, Any]:
        """Return agents by skill."""
        door.admitted(request)
        found = await run_in_threadpool(boards.board, theater, season)
        return boards.leaderboard(found, season, min_n, range(cursor, cursor + limit))

    @app.get(f"{BASE}/agents/{{slug}}", response_model=None, responses={200: {"model": document_schemas.AgentBody}})
    async def agent(request: Request, slug: str) -> Response:
        """Return an agent, its scores and its newest submissions."""
        owner = door.admitted(request)
        known = slug_of(slug) or slug[:64]
        is_owner = owner is not None and owner.slug == known
        told = await run_in_threadpool(boards.profile, known, is_owner=is_owner)
        # The owner is told what nobody else may know: no cache may hand it on.
        headers = {"Cache-Control": "no-store" if is_owner else "no-cache", "Vary": "Authorization"}
        return JSONResponse(told, headers=headers)


def _add_registry(app: FastAPI, registry: Registry) -> None:
    @app.get("/registry/vkey", response_class=PlainTextResponse)
    async def vkey() -> str:
        """Return the key that checkpoints are verified by."""
        return f"{registry.key}\n"

    @app.get("/registry/checkpoint", response_class=PlainTextResponse)
    async def checkpoint() -> str:
        """Return the newest checkpoint, a signed note."""
        return registry.checkpoint

    @app.get("/registry/tile/{path:path}", response_class=Response, responses=_BINARY)
    async def tile(path: str) -> Response:
        """Return a tile of hashes, or a bundle of records."""
        content = await run_in_threadpool(registry.tile, path)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, headers=headers, media_type="application/octet-stream")

    @app.get("/registry/proof/{submission_id}", responses=_PROOF)
    async def proof(request: Request, submission_id: str) -> Response:
        """Return the proof of a submission, as JSON or as the text `tlog-proof`."""
        found, record, opened = await run_in_threadpool(registry.proof, submission_id)
        if request.headers.get("accept", "").startswith("text/plain"):
            return PlainTextResponse(found.text(), headers={"Vary": "Accept"})
        told = {"record": record.decode(), "salts": opened, **found.members()}
        return JSONResponse(told, headers={"Vary": "Accept"})

    @app.get("/registry/consistency", response_model=None, responses={200: {"model": document_schemas.ConsistencyBody}})
    async def consistency(
        old: Annotated[int, Query(alias="from", json_schema_extra={"minimum": 1})], to: int
    ) -> dict[str, Any]:
        """Return the proof that one size of the log begins another."""
        return {"from": old, "to": to, "proof": await run_in_threadpool(registry.consistency, old, to)}


def _add_cosignatures(app: FastAPI, held: Cosignatures, registry: Registry) -> None:
    answers: dict[int | str, dict[str, Any]] = {
        status: {"model": response_schemas.ErrorBody} for status in (400, 401, 413)
    }
    answers[200] = {"model": document_schemas.CosignedBody}

    @app.post(
        "/registry/cosignatures",
        response_model=None,
        responses=answers,
        openapi_extra={"requestBody": {"required": True, "content": {"text/plain": _TEXT}}},
    )
    async def cosign(request: Request) -> dict[str, int]:
        """Take the newest checkpoint with the cosignature of a known witness."""
        note = await read_body(headers_of(request.scope), request.receive)
        found = await run_in_threadpool(held.add, note, registry.has)
        return {"tree_size": found.size}

    @app.get("/registry/cosignatures/{key_id}", response_class=PlainTextResponse)
    async def cosigned(key_id: str) -> str:
        """Return the newest checkpoint that a witness has cosigned, by the ID of its key."""
        return await run_in_threadpool(held.__getitem__, key_id)
