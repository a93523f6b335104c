"""USGS: earthquakes of the last day, from the United States Geological Survey."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from openoutcry.arena.snapshots.item_kinds import MAX_TITLE, Seismic, SnapshotError, parse_decimal, round_decimal
from openoutcry.arena.sources.http_fetch import Capture, Fetcher
from openoutcry.arena.sources.parse_result import Parsed, from_epoch, read_object, rows_of, unreadable
from openoutcry.arena.sources.text_sanitizer import clean_text, http_url

SOURCE = "usgs"
# A full day, the window of an alert, so that a failed capture leaves no gap.
URL = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson"
MAX_FEATURES = 2000


def fetch(fetcher: Fetcher) -> list[Capture]:
    """Fetch the earthquakes of the last day."""
    return [fetcher.get(SOURCE, "day", URL)]


def parse(raw: bytes, fetched_at: datetime) -> Parsed[Seismic]:
    """Parse the earthquakes of a response, without explosions and deleted entries."""
    read = read_object(raw)
    if read is None or read.get("type") != "FeatureCollection":
        return unreadable()
    found: Parsed[Seismic] = Parsed()
    for feature in rows_of(read.get("features"), MAX_FEATURES):
        try:
            quake = _quake(feature, fetched_at)
        except (ArithmeticError, LookupError, SnapshotError, TypeError, ValueError):
            quake = None
        found.add("quake", quake)
    return found


def _quake(feature: dict[str, Any], fetched_at: datetime) -> Seismic | None:
    properties = feature["properties"]
    occurred = from_epoch(properties["time"])
    if (
        properties.get("type") != "earthquake"
        or properties.get("status") == "deleted"
        or occurred is None
        or occurred > fetched_at
    ):
        return None
    # Longitude comes first.
    lon, lat, depth = (*feature["geometry"]["coordinates"], None)[:3]
    return Seismic(
        id=f"seismic:{clean_text(feature['id'], 60)}",
        magnitude=round_decimal(parse_decimal(properties["mag"])),
        depth_km=None if depth is None else round_decimal(parse_decimal(depth)),
        lat=round_decimal(parse_decimal(lat)),
        lon=round_decimal(parse_decimal(lon)),
        place=clean_text(properties.get("place"), MAX_TITLE),
        occurred_at=occurred,
        url=http_url(properties.get("url")) or "",
    )
