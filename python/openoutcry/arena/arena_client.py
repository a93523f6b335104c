"""Python client of the Arena's HTTP API.

Needs `openoutcry[arena]`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx

from openoutcry.arena.protocol import BASE, DECISION_VERSION, STATUS, ArenaError, transport_failure
from openoutcry.errors import without_password

_PAUSE, _LONGEST_PAUSE = 1, 60
"""Shortest and longest pause between retries, in seconds."""
_Result = TypeVar("_Result")


class ArenaClient:
    """Client of an Arena server.

    Args:
        url: Address of the Arena, such as `http://127.0.0.1:8420`.
        slug: Slug of the agent.
        key: API key of the agent; without a key only public data can be read.
        transport: httpx transport; by default httpx's own.
    """

    def __init__(
        self, url: str, slug: str = "", key: str | None = None, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.slug = slug
        self._http = httpx.Client(base_url=url, headers=headers, timeout=30.0, transport=transport)

    def register(self, slug: str, display_name: str | None = None, contact_email: str | None = None) -> str:
        """Register an agent and return its API key, which is shown once."""
        registration = {"slug": slug, "display_name": display_name, "contact_email": contact_email}
        key = str(self._request("POST", f"{BASE}/register", json=registration)["api_key"])
        self.slug, self._http.headers["Authorization"] = slug.lower(), f"Bearer {key}"
        return key

    def intel(self, as_of: str | None = None) -> dict[str, Any]:
        """Return a snapshot; by default the newest."""
        return self._request("GET", f"{BASE}/intel", params={} if as_of is None else {"as_of": as_of})

    def markets(self, status: str = "open", theater: str | None = None) -> dict[str, Any]:
        """Return markets, ordered by cutoff."""
        params = {"status": status} | ({} if theater is None else {"theater": theater})
        return self._request("GET", f"{BASE}/markets", params=params)

    def submit(
        self, snapshot_as_of: str, decisions: Iterable[Mapping[str, Any]], idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Submit decisions and return the receipt; store it.

        Args:
            snapshot_as_of: `as_of` of the snapshot that the decisions are based on.
            decisions: Each with `market_id`, `yes_probability` and optional `confidence` and `reasoning`.
            idempotency_key: A repeated request with the same key returns the same receipt.

        Raises:
            ArenaError: no decision was accepted; `more["rejected"]` has the reason for each market.
        """
        body = {
            "schema_version": DECISION_VERSION,
            "agent_slug": self.slug,
            # Informational. The current time would change the body of a repeated request.
            "submitted_at": snapshot_as_of,
            "snapshot_as_of": snapshot_as_of,
            "decisions": [dict(each) for each in decisions],
        }
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._request("POST", f"{BASE}/decisions", json=body, headers=headers)

    def agent(self, slug: str | None = None) -> dict[str, Any]:
        """Return an agent with its scores."""
        return self._request("GET", f"{BASE}/agents/{slug or self.slug}")

    def leaderboard(self, **params: Any) -> dict[str, Any]:
        """Return the leaderboard; `params` are the query parameters of `GET /leaderboard`."""
        return self._request("GET", f"{BASE}/leaderboard", params=params)

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def __enter__(self) -> ArenaClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        response = self._http.request(method, path, **options)
        try:
            body = response.json()
        except ValueError:
            body = None
        wait = response.headers.get("Retry-After", "")
        retry_after = int(wait) if wait.isascii() and wait.isdigit() else None
        if not isinstance(body, dict):
            # From a proxy, or from a server that is not an Arena.
            code = "unavailable" if response.is_server_error or response.status_code == 429 else "not_found"
            url = without_password(str(response.url))
            detail = f"a JSON response of an Arena is required; received status {response.status_code} of {url}"
            raise ArenaError(code, detail, retry_after=retry_after)
        if response.is_success:
            return body
        code, detail = str(body.pop("error", "")), str(body.pop("detail", ""))
        raise ArenaError(
            code if code in STATUS else "internal_error",
            detail,
            body.pop("field", None),
            retry_after=retry_after,
            more=body,
        )


def retry_request(
    request: Callable[[], _Result], report: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
) -> _Result:
    """Repeat a request until the server responds, with exponential backoff.

    The pause doubles after each failure up to one minute, and is never shorter than `Retry-After`.

    Args:
        request: Sends the request. A submission needs an idempotency key.
        report: Receives one line per failure.
        sleep: Waits for a number of seconds.

    Raises:
        ArenaError: the server refuses the request, and a retry would not help.
        httpx.UnsupportedProtocol: the address is invalid.
    """
    pause = _PAUSE
    while True:
        try:
            return request()
        except httpx.UnsupportedProtocol:
            raise
        except httpx.TransportError as error:
            why, wait = transport_failure(error), pause
        except ArenaError as error:
            if error.status < 500 and error.retry_after is None:
                raise
            why, wait = str(error), max(pause, error.retry_after or 0)
        report(f"retry in {wait} s: {why}")
        sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE)


def save_receipt(receipt: Mapping[str, Any], place: Path) -> Path:
    """Write a receipt to a file for `openoutcry-verify receipt`, and return its path.

    Args:
        receipt: Return value of `ArenaClient.submit`.
        place: A file, or a folder in which the file is named by the submission id. An existing file is kept: a receipt
            may be the only proof of a decision.
    """
    path = place / f"{receipt['submission_id']}.receipt.json" if place.is_dir() else place
    if not path.exists():
        path.write_text(json.dumps(receipt, indent=1) + "\n", encoding="utf-8")
    return path
