"""Constants of the Arena's protocol: identifiers, limits and error codes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

BASE = "/v2/competition"
DECISION_VERSION, PROTOCOL_VERSION = "0.1.0", "0.2.4"

Theater = Literal["iran", "israel", "ukraine", "taiwan", "korea", "yemen"]
THEATERS: tuple[Theater, ...] = get_args(Theater)

MAX_DECISIONS, MAX_REASONING, MAX_BODY_BYTES = 500, 500, 1 << 20
MAX_DISPLAY_NAME, MAX_EMAIL = 80, 200
MAX_SHOWN = 80
"""Maximum number of characters of a received value in an error message."""

SLUG = "[a-z0-9][a-z0-9_-]{0,39}"
"""Pattern of a slug in lower case."""
MARKET_ID = r"kalshi:[A-Z0-9][A-Z0-9.\-]{0,127}|polymarket:[0-9]{70,78}"
"""Pattern of a market id."""
_SLUG, _MARKET = re.compile(SLUG, re.ASCII), re.compile(MARKET_ID, re.ASCII)
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.ASCII)

STATUS = {
    "invalid_payload": 400,
    "bad_auth": 401,
    "suspended": 403,
    "not_found": 404,
    "unknown_snapshot": 404,
    "unknown_agent": 404,
    "method_not_allowed": 405,
    "slug_taken": 409,
    "idempotency_conflict": 409,
    "decision_cutoff_passed": 410,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "duplicate_market": 422,
    "stale_snapshot": 422,
    "invalid_registration": 422,
    "rate_limited": 429,
    "internal_error": 500,
    "snapshot_unavailable": 503,
    "unavailable": 503,
}
"""HTTP status of each error code."""

KEY_REQUIRED = "`Authorization: Bearer <api_key>` with a valid key is required"
UNPROCESSABLE = "a request that this server can process is required; received one that raised an unexpected error"


class ArenaError(Exception):
    """An error response of the protocol.

    Attributes:
        code: Error code, a key of `STATUS`.
        status: HTTP status.
        detail: Message of the form `<what is required>; received <value>`.
        field: Path of the invalid member, such as `decisions[2].yes_probability`.
        retry_after: Seconds after which a retry may succeed.
        more: Further members of the response body.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        field: str | None = None,
        *,
        retry_after: int | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.status, self.detail, self.field = code, STATUS[code], detail, field
        self.retry_after, self.more = retry_after, dict(more or {})

    def body(self) -> dict[str, Any]:
        """Return the response body."""
        return {"error": self.code, "detail": self.detail, "field": self.field} | self.more


def shown(value: object) -> str:
    """Return a received value for an error: short JSON, or the type of a container."""
    if isinstance(value, (dict, list)) and value:
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    return json.dumps(value)[:MAX_SHOWN]


def transport_failure(error: Exception) -> str:
    """Return why a request had no response, in the operating system's words."""
    return re.sub(r"^\[Errno -?[0-9]+\] ", "", str(error)) or "timed out without a response"


@lru_cache(maxsize=4096)
def is_market_id(text: str) -> bool:
    """Return whether a text has the form of a market id."""
    return _MARKET.fullmatch(text) is not None


def is_submission_id(text: str) -> bool:
    """Return whether a text has the form of a submission's ULID."""
    return _ULID.fullmatch(text) is not None


def slug_of(text: object) -> str | None:
    """Return a slug in lower case, or None if the text is not a slug.

    Non-ASCII text is refused first: some of its letters have ASCII lower-case forms.
    """
    if not isinstance(text, str) or not text.isascii():
        return None
    slug = text.lower()
    return slug if _SLUG.fullmatch(slug) else None
