"""Abbreviations of zones, which mean one offset, and are often written all year."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openoutcry.data.readers.date_zones import zone_of
from openoutcry.data.readers.moments import DAY, NO_ZONE, Moments
from openoutcry.data.readers.questions import Question, unstated

_NEW_YORK = "America/New_York"
_EASTERN = ("EST", "EDT")
# Names of the database of zones that have no summer time, and the zones of their clocks.
_FIXED = {"EST": _NEW_YORK, "MST": "America/Denver"}
_SUMMER = ("04", "05", "06", "07", "08", "09", "10")


def checked(moments: Moments, texts: Sequence[str], column: str, zone: str | None) -> Moments:
    """Return times that end in EST or EDT, in the zone that they mean.

    EST in summer is UTC-5, or the time in New York by a name that is used all year.

    Raises:
        OpenOutcryError: `date_invalid`: it must be stated which.
    """
    name = next((name for name in _EASTERN if texts and texts[0].endswith(name)), None)
    if name is None or not all(text.endswith(name) for text in texts) or not (moments.seconds % DAY).any():
        return moments
    home = zone_of(_NEW_YORK)
    assert home is not None, "the zone is named"
    is_other = moments.in_zone(home).offsets != moments.offsets
    if not is_other.any() or zone not in (None, _NEW_YORK):
        return moments
    if zone == _NEW_YORK:
        return Moments(moments.seconds, np.full_like(moments.seconds, NO_ZONE))
    fixed = "Etc/GMT+5" if name == "EST" else "Etc/GMT+4"
    hours = "UTC-5" if name == "EST" else "UTC-4"
    season = "summer" if name == "EST" else "winter"
    required = f"`{column}` must show whether {name} is {hours} all year or the time in New York"
    received = f"{texts[int(np.argmax(is_other))]!r}, in {season}"
    keyword = f'tz="{_NEW_YORK}" for the time in New York or tz="{fixed}" for {hours}'
    raise unstated(Question("date_invalid", required, received, keyword, f"--tz {_NEW_YORK}"))


def notice_of(zone: str | None, dates: Sequence[str]) -> str:
    """Return a caveat if a stated zone has no summer time and times are in summer.

    Args:
        zone: Zone as stated.
        dates: Dates in ISO 8601.
    """
    local = _FIXED.get(zone or "")
    if local is None or not any(date[5:7] in _SUMMER for date in dates if date.endswith("Z")):
        return ""
    return f"`tz` {zone} has no summer time; hint: `tz` {local} (`--tz {local}`) is the time of its clocks all year"
