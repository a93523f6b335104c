"""A client of the Arena, for agents in Python.

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

_PAUSE, _LONGEST_PAUSE = 1, 60
"""Seconds before what has failed is tried again: at first, and at last."""
_Told = TypeVar("_Told")


class ArenaClient:
    """Speaks the protocol with a server.

    Args:
        url: Where the Arena is, such as `http://127.0.0.1:8420`.
        slug: The agent.
        key: Its API key; without one, only what is public.
        transport: How requests are made; httpx's own by default.
    """

    def __init__(
        self, url: str, slug: str = "", key: str | None = None, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.slug = slug
        self._http = httpx.Client(base_url=url, headers=headers, timeout=30.0, transport=transport)

    def register(self, slug: str, display_name: str | None = None, contact_email: str | None = None) -> str:
        """Register an agent and return its key, which is shown once."""
        told = {"slug": slug, "display_name": display_name, "contact_email": contact_email}
        key = str(self._request("POST", f"{BASE}/register", json=told)["api_key"])
        self.slug, self._http.headers["Authorization"] = slug.lower(), f"Bearer {key}"
        return key

    def intel(self, as_of: str | None = None) -> dict[str, Any]:
        """Return a snapshot, by default the newest."""
        return self._request("GET", f"{BASE}/intel", params={} if as_of is None else {"as_of": as_of})

    def markets(self, status: str = "open", theater: str | None = None) -> dict[str, Any]:
        """Return markets by their cutoffs."""
        given = {"status": status} | ({} if theater is None else {"theater": theater})
        return self._request("GET", f"{BASE}/markets", params=given)

    def submit(
        self, snapshot_as_of: str, decisions: Iterable[Mapping[str, Any]], idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Submit decisions and return the receipt; keep it.

        Args:
            snapshot_as_of: The snapshot that was decided on.
            decisions: Of each, `market_id`, `yes_probability`, and `confidence` and `reasoning` or none.
            idempotency_key: Whoever sends the same again under it is told the same.

        Raises:
            ArenaError: nothing was accepted; its `more` says why of each market.
        """
        body = {
            "schema_version": DECISION_VERSION,
            "agent_slug": self.slug,
            # It only informs. The clock's time would make another body of what is sent again.
            "submitted_at": snapshot_as_of,
            "snapshot_as_of": snapshot_as_of,
            "decisions": [dict(each) for each in decisions],
        }
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._request("POST", f"{BASE}/decisions", json=body, headers=headers)

    def agent(self, slug: str | None = None) -> dict[str, Any]:
        """Return an agent with its scores."""
        return self._request("GET", f"{BASE}/agents/{slug or self.slug}")

    def leaderboard(self, **asked: Any) -> dict[str, Any]:
        """Return agents by skill, asked for as the protocol says."""
        return self._request("GET", f"{BASE}/leaderboard", params=asked)

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def __enter__(self) -> ArenaClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        answer = self._http.request(method, path, **given)
        try:
            told = answer.json()
        except ValueError:
            told = None
        wait = answer.headers.get("Retry-After", "")
        retry_after = int(wait) if wait.isascii() and wait.isdigit() else None
        if not isinstance(told, dict):
            # Of what stands before a server, or of another one.
            code = "unavailable" if answer.is_server_error or answer.status_code == 429 else "not_found"
            detail = f"an answer of an Arena in JSON is required; received status {answer.status_code} of {answer.url}"
            raise ArenaError(code, detail, retry_after=retry_after)
        if answer.is_success:
            return told
        code, detail = str(told.pop("error", "")), str(told.pop("detail", ""))
        raise ArenaError(
            code if code in STATUS else "internal_error",
            detail,
            told.pop("field", None),
            retry_after=retry_after,
            more=told,
        )


def retry_request(
    ask: Callable[[], _Told], tell: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
) -> _Told:
    """Return what is asked of a server, however long that is away.

    Each pause is twice the one before, up to a minute, and as long as the server says at least.

    Args:
        ask: Asked again until it is answered; what it submits needs a key under which the same is told the same.
        tell: Is told of each failure in a line.
        sleep: Waits so many seconds.

    Raises:
        ArenaError: the request is refused, and would be again.
        httpx.UnsupportedProtocol: the address is none.
    """
    pause = _PAUSE
    while True:
        try:
            return ask()
        except httpx.UnsupportedProtocol:
            raise
        except httpx.TransportError as error:
            why, wait = transport_failure(error), pause
        except ArenaError as error:
            if error.status < 500 and error.retry_after is None:
                raise
            why, wait = str(error), max(pause, error.retry_after or 0)
        tell(f"away: {why}; again in {wait} s")
        sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE)


def save_receipt(receipt: Mapping[str, Any], place: Path) -> Path:
    """Write a receipt to a file for `openoutcry-verify receipt`, and return which.

    Args:
        receipt: What `ArenaClient.submit` has returned.
        place: A file, or a folder, in which it is named by its id. What is there is left: a receipt may be all that
            proves what was decided.
    """
    kept = place / f"{receipt['submission_id']}.receipt.json" if place.is_dir() else place
    if not kept.exists():
        kept.write_text(json.dumps(receipt, indent=1) + "\n", encoding="utf-8")
    return kept
