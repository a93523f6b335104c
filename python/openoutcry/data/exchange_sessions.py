"""Sessions of an exchange, from the package `exchange_calendars`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.errors import OpenOutcryError, refusal

Times = npt.NDArray[np.datetime64]
# Full years over which sessions are counted. They are in the past, so that the count does not change.
_FIRST_YEAR, _LAST_YEAR = 2005, 2024
# A session may open on the day before its date. No exchange is closed for longer.
_MARGIN = timedelta(days=14)
# How the package says that it knows no sessions of a date. Any other error is a failure within it.
_NOT_COVERED = re.compile(r"only recorded|(earliest|latest) date |must be earlier than")
_LONGEST = 160
_FAILURES = (ValueError, NotImplementedError, AttributeError, KeyError, TypeError)


class Sessions(NamedTuple):
    """Sessions of an exchange in a range of dates.

    Attributes:
        code: Code of the exchange.
        days: Date of each session, ascending.
        opens: Opening time of each session, UTC, datetime64[s].
        closes: As `opens`.
        break_starts: Start of the break of each session; NaT without a break.
        break_ends: As `break_starts`.
    """

    code: str
    days: Times
    opens: Times
    closes: Times
    break_starts: Times
    break_ends: Times

    def places(self, dates: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the session of each bar, -1 outside of the sessions.

        The time of a bar is its start. It is its end if some bars lie at a close, none at an open, and none elsewhere
        outside of the sessions.

        Raises:
            OpenOutcryError: `date_invalid`: the dates are times without a zone.
        """
        if len(dates[0]) == 10:
            days = np.array(dates, dtype="datetime64[D]")
            found = np.minimum(np.searchsorted(self.days, days), len(self.days) - 1)
            return np.where(self.days[found] == days, found, -1)
        if not dates[0].endswith("Z"):
            message = f"times in a known zone are required for the sessions of {self.code}; received {dates[0]}"
            raise refusal("date_invalid", f'{message}; hint: tz="America/New_York", `--tz America/New_York`')
        times = np.array([text[:-1] for text in dates], dtype="datetime64[s]")
        found, is_close = self._started(times), np.isin(times, self.closes)
        # Bars around the clock lie at closes too.
        if is_close.any() and not np.isin(times, self.opens).any() and (is_close | (found >= 0)).all():
            found = self._started(times - np.timedelta64(1, "s"))
        return found

    def _started(self, times: Times) -> npt.NDArray[np.int64]:
        """Return the session of each time, -1 outside of them; a close is outside."""
        found = np.searchsorted(self.opens, times, side="right") - 1
        of = np.maximum(found, 0)
        # Comparisons with NaT are false.
        in_break = (self.break_starts[of] <= times) & (times < self.break_ends[of])
        return np.where((found >= 0) & (times < self.closes[of]) & ~in_break, found, -1)


def sessions(code: str, first: str, last: str) -> Sessions:
    """Return the sessions of an exchange around a range of ISO 8601 dates.

    Args:
        code: Market identifier code (ISO 10383) such as XNYS, or another name of `exchange_calendars`, such as 24/7.
        first: First date.
        last: Last date.

    Raises:
        ModuleNotFoundError: the package is not installed.
        OpenOutcryError: `argument_invalid`: the code is unknown, or its calendar does not cover the dates, or
            the package fails to compute it.
    """
    start, end = date.fromisoformat(first[:10]), date.fromisoformat(last[:10])
    calendar = _calendar(code, start - _MARGIN, end + _MARGIN) or _calendar(code, start, end)
    if calendar is None:
        message = f"the calendar of {code} must cover the dates; received {first[:10]} to {last[:10]}"
        raise refusal("argument_invalid", f"{message}; hint: cut the file, or use another calendar")
    schedule = calendar.schedule
    names = ("open", "close", "break_start", "break_end")
    times = [schedule[name].dt.tz_convert(None).to_numpy().astype("datetime64[s]") for name in names]
    return Sessions(code, calendar.sessions.to_numpy().astype("datetime64[D]"), *times)


@lru_cache(maxsize=32)
def sessions_per_year(code: str) -> int:
    """Return the mean number of sessions of full years from 2005 to 2024.

    Raises:
        ModuleNotFoundError: the package is not installed.
        OpenOutcryError: `argument_invalid`: the code is unknown, or its calendar covers no full year, or the
            package fails to compute it.
    """
    first, last = _FIRST_YEAR, _LAST_YEAR
    calendar = _calendar(code, date(first, 1, 1), date(last, 12, 31))
    while calendar is None and first < last:
        first += 1
        calendar = _calendar(code, date(first, 1, 1), date(last, 12, 31))
    if calendar is None:
        message = f"the calendar of {code} must cover a year up to {last}; received one that does not"
        raise refusal("argument_invalid", f"{message}; hint: state `periods_per_year`, `--periods-per-year`")
    return round(len(calendar.sessions) / (last - first + 1))


def _calendar(code: str, start: date, end: date) -> Any:
    """Return a calendar, or None if it does not cover the dates."""
    with warnings.catch_warnings():
        # The package uses what newer versions of pandas deprecate.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        try:
            import exchange_calendars
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("needs `pip install openoutcry[calendars]`", name=error.name) from error
        if code not in exchange_calendars.get_calendar_names():
            raise refusal("argument_invalid", f"an exchange code such as XNYS is required; received {code!r}")
        try:
            return exchange_calendars.get_calendar(code, start=start.isoformat(), end=end.isoformat())
        except exchange_calendars.errors.NoSessionsError:
            return None
        except _FAILURES as error:
            if isinstance(error, ValueError) and _NOT_COVERED.search(str(error)):
                return None
            raise _failure(code, error) from error


def _failure(code: str, error: Exception) -> OpenOutcryError:
    """Return the refusal of a calendar that the package cannot compute."""
    packages = f"exchange_calendars {version('exchange_calendars')} with pandas {version('pandas')}"
    text = str(error)
    text = f"{type(error).__name__}: {text[:_LONGEST]}{'...' if len(text) > _LONGEST else ''}"
    message = f"a calendar of {code} that exchange_calendars can compute is required; received an error of {packages}"
    hint = 'install another version of either, such as `pip install "pandas<3.1"`, or use another calendar'
    return refusal("argument_invalid", f"{message}: {text}; hint: {hint}")
