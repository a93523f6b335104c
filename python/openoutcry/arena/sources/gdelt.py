"""GDELT: events from its 15-minute files, articles from its search API.

The search API rejects frequent callers; the files do not.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from openoutcry.arena.snapshots.item_kinds import MAX_NAME, MAX_TITLE, Lean, News, SnapshotError
from openoutcry.arena.snapshots.snapshot_times import UTC, to_second
from openoutcry.arena.sources.http_fetch import MAX_BYTES, Capture, Fetcher
from openoutcry.arena.sources.parse_result import Parsed, digest, read_object, rows_of, unreadable
from openoutcry.arena.sources.source_plan import Plan
from openoutcry.arena.sources.text_sanitizer import clean_text, html_to_text, http_url

SOURCE = "gdelt"
LATEST = "http://data.gdeltproject.org/gdeltv2/lastupdate.txt"
EXPORT = re.compile(r"https?://data\.gdeltproject\.org/gdeltv2/\d{14}\.export\.CSV\.zip", re.ASCII)
SEARCH = "https://api.gdeltproject.org/api/v2/doc/doc"
MAX_ARTICLES, MAX_EVENTS, MAX_CSV_BYTES = 250, 100_000, 10 * MAX_BYTES
COLUMNS = 61
ID, IS_ROOT, QUAD_CLASS, COUNTRY, ADDED = 0, 25, 29, 53, 59


@dataclass(frozen=True)
class Event:
    """A root event: FIPS country code, hostile or cooperative, and time added."""

    id: str
    country: str
    is_hostile: bool
    added_at: datetime


def fetch(fetcher: Fetcher, plan: Plan) -> list[Capture]:
    """Fetch the latest event file, and articles if the plan has a query."""
    found = [fetcher.get(SOURCE, "latest", LATEST)]
    export = export_url(fetcher.body(found[0]))
    if export is not None:
        found.append(fetcher.get(SOURCE, "events", export))
    if plan.query is not None:
        params = {"query": plan.query, "mode": "artlist", "format": "json", "maxrecords": 250, "timespan": "15min"}
        found.append(fetcher.get(SOURCE, "articles", f"{SEARCH}?{urlencode(params)}"))
    return found


def export_url(raw: bytes) -> str | None:
    """Return the URL of the event file in `lastupdate.txt`, on GDELT's host only."""
    words = raw[:2000].decode("ascii", "replace").split()
    return next((word for word in words if EXPORT.fullmatch(word)), None)


def lean(hostile: int, cooperative: int) -> Lean:
    """Return the side with at least twice the events of the other, or `mixed`."""
    if hostile == cooperative == 0:
        return "none"
    if hostile >= 2 * cooperative:
        return "hostile"
    return "cooperative" if cooperative >= 2 * hostile else "mixed"


def parse_events(raw: bytes, fetched_at: datetime) -> Parsed[Event]:
    """Parse the root events of a zipped event file, for all countries."""
    found: Parsed[Event] = Parsed()
    try:
        for row in _rows(raw):
            event = _event(row, fetched_at)
            if event is None:
                found.lost["event"] += 1
            elif row[IS_ROOT] == "1":
                found.items.append(event)
    except Exception:  # noqa: BLE001 decompressors raise many types on a broken archive
        return unreadable()
    return found


def parse_articles(raw: bytes, fetched_at: datetime) -> Parsed[News]:
    """Parse the articles of a search response; its error messages are plain text."""
    read = read_object(raw)
    if read is None:
        return unreadable()
    found: Parsed[News] = Parsed()
    for row in rows_of(read.get("articles"), MAX_ARTICLES):
        found.add("article", _article(row, fetched_at, found))
    return found


def _rows(raw: bytes) -> Iterator[list[str]]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(archive.infolist()[0]) as file:
        # Bounded read: the size stated by the archive cannot be trusted.
        text = file.read(MAX_CSV_BYTES).decode("utf-8", "replace")
    for line in text.split("\n")[:MAX_EVENTS]:
        row = line.split("\t")
        if len(row) == COLUMNS:
            yield row


def _event(row: list[str], fetched_at: datetime) -> Event | None:
    added = _parse_stamp(row[ADDED], "%Y%m%d%H%M%S")
    if added is None or added > fetched_at or row[QUAD_CLASS] not in {"1", "2", "3", "4"}:
        return None
    return Event(row[ID][:20], row[COUNTRY], row[QUAD_CLASS] in {"3", "4"}, added)


def _article(row: dict[str, Any], fetched_at: datetime, found: Parsed[News]) -> News | None:
    url, seen = http_url(row.get("url")), _parse_stamp(row.get("seendate"), "%Y%m%dT%H%M%SZ")
    if url is None:
        return None
    if seen is None or seen > fetched_at:
        found.lost["date"] += 1
        seen = to_second(fetched_at)
    try:
        return News(
            id=f"news:{digest(SOURCE, url)}",
            source_type=SOURCE,
            source_name=clean_text(row.get("domain"), MAX_NAME),
            title=html_to_text(row.get("title"), MAX_TITLE),
            summary="",
            url=url,
            published_at=seen,
        )
    except SnapshotError:
        return None


def _parse_stamp(stamp: object, form: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, form).replace(tzinfo=UTC) if isinstance(stamp, str) else None
    except ValueError:
        return None
