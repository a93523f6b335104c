"""Who takes part: `POST /register` and `POST /keys/rotate`."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from openoutcry.arena.protocol import BASE, MOST_EMAIL, ArenaError, shown
from openoutcry.arena.request_schema import json_text, name_at, slug_at, text_at
from openoutcry.arena.server.auth import Door
from openoutcry.arena.server.middleware import check_media, headers_of, read_body
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.entry_writes import Registering, RotatingKey
from openoutcry.arena.store.write_queue import Writer

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z]{2,}")


class Registrations:
    """`POST /register`.

    Args:
        settings: What the server was told.
        door: By what addresses are counted.
        writer: What keeps agents.
    """

    def __init__(self, settings: Settings, door: Door, writer: Writer) -> None:
        self._settings, self._door, self._writer = settings, door, writer

    async def answer(self, request: Request) -> Response:
        """Register an agent, whose key is shown once."""
        headers = headers_of(request.scope)
        self._door.count(request)
        body = await read_body(headers, request.receive)
        check_media(headers)
        told = _object(body)
        slug = slug_at("slug", told.get("slug"))
        name = name_at(told.get("display_name"))
        email = text_at("contact_email", told.get("contact_email"), MOST_EMAIL, "invalid_registration")
        if email is not None and not _EMAIL.fullmatch(email):
            wanted = "an e-mail address is required, or none"
            raise ArenaError("invalid_registration", f"{wanted}; received {shown(email)}", "contact_email")
        bucket = self._door.bucket(request)
        entry = Registering(slug, name, email, self._settings.clock(), bucket, self._settings.register_cap)
        return shown_key(201, slug, await self._writer.written(entry), self._settings.public)


class Rotations:
    """`POST /keys/rotate`: another key, and the old one dies at once (Q-9)."""

    def __init__(self, settings: Settings, door: Door, writer: Writer) -> None:
        self._settings, self._door, self._writer = settings, door, writer

    async def answer(self, request: Request) -> Response:
        """Give an agent another key."""
        agent = self._door.known(request)
        key = await self._writer.written(RotatingKey(agent.slug, self._settings.clock()))
        return shown_key(200, agent.slug, key, self._settings.public)


def shown_key(status: int, slug: str, key: str, public: str) -> Response:
    """Return the answer that shows a key, which nobody is to store."""
    steps = [
        "Keep the key: it is shown once.",
        f"GET {public}{BASE}/intel and {public}{BASE}/markets say what there is to decide on.",
        f"POST {public}{BASE}/decisions with `Authorization: Bearer <api_key>`, and keep the receipt.",
    ]
    body = json.dumps({"slug": slug, "api_key": key, "next_steps": steps}).encode()
    return Response(body, status, {"Cache-Control": "no-store"}, media_type="application/json")


def _object(body: bytes) -> dict[str, Any]:
    told = json.loads(json_text(body))
    if not isinstance(told, dict):
        raise ArenaError("invalid_payload", f"an object is required; received {shown(told)}")
    return told
