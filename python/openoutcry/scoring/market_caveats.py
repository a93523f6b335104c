"""Caveats of the markets of a board."""

from __future__ import annotations

from collections.abc import Iterable

from openoutcry.data.bar_counts import is_count
from openoutcry.data.columns import STATED_PERIODS
from openoutcry.data.dataset import Dataset
from openoutcry.data.lagged_symbols import lag_warnings


def market_caveats(markets: Iterable[Dataset]) -> list[str]:
    """Return the caveats of bars per year, and of predictable returns."""
    return [
        f"{market.name}: {notice}"
        for market in markets
        for notice in (*filter(_is_of_periods, market.notices), *lag_warnings(market))
    ]


def _is_of_periods(notice: str) -> bool:
    return notice.startswith(STATED_PERIODS) or is_count(notice)
