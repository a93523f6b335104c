"""Adjustment of prices by vendors, and the events that remain to be applied."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question, unstated

ADJUSTMENTS = ("none", "split", "total")
# Logarithm of a factor that no dividend has, and of one that is hardly that of a reverse split.
_JUMP, _FALL = 0.175, -0.05
# Ratios of smaller splits, and the distance of their logarithm within which a factor has one.
_RATIOS = np.log([(n + 1) / n for n in range(6, 21)])
_DISTANCE = 5e-4
Table = npt.NDArray[np.float64]


# Columns of vendors that deliver prices as traded.
_AS_TRADED = ({"permno", "prc"}, {"rtype", "publisherid", "instrumentid"}, {"adjustmentclose"}, {"調整後終値"})


def adjustment_of(fields: frozenset[str], names: Sequence[str]) -> str | None:
    """Return what the columns of a vendor say about their prices.

    It is `none`, `split`, `total`, or None if they do not say.

    Yahoo has `Adj Close` and a close that is adjusted for splits; `Stock Splits` without `Adj Close` are those of
    yfinance with `auto_adjust=True`. A split factor next to adjusted prices, as of Alpha Vantage, Tiingo and Quandl,
    means prices as traded.
    """
    simple = {name.rpartition(".")[2].lower().replace(" ", "").replace("_", "") for name in names}
    has_stock_splits = any("stocksplits" in re.sub(r"[^a-z]", "", name.lower()) for name in names)
    if any(columns <= simple for columns in _AS_TRADED):
        return "none"
    if "adj_close" in fields and "split" in fields and not has_stock_splits:
        return "none"
    if "adj_close" in fields:
        return "split"
    return "total" if has_stock_splits else None


def check_factor(
    close: Table, adj_close: Table, dates: Sequence[str], symbols: Sequence[str], dividend: Table | None = None
) -> None:
    """Check that a close next to an adjusted close has no split.

    Raises:
        OpenOutcryError: `value_invalid`: the factor of the two jumps where the close jumps the other way.
    """
    for column, symbol in enumerate(symbols):
        paid = None if dividend is None else dividend[:, column]
        jumps, _ = split_steps(close[:, column], adj_close[:, column], paid)
        if len(jumps):
            bar = int(jumps[0])
            prices = close[:bar, column]
            before = prices[np.isfinite(prices) & np.isfinite(adj_close[:bar, column])][-1]
            received = f"the close of {symbol} on {dates[bar]}, which moves by a factor of"
            received += f" {close[bar, column] / before:.3g} that the adjusted close does not have"
            required, keyword = "a split must be in a column", 'adjusted="total"'
            raise unstated(Question("value_invalid", required, received, keyword, "--adjusted total"))


def split_steps(close: Table, adj_close: Table, dividend: Table | None) -> tuple[npt.NDArray[np.intp], Table]:
    """Return the bars of splits that only the close of a symbol shows.

    The adjusted close does not. Also returns the logarithm of the step between the two on each of them.
    """
    bars = np.flatnonzero(np.isfinite(close) & np.isfinite(adj_close))
    prices = close[bars]
    moves = np.diff(np.log(prices))
    factors = np.diff(np.log(adj_close[bars] / prices))
    with np.errstate(invalid="ignore"):
        paid = np.zeros(len(factors)) if dividend is None else np.nan_to_num(dividend[bars[1:]])
        # A dividend of the file explains its factor.
        unpaid = factors + np.log(np.maximum(1.0 - paid / prices[:-1], 1e-9))
    is_split = (unpaid > _JUMP) | (unpaid < _FALL) | (np.abs(unpaid[:, None] - _RATIOS).min(axis=1) < _DISTANCE)
    is_split &= np.abs(moves + factors) < np.abs(moves)
    return bars[1:][is_split], unpaid[is_split]


def neutral_events(values: Table, neutral: Sequence[float]) -> Table:
    """Return events with NaN in place of the values that mean none."""
    return np.where(np.isin(values, neutral), np.nan, values)
