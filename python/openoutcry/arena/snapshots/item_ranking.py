"""Which items a snapshot has room for, and in which order (R-18).

The weights say how newsworthy a kind is. No score of an agent may depend on them: `tests/tree/layers.py` keeps the
scoring from importing this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Context, Decimal

from openoutcry.arena.snapshots.item_kinds import (
    Item,
    MarketState,
    News,
    ScheduledEvent,
    Seismic,
    SnapshotError,
    TheaterIntel,
)
from openoutcry.arena.snapshots.snapshot_times import format_time
from openoutcry.arena.snapshots.time_leaks import ObservedItem

MAX_ITEMS = 200
WEIGHTS: dict[type[Item], Decimal] = {
    MarketState: Decimal(100),
    TheaterIntel: Decimal(100),
    ScheduledEvent: Decimal(2),
    Seismic: Decimal("1.5"),
    News: Decimal(1),
}
NEVER_DROPPED = (MarketState, TheaterIntel)
DAY = Decimal(24 * 3_600_000_000)
# Decimal's `exp` is rounded correctly, so the order is the same on every platform; that of C's is not.
EXACT = Context(prec=34)


def score(item: Item, as_of: datetime) -> Decimal:
    """Return `exp(-age_hours / 24)` times the kind's weight; no age is age zero."""
    age = max(as_of - (item.time or as_of), timedelta(0)) // timedelta(microseconds=1)
    decay = EXACT.exp(EXACT.divide(Decimal(-age), DAY))
    return EXACT.multiply(decay, WEIGHTS[type(item)])


def select_items(seen: Sequence[ObservedItem], as_of: datetime) -> list[ObservedItem]:
    """Return at most 200 items by score, then by newer time, then by id.

    Markets and theaters are never dropped, so the others share the room that they leave.

    Raises:
        SnapshotError: Markets and theaters alone are more than 200. Neither rule may give way unseen: whoever lists
            the markets has to list fewer.
    """
    kept = sum(isinstance(each.item, NEVER_DROPPED) for each in seen)
    if kept > MAX_ITEMS:
        raise SnapshotError(
            f"markets and theaters, which are never dropped, must be at most {MAX_ITEMS}; "
            f"received {kept} for {format_time(as_of)}"
        )
    ranked = sorted(seen, key=lambda each: _key(each.item, as_of))
    room, selected = MAX_ITEMS - kept, []
    for each in ranked:
        if isinstance(each.item, NEVER_DROPPED):
            selected.append(each)
        elif room:
            selected.append(each)
            room -= 1
    return selected


def _key(item: Item, as_of: datetime) -> tuple[Decimal, timedelta, str]:
    return -score(item, as_of), as_of - (item.time or as_of), item.id
