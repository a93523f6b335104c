"""Timestamps in JSON, and snapshot times: multiples of ten minutes in UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

CADENCE = timedelta(minutes=10)
UTC = timezone.utc
# A `+` in a query string is decoded as a space.
TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|[+ ]00:00)", re.ASCII)


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 timestamp in UTC, truncated to microseconds.

    Raises:
        ValueError: The text is not a timestamp, or has no zone or another zone than UTC.
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
    """Format a time as `2026-05-08T12:00:00Z`, with microseconds unless they are 0."""
    return to_utc("a time", time).replace(tzinfo=None).isoformat() + "Z"


def to_utc(name: str, time: datetime) -> datetime:
    """Convert a time to UTC; a time without a zone raises ValueError."""
    if time.tzinfo is None:
        raise ValueError(f"{name} must have a time zone; received {time.isoformat()}")
    return time.astimezone(UTC)


def to_second(time: datetime) -> datetime:
    """Truncate a time to seconds; rounding up could look ahead."""
    return time.replace(microsecond=0)


def is_snapshot_time(time: datetime) -> bool:
    """Return whether a time is a multiple of ten minutes."""
    return last_snapshot_time(time) == time


def last_snapshot_time(time: datetime) -> datetime:
    """Return the latest snapshot time at or before a time."""
    utc = to_utc("a time", time)
    return utc.replace(minute=utc.minute - utc.minute % 10, second=0, microsecond=0)
