"""Caveats of dates that hold fewer or more bars than their bars per year.

The core counts the bars; annual numbers count bars as time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from openoutcry import openoutcry_py as native

_FEWER = "of the bars are missing, so annual numbers count only the bars there"
_MORE = "annual numbers take it for"


def notices_of(dates: Sequence[str], periods_per_year: float, *, is_stated: bool) -> tuple[str, ...]:
    """Return the caveats of ascending ISO 8601 dates with fewer or more bars.

    Args:
        dates: Date of each bar.
        periods_per_year: Bars per year.
        is_stated: Whether the number is stated, not inferred from the dates.
    """
    return tuple(
        native.bar_count_notices(dates if isinstance(dates, native.Dates) else list(dates), periods_per_year, is_stated)
    )


class HasNotices(Protocol):
    """A market with dates, bars per year and notices, such as `Dataset`."""

    @property
    def dates(self) -> Sequence[str]: ...
    @property
    def periods_per_year(self) -> float | None: ...
    @property
    def notices(self) -> tuple[str, ...]: ...


def dates_of(market: Any) -> Sequence[str]:
    """Return the dates of a market, without a text per bar if it is a `Dataset`."""
    core = getattr(market, "_core", market)
    found: Sequence[str] = core.dates
    return found if isinstance(found, native.Dates) else list(found)


def of_window(market: HasNotices, dates: Sequence[str]) -> tuple[str, ...]:
    """Return these caveats of the bars of a window.

    Other bars of the market do not change them.

    Args:
        market: The market.
        dates: Dates of the bars of the window.
    """
    periods = market.periods_per_year
    if len(dates) == len(dates_of(market)) or periods is None:
        return market.notices
    inferred = native.inferred_periods_per_year(dates_of(market))
    least = periods if inferred is None else min(periods, inferred)
    return notices_of(dates, least, is_stated=periods != inferred and least == periods)


def is_count(notice: str) -> bool:
    """Return whether a notice is one of these caveats."""
    return _FEWER in notice or _MORE in notice


def caveats_of(market: HasNotices, dates: Sequence[str], cagr: float | None) -> dict[str, str]:
    """Return the caveat of annual growth over a window with fewer or more bars."""
    found = [notice for notice in of_window(market, dates) if is_count(notice)]
    return {"cagr": found[0]} if found and cagr is not None else {}
