"""Caveat of dates that have fewer bars than their number of bars per year.

Annual numbers count bars as time: of prices with 30 % of the bars missing, a year is 1.4 years long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

MISSING_BARS = "of the bars are missing, so annual numbers count only the bars there"
_YEAR = 365.25 * 86_400
_FULL = 0.9
# Fewer bars than this show no rate.
_LEAST = 10.0
# A calendar with bars in less than this part of the year is closed at times, and has holidays.
_ALWAYS_OPEN = 0.95
# Longest holidays of an exchange: the lunar new year, with its weekends.
_HOLIDAYS = 12 * 86_400
# Bars that show the spacing.
_SHOWN = 1_000


def missing_notices(dates: Sequence[str], periods_per_year: float, *, is_stated: bool) -> tuple[str, ...]:
    """Return the caveat of ascending ISO 8601 dates with less than 90 % of their bars.

    Holidays of an exchange are no missing bars, and short dates show none.

    Args:
        dates: Date of each bar.
        periods_per_year: Bars per year.
        is_stated: Whether the number is stated, not inferred from the dates.
    """
    if len(dates) < 3:
        return ()
    first, *_, last = times = _seconds([*dates[:_SHOWN], dates[-1]])
    spacing = float(np.median(np.diff(times[:-1])))
    is_closed = spacing * periods_per_year < _ALWAYS_OPEN * _YEAR
    expected = (last - first - _HOLIDAYS * is_closed) * periods_per_year / _YEAR
    if expected < _LEAST or len(dates) - 1 >= _FULL * expected:
        return ()
    held = (len(dates) - 1) * _YEAR / (last - first)
    shown = f"{held:.1f}" if held < 100.0 else f"{held:.0f}"
    source = "as stated" if is_stated else "by their spacing"
    share = 1.0 - held / periods_per_year
    return (f"{periods_per_year:g} bars per year {source}; the dates hold {shown}: {share:.0%} {MISSING_BARS}",)


def missing_caveats(notices: Iterable[str], cagr: float | None) -> dict[str, str]:
    """Return the caveat of annual growth on a market with missing bars."""
    found = [notice for notice in notices if MISSING_BARS in notice]
    return {"cagr": found[0]} if found and cagr is not None else {}


def _seconds(dates: Sequence[str]) -> list[float]:
    times = np.array([text.removesuffix("Z") for text in dates], dtype="datetime64[s]")
    return [float(time) for time in times.astype(np.int64)]
