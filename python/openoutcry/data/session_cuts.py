"""Sessions that the start of a day cuts in two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.trading_days import DayStart, TradingDays
from openoutcry.untrusted.counted_nouns import counted

_DAY = 86_400
# 1970-01-01 is a Thursday.
_SATURDAY = 2
# No market that closes at weekends trades at these hours of a Saturday, in UTC or on its own clock.
_CLOSED_HOURS = (2 * 3600, 20 * 3600)
# Neighbouring bars are of one session if they are at most this many times the usual spacing apart.
_ADJACENT = 1.5
_HINT = 'resample("{every}", {tz}day_starts="17:00")'


def midnight_notices(
    dates: Sequence[str], closes: npt.NDArray[np.float64], symbols: Sequence[str], every: str
) -> tuple[str, ...]:
    """Return a notice if days from midnight to midnight cut sessions in two.

    A market that trades through weekends has no sessions.

    Args:
        dates: Times of the bars, ascending.
        closes: Shape `(n_bars, n_symbols)`, NaN without a close.
        symbols: Names of the symbols.
        every: Period of the longer bars.
    """
    if len(dates[0]) == 10:
        return ()
    times = _seconds(dates)
    for column, symbol in enumerate(symbols):
        bars = times[np.isfinite(closes[:, column])]
        cuts, n_nights = _cuts(bars)
        if len(cuts):
            is_utc = dates[0].endswith("Z")
            clock = "UTC" if is_utc else "in the zone of the file"
            first = np.datetime_as_string(np.datetime64(int(cuts[0]), "s"), unit="D")
            said = f"days are cut at midnight {clock}, which is inside a session of {symbol} on {len(cuts):,} of"
            said += f" {n_nights:,} nights, first on {first}: the evening belongs to another bar than the morning"
            call = _HINT.format(every=every, tz='tz="America/New_York", ' if is_utc else "")
            options = ("--tz America/New_York " if is_utc else "") + "--day-starts 17:00"
            kept = 'tz="UTC"' if is_utc else 'day_starts="00:00"'
            return (f"{said}; hint: state where days start, such as `{call}`, `{options}`; {kept} keeps midnight",)
    return ()


def stated_notices(days: TradingDays, dates: Sequence[str], start: DayStart) -> tuple[str, ...]:
    """Return what days start at, and notices of bars across that start.

    Args:
        days: Day of each bar.
        dates: Times of the bars, ascending.
        start: Where days start.
    """
    notices = [f"days start at {start}, and are dated by the date on which they end"]
    spacing = _spacing(_seconds(dates))
    n_across = int((days.seconds + spacing > days.lengths).sum()) if spacing < _DAY else 0
    if n_across:
        bars = f"{counted(n_across, 'bar')} of {spacing:,} seconds"
        notices.append(f"{bars} start before {start} and end after it: each counts to the day in which it starts")
    hour, _, minute = (start.clock or "00:00").partition(":")
    clock = 3600 * int(hour) + 60 * int(minute)
    if 0 < clock <= _DAY // 2 and (days.seconds < _DAY - clock).all():
        said = f"no bar lies between midnight and {start}, so each day is dated by the date after its session"
        notices.append(f'{said}; hint: day_starts="00:00", `--day-starts 00:00`')
    return tuple(notices)


def _cuts(times: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """Return the midnights inside of sessions, and the number of all between bars."""
    none = np.empty(0, np.int64)
    if len(times) < 3:
        return none, 0
    spacing = _spacing(times)
    days, gaps = times // _DAY, np.diff(times)
    is_night = days[1:] != days[:-1]
    is_cut = is_night & (gaps <= _ADJACENT * spacing)
    if spacing >= _DAY or not is_cut.any():
        return none, 0
    is_saturday, clock = days % 7 == _SATURDAY, times % _DAY
    if (is_saturday & (clock >= _CLOSED_HOURS[0]) & (clock < _CLOSED_HOURS[1])).any():
        return none, 0
    has_saturday = (np.arange(days[0] + 1, days[-1]) % 7 == _SATURDAY).any()
    n_breaks = int((gaps >= 2 * spacing).sum())
    # Without a weekend, only breaks of most days show sessions.
    if not has_saturday and n_breaks < max(1, int(is_night.sum()) // 2):
        return none, 0
    return days[1:][is_cut] * _DAY, int(is_night.sum())


def _seconds(dates: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.array([text[:19] for text in dates], dtype="datetime64[s]").astype(np.int64)


def _spacing(times: npt.NDArray[np.int64]) -> int:
    """Return the most frequent distance of neighbouring bars in seconds."""
    gaps, counts = np.unique(np.diff(times), return_counts=True)
    return int(gaps[counts.argmax()]) if len(gaps) else _DAY
