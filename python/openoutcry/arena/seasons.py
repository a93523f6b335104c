"""What keeps an arena going: a snapshot at every edge, and the close of every day."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from openoutcry.arena.snapshots.building import Snapshot
from openoutcry.arena.snapshots.markets import Market, markets_of
from openoutcry.arena.snapshots.precompressed import precompress
from openoutcry.arena.store.entries import Listing, Publishing

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def micros(moment: datetime) -> int:
    """Return a time as whole microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def publishing(snapshot: Snapshot, at: int) -> Publishing:
    """Return what publishes a snapshot that was built.

    Args:
        snapshot: Its bytes stay as they are.
        at: Now.
    """
    bodies = precompress(snapshot.body).encodings
    listings = tuple(_listing(each) for each in markets_of(snapshot.body))
    return Publishing(micros(snapshot.as_of), bodies, listings, at)


def _listing(market: Market) -> Listing:
    prices = [
        None if price is None else f"{price:f}" for price in (market.yes_mid_price, market.yes_bid, market.yes_ask)
    ]
    return Listing(
        market.market_id,
        market.exchange,
        market.question,
        market.theaters,
        micros(market.decision_cutoff),
        micros(market.settlement_at),
        *prices,
    )
