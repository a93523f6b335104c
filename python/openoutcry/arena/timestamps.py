"""Moments of the protocol: whole microseconds since 1970, as texts in UTC."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from openoutcry.errors import refusal

SECOND, MINUTE, HOUR, DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86_400 * 10**6
"""Lengths of time in microseconds."""

CADENCE = 10 * MINUTE
"""Between two snapshots."""

ZONE = "(?:[Zz]|[+]00:00)"
"""How a time ends that says to be in UTC."""
_FORM = re.compile(rf"(\d{{4}}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{{1,6}}))?{ZONE}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def now() -> int:
    """Return this moment."""
    return time.time_ns() // 1000


def parse_timestamp(name: str, text: object) -> int:
    """Read an ISO 8601 time in UTC, which must say that it is.

    Raises:
        OpenOutcryError: `argument_invalid`: it is none, has no zone, or another one.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is not None:
        day, clock, part = found.groups()
        try:
            whole = datetime.fromisoformat(f"{day}T{clock}+00:00")
        except ValueError:
            pass
        else:
            return (whole - _EPOCH) // timedelta(microseconds=1) + int((part or "").ljust(6, "0"))
    wanted = f"`{name}` must be a time in UTC such as 2026-05-08T12:00:00Z"
    raise refusal("argument_invalid", f"{wanted}; received {str(text)[:64]!r}")


def format_timestamp(moment: int) -> str:
    """Return a moment as ISO 8601 in UTC, with microseconds where it has some."""
    whole, part = divmod(moment, SECOND)
    return f"{_second(whole)}.{part:06d}Z" if part else f"{_second(whole)}Z"


@lru_cache(maxsize=1024)
def _second(whole: int) -> str:
    return (_EPOCH + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()


def day_of(moment: int) -> str:
    """Return the day of a moment in UTC."""
    return format_timestamp(moment)[:10]


def season_of(moment: int) -> tuple[str, Window]:
    """Return the quarter of a moment, such as `2026Q2`, and its window (Q-4)."""
    at = _EPOCH + timedelta(microseconds=moment)
    quarter = (at.month - 1) // 3
    edges = [_EPOCH.replace(year=at.year + later // 4, month=later % 4 * 3 + 1) for later in (quarter, quarter + 1)]
    start, end = ((edge - _EPOCH) // timedelta(microseconds=1) for edge in edges)
    return f"{at.year}Q{quarter + 1}", (start, end)


Window = tuple[int, int]
"""The first moment of a season, and the one after its last."""
ALL = "all"
"""All time, beside seasons."""


def seasons(began: str, moment: int) -> dict[str, Window | None]:
    """Return the seasons from a day until a moment, after all time, without window."""
    found: dict[str, Window | None] = {ALL: None}
    at = parse_timestamp("began", f"{began}T00:00:00Z")
    while at <= moment:
        name, window = season_of(at)
        found[name], at = window, window[1]
    return found
