"""Time zones of dates: by name, by suffix, and of the days of a market."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question, unstated
from openoutcry.errors import refusal

# Zones of large markets, the hours between midnights of which are no multiple of a day from UTC.
_MARKETS = (
    "America/New_York", "Europe/London", "Europe/Berlin", "America/Chicago", "Asia/Tokyo", "Asia/Hong_Kong",
    "Asia/Kolkata", "Australia/Sydney",
)  # fmt: skip
# Zones of abbreviations that are no names of zones.
_ABBREVIATIONS = {
    "ET": "America/New_York", "EDT": "America/New_York", "CT": "America/Chicago", "CDT": "America/Chicago",
    "CST": "America/Chicago", "PT": "America/Los_Angeles", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
    "BST": "Europe/London", "CEST": "Europe/Berlin", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul",
    "HKT": "Asia/Hong_Kong", "SGT": "Asia/Singapore", "AEST": "Australia/Sydney", "NEW YORK": "America/New_York",
    "LONDON": "Europe/London", "TOKYO": "Asia/Tokyo",
}  # fmt: skip
_NAMED = re.compile(r"(?P<time>.*\d) (?P<zone>[A-Z][A-Za-z]+(?:/[A-Za-z_]+)+)", re.ASCII)
_LONGEST = 80
# Bars of one day each are at least this far apart, with a change of clocks.
_DAY = 23 * 3600
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def zone_of(name: str | None) -> tzinfo | None:
    """Return a time zone by its IANA name.

    Raises:
        OpenOutcryError: `argument_invalid`: the name is unknown.
    """
    if name is not None and not isinstance(name, str):
        raise refusal("argument_invalid", f"`tz` must be an IANA zone such as America/New_York; received {name!r}")
    if name is None or name.upper() in ("UTC", "GMT", "Z"):
        return None if name is None else timezone.utc
    # Importing it costs 10 ms, which a plain file need not pay.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        known = _ABBREVIATIONS.get(name.upper(), "")
        hint = known and f'; hint: tz="{known}", `--tz {known}`'
        message = f"`tz` must be an IANA zone such as America/New_York; received {name!r}{hint}"
        raise refusal("argument_invalid", message) from error


def named_zone(texts: list[str], column: str) -> tuple[list[str], str | None]:
    """Return texts without the name of a zone that all of them end in, and the name.

    Raises:
        OpenOutcryError: `date_invalid`: the texts name several zones.
    """
    if not texts or "/" not in texts[0] or _NAMED.fullmatch(texts[0][:_LONGEST]) is None:
        return texts, None
    matches = [_NAMED.fullmatch(text[:_LONGEST]) for text in texts]
    zones = {"none" if match is None else match["zone"] for match in matches}
    if len(zones) > 1:
        raise refusal("date_invalid", f"`{column}` must have one zone; received {' and '.join(sorted(zones))}")
    return [match["time"] for match in matches if match is not None], zones.pop()


def ask_zone(axis: npt.NDArray[np.int64], column: str) -> None:
    """Refuse one bar a day at the midnights of a market, which may be days or times.

    `axis` is ascending seconds in UTC.

    Raises:
        OpenOutcryError: `date_invalid`: the zone of the days must be stated.
    """
    if len(axis) < 2 or (np.diff(axis) < _DAY).any():
        return
    for name in _MARKETS:
        zone = zone_of(name)
        moments = (_EPOCH + timedelta(seconds=second) for second in axis.tolist())
        if all((local := moment.astimezone(zone)).hour == local.minute == local.second == 0 for moment in moments):
            first = (_EPOCH + timedelta(seconds=int(axis[0]))).replace(tzinfo=None).isoformat()
            required = f"`{column}` must state the zone of its days"
            received = f"{first}Z, which is midnight in {name}"
            keyword, option = f'tz="{name}" for days or tz="UTC" for times', f"--tz {name}"
            raise unstated(Question("date_invalid", required, received, keyword, option))
