"""A ledger as a web service, which is read only.

Needs `openoutcry[server]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openoutcry.ledger.http_client import PATH
from openoutcry.ledger.ledger_store import Ledger
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from fastapi import FastAPI

PORT = 8321


def app_of(ledger: Ledger) -> FastAPI:
    """Return the application of a ledger, for any ASGI server.

    `GET /api/v1/paper-runs/compare?ids=a,b`: a JSON array of summaries in the order asked for, each once. Ids that are
    not there are named in the header `X-Missing-Ids`. 400 for more than 50, or what is no UUID.
    """
    try:
        from fastapi import FastAPI
        from fastapi.responses import JSONResponse
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[server]`", name=error.name) from error
    app = FastAPI(title="OpenOutcry run ledger", docs_url=None, redoc_url=None, openapi_url=None)

    def compare(ids: str = "") -> JSONResponse:
        try:
            found, missing = ledger.compare(ids.split(",") if ids else [])
        except OpenOutcryError as error:
            return JSONResponse({"error": error.slug, "message": str(error)}, status_code=400)
        headers = {"X-Missing-Ids": ",".join(missing)} if missing else {}
        return JSONResponse([each.to_json() for each in found], headers=headers)

    # Annotations are texts here, and this one names what only this function knows.
    compare.__annotations__ = {"ids": str, "return": JSONResponse}
    app.get(PATH, response_model=None)(compare)
    return app


def serve(ledger: Ledger, host: str = "127.0.0.1", port: int = PORT) -> None:
    """Serve a ledger until it is interrupted."""
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[server]`", name=error.name) from error
    uvicorn.run(app_of(ledger), host=host, port=port, log_level="warning")
