"""What a server knows without asking the database."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from openoutcry.arena.scoring import Parameters
from openoutcry.arena.store.tables import agents, days, markets, records, snapshots
from openoutcry.arena.timestamps import SECOND, moment_of

GRACE = Parameters().grace_s * SECOND
"""How long what is `determined` may be disputed."""


@dataclass(frozen=True)
class Agent:
    """Who takes part.

    Attributes:
        id: Number in the database.
        slug: Name in the protocol.
        display_name: Name for people.
        created_at: When it registered.
        key_sha256: SHA-256 of its key.
        suspended: Whether it may not submit.
    """

    id: int
    slug: str
    display_name: str | None
    created_at: int
    key_sha256: bytes
    suspended: bool = False


@dataclass(frozen=True)
class Market:
    """A market that some snapshot had, as the newest one of them says.

    Attributes:
        id: Number in the database.
        market_id: Name in the protocol.
        exchange: Where it is traded.
        question: What is asked.
        theaters: Regions, the primary one first.
        decision_cutoff: The last moment at which a decision is taken.
        settlement_at: When it closes.
        first_as_of: First snapshot that had it.
        last_as_of: Newest snapshot that had it.
        status: Of the newest resolution; None without one.
        outcome: `yes`, `no` or None.
        actual_close_time: When it closed, where that was earlier.
        resolved_at: When the newest resolution came.
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

    def takes(self, moment: int) -> bool:
        """Return whether a decision that is received at a moment counts (R-09, R-27)."""
        return moment <= self.decision_cutoff and self.status is None


@dataclass
class State:
    """Read by the server's routes, and changed by the writer alone.

    Attributes:
        keys: Agents by the SHA-256 of their keys.
        agents: Agents by slug.
        markets: Markets by id of the protocol.
        snapshots: SHA-256 of each published snapshot, by its moment.
        latest: Moment of the newest snapshot; None before the first.
        days: Days in UTC that were closed.
        began: The day on which the log began.
        newest: Moment of the log's last record.
        changes: How often anything but submissions has changed.
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
        """Become what a database holds; who reads meanwhile sees what was before or this."""
        keys, known = {}, {}
        for row in connection.execute(select(agents)):
            key = bytes(row.key_sha256)
            agent = Agent(row.id, row.slug, row.display_name, row.created_at, key, bool(row.suspended))
            known[row.slug] = keys[key] = agent
        found = {}
        for row in connection.execute(select(markets)):
            found[row.market_id] = Market(**dict(row._mapping) | {"theaters": tuple(json.loads(row.theaters))})
        published = {row.as_of: row.sha256 for row in connection.execute(select(snapshots.c.as_of, snapshots.c.sha256))}
        first = connection.execute(select(records.c.record).where(records.c.seq == 0)).scalar()
        last = connection.execute(select(records.c.record).order_by(records.c.seq.desc()).limit(1)).scalar()
        self.agents, self.keys, self.markets, self.snapshots = known, keys, found, published
        self.latest = max(published, default=None)
        self.days = set(connection.execute(select(days.c.date)).scalars())
        self.began = "" if first is None else str(json.loads(bytes(first))["created_at"])[:10]
        self.newest = 0 if last is None else _moment_of(json.loads(bytes(last)))
        self.changes += 1


def _moment_of(record: dict[str, Any]) -> int:
    return next(moment_of(name, record[name]) for name in ("at", "received_at", "created_at") if name in record)
