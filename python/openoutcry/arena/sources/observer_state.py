"""What an observer remembers of earlier edges, and the file that it is kept in.

It follows from the captures, and saves a server that begins anew from reading all of them again.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openoutcry.arena.snapshots.item_kinds import Item, News, Seismic, SnapshotError, parse_decimal
from openoutcry.arena.snapshots.snapshot_times import format_time, parse_time
from openoutcry.arena.snapshots.time_leaks import ObservedItem
from openoutcry.arena.sources.gdelt import Event
from openoutcry.arena.sources.http_fetch import Capture


@dataclass
class ObserverState:
    """The last edge, its answers by address, and the news, earthquakes and events.

    `news` holds each article with the edge at which it was last listed.
    """

    as_of: datetime | None = None
    known: dict[str, Capture] = field(default_factory=dict)
    news: dict[str, tuple[ObservedItem, datetime]] = field(default_factory=dict)
    quakes: dict[str, ObservedItem] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)


def dump_state(state: ObserverState) -> bytes:
    """Return the bytes of a file that `read_memory` reads."""
    shown = {
        "as_of": state.as_of,
        "known": [vars(each) for each in state.known.values()],
        "news": [[_seen(seen), listed] for seen, listed in state.news.values()],
        "quakes": [_seen(seen) for seen in state.quakes.values()],
        "events": [vars(each) for each in state.events.values()],
    }
    return json.dumps(shown, default=_plain).encode()


def read_state(raw: bytes) -> ObserverState:
    """Return what was remembered.

    Raises:
        SnapshotError: The bytes are not what `dump` writes.
    """
    try:
        read = json.loads(raw)
        as_of = read["as_of"]
        news = [(_seen_of(seen), parse_time(listed)) for seen, listed in read["news"]]
        quakes = [_seen_of(each) for each in read["quakes"]]
        return ObserverState(
            as_of=None if as_of is None else parse_time(as_of),
            known={each["url"]: _capture(each) for each in read["known"]},
            news={each[0].item.id: each for each in news},
            quakes={each.item.id: each for each in quakes},
            events={each["id"]: Event(**each | {"added_at": parse_time(each["added_at"])}) for each in read["events"]},
        )
    except (KeyError, TypeError, ValueError) as error:
        wanted = "`memory.json` as it was written, or none, since it follows from the captures, is required"
        raise SnapshotError(f"what was remembered cannot be read: {wanted}; received another") from error


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"no such value is remembered: {type(value).__name__}")


def _seen(seen: ObservedItem) -> dict[str, Any]:
    return {"item": seen.item.to_json(), "first_seen_at": seen.first_seen_at}


def _seen_of(told: dict[str, Any]) -> ObservedItem:
    row = dict(told["item"])
    made: Item
    if row.pop("kind") == News.kind:
        made = News(**row | {"published_at": parse_time(row["published_at"])})
    else:
        numbers = ("magnitude", "depth_km", "lat", "lon")
        row |= {name: parse_decimal(row[name]) for name in numbers if row[name] is not None}
        made = Seismic(**row | {"occurred_at": parse_time(row["occurred_at"])})
    return ObservedItem(made, parse_time(told["first_seen_at"]))


def _capture(told: dict[str, Any]) -> Capture:
    return Capture(**told | {"fetched_at": parse_time(told["fetched_at"]), "body": base64.b64decode(told["body"])})
