"""The application: every route, and the document that describes them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from openoutcry.arena.decisions import SubmissionBody, path_of
from openoutcry.arena.protocol import BASE, PROTOCOL_VERSION, ArenaError
from openoutcry.arena.server import bodies
from openoutcry.arena.server.asking import Door
from openoutcry.arena.server.hot import Intel, Submissions
from openoutcry.arena.server.listing import listed
from openoutcry.arena.server.refusing import on_fault, on_http, on_refusal, refused
from openoutcry.arena.server.registering import Registrations, Rotations
from openoutcry.arena.server.settings import Settings
from openoutcry.arena.store.arena import Arena


def app_of(arena: Arena, settings: Settings = Settings()) -> FastAPI:  # noqa: B008 it cannot change
    """Return the application of an arena, for any ASGI server.

    Args:
        arena: Open.
        settings: What the server is told.
    """
    door = Door(settings, arena.state)
    app = FastAPI(title="OpenOutcry Arena", version=PROTOCOL_VERSION, docs_url=None, redoc_url=None)
    app.add_exception_handler(ArenaError, on_refusal)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, _on_query)
    app.add_exception_handler(Exception, on_fault)
    # Plain routes: what a burst asks for is read and written without the framework.
    app.router.add_route(f"{BASE}/decisions", Submissions(settings, arena.state, door, arena.writer), ["POST"])
    app.router.add_route(f"{BASE}/intel", Intel(settings, arena.state, door, arena.reading), ["GET"])
    app.router.add_route(f"{BASE}/register", Registrations(settings, door, arena.writer), ["POST"])
    app.router.add_route(f"{BASE}/keys/rotate", Rotations(settings, door, arena.writer), ["POST"])
    _add_markets(app, arena, settings, door)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _add_markets(app: FastAPI, arena: Arena, settings: Settings, door: Door) -> None:
    @app.get(f"{BASE}/markets", response_model=bodies.MarketsBody, responses=_errors(400, 401, 429))
    async def markets(
        request: Request,
        status: Annotated[str, Query(description="`open`, `closed` or `settled`.")] = "open",
        theater: Annotated[str | None, Query(description="Those of one region.")] = None,
    ) -> Response:
        """Return markets by their cutoffs."""
        door.admitted(request)
        found = await run_in_threadpool(listed, arena.state, arena.reading, status, theater, settings.clock())
        return JSONResponse(found)
