"""Days of 24-hour bars that start at a stated clock time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from openoutcry.data.readers.date_zones import zone_of
from openoutcry.errors import refusal


def trading_days(dates: Sequence[str], start: str, tz: str | None) -> list[str]:
    """Return the day on which each 24-hour bar ends.

    A bar of foreign exchange that starts on Sunday at 17:00 in New York is Monday's.

    Args:
        dates: Times of the bars: UTC if they end in `Z`, else of the file's own zone.
        start: Clock time at which each bar starts, such as 17:00.
        tz: IANA zone of that clock, for times in UTC.

    Raises:
        OpenOutcryError: `argument_invalid`: the start is no clock time, or the bars are days already.
            `date_invalid`: a bar starts at another time.
    """
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", start) if isinstance(start, str) else None
    if match is None or int(match[1]) + int(match[2]) == 0:
        raise refusal("argument_invalid", f"`day_starts` must be a time such as 17:00; received {start!r}")
    if len(dates[0]) == 10:
        message = f"`day_starts` must be left out if the dates are days; received {start!r} with {dates[0]}"
        raise refusal("argument_invalid", message)
    is_utc = dates[0].endswith("Z")
    if is_utc and tz is None:
        message = f"`tz` is required for `day_starts` with times in UTC; received {dates[0]}"
        raise refusal("argument_invalid", f'{message}; hint: tz="America/New_York", `--tz America/New_York`')
    home, clock = zone_of(tz) or timezone.utc, (int(match[1]), int(match[2]), 0)
    days = []
    for text in dates:
        moment = datetime.fromisoformat(text.removesuffix("Z"))
        local = moment.replace(tzinfo=timezone.utc).astimezone(home) if is_utc else moment
        if (local.hour, local.minute, local.second) != clock:
            received = f"{text}, which is {local:%H:%M:%S}" + (f" in {tz}" if is_utc else "")
            message = f"24-hour bars that start at {start} are required by `day_starts`; received {received}"
            raise refusal(
                "date_invalid", f"{message}; hint: correct `tz` (`--tz`) or leave out `day_starts` (`--day-starts`)"
            )
        days.append((local.date() + timedelta(days=1)).isoformat())
    return days
