"""Moments on the wire, and the edges at which snapshots are taken."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

CADENCE = timedelta(minutes=10)
UTC = timezone.utc
# A space is what a `+` in a query string arrives as.
TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|[+ ]00:00)", re.ASCII)


def parse_time(text: str) -> datetime:
    """Return the moment of an ISO 8601 text in UTC, cut to microseconds.

    Raises:
        ValueError: It is no such text, or names no zone or another one.
    """
    match = TIMESTAMP.fullmatch(text)
    try:
        whole = None if match is None else datetime.fromisoformat(f"{match[1]}T{match[2]}")
    except ValueError:
        whole = None
    if match is None or whole is None:
        raise ValueError(f"a time must look like `2026-05-08T12:00:00Z`; received {text[:40]!r}")
    return whole.replace(tzinfo=UTC, microsecond=int((match[3] or "0")[:6].ljust(6, "0")))


def format_time(time: datetime) -> str:
    """Return a moment as `2026-05-08T12:00:00Z`, with microseconds if it has any."""
    return to_utc("a time", time).replace(tzinfo=None).isoformat() + "Z"


def to_utc(name: str, time: datetime) -> datetime:
    """Return a moment in UTC, refusing one without a zone."""
    if time.tzinfo is None:
        raise ValueError(f"{name} must have a zone; received {time.isoformat()}")
    return time.astimezone(UTC)


def to_second(time: datetime) -> datetime:
    """Return the start of a moment's second, so that rounding cannot look ahead."""
    return time.replace(microsecond=0)


def is_snapshot_time(time: datetime) -> bool:
    """Return whether snapshots are taken then: at whole ten minutes (R-15)."""
    return last_snapshot_time(time) == time


def last_snapshot_time(time: datetime) -> datetime:
    """Return the last edge that is not later than a time."""
    utc = to_utc("a time", time)
    return utc.replace(minute=utc.minute - utc.minute % 10, second=0, microsecond=0)
