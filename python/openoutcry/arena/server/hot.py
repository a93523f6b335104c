"""The two routes of a burst, without a framework between."""

from __future__ import annotations

import re

from sqlalchemy import Engine, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from openoutcry.arena.decisions import check_once, submission_of
from openoutcry.arena.protocol import MOST_BODY, ArenaError
from openoutcry.arena.server.asking import Door
from openoutcry.arena.server.settings import Settings
from openoutcry.arena.store.state import State
from openoutcry.arena.store.submitting import Submitting
from openoutcry.arena.store.tables import snapshots
from openoutcry.arena.store.writer import Writer
from openoutcry.arena.strict import moment_at
from openoutcry.arena.times import text_of

KEPT = 8
"""Snapshots whose bytes are held in memory."""
_KEY = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)
_CODINGS = ("br", "zstd", "gzip")


class Submissions:
    """`POST /decisions`.

    Args:
        settings: What the server was told.
        state: What there is.
        door: Who may.
        writer: What keeps them.
    """

    def __init__(self, settings: Settings, state: State, door: Door, writer: Writer) -> None:
        self._settings, self._state, self._door, self._writer = settings, state, door, writer

    async def answer(self, request: Request) -> Response:
        """Take a submission; each check comes before the next (R-05)."""
        body = await read_body(request)
        # When all of it was here: one that began before a cutoff could else be finished after it. A clock that was set
        # back does not make it older than the snapshot that is decided on.
        received_at = max(self._settings.clock(), self._state.latest or 0)
        agent = self._door.known(request)
        check_media(request)
        submission = submission_of(body)
        if submission.agent_slug != agent.slug:
            told = "the slug of the key's agent is required; received another one"
            raise ArenaError("bad_auth", told, "agent_slug")
        if submission.snapshot_as_of not in self._state.snapshots:
            raise unknown_snapshot(submission.snapshot_as_of, "snapshot_as_of")
        check_once(submission)
        key = request.headers.get("idempotency-key")
        if key is not None and not _KEY.fullmatch(key):
            raise ArenaError("invalid_payload", "an `Idempotency-Key` of 1 to 200 visible characters is required")
        entry = Submitting(agent, submission, received_at, self._settings.public, key)
        told = await self._writer.written(entry)
        headers = {"Cache-Control": "no-store"} | ({"Idempotent-Replayed": "true"} if told.is_replayed else {})
        return Response(told.body, 200, headers, media_type="application/json")


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        ArenaError: `payload_too_large`: it has more than 1 MiB.
    """
    wanted = f"a body of at most {MOST_BODY} bytes is required"
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:12]) > MOST_BODY:
        raise ArenaError("payload_too_large", f"{wanted}; received {length[:12]}")
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > MOST_BODY:
                raise ArenaError("payload_too_large", f"{wanted}; received more")
            parts.append(part)
    except ClientDisconnect as error:
        raise ArenaError("invalid_payload", "a whole body is required; received a part of one") from error
    return b"".join(parts)


def check_media(request: Request) -> None:
    """See that a body says to be JSON, or says nothing (R-30).

    Raises:
        ArenaError: `unsupported_media_type`.
    """
    told = request.headers.get("content-type", "")
    kind = told.partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ArenaError("unsupported_media_type", f"application/json is required; received {told[:80]!r}")


def unknown_snapshot(moment: int, field: str | None) -> ArenaError:
    """Return the refusal of a snapshot that was not published."""
    told = f"the moment of a published snapshot is required; received {text_of(moment)}"
    return ArenaError("unknown_snapshot", told, field)


class Intel:
    """`GET /intel`: the bytes of a snapshot, the same for ever (R-14, R-16).

    Args:
        settings: What the server was told.
        state: What is published.
        door: Who may.
        engine: Where the bytes are.
    """

    def __init__(self, settings: Settings, state: State, door: Door, engine: Engine) -> None:
        self._settings, self._state, self._door, self._engine = settings, state, door, engine
        self._kept: dict[int, dict[str, bytes]] = {}

    async def answer(self, request: Request) -> Response:
        """Serve a snapshot."""
        self._door.admitted(request)
        asked = moment_asked(request)
        as_of = self._newest() if asked is None else asked
        if as_of not in self._state.snapshots:
            raise unknown_snapshot(as_of, "as_of")
        etag = f'"{self._state.snapshots[as_of]}"'
        headers = {
            "ETag": etag,
            "Cache-Control": "no-cache" if asked is None else "public, max-age=31536000, immutable",
            "Content-Location": f"{request.url.path}?as_of={text_of(as_of)}",
            "Vary": "Accept-Encoding",
        }
        if is_match(request.headers.get("if-none-match"), etag):
            return Response(b"", 304, headers)
        bodies = self._kept.get(as_of)
        if bodies is None:
            bodies = await run_in_threadpool(self._fetched, as_of)
        coding = chosen_coding(request.headers.get("accept-encoding", ""))
        if coding != "identity":
            headers["Content-Encoding"] = coding
        return Response(bodies[coding], 200, headers, media_type="application/json")

    def _newest(self) -> int:
        latest = self._state.latest
        if latest is None or self._settings.clock() - latest > self._settings.stale_after:
            told = "a snapshot of the last 20 minutes is required; there is none"
            raise ArenaError("snapshot_unavailable", told, retry_after=60)
        return latest

    def _fetched(self, as_of: int) -> dict[str, bytes]:
        with self._engine.connect() as connection:
            row = connection.execute(select(snapshots).where(snapshots.c.as_of == as_of)).one()
        bodies = {"identity": row.body, "gzip": row.gzip, "br": row.br, "zstd": row.zstd}
        told = {name: bytes(body) for name, body in bodies.items()}
        while len(self._kept) >= KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[as_of] = told
        return told


def moment_asked(request: Request) -> int | None:
    """Return the moment of `?as_of=`; None where none is asked for (R-01).

    Raises:
        ArenaError: `invalid_payload`: it is no time in UTC, or comes twice.
    """
    given = request.query_params.getlist("as_of")
    if not given:
        return None
    # A plus sign that nobody has encoded comes as a space.
    return moment_at("as_of", given[0].replace(" 00:00", "+00:00") if len(given) == 1 else given)


def is_match(told: str | None, etag: str) -> bool:
    """Return whether `If-None-Match` names an entity tag, compared weakly."""
    if told is None:
        return False
    return told.strip() == "*" or any(each.strip().removeprefix("W/") == etag for each in told.split(","))


def chosen_coding(accepted: str) -> str:
    """Return the content coding to send (RFC 9110, 12.5.3)."""
    shares: dict[str, float] = {}
    for each in accepted.lower().split(","):
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
