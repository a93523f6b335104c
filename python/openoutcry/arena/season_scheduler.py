"""What keeps an arena going: a snapshot at every edge, and the close of every day."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from sqlalchemy import select

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.snapshots.compression import precompress
from openoutcry.arena.snapshots.market_items import Market, markets_of
from openoutcry.arena.snapshots.snapshot_builder import Snapshot
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import CloseDay, MarketListing, PublishSnapshot, StateChange
from openoutcry.arena.store.tables import meta
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.timestamps import CADENCE, DAY, SECOND, day_of, now

_LOGGER = logging.getLogger("openoutcry.arena")
_EVERY = 1.0
LEAD = 75 * SECOND
"""Before an edge its sources are asked, which takes a minute at most."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_microseconds(moment: datetime) -> int:
    """Return a time as whole microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _time(moment: int) -> datetime:
    return _EPOCH + timedelta(microseconds=moment)


def publish_entry(snapshot: Snapshot, at: int) -> PublishSnapshot:
    """Return what publishes a snapshot that was built.

    Args:
        snapshot: Its bytes stay as they are.
        at: Now.
    """
    bodies = precompress(snapshot.body).encodings
    listings = tuple(_listing(each) for each in markets_of(snapshot.body))
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
    """An arena is served as what it began as: no real log takes made-up markets.

    Attributes:
        kind: `demo`, `practice` or `live`.
    """

    kind: str

    def plan(self, batch: Batch) -> None:
        """Note it the first time, and refuse another one later."""
        known = batch.connection.execute(select(meta.c.value).where(meta.c.key == "season")).scalar()
        if known is None:
            batch.add(meta, "season", self.kind)
        elif known != self.kind:
            wanted = f"an arena that is served as the {known} season that it began as is required"
            raise ArenaError("invalid_payload", f"{wanted}; received options of a {self.kind} one")


class SeasonScheduler:
    """Keeps an arena going: a snapshot at every edge, the close of every day.

    A slot that is missed stays empty: made later, a snapshot would know what came after it (R-20).

    Args:
        arena: Open.
        snapshot: Returns the snapshot of an edge, or None where no source answered.
        prepare: Is told of an edge `LEAD` before it comes.
        clock: Tells the moment.
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
        """Do what is due now."""
        moment = self._clock()
        try:
            self._publish(moment)
        finally:
            # Once a day it writes; each time the writer reads what an operator wrote meanwhile.
            self._arena.writer.write(CloseDay(day_of(moment - DAY), moment))

    def _publish(self, moment: int) -> None:
        edge, latest = moment - moment % CADENCE, self._arena.state.latest
        if latest is None or edge > latest:
            made = self._snapshot(_time(edge))
            if made is not None:
                entry = publish_entry(made, moment)
                # Compressed first: what cutoffs have passed is asked when it is published.
                self._arena.writer.write(replace(entry, at=self._clock()))
        coming = edge + CADENCE
        if self._prepare is not None and moment >= coming - LEAD and self._prepared < coming:
            # Once, whatever comes of it: a source that breaks costs a slot, and is not asked every second.
            self._prepared = coming
            self._prepare(_time(coming))

    def start(self) -> None:
        """Do what is due, now and from here on."""
        self.tick()
        self._thread.start()

    def stop(self) -> None:
        """Stop."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY):
            self._ticked()

    def _ticked(self) -> None:
        try:
            self.tick()
        except Exception as error:
            _LOGGER.error("nothing was published", exc_info=error)
