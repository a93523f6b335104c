"""Items, captures and recorded responses for tests of Arena snapshots."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("feedparser")

import httpx

from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.snapshots.item_kinds import Item, MarketState, News, ScheduledEvent, Seismic, TheaterIntel
from openoutcry.arena.snapshots.snapshot_builder import build
from openoutcry.arena.snapshots.time_leaks import ObservedItem
from openoutcry.arena.sources import gdelt, kalshi, usgs, wikipedia
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.source_plan import Plan

FIXTURES = Path(__file__).parents[1] / "arena" / "fixtures"
AS_OF = datetime(2026, 5, 8, 12, 0, tzinfo=timezone.utc)
FETCHED = AS_OF - timedelta(seconds=10)
HOUR = timedelta(hours=1)


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        # A fixed timestamp, so that the same content gives the same bytes.
        archive.writestr(zipfile.ZipInfo("20260508114500.export.CSV"), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


URL = "https://example.org/feed"
PLAN = Plan({"Paper": URL}, ("KXIRANSTRIKE",), calendar=fixture("calendar.ics"))


def recorded(request: httpx.Request) -> httpx.Response:
    """Return the recorded response of a source to a request."""
    names = {
        gdelt.LATEST: fixture("gdelt_lastupdate.txt"),
        "http://data.gdeltproject.org/gdeltv2/20260508114500.export.CSV.zip": zipped(fixture("gdelt_export.CSV")),
        usgs.URL: fixture("usgs.geojson"),
        URL: fixture("rss.xml"),
    }
    url = str(request.url)
    if url.startswith(kalshi.URL):
        return httpx.Response(200, content=fixture("kalshi_cents.json"))
    if url.startswith(wikipedia.EDITS):
        return httpx.Response(200, content=fixture("wikipedia_missing.json"))
    if url.startswith(wikipedia.VIEWS):
        return httpx.Response(404, content=fixture("wikipedia_no_views.json"))
    return httpx.Response(200, content=names[url]) if url in names else httpx.Response(404)


def news(name: str = "1", age: timedelta = HOUR, **given: Any) -> News:
    made = News(f"news:{name}", "rss", "Paper", f"Title {name}", "", "https://example.org/1", AS_OF - age)
    return replace(made, **given)


def market(ticker: str = "KXIRANSTRIKE-26", **given: Any) -> MarketState:
    name = f"kalshi:{ticker}"
    half, close = Decimal("0.5"), AS_OF + timedelta(days=3)
    made = MarketState(
        f"market_state:{name}", "kalshi", name, half, half, half, half, AS_OF, "Is it?", close, ("iran",)
    )
    return replace(made, **given)


def quake(name: str = "1", age: timedelta = HOUR, **given: Any) -> Seismic:
    two = Decimal("2.5")
    made = Seismic(f"seismic:{name}", two, two, two, two, "Place", AS_OF - age, "https://example.org/q")
    return replace(made, **given)


def event(name: str = "1", published_at: datetime | None = None) -> ScheduledEvent:
    return ScheduledEvent(f"scheduled_event:{name}", "Vote", AS_OF + timedelta(days=2), published_at)


def theaters(as_of: datetime = AS_OF) -> list[TheaterIntel]:
    unknown = (None, None, None, None, None, "UNKNOWN", None, None)
    return [TheaterIntel(f"theater_intel:{name}", name, *unknown, as_of) for name in THEATERS]


def seen(*items: Item, at: datetime = FETCHED) -> list[ObservedItem]:
    return [ObservedItem(item, at) for item in items]


def built(*items: Item) -> list[dict[str, Any]]:
    """Return the JSON items of a snapshot built from these items and the theaters."""
    read = json.loads(build(AS_OF, seen(*items, *theaters())).body)["items"]
    assert isinstance(read, list)
    return read


def capture(source: str, part: str, body: bytes, at: datetime = FETCHED, **given: Any) -> Capture:
    made = Capture(source, part, f"https://example.org/{source}/{part}", at, 200, body=body)
    return replace(made, **given)


def responses(at: datetime = FETCHED) -> list[Capture]:
    """Return one recorded capture of every source."""
    return [
        capture("rss", "Paper", fixture("rss.xml"), at),
        capture("gdelt", "latest", fixture("gdelt_lastupdate.txt"), at),
        capture("gdelt", "events", zipped(fixture("gdelt_export.CSV")), at),
        capture("gdelt", "articles", fixture("gdelt_articles.json"), at),
        capture("wikipedia", "edits:Iran", fixture("wikipedia_edits.json"), at),
        capture("wikipedia", "views:Iran", fixture("wikipedia_views.json"), at),
        capture("usgs", "day", fixture("usgs.geojson"), at),
        capture("kalshi", "KXIRANSTRIKE", fixture("kalshi_dollars.json"), at),
        capture("calendar", "events", fixture("calendar.ics"), at, url=""),
        capture("risk", "theaters", b'{"iran": "HIGH"}', at, url=""),
    ]
