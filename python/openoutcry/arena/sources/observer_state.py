"""State of an observer, and its file format.

The state can be recomputed from the captures; the file lets a restarted server skip that.
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
    """Last snapshot time, its responses by URL, and the news, earthquakes and events.

    `news` holds each article with the snapshot time at which it was last listed.
    """

    as_of: datetime | None = None
    known: dict[str, Capture] = field(default_factory=dict)
    news: dict[str, tuple[ObservedItem, datetime]] = field(default_factory=dict)
    quakes: dict[str, ObservedItem] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)


def dump_state(state: ObserverState) -> bytes:
    """Return the state as bytes for `read_state`."""
    shown = {
        "as_of": state.as_of,
        "known": [vars(each) for each in state.known.values()],
        "news": [[_seen(seen), listed] for seen, listed in state.news.values()],
        "quakes": [_seen(seen) for seen in state.quakes.values()],
        "events": [vars(each) for each in state.events.values()],
    }
    return json.dumps(shown, default=_plain).encode()


def read_state(raw: bytes) -> ObserverState:
    """Parse a saved state.

    Raises:
        SnapshotError: The bytes are not a saved state.
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
        hint = "hint: delete `memory.json`; it is recomputed from the captures"
        raise SnapshotError(f"a valid `memory.json` is required; received another file; {hint}") from error


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a datetime or bytes is required; received {type(value).__name__}")


def _seen(seen: ObservedItem) -> dict[str, Any]:
    return {"item": seen.item.to_json(), "first_seen_at": seen.first_seen_at}


def _seen_of(fields: dict[str, Any]) -> ObservedItem:
    row = dict(fields["item"])
    item: Item
    if row.pop("kind") == News.kind:
        item = News(**row | {"published_at": parse_time(row["published_at"])})
    else:
        numbers = ("magnitude", "depth_km", "lat", "lon")
        row |= {name: parse_decimal(row[name]) for name in numbers if row[name] is not None}
        item = Seismic(**row | {"occurred_at": parse_time(row["occurred_at"])})
    return ObservedItem(item, parse_time(fields["first_seen_at"]))


def _capture(fields: dict[str, Any]) -> Capture:
    return Capture(
        **fields | {"fetched_at": parse_time(fields["fetched_at"]), "body": base64.b64decode(fields["body"])}
    )
