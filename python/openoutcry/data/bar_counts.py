"""Caveats of dates that hold fewer or more bars than their bars per year.

The core counts the bars; annual numbers count bars as time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    return tuple(native.bar_count_notices(list(dates), periods_per_year, is_stated))


def is_count(notice: str) -> bool:
    """Return whether a notice is one of these caveats."""
    return _FEWER in notice or _MORE in notice


def caveats_of(notices: Iterable[str], cagr: float | None) -> dict[str, str]:
    """Return the caveat of annual growth on a market with fewer or more bars."""
    found = [notice for notice in notices if is_count(notice)]
    return {"cagr": found[0]} if found and cagr is not None else {}
