"""Moments as whole microseconds, and the seasons they belong to."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from openoutcry.errors import refusal

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|\+00:00)")
SECOND_US = 1_000_000
_US = timedelta(microseconds=1)


def moment(text: str) -> int:
    """Return the microseconds since 1970 of a time such as `2026-05-08T12:00:00Z`."""
    if not _MOMENT.fullmatch(text):
        raise refusal("argument_invalid", f"a time must be `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`; received {text!r}")
    whole, _, rest = text.removesuffix("Z").removesuffix("+00:00").partition(".")
    try:
        second = datetime.fromisoformat(whole).replace(tzinfo=timezone.utc)
    except ValueError:
        raise refusal("argument_invalid", f"a time must exist; received {text!r}") from None
    return (second - _EPOCH) // _US + int(rest.ljust(6, "0"))


def season_of(at_us: int) -> tuple[str, tuple[int, int]]:
    """Return the name of the quarter of a moment, such as `2026Q2`, and its window."""
    at = _EPOCH + at_us * _US
    quarter = (at.month - 1) // 3
    edges = [_EPOCH.replace(year=at.year + later // 4, month=later % 4 * 3 + 1) for later in (quarter, quarter + 1)]
    start, end = ((edge - _EPOCH) // _US for edge in edges)
    return f"{at.year}Q{quarter + 1}", (start, end)
