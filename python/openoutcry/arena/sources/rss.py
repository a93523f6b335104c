"""Feeds, RSS or Atom: articles as their publishers announce them.

`feedparser` is given bytes only. Given an address, it would fetch it.
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
    """Ask for every feed of the plan, once."""
    return [fetcher.get(SOURCE, name, url) for name, url in plan.feeds.items()]


def parse(raw: bytes, fetched_at: datetime, name: str) -> Parsed[News]:
    """Return the articles of a feed's bytes.

    An article without a date, or with one after `fetched_at`, is dated `fetched_at`; it keeps that date, since the
    version of an article that was seen first is the one that stands. An article's id holds the feed's name, so that no
    feed can take the place of another's article.

    Args:
        raw: The body.
        fetched_at: When it was received.
        name: The feed's name, which articles show.
    """
    if len(raw) > MAX_FEED_BYTES:
        return unreadable()
    try:
        # As a file, since a text could be taken for an address. Its own cleaning is slow on some texts, and not ours.
        read = feedparser.parse(
            io.BytesIO(raw),
            response_headers={"content-type": "application/xml"},
            resolve_relative_uris=False,
            sanitize_html=False,
        )
        entries = list(read.get("entries", []))[:MAX_ENTRIES]
        version = read.get("version")
    except Exception:  # noqa: BLE001 whatever a stranger's bytes do to the library costs this feed only
        return unreadable()
    if not version:
        return unreadable()
    found: Parsed[News] = Parsed()
    for entry in entries:
        # A plain `dict`: the library's own warns when asked for a date that is not there.
        found.add("article", _article(dict(entry), fetched_at, name, found))
    return found


def _article(told: dict[str, Any], fetched_at: datetime, name: str, found: Parsed[News]) -> News | None:
    url, guid = http_url(told.get("link")), told.get("id")
    if url is None:
        return None
    published = _parse_stamp(told.get("published_parsed")) or _parse_stamp(told.get("updated_parsed"))
    if published is None or published > fetched_at:
        found.lost["date"] += 1
        published = to_second(fetched_at)
    try:
        return News(
            id=f"news:{digest(SOURCE, name, url, guid if isinstance(guid, str) else '')}",
            source_type=SOURCE,
            source_name=clean_text(name, MAX_NAME),
            title=html_to_text(told.get("title"), MAX_TITLE),
            summary=html_to_text(told.get("summary"), MAX_SUMMARY),
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
