"""RSS and Atom feeds.

`feedparser` receives bytes only: it would fetch a string that looks like a URL.
"""

from __future__ import annotations

import calendar
import io
from datetime import datetime
from time import struct_time
from typing import Any

import feedparser

from openoutcry.arena.snapshots.item_kinds import MAX_NAME, MAX_SUMMARY, MAX_TITLE, News, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import to_second
from openoutcry.arena.sources.http_fetch import Capture, Fetcher
from openoutcry.arena.sources.parse_result import Parsed, digest, from_epoch, unreadable
from openoutcry.arena.sources.source_plan import Plan
from openoutcry.arena.sources.text_sanitizer import clean_text, html_to_text, http_url

SOURCE = "rss"
MAX_ENTRIES, MAX_FEED_BYTES = 200, 1_000_000


def fetch(fetcher: Fetcher, plan: Plan) -> list[Capture]:
    """Fetch every feed of the plan."""
    return [fetcher.get(SOURCE, name, url) for name, url in plan.feeds.items()]


def parse(raw: bytes, fetched_at: datetime, name: str) -> Parsed[News]:
    """Parse the articles of a feed.

    An article without a date, or with a date after `fetched_at`, is dated `fetched_at`. Ids depend on the feed's name,
    so that no feed can replace another feed's article.

    Args:
        raw: Response body.
        fetched_at: Time of the response.
        name: Name of the feed, shown as `source_name`.
    """
    if len(raw) > MAX_FEED_BYTES:
        return unreadable()
    try:
        # A file object, because a string could be taken for a URL. The library's sanitizer is slow on some inputs.
        read = feedparser.parse(
            io.BytesIO(raw),
            response_headers={"content-type": "application/xml"},
            resolve_relative_uris=False,
            sanitize_html=False,
        )
        entries = list(read.get("entries", []))[:MAX_ENTRIES]
        version = read.get("version")
    except Exception:  # noqa: BLE001 any error of the library on untrusted bytes costs only this feed
        return unreadable()
    if not version:
        return unreadable()
    found: Parsed[News] = Parsed()
    for entry in entries:
        # A plain `dict`: the library's own warns on access to a missing date.
        found.add("article", _article(dict(entry), fetched_at, name, found))
    return found


def _article(entry: dict[str, Any], fetched_at: datetime, name: str, found: Parsed[News]) -> News | None:
    url, guid = http_url(entry.get("link")), entry.get("id")
    if url is None:
        return None
    published = _parse_stamp(entry.get("published_parsed")) or _parse_stamp(entry.get("updated_parsed"))
    if published is None or published > fetched_at:
        found.lost["date"] += 1
        published = to_second(fetched_at)
    try:
        return News(
            id=f"news:{digest(SOURCE, name, url, guid if isinstance(guid, str) else '')}",
            source_type=SOURCE,
            source_name=clean_text(name, MAX_NAME),
            title=html_to_text(entry.get("title"), MAX_TITLE),
            summary=html_to_text(entry.get("summary"), MAX_SUMMARY),
            url=url,
            published_at=published,
        )
    except SnapshotError:
        return None


def _parse_stamp(parsed: object) -> datetime | None:
    if not isinstance(parsed, struct_time):
        return None
    try:
        return from_epoch(calendar.timegm(parsed) * 1000)
    except (OverflowError, ValueError):
        return None
