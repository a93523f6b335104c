"""Builder of snapshots: items to `IntelSnapshot 0.2.0` bytes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.snapshots import item_ranking, time_leaks
from openoutcry.arena.snapshots.item_kinds import KINDS, SnapshotError, TheaterIntel
from openoutcry.arena.snapshots.snapshot_times import format_time, is_snapshot_time, to_utc
from openoutcry.arena.snapshots.time_leaks import ObservedItem

SCHEMA_VERSION = "0.2.0"


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as stored and served.

    `body` holds the bytes, `sha256` their hex digest in the log, `n_items` the number of items and `n_dropped` the
    number of items beyond the limit.
    """

    as_of: datetime
    body: bytes
    sha256: str
    n_items: int
    n_dropped: int


def build(as_of: datetime, seen: Iterable[ObservedItem]) -> Snapshot:
    """Return the snapshot of a time.

    Args:
        as_of: Snapshot time, a multiple of ten minutes in UTC.
        seen: Items of the five public kinds, with one `theater_intel` per theater.

    Raises:
        LeakError: An item is later than `as_of`.
        SnapshotError: `as_of` is not a snapshot time, ids are not unique, a kind is not public, a theater is
            missing, or there are too many markets. Publish nothing in that case.
    """
    everything = list(seen)
    as_of = to_utc("as_of", as_of)
    if not is_snapshot_time(as_of):
        raise SnapshotError(f"`as_of` must be a multiple of ten minutes; received {format_time(as_of)}")
    _check(everything)
    time_leaks.check(everything, as_of)
    selected = item_ranking.select_items(everything, as_of)
    shown = {
        "schema_version": SCHEMA_VERSION,
        "as_of": format_time(as_of),
        "items": [each.item.to_json() for each in selected],
    }
    body = json.dumps(shown, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Snapshot(as_of, body, hashlib.sha256(body).hexdigest(), len(selected), len(everything) - len(selected))


def _check(seen: list[ObservedItem]) -> None:
    for each in seen:
        # Not `isinstance`: a subclass could write other fields.
        if type(each.item) not in KINDS:
            raise SnapshotError(f"an item must be of a public kind; received {type(each.item).__name__}")
    duplicates = [name for name, count in Counter(each.item.id for each in seen).items() if count > 1]
    if duplicates:
        raise SnapshotError(f"ids must be unique; received {min(duplicates)!r} more than once")
    theaters = sorted(each.item.theater for each in seen if isinstance(each.item, TheaterIntel))
    if theaters != sorted(THEATERS):
        raise SnapshotError(f"one `theater_intel` per theater is required; received {', '.join(theaters) or 'none'}")
