"""The check that a snapshot tells nothing from after its time (R-19)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from openoutcry.arena.snapshots.item_kinds import Item, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import format_time, to_utc


class LeakError(SnapshotError):
    """An item from after the snapshot that was to show it."""


@dataclass(frozen=True)
class ObservedItem:
    """An item, and when we first had it; the second of the two is never published."""

    item: Item
    first_seen_at: datetime


def check(seen: Iterable[ObservedItem], as_of: datetime) -> None:
    """Refuse a snapshot one of whose items is from after `as_of`.

    `scheduled_at` and `close_time` lie ahead by nature, and are no time of an item.

    Raises:
        LeakError: It names the item. The snapshot is not to be published without it either: what let one future item
            through may have let others through that carry no date.
    """
    for each in seen:
        for name, moment in (("first_seen_at", each.first_seen_at), ("time", each.item.time)):
            if moment is not None and to_utc(name, moment) > as_of:
                raise LeakError(
                    f"{name} of {each.item.id!r} must not be after {format_time(as_of)}; received {format_time(moment)}"
                )
