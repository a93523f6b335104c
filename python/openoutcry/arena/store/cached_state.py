"""In-memory copy of agents, markets and snapshots, so that requests need no query."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from openoutcry.arena.scoring import Parameters
from openoutcry.arena.store.tables import agents, days, markets, records, snapshots
from openoutcry.arena.timestamps import SECOND, parse_timestamp

GRACE = Parameters().grace_s * SECOND
"""Time in which a `determined` result may be disputed, in microseconds."""


@dataclass(frozen=True)
class Agent:
    """A registered agent.

    Attributes:
        id: Row number in the database.
        slug: Name in the protocol.
        display_name: Display name.
        created_at: Time of registration.
        key_sha256: SHA-256 of the API key.
        suspended: Whether its submissions are refused.
    """

    id: int
    slug: str
    display_name: str | None
    created_at: int
    key_sha256: bytes
    suspended: bool = False


@dataclass(frozen=True)
class Market:
    """A market, as the newest snapshot that lists it describes it.

    Attributes:
        id: Row number in the database.
        market_id: Name in the protocol.
        exchange: The exchange that lists it.
        question: The question in words.
        theaters: Regions, the primary one first.
        decision_cutoff: Last time at which a decision is accepted.
        settlement_at: Scheduled close.
        first_as_of: First snapshot that lists it.
        last_as_of: Newest snapshot that lists it.
        status: Status of the newest resolution; None without one.
        outcome: `yes`, `no` or None.
        actual_close_time: Actual close, if earlier than scheduled.
        resolved_at: Time of the newest resolution.
    """

    id: int
    market_id: str
    exchange: str
    question: str
    theaters: tuple[str, ...]
    decision_cutoff: int
    settlement_at: int
    first_as_of: int
    last_as_of: int
    status: str | None = None
    outcome: str | None = None
    actual_close_time: int | None = None
    resolved_at: int | None = None

    def accepts_decision_at(self, timestamp: int) -> bool:
        """Return whether a decision received at a time is accepted."""
        return timestamp <= self.decision_cutoff and self.status is None


@dataclass
class State:
    """State that the server's routes read; only the writer changes it.

    Attributes:
        keys: Agents by the SHA-256 of their keys.
        agents: Agents by slug.
        markets: Markets by `market_id`.
        snapshots: SHA-256 of each published snapshot, by its time.
        latest: Time of the newest snapshot; None before the first.
        days: Closed days in UTC.
        began: First day of the log.
        newest: Time of the log's last record.
        changes: Number of committed changes other than submissions.
    """

    keys: dict[bytes, Agent] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    markets: dict[str, Market] = field(default_factory=dict)
    snapshots: dict[int, str] = field(default_factory=dict)
    latest: int | None = None
    days: set[str] = field(default_factory=set)
    began: str = ""
    newest: int = 0
    changes: int = 0

    def read(self, connection: Connection) -> None:
        """Load the state from a database.

        Concurrent readers see each member before or after.
        """
        keys, registered = {}, {}
        for row in connection.execute(select(agents)):
            key = bytes(row.key_sha256)
            agent = Agent(row.id, row.slug, row.display_name, row.created_at, key, bool(row.suspended))
            registered[row.slug] = keys[key] = agent
        listed = {}
        for row in connection.execute(select(markets)):
            listed[row.market_id] = Market(**dict(row._mapping) | {"theaters": tuple(json.loads(row.theaters))})
        published = {row.as_of: row.sha256 for row in connection.execute(select(snapshots.c.as_of, snapshots.c.sha256))}
        first = connection.execute(select(records.c.record).where(records.c.seq == 0)).scalar()
        last = connection.execute(select(records.c.record).order_by(records.c.seq.desc()).limit(1)).scalar()
        self.agents, self.keys, self.markets, self.snapshots = registered, keys, listed, published
        self.latest = max(published, default=None)
        self.days = set(connection.execute(select(days.c.date)).scalars())
        self.began = "" if first is None else str(json.loads(bytes(first))["created_at"])[:10]
        self.newest = 0 if last is None else _timestamp_of(json.loads(bytes(last)))
        self.changes += 1


def _timestamp_of(record: dict[str, Any]) -> int:
    return next(parse_timestamp(name, record[name]) for name in ("at", "received_at", "created_at") if name in record)
