"""The two routes of a burst, without a framework between."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

from sqlalchemy import Engine, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope

from openoutcry.arena.protocol import BASE, ArenaError
from openoutcry.arena.request_schema import moment_at
from openoutcry.arena.server.auth import Door
from openoutcry.arena.server.middleware import Answer, Headers, Plain, check_media, headers_of, read_body
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.submission_writes import Submitting
from openoutcry.arena.store.tables import snapshots
from openoutcry.arena.store.write_queue import Writer
from openoutcry.arena.submission_schema import check_once, submission_of
from openoutcry.arena.timestamps import MINUTE, text_of

KEPT = 8
"""Snapshots whose bytes are held in memory."""
_KEY = re.compile(rb"[\x21-\x7e]{1,200}")
_CODINGS = ("br", "zstd", "gzip")
_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_REPLAYED = (b"idempotent-replayed", b"true")


class Submissions(Plain):
    """`POST /decisions`.

    Args:
        settings: What the server was told.
        state: What there is.
        door: Who may.
        writer: What keeps them.
    """

    method = "POST"

    def __init__(self, settings: Settings, state: State, door: Door, writer: Writer) -> None:
        self._settings, self._state, self._door, self._writer = settings, state, door, writer

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        """Take a submission; each check comes before the next (R-05)."""
        headers = headers_of(scope)
        body = await read_body(headers, receive)
        # When all of it was here: one that began before a cutoff could else be finished after it.
        received_at = self._settings.clock()
        agent = self._door.known(HTTPConnection(scope))
        check_media(headers)
        submission = submission_of(body)
        if submission.agent_slug != agent.slug:
            wanted = "the slug of the key's agent is required; received another one"
            raise ArenaError("bad_auth", wanted, "agent_slug")
        if submission.snapshot_as_of not in self._state.snapshots:
            raise unknown_snapshot(submission.snapshot_as_of, "snapshot_as_of")
        check_once(submission)
        key = headers.get(b"idempotency-key")
        if key is not None and not _KEY.fullmatch(key):
            raise ArenaError("invalid_payload", "an `Idempotency-Key` of 1 to 200 visible characters is required")
        known = None if key is None else key.decode("ascii")
        entry = Submitting(agent, submission, received_at, self._settings.public, known)
        kept = await self._writer.written(entry)
        told = [_JSON, _NO_STORE, (b"content-length", str(len(kept.body)).encode())]
        return Answer(200, [*told, _REPLAYED] if kept.is_replayed else told, kept.body)


def unknown_snapshot(moment: int, field: str | None) -> ArenaError:
    """Return the refusal of a snapshot that was not published."""
    told = f"the moment of a published snapshot is required; received {text_of(moment)}"
    return ArenaError("unknown_snapshot", told, field)


class _Kept(NamedTuple):
    """A snapshot with its answers by coding."""

    etag: str
    bodies: dict[str, bytes]

    def headers(self, as_of: int, *, is_asked: bool) -> Headers:
        """Return what every answer of it says; by its moment it never changes."""
        lasting = b"public, max-age=31536000, immutable" if is_asked else b"no-cache"
        return [
            (b"etag", self.etag.encode()),
            (b"cache-control", lasting),
            (b"content-location", f"{BASE}/intel?as_of={text_of(as_of)}".encode()),
            (b"vary", b"Accept-Encoding"),
        ]


class Intel(Plain):
    """`GET /intel`: the bytes of a snapshot, the same for ever (R-14, R-16).

    Args:
        settings: What the server was told.
        state: What is published.
        door: Who may.
        engine: Where the bytes are.
    """

    method = "GET"

    def __init__(self, settings: Settings, state: State, door: Door, engine: Engine) -> None:
        self._settings, self._state, self._door, self._engine = settings, state, door, engine
        self._kept: dict[int, _Kept] = {}

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        """Serve a snapshot."""
        self._door.admitted(HTTPConnection(scope))
        asked = moment_asked(scope["query_string"])
        as_of = self._newest() if asked is None else asked
        if as_of not in self._state.snapshots:
            raise unknown_snapshot(as_of, "as_of")
        told = headers_of(scope)
        kept = self._kept.get(as_of)
        if kept is None:
            kept = await run_in_threadpool(self._fetched, as_of)
        headers = kept.headers(as_of, is_asked=asked is not None)
        if is_match(told.get(b"if-none-match"), kept.etag.encode()):
            return Answer(304, headers, b"")
        coding = chosen_coding(told.get(b"accept-encoding", b""))
        if coding != "identity":
            headers.append((b"content-encoding", coding.encode()))
        body = kept.bodies[coding]
        return Answer(200, [*headers, _JSON, (b"content-length", str(len(body)).encode())], body)

    def _newest(self) -> int:
        latest = self._state.latest
        if latest is None or self._settings.clock() - latest > self._settings.stale_after:
            told = f"a snapshot of the last {self._settings.stale_after // MINUTE} minutes is required; there is none"
            raise ArenaError("snapshot_unavailable", told, retry_after=60)
        return latest

    def _fetched(self, as_of: int) -> _Kept:
        with self._engine.connect() as connection:
            row = connection.execute(select(snapshots).where(snapshots.c.as_of == as_of)).one()
        bodies = {"identity": row.body, "gzip": row.gzip, "br": row.br, "zstd": row.zstd}
        kept = _Kept(f'"{row.sha256}"', {name: bytes(body) for name, body in bodies.items()})
        while len(self._kept) >= KEPT:
            # Another thread may have taken the same one.
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[as_of] = kept
        return kept


@lru_cache(maxsize=64)
def moment_asked(query: bytes) -> int | None:
    """Return the moment of `?as_of=`; None where none is asked for (R-01).

    Raises:
        ArenaError: `invalid_payload`: it is no time in UTC, or comes twice.
    """
    given = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("as_of", [])
    if not given:
        return None
    # A plus sign that nobody has encoded comes as a space.
    return moment_at("as_of", given[0].replace(" 00:00", "+00:00") if len(given) == 1 else str(given))


def is_match(told: bytes | None, etag: bytes) -> bool:
    """Return whether `If-None-Match` names an entity tag, compared weakly."""
    if told is None:
        return False
    return told.strip() == b"*" or any(each.strip().removeprefix(b"W/") == etag for each in told.split(b","))


@lru_cache(maxsize=64)
def chosen_coding(accepted: bytes) -> str:
    """Return the content coding to send (RFC 9110, 12.5.3)."""
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
    # Identity is acceptable unless it is refused, and is sent where nothing else is wanted.
    return _CODINGS[-best[1]] if best[0] > 0.0 and best[0] >= shares.get("identity", 0.0) else "identity"
