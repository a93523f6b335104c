"""Wikipedia: edits and views of pages, relative to their mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import quote, urlencode

from openoutcry.arena.snapshots.item_kinds import round_decimal
from openoutcry.arena.snapshots.snapshot_times import UTC, format_time, parse_time, to_second
from openoutcry.arena.sources.http_fetch import Capture, Fetcher
from openoutcry.arena.sources.parse_result import Parsed, read_object, rows_of, unreadable

SOURCE = "wikipedia"
EDITS = "https://en.wikipedia.org/w/api.php"
VIEWS = "https://wikimedia.org/api/rest_v1/metrics/pageviews/per-article/en.wikipedia/all-access/user"
SPAN, RECENT = timedelta(days=28), timedelta(hours=6)
MAX_PAGES, MAX_REVISIONS, MAX_DAYS = 4, 5000, 60
SPIKE, FEWEST = 3, 5


@dataclass(frozen=True)
class Edit:
    """A revision of a page."""

    id: int
    at: datetime


@dataclass(frozen=True)
class Views:
    """Views of a page on one day, which ended at `until`."""

    until: datetime
    count: int


@dataclass(frozen=True)
class ActivityRatio:
    """Recent activity of a page divided by its mean, and whether it is a spike."""

    ratio: Decimal
    is_spike: bool


def fetch(fetcher: Fetcher, pages: Iterable[str]) -> list[Capture]:
    """Fetch the edits and views of every page in the last four weeks."""
    found = []
    now = to_second(fetcher.now())
    for page in pages:
        found += _edits(fetcher, page, now)
        days = "/".join(each.strftime("%Y%m%d00") for each in (now - SPAN, now))
        found.append(fetcher.get(SOURCE, f"views:{page}", f"{VIEWS}/{quote(page.replace(' ', '_'), '')}/daily/{days}"))
    return found


def _edits(fetcher: Fetcher, page: str, now: datetime) -> list[Capture]:
    params = {"action": "query", "prop": "revisions", "titles": page, "rvprop": "ids|timestamp", "rvlimit": "max"}
    params |= {"rvstart": format_time(now), "rvend": format_time(now - SPAN), "format": "json", "formatversion": "2"}
    found: list[Capture] = []
    while len(found) < MAX_PAGES:
        found.append(fetcher.get(SOURCE, f"edits:{page}", f"{EDITS}?{urlencode(params)}"))
        continuation = (read_object(found[-1].body) or {}).get("continue")
        token = continuation.get("rvcontinue") if isinstance(continuation, dict) else None
        if not isinstance(token, str):
            break
        params["rvcontinue"] = token[:200]
    return found


def parse_edits(raw: bytes, fetched_at: datetime) -> Parsed[Edit]:
    """Parse the revisions of a page; a missing page has none."""
    read = read_object(raw)
    query = None if read is None else read.get("query")
    if not isinstance(query, dict):
        return unreadable()
    found: Parsed[Edit] = Parsed()
    for page in rows_of(query.get("pages"), 1):
        found.lost["missing"] += page.get("missing") is True
        for row in rows_of(page.get("revisions"), MAX_REVISIONS):
            at, name = _parse_stamp(row.get("timestamp")), row.get("revid")
            if at is None or at > fetched_at or type(name) is not int:
                found.lost["revision"] += 1
            else:
                found.items.append(Edit(name, at))
    return found


def parse_views(raw: bytes, fetched_at: datetime) -> Parsed[Views]:
    """Parse daily views, for days that ended before the response."""
    read = read_object(raw)
    if read is None:
        return unreadable()
    found: Parsed[Views] = Parsed()
    for row in rows_of(read.get("items"), MAX_DAYS):
        until, count = _end_of_day(row.get("timestamp")), row.get("views")
        if until is None or until > fetched_at or type(count) is not int or not 0 <= count < 10**10:
            found.lost["day"] += 1
        else:
            found.items.append(Views(until, count))
    return found


def edit_ratio(edits: Iterable[Edit], as_of: datetime) -> ActivityRatio | None:
    """Return the edits of the last six hours relative to four weeks, or None."""
    # Pages of one response may overlap.
    times = [at for at in {each.id: each.at for each in edits}.values() if as_of - SPAN < at <= as_of]
    recent = sum(at > as_of - RECENT for at in times)
    return _activity_ratio(recent, len(times), SPAN // RECENT)


def view_ratio(views: Iterable[Views]) -> ActivityRatio | None:
    """Return the views of the last day relative to the mean day, or None."""
    days = {each.until: each.count for each in views}
    return _activity_ratio(days[max(days)], sum(days.values()), len(days)) if days else None


def _activity_ratio(recent: int, total: int, spans: int) -> ActivityRatio | None:
    if not total:
        return None
    ratio = round_decimal(Decimal(recent * spans) / total, Decimal("0.01"))
    return ActivityRatio(ratio, recent * spans >= SPIKE * total and recent >= FEWEST)


def _parse_stamp(stamp: object) -> datetime | None:
    try:
        return parse_time(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None


def _end_of_day(stamp: object) -> datetime | None:
    try:
        day = datetime.strptime(stamp, "%Y%m%d00") if isinstance(stamp, str) else None
        return None if day is None else (day + timedelta(days=1)).replace(tzinfo=UTC)
    except (OverflowError, ValueError):
        return None
