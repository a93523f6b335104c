"""Routes of the HTML pages, and error responses as pages for browsers."""

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
from openoutcry.arena.protocol import BASE, ArenaError, shown
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
    400: "Invalid address",
    401: "Invalid key",
    404: "Not found",
    429: "Too many requests",
    500: "Server error",
    503: "Not available yet",
}


def status_title(status: int) -> str:
    """Return the title of an error page."""
    return _TITLES.get(status) or HTTPStatus(status).phrase


class Pages:
    """Serves the HTML pages.

    Args:
        app: The application that gets the routes.
        arena: An open arena.
        settings: Settings of the server.
        authenticator: Authenticates and limits requests.
    """

    def __init__(self, app: FastAPI, arena: Arena, settings: Settings, authenticator: Authenticator) -> None:
        self._app, self._arena, self._settings, self._authenticator = app, arena, settings, authenticator
        self._assets = Assets()
        self._renderer = Renderer(self._assets)

    def add(self, boards: Boards, registry: Registry, cosignatures: Cosignatures) -> None:
        """Add the routes of all pages."""
        agents, markets = (
            AgentPages(self._arena.state, boards, self._settings),
            MarketPages(self._arena, self._settings),
        )
        log = LogPages(self._arena, self._settings, registry, cosignatures)
        self._page("/", "leaderboard", lambda request: agents.leaderboard(request.query_params))
        self._page("/agents/{slug}", "agent", lambda request: agents.profile(request.path_params["slug"]))
        self._page("/markets", "markets", lambda request: markets.markets(request.query_params))
        self._page(
            "/markets/{market_id}",
            "market",
            lambda request: markets.market(request.path_params["market_id"], request.query_params),
        )
        self._page("/snapshots", "snapshots", lambda request: markets.snapshots(request.query_params))
        self._page("/snapshots/{as_of}", "snapshot", lambda request: markets.snapshot(request.path_params["as_of"]))
        self._page("/registry", "registry", lambda request: log.days(request.query_params))
        self._page("/submissions/{name}", "submission", lambda request: log.submission(request.path_params["name"]))
        self._page("/first-agent", "first_agent", lambda request: markets.example() | {"vkey": str(registry.key)})
        self._page("/docs", "docs", lambda request: {"operations": operations_of(self._app.openapi())})

        async def find_agent(request: Request) -> Response:
            self._authenticator.admit(request)
            return RedirectResponse(agents.agent_address(request.query_params), 303)

        async def receipt(request: Request) -> Response:
            self._authenticator.admit(request)
            return JSONResponse(await run_in_threadpool(log.receipt, request.path_params["name"]))

        self._app.router.add_route("/agents", find_agent, ["GET"], include_in_schema=False)
        self._app.router.add_route("/submissions/{name}/receipt.json", receipt, ["GET"], include_in_schema=False)
        self._app.router.add_route(f"{PREFIX}{{file}}", self._asset, ["GET"], include_in_schema=False)

    def _page(self, path: str, template: str, context: PageContext) -> None:
        async def respond(request: Request) -> Response:
            self._authenticator.admit(request)
            return await run_in_threadpool(lambda: self._response(request, template, 200, context(request)))

        self._app.router.add_route(path, respond, ["GET"], include_in_schema=False)

    def _response(self, request: Request, template: str, status: int, context: dict[str, Any]) -> Response:
        latest, timestamp = self._arena.state.latest, self._settings.clock()
        common = {
            "path": request.url.path,
            "public": self._settings.public or str(request.base_url).rstrip("/"),
            "base": BASE,
            "now": timestamp,
            "latest": latest,
            "is_stale": latest is None or timestamp - latest > self._settings.stale_after,
            "stale_minutes": self._settings.stale_after // MINUTE,
        }
        return HTMLResponse(self._renderer.html(f"{template}.html", common | context), status, HEADERS)

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["file"]
        asset = self._assets.get(name)
        if asset is None:
            raise ArenaError("not_found", f"the name of a static file is required; received {shown(name)}")
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(asset[0], 200, headers, media_type=asset[1])

    def with_error_pages(self, otherwise: Handler) -> Handler:
        """Wrap an error handler so that browsers receive an HTML page.

        Args:
            otherwise: The handler; programs receive its response, and pages copy its status and headers.
        """

        async def respond(request: Request, error: Exception) -> Response:
            response = await otherwise(request, error)
            is_page = not request.url.path.startswith(f"{BASE}/") and request.method in ("GET", "HEAD")
            if not is_page or "text/html" not in request.headers.get("accept", ""):
                return response
            detail = error.detail if isinstance(error, ArenaError) else None
            status = response.status_code
            context = {"status": status, "title": status_title(status), "detail": detail}
            page = self._response(request, "error", status, context)
            for name in ("retry-after", "www-authenticate", "allow"):
                if name in response.headers:
                    page.headers[name] = response.headers[name]
            page.headers["cache-control"], page.headers["vary"] = "no-store", "Accept"
            return page

        return respond
