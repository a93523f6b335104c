"""Registration and API keys: `POST /register` and `POST /keys/rotate`."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from openoutcry.arena.protocol import BASE, MAX_EMAIL, ArenaError, shown
from openoutcry.arena.request_schema import json_text, name_field, slug_field, text_field
from openoutcry.arena.server.auth import Authenticator
from openoutcry.arena.server.middleware import check_content_type, first_headers, read_body
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.entry_writes import RegisterAgent, RotateKey
from openoutcry.arena.store.write_queue import Writer

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z]{2,}")


class Registrations:
    """`POST /register`.

    Args:
        settings: The clock, the public address and the daily limit of registrations.
        authenticator: Counts requests by client address.
        writer: Commits registrations.
    """

    def __init__(self, settings: Settings, authenticator: Authenticator, writer: Writer) -> None:
        self._settings, self._authenticator, self._writer = settings, authenticator, writer

    async def respond(self, request: Request) -> Response:
        """Register an agent; the response shows its key once."""
        headers = first_headers(request.scope)
        self._authenticator.count_address(request)
        body = await read_body(headers, request.receive)
        check_content_type(headers)
        members = _object(body)
        slug = slug_field("slug", members.get("slug"))
        name = name_field(members.get("display_name"))
        email = text_field("contact_email", members.get("contact_email"), MAX_EMAIL, "invalid_registration")
        if email is not None and not _EMAIL.fullmatch(email):
            wanted = "an e-mail address or null is required"
            raise ArenaError("invalid_registration", f"{wanted}; received {shown(email)}", "contact_email")
        bucket = self._authenticator.address_bucket(request)
        entry = RegisterAgent(slug, name, email, self._settings.clock(), bucket, self._settings.register_cap)
        return key_response(201, slug, await self._writer.write_async(entry), self._settings.public)


class Rotations:
    """`POST /keys/rotate`: replaces an API key; the old key is invalid at once."""

    def __init__(self, settings: Settings, authenticator: Authenticator, writer: Writer) -> None:
        self._settings, self._authenticator, self._writer = settings, authenticator, writer

    async def respond(self, request: Request) -> Response:
        """Replace the key of an agent."""
        agent = self._authenticator.require_agent(request)
        key = await self._writer.write_async(RotateKey(agent.slug, self._settings.clock()))
        return key_response(200, agent.slug, key, self._settings.public)


def key_response(status: int, slug: str, key: str, public: str) -> Response:
    """Return the response that shows a key; no cache may store it."""
    steps = [
        "Store the key: it is shown once.",
        f"GET {public}{BASE}/intel and {public}{BASE}/markets list the snapshot and the open markets.",
        f"POST {public}{BASE}/decisions with `Authorization: Bearer <api_key>`, and store the receipt.",
    ]
    body = json.dumps({"slug": slug, "api_key": key, "next_steps": steps}).encode()
    return Response(body, status, {"Cache-Control": "no-store"}, media_type="application/json")


def _object(body: bytes) -> dict[str, Any]:
    members = json.loads(json_text(body))
    if not isinstance(members, dict):
        raise ArenaError("invalid_payload", f"an object is required; received {shown(members)}")
    return members
