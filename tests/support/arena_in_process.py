"""An arena with a server in the test's process and a controlled clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from arena_openapi_client import ContractClient

from openoutcry.arena.app import create_app
from openoutcry.arena.demo_season import Demo
from openoutcry.arena.season_scheduler import publish_entry, to_microseconds
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import ResolveMarket
from openoutcry.arena.timestamps import CADENCE, format_timestamp

BASE = "/v2/competition"
BEGAN = datetime(2026, 5, 8, 12, 3, tzinfo=timezone.utc)


@dataclass
class Floor:
    """A server with shortcuts for common requests."""

    arena: Arena
    clock: list[int]
    demo: Demo
    settings: Settings
    client: ContractClient = field(init=False)
    keys: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Unexpected exceptions become responses, as for real clients.
        self.client = ContractClient(create_app(self.arena, self.settings), raise_server_exceptions=False)

    @property
    def as_of(self) -> str:
        """Time of the newest snapshot."""
        assert self.arena.state.latest is not None
        return format_timestamp(self.arena.state.latest)

    def publish(self) -> str:
        """Advance the clock to the next snapshot time, publish its snapshot and return its time."""
        latest = self.arena.state.latest
        edge = self.clock[0] - self.clock[0] % CADENCE if latest is None else latest + CADENCE
        self.clock[0] = max(self.clock[0], edge)
        moment = datetime.fromtimestamp(edge / 1e6, timezone.utc)
        self.arena.writer.write(publish_entry(self.demo.snapshot(moment), self.clock[0]))
        return self.as_of

    def register(self, slug: str, **more: Any) -> str:
        """Register an agent and return its key."""
        answer = self.client.post(f"{BASE}/register", json={"slug": slug, **more})
        assert answer.status_code == 201, answer.text
        self.keys[slug] = str(answer.json()["api_key"])
        return self.keys[slug]

    def markets(self, status: str = "open") -> list[str]:
        """Return the ids of markets, ordered by cutoff."""
        reply = self.client.get(f"{BASE}/markets", params={"status": status}).json()
        return [each["market_id"] for each in reply["markets"]]

    def body(self, slug: str, *decisions: Any, **more: Any) -> dict[str, Any]:
        """Return the body of a submission; a decision is a pair of market and probability, or an object."""
        reply = [
            each if isinstance(each, dict) else {"market_id": each[0], "yes_probability": each[1]} for each in decisions
        ]
        body = {"schema_version": "0.1.0", "agent_slug": slug, "submitted_at": "2026-05-08T12:01:00Z"}
        return body | {"snapshot_as_of": self.as_of, "decisions": reply} | more

    def post(self, slug: str, body: Any, **headers: str) -> Any:
        """Post a submission with the key of an agent."""
        given = {"Authorization": f"Bearer {self.keys[slug]}"} | headers
        if isinstance(body, (bytes, str)):
            return self.client.post(f"{BASE}/decisions", content=body, headers=given)
        return self.client.post(f"{BASE}/decisions", json=body, headers=given)

    def submit(self, slug: str, *decisions: Any, **more: Any) -> Any:
        """Submit decisions."""
        return self.post(slug, self.body(slug, *decisions, **more))

    def resolve(self, market_id: str, outcome: str | None, status: str = "finalized") -> None:
        """Record the result of a market."""
        self.arena.writer.write(ResolveMarket(market_id, status, outcome, None, "a test", self.clock[0]))


@contextmanager
def floor(folder: Path, url: str | None = None, **options: Any) -> Iterator[Floor]:
    """Open a floor in a folder; its clock is three minutes after the time of its first snapshot."""
    clock = [to_microseconds(BEGAN)]
    settings = Settings(clock=lambda: clock[0], **{"rate_key": 0, "rate_anon": 0, "register_cap": 0} | options)
    with Arena(folder, url, clock=lambda: clock[0]) as arena:
        yield Floor(arena, clock, Demo(BEGAN), settings)


def said(answer: Any) -> tuple[int, str, str | None]:
    """Return the status, code and field of an error response, and check its form."""
    reply = answer.json()
    assert set(reply) >= {"error", "detail", "field"}, "every error has one form"
    return answer.status_code, reply["error"], reply["field"]
