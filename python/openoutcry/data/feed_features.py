"""Features from fundamentals and headlines: latest value, and bars since."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from openoutcry.data.dataset import Dataset
from openoutcry.data.feature_columns import Values, forward
from openoutcry.errors import refusal


def fundamental(name: str) -> Callable[[Dataset], Values]:
    """Return a function that gives the latest known value of a fundamental.

    It is an argument of `Dataset.with_features`. NaN before the first value of a symbol.

    Raises:
        OpenOutcryError: `argument_invalid`: when it is called, if no symbol has the fundamental.
    """

    def latest(market: Dataset) -> Values:
        known = {item[2] for item in market.fundamentals}
        if name not in known:
            received = f"received {name!r} in a market with {', '.join(sorted(known)) or 'none'}"
            raise refusal("argument_invalid", f"`name` must be a fundamental of the market; {received}")
        rows = sorted((item[1], item[0], item[3]) for item in market.fundamentals if item[2] == name)
        return forward(_on_bars(market, rows))

    return latest


def news_age(market: Dataset) -> Values:
    """Return the bars since the last headline of each symbol, 0 on its bar.

    NaN before the first.
    """
    bars = np.arange(market.n_bars, dtype=np.float64)
    last = forward(_on_bars(market, ((item[1], item[0], None) for item in sorted(market.news, key=_time))))
    return bars[:, None] - last


def _time(item: tuple[str, str, str]) -> str:
    return item[1]


def _on_bars(market: Dataset, rows: Iterable[tuple[str, str, Any]]) -> Values:
    """Return values on the first bars at which they are known.

    For a value of None, the index of the bar.
    """
    table, dates = np.full((market.n_bars, market.n_symbols), np.nan), np.asarray(market.dates)
    places = {symbol: place for place, symbol in enumerate(market.symbols)}
    for time, symbol, value in rows:
        bar = int(np.searchsorted(dates, time))
        if bar < market.n_bars:
            table[bar, places[symbol]] = bar if value is None else value
    return table


__all__ = ["fundamental", "news_age"]
