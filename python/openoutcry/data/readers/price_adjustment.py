"""Adjustment of prices by vendors, and the events that remain to be applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal

ADJUSTMENTS = ("none", "split", "total")
Table = npt.NDArray[np.float64]


# Columns of vendors that deliver prices as traded.
_AS_TRADED = ({"permno", "prc"}, {"rtype", "publisherid", "instrumentid"})


def adjustment_of(fields: frozenset[str], names: Sequence[str]) -> str | None:
    """Return what the columns of a vendor say about their prices.

    It is `none`, `split`, or None if they do not say.

    Yahoo's `Adj Close` stands beside a close that is adjusted for splits. A split factor beside adjusted prices, as of
    Alpha Vantage, Tiingo and Quandl, means prices as traded.
    """
    simple = {name.lower().replace(" ", "").replace("_", "") for name in names}
    if any(columns <= simple for columns in _AS_TRADED):
        return "none"
    if "adj_close" in fields and "split" in fields and "stocksplits" not in simple:
        return "none"
    if "adj_close" in fields or "stocksplits" in simple:
        return "split"
    return None


def check_splits(close: Table, splits: Table, dates: Sequence[str], symbols: Sequence[str]) -> None:
    """Check that every split shows in the prices.

    Raises:
        OpenOutcryError: `value_invalid`: a price does not move as its split says, so it is adjusted already.
    """
    for column, symbol in enumerate(symbols):
        bars = np.flatnonzero(np.isfinite(close[:, column]))
        for bar in np.flatnonzero(np.isfinite(splits[:, column]) & (splits[:, column] != 1.0)):
            place = int(np.searchsorted(bars, bar))
            if place == 0 or place == len(bars) or bars[place] != bar:
                continue
            before, after, split = close[bars[place - 1], column], close[bar, column], splits[bar, column]
            # The price moves by less than half of the split, in logarithms.
            if -np.log(after / before) / np.log(split) < 0.5:
                message = f"a split must show in the price; received the split {split:g} of {symbol} on {dates[bar]}, "
                message += f"where the close goes from {before:g} to {after:g}: the split does not show"
                hint = 'hint: adjusted="split" if they are adjusted already, `--adjusted split`'
                raise refusal("value_invalid", f"{message}; {hint}")


def neutral_events(values: Table, neutral: Sequence[float]) -> Table:
    """Return events with NaN in place of the values that mean none."""
    return np.where(np.isin(values, neutral), np.nan, values)
