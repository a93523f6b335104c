"""Log entries other than submissions: agents, keys, snapshots, results, days."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from sqlalchemy import insert, select, update

from openoutcry.arena.log.log_records import key_fingerprint
from openoutcry.arena.log.log_writer import Batch as LogBatch
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.scoring.score_inputs import STATUSES
from openoutcry.arena.scoring.settlement import EXCLUDED, SETTLED, market_state
from openoutcry.arena.store.cached_state import GRACE, Agent, Market, State
from openoutcry.arena.store.tables import agents, days, markets, quotes, registrations, snapshots
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.timestamps import DAY, SECOND, day_of, format_timestamp

CORRECTIONS = ("amended", "void", "scalar")
"""Statuses that may replace a final one: each corrects an earlier result."""


def key_digest(key: str) -> bytes:
    """Return the stored digest of an API key."""
    return sha256(key.encode()).digest()


def new_key() -> str:
    """Return an API key of 256 random bits."""
    return f"tarena_{secrets.token_urlsafe(32)}"


class StateChange:
    """An entry that changes the cached state; its result is its plan.

    Later entries must see the changed state, so it takes a transaction of its own.
    """

    has_own_transaction = True

    def result(self, planned: Any, log: LogWriter, sealed: LogBatch, batch: Batch) -> Any:
        """Return the plan."""
        return planned


@dataclass(frozen=True)
class RegisterAgent(StateChange):
    """Register an agent, within the daily limit of its client address.

    Attributes:
        slug: Slug in lower case.
        display_name: Display name.
        contact_email: Never shown.
        at: Time.
        bucket: Address bucket that is counted; None for no count.
        cap: Registrations per day of a bucket; 0 for no limit.
    """

    slug: str
    display_name: str | None
    contact_email: str | None
    at: int
    bucket: str | None = None
    cap: int = 0
    # It queries the tables, not the cached state, and its key is unknown before the commit.
    has_own_transaction = False

    def plan(self, batch: Batch) -> str:
        """Return the API key; only its digest is stored."""
        taken = select(agents.c.id).where(agents.c.slug == self.slug)
        if batch.connection.execute(taken).first() is not None:
            raise ArenaError("slug_taken", f"a slug that is not taken is required; received {self.slug!r}", "slug")
        at = batch.log_time(self.at)
        self._reserve(batch)
        key = new_key()
        digest = key_digest(key)
        row: dict[str, Any] = {
            "slug": self.slug,
            "display_name": self.display_name,
            "contact_email": self.contact_email,
        }
        inserted = batch.connection.execute(
            insert(agents).values(**row, created_at=at, key_sha256=digest, suspended=False)
        )
        assert inserted.inserted_primary_key is not None
        agent = Agent(int(inserted.inserted_primary_key[0]), self.slug, self.display_name, at, digest)
        members = {"agent_slug": self.slug, "display_name": self.display_name or self.slug}
        batch.record({"type": "agent"} | members | {"key_sha256": key_fingerprint(digest)}, at)

        def update_state(state: State) -> None:
            state.agents[self.slug] = state.keys[digest] = agent

        batch.after(update_state)
        return key

    def _reserve(self, batch: Batch) -> None:
        if self.bucket is None or self.cap == 0:
            return
        of_today = (registrations.c.bucket == self.bucket) & (registrations.c.day == day_of(self.at))
        n = batch.connection.execute(select(registrations.c.n).where(of_today)).scalar()
        if n is not None and n >= self.cap:
            detail = f"at most {self.cap} registrations a day from one address are required; received one more"
            raise ArenaError("rate_limited", detail, retry_after=-(-(DAY - self.at % DAY) // SECOND))
        if n is None:
            row = insert(registrations).values(bucket=self.bucket, day=day_of(self.at), n=1)
            batch.connection.execute(row)
        else:
            batch.connection.execute(update(registrations).where(of_today).values(n=n + 1))


@dataclass(frozen=True)
class RotateKey(StateChange):
    """Replace the API key of an agent; the old key is invalid at once."""

    slug: str
    at: int

    def plan(self, batch: Batch) -> str:
        """Return the new key."""
        agent = require_agent(batch.state, self.slug)
        key = new_key()
        digest = key_digest(key)
        batch.connection.execute(update(agents).where(agents.c.id == agent.id).values(key_sha256=digest))
        members = {"agent_slug": self.slug, "display_name": agent.display_name or self.slug}
        batch.record({"type": "key"} | members | {"key_sha256": key_fingerprint(digest)}, batch.log_time(self.at))

        def update_state(state: State) -> None:
            before = state.agents[self.slug]
            del state.keys[before.key_sha256]
            state.agents[self.slug] = state.keys[digest] = replace(before, key_sha256=digest)

        batch.after(update_state)
        return key


@dataclass(frozen=True)
class SuspendAgent(StateChange):
    """Suspend an agent, or lift its suspension."""

    slug: str
    suspended: bool
    reason: str
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the index of the record in the log."""
        agent = require_agent(batch.state, self.slug)
        batch.connection.execute(update(agents).where(agents.c.id == agent.id).values(suspended=self.suspended))
        members = {"agent_slug": self.slug, "suspended": self.suspended, "reason": self.reason}
        written = batch.record({"type": "suspension"} | members, batch.log_time(self.at))

        def update_state(state: State) -> None:
            changed = replace(state.agents[self.slug], suspended=self.suspended)
            state.agents[self.slug] = state.keys[changed.key_sha256] = changed

        batch.after(update_state)
        return written.seq


def require_agent(state: State, slug: str) -> Agent:
    """Return an agent by its slug.

    Raises:
        ArenaError: `unknown_agent`.
    """
    if slug not in state.agents:
        raise ArenaError("unknown_agent", f"a registered agent is required; received {slug!r}")
    return state.agents[slug]


@dataclass(frozen=True)
class MarketListing:
    """A market as a snapshot lists it.

    Attributes:
        market_id: Name in the protocol.
        exchange: The exchange that lists it.
        question: The question in words.
        theaters: Regions, the primary one first.
        decision_cutoff: Last time at which a decision is accepted.
        settlement_at: Scheduled close.
        mid: Mid price of YES as a decimal string; None without a price.
        bid: Best bid as a decimal string; None without a bid.
        ask: Best ask as a decimal string; None without an ask.
    """

    market_id: str
    exchange: str
    question: str
    theaters: tuple[str, ...]
    decision_cutoff: int
    settlement_at: int
    mid: str | None = None
    bid: str | None = None
    ask: str | None = None


@dataclass(frozen=True)
class PublishSnapshot(StateChange):
    """Publish a snapshot; a published snapshot never changes.

    Attributes:
        as_of: Time of the snapshot.
        bodies: Bytes by content coding: `identity`, `gzip`, `br` and `zstd`.
        listings: Its markets.
        at: Time of publication.
    """

    as_of: int
    bodies: Mapping[str, bytes] = field(repr=False)
    listings: Sequence[MarketListing]
    at: int

    def plan(self, batch: Batch) -> str:
        """Return the SHA-256 of the snapshot."""
        latest = batch.connection.execute(
            select(snapshots.c.as_of).order_by(snapshots.c.as_of.desc()).limit(1)
        ).scalar()
        if latest is not None and self.as_of <= latest:
            wanted = f"a snapshot newer than {format_timestamp(latest)} is required"
            raise ArenaError("invalid_payload", f"{wanted}; received {format_timestamp(self.as_of)}")
        body = self.bodies["identity"]
        digest = sha256(body).hexdigest()
        coded = [self.bodies[name] for name in ("gzip", "br", "zstd")]
        batch.add(snapshots, self.as_of, digest, body, *coded)
        sizes = {"sha256": digest, "size": len(body)}
        at = batch.log_time(max(self.at, self.as_of))
        batch.record({"type": "snapshot", "as_of": format_timestamp(self.as_of)} | sizes, at)
        updated = [self._add_market(batch, each, at) for each in self.listings]

        def update_state(state: State) -> None:
            state.markets.update((market.market_id, market) for market in updated)
            state.snapshots[self.as_of] = digest
            state.latest = self.as_of

        batch.after(update_state)
        return digest

    def _add_market(self, batch: Batch, listing: MarketListing, at: int) -> Market:
        """Store a market of the snapshot and its quote."""
        row: dict[str, Any] = {
            "question": listing.question,
            "theaters": json.dumps(listing.theaters),
            "decision_cutoff": listing.decision_cutoff,
            "settlement_at": listing.settlement_at,
            "last_as_of": self.as_of,
        }
        before = batch.state.markets.get(listing.market_id)
        if before is not None and at > before.decision_cutoff:
            # Decisions are public since the cutoff: if the market reopened, agents could copy them.
            row["decision_cutoff"] = before.decision_cutoff
        if before is None:
            ids = {"market_id": listing.market_id, "exchange": listing.exchange, "first_as_of": self.as_of}
            inserted = batch.connection.execute(insert(markets).values(**ids, **row))
            assert inserted.inserted_primary_key is not None
            number, first = int(inserted.inserted_primary_key[0]), self.as_of
        else:
            number, first = before.id, before.first_as_of
            batch.connection.execute(update(markets).where(markets.c.id == number).values(**row))
        batch.add(quotes, number, self.as_of, listing.mid, listing.bid, listing.ask)
        resolved = {} if before is None else _resolved(before)
        return Market(
            number,
            listing.market_id,
            listing.exchange,
            listing.question,
            listing.theaters,
            int(row["decision_cutoff"]),
            listing.settlement_at,
            first,
            self.as_of,
            **resolved,
        )


def _resolved(market: Market) -> dict[str, Any]:
    return {name: getattr(market, name) for name in ("status", "outcome", "actual_close_time", "resolved_at")}


@dataclass(frozen=True)
class ResolveMarket(StateChange):
    """Record the result of a market, or a new result.

    Attributes:
        market_id: The market.
        status: One of `scoring.score_inputs.STATUSES`.
        outcome: `yes`, `no` or None.
        actual_close_time: Actual close, if earlier than scheduled.
        source: Source of the result.
        at: Time.
    """

    market_id: str
    status: str
    outcome: str | None
    actual_close_time: int | None
    source: str
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the index of the record in the log."""
        market = batch.state.markets.get(self.market_id)
        if market is None:
            raise ArenaError("not_found", f"a market of a published snapshot is required; received {self.market_id!r}")
        if self.status not in STATUSES:
            raise ArenaError(
                "invalid_payload", f"a status of {', '.join(STATUSES)} is required; received {self.status!r}"
            )
        if (self.outcome in ("yes", "no")) != (self.status in ("determined", "amended", "finalized")):
            wanted = "an outcome of yes or no is required for a result, and no outcome for other statuses"
            raise ArenaError("invalid_payload", f"{wanted}; received {self.outcome!r} with {self.status!r}")
        at = batch.log_time(self.at)
        if self.actual_close_time is not None and self.actual_close_time > at:
            wanted = f"a close time not after {format_timestamp(at)} is required"
            raise ArenaError("invalid_payload", f"{wanted}; received {format_timestamp(self.actual_close_time)}")
        is_repeated = self.outcome is not None and self.outcome == market.outcome
        # A `determined` result may be disputed even after the grace period; other final results may not.
        is_disputed = (self.status, market.status) == ("disputed", "determined")
        if _is_final(market, at) and not (self.status in CORRECTIONS or is_repeated or is_disputed):
            wanted = f"one of {', '.join(CORRECTIONS)} is required to correct a final result"
            before = f"{market.market_id} is {market.status}, {market.outcome}"
            raise ArenaError("invalid_payload", f"{wanted}; received {self.status!r}, and {before}")
        changes: dict[str, Any] = {"status": self.status, "outcome": self.outcome}
        # An earlier close time stays in force unless a new one is given, as in scoring.
        changes["actual_close_time"] = (
            market.actual_close_time if self.actual_close_time is None else self.actual_close_time
        )
        batch.connection.execute(update(markets).where(markets.c.id == market.id).values(**changes, resolved_at=at))
        closed = None if self.actual_close_time is None else format_timestamp(self.actual_close_time)
        members = {"market_id": self.market_id, "status": self.status, "outcome": self.outcome}
        members |= {"actual_close_time": closed, "source": self.source}
        written = batch.record({"type": "resolution"} | members, at)

        def update_state(state: State) -> None:
            changed = replace(state.markets[self.market_id], **changes, resolved_at=at)
            state.markets[self.market_id] = changed

        batch.after(update_state)
        return written.seq


def _is_final(market: Market, at: int) -> bool:
    if market.status is None or market.resolved_at is None:
        return False
    return market_state(market.status, market.outcome, market.resolved_at, at, GRACE) in (SETTLED, EXCLUDED)


@dataclass(frozen=True)
class CloseDay(StateChange):
    """Close a day in UTC: record the size, root and last hash of the log."""

    date: str
    at: int

    def plan(self, batch: Batch) -> int | None:
        """Return the index of the record, or None if the day is closed or before the log."""
        if self.date in batch.state.days or self.date < batch.state.began:
            return None
        written = batch.record({"type": "day", "date": self.date} | batch.head(), batch.log_time(self.at))
        batch.connection.execute(insert(days).values(date=self.date, seq=written.seq))
        batch.after(lambda state: state.days.add(self.date))
        return written.seq
