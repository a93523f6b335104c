"""What is written to an arena beside submissions."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from sqlalchemy import insert, select, update

from openoutcry.arena.log.log_records import fingerprint
from openoutcry.arena.log.log_writer import Batch as LogBatch
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.scoring.score_inputs import STATUSES
from openoutcry.arena.scoring.settlement import EXCLUDED, SETTLED, standing
from openoutcry.arena.store.cached_state import GRACE, Agent, Market, State
from openoutcry.arena.store.tables import agents, days, markets, quotes, registrations, snapshots
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.timestamps import DAY, SECOND, day_of, text_of

CORRECTIONS = ("amended", "void", "scalar")
"""Statuses that may follow one that is final: each says that something was wrong before."""


def key_digest(key: str) -> bytes:
    """Return what is kept of an API key."""
    return sha256(key.encode()).digest()


def new_key() -> str:
    """Return an API key of 256 random bits."""
    return f"tarena_{secrets.token_urlsafe(32)}"


class Told:
    """An entry whose answer is what it planned.

    Those that come after it must be planned on the state that it leaves.
    """

    is_alone = True

    def answer(self, planned: Any, log: LogWriter, sealed: LogBatch, batch: Batch) -> Any:
        """Return what was planned."""
        return planned


@dataclass(frozen=True)
class Registering(Told):
    """An agent registers, for which its address has some slots a day (R-35 to R-38).

    Attributes:
        slug: In lower case.
        display_name: Name for people.
        contact_email: Told to nobody.
        at: When.
        bucket: Whose slots; None takes none.
        cap: Slots a day; 0 for no bound.
    """

    slug: str
    display_name: str | None
    contact_email: str | None
    at: int
    bucket: str | None = None
    cap: int = 0
    # It asks the tables, not the state, and nobody has its key before it is committed.
    is_alone = False

    def plan(self, batch: Batch) -> str:
        """Return the API key, which is kept nowhere."""
        taken = select(agents.c.id).where(agents.c.slug == self.slug)
        if batch.connection.execute(taken).first() is not None:
            raise ArenaError("slug_taken", f"a slug that nobody has is required; received {self.slug!r}", "slug")
        at = batch.moment(self.at)
        self._reserve(batch)
        key = new_key()
        digest = key_digest(key)
        row = {"slug": self.slug, "display_name": self.display_name, "contact_email": self.contact_email}
        made = batch.connection.execute(insert(agents).values(**row, created_at=at, key_sha256=digest, suspended=False))
        assert made.inserted_primary_key is not None
        agent = Agent(int(made.inserted_primary_key[0]), self.slug, self.display_name, at, digest)
        told = {"agent_slug": self.slug, "display_name": self.display_name or self.slug}
        batch.record({"type": "agent"} | told | {"key_sha256": fingerprint(digest)}, at)

        def known(state: State) -> None:
            state.agents[self.slug] = state.keys[digest] = agent

        batch.after(known)
        return key

    def _reserve(self, batch: Batch) -> None:
        if self.bucket is None or self.cap == 0:
            return
        of_today = (registrations.c.bucket == self.bucket) & (registrations.c.day == day_of(self.at))
        n = batch.connection.execute(select(registrations.c.n).where(of_today)).scalar()
        if n is not None and n >= self.cap:
            told = f"at most {self.cap} registrations a day are required of one address; received one more"
            raise ArenaError("rate_limited", told, retry_after=-(-(DAY - self.at % DAY) // SECOND))
        if n is None:
            row = insert(registrations).values(bucket=self.bucket, day=day_of(self.at), n=1)
            batch.connection.execute(row)
        else:
            batch.connection.execute(update(registrations).where(of_today).values(n=n + 1))


@dataclass(frozen=True)
class RotatingKey(Told):
    """An agent gets another key, and the old one dies at once (Q-9)."""

    slug: str
    at: int

    def plan(self, batch: Batch) -> str:
        """Return the new key."""
        agent = known_agent(batch.state, self.slug)
        key = new_key()
        digest = key_digest(key)
        batch.connection.execute(update(agents).where(agents.c.id == agent.id).values(key_sha256=digest))
        told = {"agent_slug": self.slug, "display_name": agent.display_name or self.slug}
        batch.record({"type": "key"} | told | {"key_sha256": fingerprint(digest)}, batch.moment(self.at))

        def known(state: State) -> None:
            before = state.agents[self.slug]
            del state.keys[before.key_sha256]
            state.agents[self.slug] = state.keys[digest] = replace(before, key_sha256=digest)

        batch.after(known)
        return key


@dataclass(frozen=True)
class Suspending(Told):
    """An agent may no longer submit, or may again."""

    slug: str
    suspended: bool
    reason: str
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the place of the record."""
        agent = known_agent(batch.state, self.slug)
        batch.connection.execute(update(agents).where(agents.c.id == agent.id).values(suspended=self.suspended))
        told = {"agent_slug": self.slug, "suspended": self.suspended, "reason": self.reason}
        written = batch.record({"type": "suspension"} | told, batch.moment(self.at))

        def known(state: State) -> None:
            changed = replace(state.agents[self.slug], suspended=self.suspended)
            state.agents[self.slug] = state.keys[changed.key_sha256] = changed

        batch.after(known)
        return written.seq


def known_agent(state: State, slug: str) -> Agent:
    """Return an agent by its slug.

    Raises:
        ArenaError: `unknown_agent`.
    """
    if slug not in state.agents:
        raise ArenaError("unknown_agent", f"an agent that is registered is required; received {slug!r}")
    return state.agents[slug]


@dataclass(frozen=True)
class Listing:
    """A market as a snapshot has it.

    Attributes:
        market_id: Name in the protocol.
        exchange: Where it is traded.
        question: What is asked.
        theaters: Regions, the primary one first.
        decision_cutoff: The last moment at which a decision is taken.
        settlement_at: When it closes.
        mid: Price of YES as a decimal text; None where there is none.
        bid: The best bid.
        ask: The best offer.
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
class Publishing(Told):
    """A snapshot is published; what is published stays as it is (R-16, R-20).

    Attributes:
        as_of: Its moment.
        bodies: Bytes by coding: `identity`, `gzip`, `br` and `zstd`.
        listings: Markets that it has.
        at: When.
    """

    as_of: int
    bodies: Mapping[str, bytes] = field(repr=False)
    listings: Sequence[Listing]
    at: int

    def plan(self, batch: Batch) -> str:
        """Return the SHA-256 of the snapshot."""
        latest = batch.connection.execute(
            select(snapshots.c.as_of).order_by(snapshots.c.as_of.desc()).limit(1)
        ).scalar()
        if latest is not None and self.as_of <= latest:
            told = f"a snapshot newer than {text_of(latest)} is required; received {text_of(self.as_of)}"
            raise ArenaError("invalid_payload", told)
        body = self.bodies["identity"]
        digest = sha256(body).hexdigest()
        coded = [self.bodies[name] for name in ("gzip", "br", "zstd")]
        batch.add(snapshots, self.as_of, digest, body, *coded)
        sizes = {"sha256": digest, "size": len(body)}
        at = batch.moment(max(self.at, self.as_of))
        batch.record({"type": "snapshot", "as_of": text_of(self.as_of)} | sizes, at)
        found = [self._listed(batch, each, at) for each in self.listings]

        def known(state: State) -> None:
            state.markets.update((market.market_id, market) for market in found)
            state.snapshots[self.as_of] = digest
            state.latest = self.as_of

        batch.after(known)
        return digest

    def _listed(self, batch: Batch, told: Listing, at: int) -> Market:
        """Keep what the snapshot says of a market, and its price."""
        row: dict[str, Any] = {
            "question": told.question,
            "theaters": json.dumps(told.theaters),
            "decision_cutoff": told.decision_cutoff,
            "settlement_at": told.settlement_at,
            "last_as_of": self.as_of,
        }
        before = batch.state.markets.get(told.market_id)
        if before is not None and at > before.decision_cutoff:
            # What was decided is public since then: a market that opened anew would be decided by whoever copies.
            row["decision_cutoff"] = before.decision_cutoff
        if before is None:
            ids = {"market_id": told.market_id, "exchange": told.exchange, "first_as_of": self.as_of}
            made = batch.connection.execute(insert(markets).values(**ids, **row))
            assert made.inserted_primary_key is not None
            number, first = int(made.inserted_primary_key[0]), self.as_of
        else:
            number, first = before.id, before.first_as_of
            batch.connection.execute(update(markets).where(markets.c.id == number).values(**row))
        batch.add(quotes, number, self.as_of, told.mid, told.bid, told.ask)
        resolved = {} if before is None else _resolved(before)
        return Market(
            number,
            told.market_id,
            told.exchange,
            told.question,
            told.theaters,
            int(row["decision_cutoff"]),
            told.settlement_at,
            first,
            self.as_of,
            **resolved,
        )


def _resolved(market: Market) -> dict[str, Any]:
    return {name: getattr(market, name) for name in ("status", "outcome", "actual_close_time", "resolved_at")}


@dataclass(frozen=True)
class Resolving(Told):
    """A market has a result, or another one than before (R-44).

    Attributes:
        market_id: Which.
        status: One of `scoring.facts.STATUSES`.
        outcome: `yes`, `no` or None.
        actual_close_time: When it closed, where that was earlier than said.
        source: Who says so.
        at: When.
    """

    market_id: str
    status: str
    outcome: str | None
    actual_close_time: int | None
    source: str
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the place of the record."""
        market = batch.state.markets.get(self.market_id)
        if market is None:
            raise ArenaError("not_found", f"a market of some snapshot is required; received {self.market_id!r}")
        if self.status not in STATUSES:
            raise ArenaError(
                "invalid_payload", f"a status of {', '.join(STATUSES)} is required; received {self.status!r}"
            )
        if (self.outcome in ("yes", "no")) != (self.status in ("determined", "amended", "finalized")):
            wanted = "an outcome of yes or no is required where there is a result, and none elsewhere"
            raise ArenaError("invalid_payload", f"{wanted}; received {self.outcome!r} with {self.status!r}")
        at = batch.moment(self.at)
        if self.actual_close_time is not None and self.actual_close_time > at:
            wanted = f"a market that has closed by {text_of(at)} is required"
            raise ArenaError("invalid_payload", f"{wanted}; received {text_of(self.actual_close_time)}")
        is_said_again = self.outcome is not None and self.outcome == market.outcome
        # What is final because nobody disputed it in time may still be, and what was final by itself may not.
        is_disputed = (self.status, market.status) == ("disputed", "determined")
        if _is_final(market, at) and not (self.status in CORRECTIONS or is_said_again or is_disputed):
            before = f"{market.market_id} is {market.status}, {market.outcome}"
            wanted = f"one of {', '.join(CORRECTIONS)} is required to correct what is final"
            raise ArenaError("invalid_payload", f"{wanted}; {before}")
        told: dict[str, Any] = {"status": self.status, "outcome": self.outcome}
        # What was said of the close before stands, as it does where it is scored.
        told["actual_close_time"] = (
            market.actual_close_time if self.actual_close_time is None else self.actual_close_time
        )
        batch.connection.execute(update(markets).where(markets.c.id == market.id).values(**told, resolved_at=at))
        closed = None if self.actual_close_time is None else text_of(self.actual_close_time)
        said = {"market_id": self.market_id, "status": self.status, "outcome": self.outcome}
        said |= {"actual_close_time": closed, "source": self.source}
        written = batch.record({"type": "resolution"} | said, at)

        def known(state: State) -> None:
            changed = replace(state.markets[self.market_id], **told, resolved_at=at)
            state.markets[self.market_id] = changed

        batch.after(known)
        return written.seq


def _is_final(market: Market, at: int) -> bool:
    if market.status is None or market.resolved_at is None:
        return False
    return standing(market.status, market.outcome, market.resolved_at, at, GRACE) in (SETTLED, EXCLUDED)


@dataclass(frozen=True)
class ClosingDay(Told):
    """A day in UTC is over: what the log was then."""

    date: str
    at: int

    def plan(self, batch: Batch) -> int | None:
        """Return the place of the record; None where the day needs none."""
        if self.date in batch.state.days or self.date < batch.state.began:
            return None
        written = batch.record({"type": "day", "date": self.date} | batch.head(), batch.moment(self.at))
        batch.connection.execute(insert(days).values(date=self.date, seq=written.seq))
        batch.after(lambda state: state.days.add(self.date))
        return written.seq
