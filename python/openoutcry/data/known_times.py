"""Times from which rows are known, as the first bars at which they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?P<clock>[T ]\d\d:\d\d(:\d\d(\.(?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>[01]\d|2[0-3]):(?P<minutes>[0-5]\d))?)?",
    re.ASCII,
)
_DAY = 10


def first_bars(name: str, known_at: Any, dates: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the first bar at or after each time; the number of bars if there is none.

    Args:
        name: Description of the times, for messages.
        known_at: One time per bar.
        dates: ISO 8601 dates of the bars.

    Raises:
        OpenOutcryError: `date_invalid`: a time is not ISO 8601, or cannot be compared with the dates.
    """
    is_utc = dates[0].endswith("Z")
    if isinstance(known_at, (str, bytes)) or not isinstance(known_at, Iterable):
        raise refusal("argument_invalid", f"{name} must be a list of times; received {known_at!r}")
    texts = _texts(known_at, is_utc=is_utc)
    if len(texts) != len(dates):
        raise refusal(
            "date_invalid", f"{name} must have {counted(len(dates), 'time')}, one per row; received {len(texts)}"
        )
    times = np.array([_second(name, row, text, dates[0]) for row, text in enumerate(texts)], "datetime64[s]")
    bars = np.array([date.removesuffix("Z") for date in dates], "datetime64[s]")
    return np.searchsorted(bars, times)


def _texts(known_at: Iterable[Any], *, is_utc: bool) -> list[str]:
    """Return times as texts; those of numpy have no zone and are UTC if the bars are."""
    if isinstance(known_at, np.ndarray) and known_at.dtype.kind == "M":
        exact = known_at.astype("datetime64[m]") if np.datetime_data(known_at.dtype)[0] == "h" else known_at
        end = "Z" if is_utc else ""
        return [f"{text}{end}" if "T" in text[1:] and end else text for text in map(str, exact)]
    return [str(time.isoformat()) if hasattr(time, "isoformat") else str(time) for time in known_at]


def _second(name: str, row: int, text: str, first: str) -> np.datetime64:
    """Return the first whole second at or after a time; bars are at whole seconds."""
    match = _TIME.fullmatch(text)
    if match is None or not _is_comparable(match, first):
        raise _refused(name, row, text, first)
    try:
        second = np.datetime64(text[:19] if match["zone"] is None else text[: match.start("zone")][:19], "s")
    except ValueError as error:
        raise _refused(name, row, text, first) from error
    if (match["fraction"] or "").strip("0"):
        second += np.timedelta64(1, "s")
    if match["sign"] is not None:
        offset = np.timedelta64(60 * int(match["hours"]) + int(match["minutes"]), "m")
        second = second - offset if match["sign"] == "+" else second + offset
    return second


def _is_comparable(match: re.Match[str], first: str) -> bool:
    """Return whether a time is before or after each bar without an assumption."""
    if len(first) == _DAY:
        return match["zone"] is None
    return match["clock"] is not None and (match["zone"] is not None) == first.endswith("Z")


def _refused(name: str, row: int, text: str, first: str) -> Exception:
    wanted = "an ISO 8601 day, or a time without a zone,"
    if len(first) > _DAY:
        wanted = f"an ISO 8601 time {'with' if first.endswith('Z') else 'without'} a zone,"
    return refusal("date_invalid", f"{name} at row {row} must be {wanted} such as {first}; received {text!r}")


__all__ = ["first_bars"]
