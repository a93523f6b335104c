"""`POST /decisions` and `GET /intel` as plain ASGI: most requests go there."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

from sqlalchemy import Engine, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope

from openoutcry.arena.protocol import BASE, ArenaError, shown
from openoutcry.arena.request_schema import time_field
from openoutcry.arena.server.auth import Authenticator
from openoutcry.arena.server.middleware import (
    FastRoute,
    Headers,
    RawResponse,
    check_content_type,
    first_headers,
    read_body,
)
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.submission_writes import SubmitDecisions
from openoutcry.arena.store.tables import snapshots
from openoutcry.arena.store.write_queue import Writer
from openoutcry.arena.submission_schema import check_unique_markets, parse_submission
from openoutcry.arena.timestamps import MINUTE, format_timestamp

CACHED_SNAPSHOTS = 8
"""Number of snapshots whose bytes are cached in memory."""
_KEY = re.compile(rb"[\x21-\x7e]{1,200}")
_CODINGS = ("br", "zstd", "gzip")
_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_REPLAYED = (b"idempotent-replayed", b"true")


class Submissions(FastRoute):
    """`POST /decisions`.

    Args:
        settings: The clock and the public address.
        state: The published snapshots.
        authenticator: Authenticates and limits requests.
        writer: Commits submissions.
    """

    method = "POST"

    def __init__(self, settings: Settings, state: State, authenticator: Authenticator, writer: Writer) -> None:
        self._settings, self._state, self._authenticator, self._writer = settings, state, authenticator, writer

    async def respond(self, scope: Scope, receive: Receive) -> RawResponse:
        """Accept a submission: the key is checked before the body, and the body before the snapshot."""
        headers = first_headers(scope)
        body = await read_body(headers, receive)
        # Taken after the complete body has arrived: otherwise a body started before a cutoff could end after it.
        received_at = self._settings.clock()
        agent = self._authenticator.require_agent(HTTPConnection(scope))
        check_content_type(headers)
        submission = parse_submission(body)
        if submission.agent_slug != agent.slug:
            wanted = "the slug of the agent that owns the key is required"
            raise ArenaError("bad_auth", f"{wanted}; received {submission.agent_slug!r}", "agent_slug")
        if submission.snapshot_as_of not in self._state.snapshots:
            raise unknown_snapshot(submission.snapshot_as_of, "snapshot_as_of")
        check_unique_markets(submission)
        key = headers.get(b"idempotency-key")
        if key is not None and not _KEY.fullmatch(key):
            wanted = "an `Idempotency-Key` of 1 to 200 visible ASCII characters is required"
            raise ArenaError("invalid_payload", f"{wanted}; received {shown(key.decode('latin-1'))}")
        idempotency_key = None if key is None else key.decode("ascii")
        entry = SubmitDecisions(agent, submission, received_at, self._settings.public, idempotency_key)
        reply = await self._writer.write_async(entry)
        response_headers = [_JSON, _NO_STORE, (b"content-length", str(len(reply.body)).encode())]
        return RawResponse(200, [*response_headers, _REPLAYED] if reply.is_replayed else response_headers, reply.body)


def unknown_snapshot(timestamp: int, field: str | None) -> ArenaError:
    """Return the error of a snapshot that was not published."""
    detail = f"the time of a published snapshot is required; received {format_timestamp(timestamp)}"
    return ArenaError("unknown_snapshot", detail, field)


class _CachedSnapshot(NamedTuple):
    """A snapshot with its body in each content coding."""

    etag: str
    bodies: dict[str, bytes]

    def headers(self, as_of: int, *, is_pinned: bool) -> Headers:
        """Return the response headers; a request that names the time is cacheable forever."""
        cache_control = b"public, max-age=31536000, immutable" if is_pinned else b"no-cache"
        return [
            (b"etag", self.etag.encode()),
            (b"cache-control", cache_control),
            (b"content-location", f"{BASE}/intel?as_of={format_timestamp(as_of)}".encode()),
            (b"vary", b"Accept-Encoding"),
        ]


class Intel(FastRoute):
    """`GET /intel`: the immutable bytes of a snapshot.

    Args:
        settings: The clock and the maximum age of the newest snapshot.
        state: The published snapshots.
        authenticator: Authenticates and limits requests.
        engine: The database that stores the bytes.
    """

    method = "GET"

    def __init__(self, settings: Settings, state: State, authenticator: Authenticator, engine: Engine) -> None:
        self._settings, self._state, self._authenticator, self._engine = settings, state, authenticator, engine
        self._cache: dict[int, _CachedSnapshot] = {}

    async def respond(self, scope: Scope, receive: Receive) -> RawResponse:
        """Serve a snapshot."""
        self._authenticator.admit(HTTPConnection(scope))
        requested = as_of_parameter(scope["query_string"])
        as_of = self._newest() if requested is None else requested
        if as_of not in self._state.snapshots:
            raise unknown_snapshot(as_of, "as_of")
        request_headers = first_headers(scope)
        cached = self._cache.get(as_of)
        if cached is None:
            cached = await run_in_threadpool(self._fetch, as_of)
        headers = cached.headers(as_of, is_pinned=requested is not None)
        if is_match(request_headers.get(b"if-none-match"), cached.etag.encode()):
            return RawResponse(304, headers, b"")
        coding = choose_coding(request_headers.get(b"accept-encoding", b""))
        if coding != "identity":
            headers.append((b"content-encoding", coding.encode()))
        body = cached.bodies[coding]
        return RawResponse(200, [*headers, _JSON, (b"content-length", str(len(body)).encode())], body)

    def _newest(self) -> int:
        latest = self._state.latest
        if latest is None or self._settings.clock() - latest > self._settings.stale_after:
            wanted = f"a snapshot of the last {self._settings.stale_after // MINUTE} minutes is required"
            received = "none" if latest is None else format_timestamp(latest)
            raise ArenaError("snapshot_unavailable", f"{wanted}; received {received}", retry_after=60)
        return latest

    def _fetch(self, as_of: int) -> _CachedSnapshot:
        with self._engine.connect() as connection:
            row = connection.execute(select(snapshots).where(snapshots.c.as_of == as_of)).one()
        bodies = {"identity": row.body, "gzip": row.gzip, "br": row.br, "zstd": row.zstd}
        fetched = _CachedSnapshot(f'"{row.sha256}"', {name: bytes(body) for name, body in bodies.items()})
        while len(self._cache) >= CACHED_SNAPSHOTS:
            # Another thread may have removed the same entry.
            self._cache.pop(next(iter(self._cache)), None)
        self._cache[as_of] = fetched
        return fetched


@lru_cache(maxsize=64)
def as_of_parameter(query: bytes) -> int | None:
    """Return the timestamp of `?as_of=`, or None without it.

    Raises:
        ArenaError: `invalid_payload`: the value is not a UTC time, or is given twice.
    """
    values = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("as_of", [])
    if not values:
        return None
    # An unencoded plus sign is decoded as a space.
    return time_field("as_of", values[0].replace(" 00:00", "+00:00") if len(values) == 1 else str(values))


def is_match(if_none_match: bytes | None, etag: bytes) -> bool:
    """Return whether `If-None-Match` lists an entity tag, by weak comparison."""
    if if_none_match is None:
        return False
    tags = if_none_match.split(b",")
    return if_none_match.strip() == b"*" or any(each.strip().removeprefix(b"W/") == etag for each in tags)


@lru_cache(maxsize=64)
def choose_coding(accepted: bytes) -> str:
    """Return the content coding for an `Accept-Encoding` header (RFC 9110, 12.5.3)."""
    shares: dict[str, float] = {}
    for each in accepted.decode("latin-1").lower().split(","):
        name, *params = (part.strip() for part in each.split(";"))
        try:
            share = float(next((one[2:] for one in params if one.startswith("q=")), "1"))
        except ValueError:
            share = 0.0
        shares[name] = share
    rest = shares.get("*", 0.0)
    best = max((shares.get(coding, rest), -place) for place, coding in enumerate(_CODINGS))
    # Identity is acceptable unless it is excluded, and is sent if no other coding is preferred.
    return _CODINGS[-best[1]] if best[0] > 0.0 and best[0] >= shares.get("identity", 0.0) else "identity"
