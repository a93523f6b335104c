"""Timestamps: integer microseconds since 1970, and ISO 8601 text in UTC."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from openoutcry.errors import refusal

SECOND, MINUTE, HOUR, DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86_400 * 10**6
"""Durations in microseconds."""

CADENCE = 10 * MINUTE
"""Time between two snapshots, in microseconds."""

ZONE = "(?:[Zz]|[+]00:00)"
"""Pattern of a UTC designator."""
_FORM = re.compile(rf"(\d{{4}}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{{1,6}}))?{ZONE}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def now() -> int:
    """Return the current time in microseconds since 1970."""
    return time.time_ns() // 1000


def parse_timestamp(name: str, text: object) -> int:
    """Parse an ISO 8601 time with a UTC designator.

    Raises:
        OpenOutcryError: `argument_invalid`: the text is not a time, or its zone is missing or not UTC.
    """
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        day, clock, part = match.groups()
        try:
            whole = datetime.fromisoformat(f"{day}T{clock}+00:00")
        except ValueError:
            pass
        else:
            return (whole - _EPOCH) // timedelta(microseconds=1) + int((part or "").ljust(6, "0"))
    wanted = f"`{name}` must be a time in UTC such as 2026-05-08T12:00:00Z"
    raise refusal("argument_invalid", f"{wanted}; received {str(text)[:64]!r}")


def format_timestamp(timestamp: int) -> str:
    """Format a timestamp as ISO 8601 in UTC, with microseconds if they are not zero."""
    whole, part = divmod(timestamp, SECOND)
    return f"{_second(whole)}.{part:06d}Z" if part else f"{_second(whole)}Z"


@lru_cache(maxsize=1024)
def _second(whole: int) -> str:
    return (_EPOCH + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()


def day_of(timestamp: int) -> str:
    """Return the UTC day of a timestamp, such as `2026-05-08`."""
    return format_timestamp(timestamp)[:10]


def season_of(timestamp: int) -> tuple[str, Window]:
    """Return the quarter of a timestamp, such as `2026Q2`, and its window."""
    at = _EPOCH + timedelta(microseconds=timestamp)
    quarter = (at.month - 1) // 3
    edges = [_EPOCH.replace(year=at.year + later // 4, month=later % 4 * 3 + 1) for later in (quarter, quarter + 1)]
    start, end = ((edge - _EPOCH) // timedelta(microseconds=1) for edge in edges)
    return f"{at.year}Q{quarter + 1}", (start, end)


Window = tuple[int, int]
"""Half-open interval of a season: first timestamp, and the one after its last."""
ALL = "all"
"""Name of the season that covers all time."""


def seasons(began: str, timestamp: int) -> dict[str, Window | None]:
    """Return the windows of `all` (None) and of each season from a day to a timestamp."""
    windows: dict[str, Window | None] = {ALL: None}
    at = parse_timestamp("began", f"{began}T00:00:00Z")
    while at <= timestamp:
        name, window = season_of(at)
        windows[name], at = window, window[1]
    return windows
