"""Ranking and selection of the items of a snapshot.

The weights rank kinds by newsworthiness. Agent scores do not depend on them: the scoring cannot import this package
(see the table of layers in the tests).
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
# `Decimal.exp` is correctly rounded, so the order is the same on every platform; C's `exp` is not.
EXACT = Context(prec=34)


def score(item: Item, as_of: datetime) -> Decimal:
    """Return `exp(-age_hours / 24)` times the kind's weight; an unknown age is 0."""
    age = max(as_of - (item.time or as_of), timedelta(0)) // timedelta(microseconds=1)
    decay = EXACT.exp(EXACT.divide(Decimal(-age), DAY))
    return EXACT.multiply(decay, WEIGHTS[type(item)])


def select_items(seen: Sequence[ObservedItem], as_of: datetime) -> list[ObservedItem]:
    """Return at most 200 items by score, then by newer time, then by id.

    Markets and theaters are never dropped; the other kinds fill the remaining places.

    Raises:
        SnapshotError: There are more than 200 markets and theaters.
    """
    n_protected = sum(isinstance(each.item, NEVER_DROPPED) for each in seen)
    if n_protected > MAX_ITEMS:
        raise SnapshotError(
            f"markets and theaters, which are never dropped, must be at most {MAX_ITEMS}; "
            f"received {n_protected} for {format_time(as_of)}"
        )
    ranked = sorted(seen, key=lambda each: _key(each.item, as_of))
    n_free, selected = MAX_ITEMS - n_protected, []
    for each in ranked:
        if isinstance(each.item, NEVER_DROPPED):
            selected.append(each)
        elif n_free:
            selected.append(each)
            n_free -= 1
    return selected


def _key(item: Item, as_of: datetime) -> tuple[Decimal, timedelta, str]:
    return -score(item, as_of), as_of - (item.time or as_of), item.id
