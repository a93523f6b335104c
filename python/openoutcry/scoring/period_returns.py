"""Compounded returns by calendar period, and over trailing periods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.scoring.statistic_values import NO_YEAR, Statistics, collected

__all__ = ["QUANTILES", "TRAILING", "UNITS", "PeriodSummary", "period_ends", "period_returns"]
__all__ += ["summarize_periods", "trailing"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

UNITS = ("day", "week", "month", "quarter", "year")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
TRAILING = ("MTD", "3M", "6M", "YTD", "1Y", "3Y", "5Y", "10Y", "all")
"""Names of trailing periods; those longer than a year are annualized."""

_CODES = {"day": "D", "week": "D", "month": "M", "year": "Y"}
_MONTHS = {"3M": 3, "6M": 6, "1Y": 12, "3Y": 36, "5Y": 60, "10Y": 120}


class PeriodSummary(NamedTuple):
    """Returns of one kind of calendar period.

    Attributes:
        unit: One of `UNITS`.
        n_periods: Number of periods with a return.
        mean: Arithmetic mean.
        best: Highest return, and the period that has it.
        worst: Lowest return, and the period that has it.
        positive: Share of the periods with a return above 0.
        quantiles: At the levels of `QUANTILES`, interpolated linearly.
    """

    unit: str
    n_periods: int
    mean: float
    best: tuple[float, str]
    worst: tuple[float, str]
    positive: float
    quantiles: tuple[float, ...]


def period_returns(dates: Sequence[str], nav: Floats, unit: str) -> dict[str, float]:
    """Return the compounded return of each calendar period by its label.

    A period runs from the last bar of the period before it; the first from the first bar. The first and the last one
    may be partial. A period that starts at a NAV of zero has none, and a period without a bar is absent.

    Args:
        dates: ISO 8601, one per value of `nav`.
        nav: Shape `(n_bars,)`, float64.
        unit: One of `UNITS`. A week starts on Monday, which is its label.
    """
    last, periods = period_ends(dates, unit)
    before = nav[np.concatenate([[0], last[:-1]])]
    # The first bar opens the account: a period with only that bar has no return.
    kept = (before > 0.0) & (last > 0)
    growth = nav[last[kept]] / before[kept] - 1.0
    return dict(zip(_labels(periods[kept], unit), growth.tolist(), strict=True))


def period_ends(dates: Sequence[str], unit: str) -> tuple[Places, Places]:
    """Return the last bar of each calendar period, and the number of the period.

    Numbers are since 1970. The number of a week is the day of its Monday.
    """
    bars, days = _day_ends(dates)
    periods = _periods(days, unit)
    last = np.flatnonzero(np.append(periods[1:] != periods[:-1], True))
    return bars[last], periods[last]


def _day_ends(dates: Sequence[str]) -> tuple[Places, npt.NDArray[np.datetime64]]:
    """Return the last bar of each day that has bars, and the day."""
    if isinstance(dates, native.Dates):
        times = dates.times
        first, last = times[[0, -1]].astype("datetime64[D]")
        following = np.arange(first, last + 1) + 1
        # A search for each day reads few of the bars of a long series of minutes.
        if len(following) < len(times):
            ends = np.unique(np.searchsorted(times, following.astype(times.dtype))) - 1
            return ends, times[ends].astype("datetime64[D]")
        days = times.astype("datetime64[D]")
    else:
        days = np.array(dates, dtype=np.str_).astype("U10").astype("datetime64[D]")
    ends = np.flatnonzero(np.append(days[1:] != days[:-1], True))
    return ends, days[ends]


def _periods(days: npt.NDArray[np.datetime64], unit: str) -> Places:
    """Return the number of the period of each day."""
    if unit == "week":
        # 1970-01-01 is a Thursday.
        since = days.astype(np.int64)
        return since - (since + 3) % 7
    if unit == "quarter":
        return days.astype("datetime64[M]").astype(np.int64) // 3
    return days.astype(f"datetime64[{_CODES[unit]}]").astype(np.int64)


def _labels(periods: npt.NDArray[np.int64], unit: str) -> list[str]:
    if unit == "quarter":
        return [f"{1970 + quarter // 4}-Q{quarter % 4 + 1}" for quarter in periods.tolist()]
    texts: list[str] = np.datetime_as_string(periods.astype(f"datetime64[{_CODES[unit]}]")).tolist()
    return texts


def summarize_periods(dates: Sequence[str], nav: Floats) -> list[PeriodSummary]:
    """Return a summary per unit that has at least one return."""
    found = []
    for unit in UNITS:
        returns = period_returns(dates, nav, unit)
        if not returns:
            continue
        labels, values = list(returns), np.array(list(returns.values()))
        best, worst = int(values.argmax()), int(values.argmin())
        found.append(
            PeriodSummary(
                unit,
                len(values),
                float(values.mean()),
                (float(values[best]), labels[best]),
                (float(values[worst]), labels[worst]),
                float((values > 0.0).mean()),
                tuple(float(each) for each in np.quantile(values, QUANTILES)),
            )
        )
    return found


def trailing(dates: Sequence[str], nav: Floats, periods_per_year: float | None) -> Statistics:
    """Return the return of each period of `TRAILING` up to the last bar.

    A period starts at the last bar on or before its first day. `3Y`, `5Y`, `10Y` and `all` are annual if they have more
    bars than a year, as `cagr` is. A period longer than the run is undefined.
    """
    bars, days = _day_ends(dates)
    end = days[-1]
    found: dict[str, float | str] = {}
    for name in TRAILING:
        start = _start(name, end, days[0])
        if start < days[0]:
            found[name] = "the run is shorter"
            continue
        first = int(bars[np.searchsorted(days, start, side="right") - 1])
        if nav[first] <= 0.0:
            found[name] = "the NAV at its start is 0"
            continue
        growth = float(nav[-1] / nav[first])
        found[name] = growth - 1.0
        if name in {"3Y", "5Y", "10Y", "all"}:
            found[name] = _annual(growth, len(nav) - 1 - first, periods_per_year)
    return collected(found)


def _annual(growth: float, n_bars: int, periods_per_year: float | None) -> float | str:
    if periods_per_year is None:
        return NO_YEAR
    if n_bars < 0.99 * periods_per_year:
        return "the run is shorter than a year"
    return float(growth ** (periods_per_year / n_bars)) - 1.0


def _start(name: str, end: np.datetime64, first: np.datetime64) -> np.datetime64:
    if name == "all":
        return first
    if name in {"MTD", "YTD"}:
        opening = end.astype("datetime64[M]" if name == "MTD" else "datetime64[Y]").astype("datetime64[D]")
        return max(first, opening - np.timedelta64(1, "D"))
    month = end.astype("datetime64[M]") - np.timedelta64(_MONTHS[name], "M")
    day = (end - end.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64)
    last = (month + np.timedelta64(1, "M")).astype("datetime64[D]") - np.timedelta64(1, "D")
    return min(month.astype("datetime64[D]") + day, last)
