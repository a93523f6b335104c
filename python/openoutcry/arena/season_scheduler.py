"""Scheduler of a season: a snapshot every ten minutes, a close every day."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from sqlalchemy import select

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.snapshots.compression import precompress
from openoutcry.arena.snapshots.market_items import Market, read_markets
from openoutcry.arena.snapshots.snapshot_builder import Snapshot
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import CloseDay, MarketListing, PublishSnapshot, StateChange
from openoutcry.arena.store.tables import meta
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.timestamps import CADENCE, DAY, SECOND, day_of, now

_LOGGER = logging.getLogger("openoutcry.arena")
_EVERY = 1.0
LEAD = 75 * SECOND
"""Time before a snapshot at which its sources are fetched; a fetch takes at most a minute."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_microseconds(timestamp: datetime) -> int:
    """Return a time as integer microseconds since 1970."""
    return (timestamp - _EPOCH) // timedelta(microseconds=1)


def _time(timestamp: int) -> datetime:
    return _EPOCH + timedelta(microseconds=timestamp)


def publish_entry(snapshot: Snapshot, at: int) -> PublishSnapshot:
    """Return the entry that publishes a snapshot.

    Args:
        snapshot: The snapshot, published without changes.
        at: Time of publication.
    """
    bodies = precompress(snapshot.body).encodings
    listings = tuple(_listing(each) for each in read_markets(snapshot.body))
    return PublishSnapshot(to_microseconds(snapshot.as_of), bodies, listings, at)


def _listing(market: Market) -> MarketListing:
    prices = [
        None if price is None else f"{price:f}" for price in (market.yes_mid_price, market.yes_bid, market.yes_ask)
    ]
    return MarketListing(
        market.market_id,
        market.exchange,
        market.question,
        market.theaters,
        to_microseconds(market.decision_cutoff),
        to_microseconds(market.settlement_at),
        *prices,
    )


@dataclass(frozen=True)
class SetSeasonKind(StateChange):
    """Store the kind of a season; a later start must have the same kind.

    Without this check, a live log could receive synthetic markets.

    Attributes:
        kind: `demo`, `practice` or `live`.
    """

    kind: str

    def plan(self, batch: Batch) -> None:
        """Store the kind at the first start, and refuse another kind later."""
        stored = batch.connection.execute(select(meta.c.value).where(meta.c.key == "season")).scalar()
        if stored is None:
            batch.add(meta, "season", self.kind)
        elif stored != self.kind:
            wanted = f"the options of a {stored} season, as at the first start of this arena, are required"
            raise ArenaError("invalid_payload", f"{wanted}; received those of a {self.kind} season")


class SeasonScheduler:
    """Publishes a snapshot at every multiple of ten minutes and closes each day.

    A missed snapshot is never published later: it would contain information from after its time.

    Args:
        arena: An open arena.
        snapshot: Returns the snapshot of a time, or None if no source responded.
        prepare: Called `LEAD` before each snapshot time.
        clock: Returns the time in microseconds since 1970.
    """

    def __init__(
        self,
        arena: Arena,
        snapshot: Callable[[datetime], Snapshot | None],
        prepare: Callable[[datetime], None] | None = None,
        clock: Callable[[], int] = now,
    ) -> None:
        self._arena, self._snapshot, self._prepare, self._clock = arena, snapshot, prepare, clock
        self._prepared = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="arena-season", daemon=True)

    def tick(self) -> None:
        """Publish and close what is due now."""
        timestamp = self._clock()
        try:
            self._publish(timestamp)
        finally:
            # Writes once a day. Every call makes the writer reload what operator commands have written.
            self._arena.writer.write(CloseDay(day_of(timestamp - DAY), timestamp))

    def _publish(self, timestamp: int) -> None:
        edge, latest = timestamp - timestamp % CADENCE, self._arena.state.latest
        if latest is None or edge > latest:
            snapshot = self._snapshot(_time(edge))
            if snapshot is not None:
                entry = publish_entry(snapshot, timestamp)
                # Compression takes time, so the time of publication is read after it.
                self._arena.writer.write(replace(entry, at=self._clock()))
        upcoming = edge + CADENCE
        if self._prepare is not None and timestamp >= upcoming - LEAD and self._prepared < upcoming:
            # Once per snapshot, even if it fails: a failing source is not fetched again every second.
            self._prepared = upcoming
            self._prepare(_time(upcoming))

    def start(self) -> None:
        """Run what is due, and start the scheduler thread."""
        self.tick()
        self._thread.start()

    def stop(self) -> None:
        """Stop the scheduler thread."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY):
            self._try_tick()

    def _try_tick(self) -> None:
        try:
            self.tick()
        except Exception as error:
            _LOGGER.error("no snapshot was published", exc_info=error)
