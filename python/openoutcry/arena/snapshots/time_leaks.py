"""Look-ahead check: no item of a snapshot is later than the snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from openoutcry.arena.snapshots.item_kinds import Item, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import format_time, to_utc


class LeakError(SnapshotError):
    """An item is later than its snapshot."""


@dataclass(frozen=True)
class ObservedItem:
    """An item, and the time it was first received, which is never published."""

    item: Item
    first_seen_at: datetime


def check(seen: Iterable[ObservedItem], as_of: datetime) -> None:
    """Raise if an item was published or received after `as_of`.

    `scheduled_at` and `close_time` may be in the future; they are not the item's own time.

    Raises:
        LeakError: An item is later than `as_of`. Do not publish the snapshot without it either: the same error may have
            let through undated items.
    """
    for each in seen:
        for name, time in (("first_seen_at", each.first_seen_at), ("time", each.item.time)):
            if time is not None and to_utc(name, time) > as_of:
                raise LeakError(
                    f"{name} of {each.item.id!r} must not be after {format_time(as_of)}; received {format_time(time)}"
                )
