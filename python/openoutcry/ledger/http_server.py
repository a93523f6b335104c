"""Read-only web service of a ledger.

Needs `openoutcry[server]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openoutcry.ledger.http_client import PATH
from openoutcry.ledger.ledger_store import Ledger
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from fastapi import FastAPI

PORT = 8321


def app_of(ledger: Ledger) -> FastAPI:
    """Return the ASGI application of a ledger.

    `GET /api/v1/paper-runs/compare?ids=a,b` returns a JSON array of summaries in the requested order, without
    duplicates. The header `X-Missing-Ids` lists unknown IDs. More than 50 IDs or an invalid one return status 400.
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
        return JSONResponse([_body(each) for each in found], headers=headers)

    # FastAPI cannot resolve the string annotation of a name that is local to this function.
    compare.__annotations__ = {"ids": str, "return": JSONResponse}
    app.get(PATH, response_model=None)(compare)
    return app


def _body(summary: RunMetricsSummary) -> dict[str, Any]:
    """Return the fields that are not None, with the recorded reasons of the others."""
    stated = summary.stated()
    return summary.to_json() | ({"undefined": stated} if stated else {})


def serve(ledger: Ledger, host: str = "127.0.0.1", port: int = PORT) -> None:
    """Serve a ledger until interrupted."""
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[server]`", name=error.name) from error
    uvicorn.run(app_of(ledger), host=host, port=port, log_level="warning")
