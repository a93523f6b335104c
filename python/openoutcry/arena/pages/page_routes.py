"""The routes of the pages, and refusals as pages for those who read pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from openoutcry.arena.pages.agent_pages import AgentPages
from openoutcry.arena.pages.guide_pages import operations_of
from openoutcry.arena.pages.html_rendering import Renderer
from openoutcry.arena.pages.log_pages import LogPages
from openoutcry.arena.pages.market_pages import MarketPages
from openoutcry.arena.pages.static_assets import PREFIX, Assets
from openoutcry.arena.protocol import BASE, ArenaError
from openoutcry.arena.server.auth import Authenticator
from openoutcry.arena.server.board_cache import Boards
from openoutcry.arena.server.cosignatures import Cosignatures
from openoutcry.arena.server.registry_routes import Registry
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.timestamps import MINUTE

HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " object-src 'none'",
    "Referrer-Policy": "same-origin",
}

Handler = Callable[[Request, Exception], Awaitable[Response]]
PageContext = Callable[[Request], dict[str, Any]]


_TITLES = {
    400: "This address cannot be read",
    401: "This key is none",
    404: "Nothing is here",
    429: "Too many requests",
    500: "Something is broken here",
    503: "This is not there yet",
}


def status_title(status: int) -> str:
    """Return the words of a status for people."""
    return _TITLES.get(status) or HTTPStatus(status).phrase


class Pages:
    """Serves pages.

    Args:
        app: Whose routes they become.
        arena: Open.
        settings: What the server was told.
        door: Who may ask, and how often.
    """

    def __init__(self, app: FastAPI, arena: Arena, settings: Settings, authenticator: Authenticator) -> None:
        self._app, self._arena, self._settings, self._authenticator = app, arena, settings, authenticator
        self._assets = Assets()
        self._renderer = Renderer(self._assets)

    def add(self, boards: Boards, registry: Registry, cosigned: Cosignatures) -> None:
        """Add all routes."""
        agents, world = AgentPages(self._arena.state, boards, self._settings), MarketPages(self._arena, self._settings)
        logbook = LogPages(self._arena, self._settings, registry, cosigned)
        self._page("/", "leaderboard", lambda asked: agents.leaderboard(asked.query_params))
        self._page("/agents/{slug}", "agent", lambda asked: agents.profile(asked.path_params["slug"]))
        self._page("/markets", "markets", lambda asked: world.markets(asked.query_params))
        self._page(
            "/markets/{market_id}",
            "market",
            lambda asked: world.market(asked.path_params["market_id"], asked.query_params),
        )
        self._page("/snapshots", "snapshots", lambda asked: world.snapshots(asked.query_params))
        self._page("/snapshots/{as_of}", "snapshot", lambda asked: world.snapshot(asked.path_params["as_of"]))
        self._page("/registry", "registry", lambda asked: logbook.days(asked.query_params))
        self._page("/submissions/{name}", "submission", lambda asked: logbook.submission(asked.path_params["name"]))
        self._page("/first-agent", "first_agent", lambda asked: world.example() | {"vkey": str(registry.key)})
        self._page("/docs", "docs", lambda asked: {"operations": operations_of(self._app.openapi())})

        async def found(request: Request) -> Response:
            self._authenticator.admit(request)
            return RedirectResponse(agents.found(request.query_params), 303)

        async def receipt(request: Request) -> Response:
            self._authenticator.admit(request)
            return JSONResponse(await run_in_threadpool(logbook.receipt, request.path_params["name"]))

        self._app.router.add_route("/agents", found, ["GET"], include_in_schema=False)
        self._app.router.add_route("/submissions/{name}/receipt.json", receipt, ["GET"], include_in_schema=False)
        self._app.router.add_route(f"{PREFIX}{{named}}", self._asset, ["GET"], include_in_schema=False)

    def _page(self, path: str, template: str, telling: PageContext) -> None:
        async def answer(request: Request) -> Response:
            self._authenticator.admit(request)
            return await run_in_threadpool(lambda: self._answer(request, template, 200, telling(request)))

        self._app.router.add_route(path, answer, ["GET"], include_in_schema=False)

    def _answer(self, request: Request, template: str, status: int, told: dict[str, Any]) -> Response:
        latest, moment = self._arena.state.latest, self._settings.clock()
        about = {
            "path": request.url.path,
            "public": self._settings.public or str(request.base_url).rstrip("/"),
            "base": BASE,
            "now": moment,
            "latest": latest,
            "is_stale": latest is None or moment - latest > self._settings.stale_after,
            "stale_minutes": self._settings.stale_after // MINUTE,
        }
        return HTMLResponse(self._renderer.html(f"{template}.html", about | told), status, HEADERS)

    async def _asset(self, request: Request) -> Response:
        found = self._assets.get(request.path_params["named"])
        if found is None:
            raise ArenaError("not_found", "a file that the pages have is required; received another name")
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(found[0], 200, headers, media_type=found[1])

    def with_error_pages(self, otherwise: Handler) -> Handler:
        """Return what answers a refusal with a page to those who read pages (R-03).

        Args:
            otherwise: Answers programs, and tells status, headers and words.
        """

        async def answer(request: Request, error: Exception) -> Response:
            told = await otherwise(request, error)
            is_page = not request.url.path.startswith(f"{BASE}/") and request.method in ("GET", "HEAD")
            if not is_page or "text/html" not in request.headers.get("accept", ""):
                return told
            detail = error.detail if isinstance(error, ArenaError) else None
            words = {"status": told.status_code, "title": status_title(told.status_code), "detail": detail}
            page = self._answer(request, "refusal", told.status_code, words)
            for name in ("retry-after", "www-authenticate", "allow"):
                if name in told.headers:
                    page.headers[name] = told.headers[name]
            page.headers["cache-control"], page.headers["vary"] = "no-store", "Accept"
            return page

        return answer
