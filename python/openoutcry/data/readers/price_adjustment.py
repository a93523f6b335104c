"""Adjustment of prices by vendors, and the events that remain to be applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question, unstated

ADJUSTMENTS = ("none", "split", "total")
# A smaller sum of squared logarithms of splits is within the noise of prices.
_JUDGED = 0.01
# Logarithm of a factor that no dividend has.
_JUMP = 0.33
Table = npt.NDArray[np.float64]


# Columns of vendors that deliver prices as traded.
_AS_TRADED = ({"permno", "prc"}, {"rtype", "publisherid", "instrumentid"}, {"adjustmentclose"}, {"調整後終値"})


def adjustment_of(fields: frozenset[str], names: Sequence[str]) -> str | None:
    """Return what the columns of a vendor say about their prices.

    It is `none`, `split`, or None if they do not say.

    Yahoo has `Adj Close` and a close that is adjusted for splits. A split factor next to adjusted prices, as of
    Alpha Vantage, Tiingo and Quandl, means prices as traded.
    """
    simple = {name.rpartition(".")[2].lower().replace(" ", "").replace("_", "") for name in names}
    if any(columns <= simple for columns in _AS_TRADED):
        return "none"
    if "adj_close" in fields and "split" in fields and "stocksplits" not in simple:
        return "none"
    if "adj_close" in fields or "stocksplits" in simple:
        return "split"
    return None


def split_share(close: Table, splits: Table) -> float | None:
    """Return the share of the splits that shows in the prices, in logarithms.

    None without a split to judge by.

    About 1 for prices as traded, about 0 for adjusted prices. All splits count together, since a single small split is
    within the noise of a day.
    """
    moved = total = 0.0
    for column in range(close.shape[1]):
        bars = np.flatnonzero(np.isfinite(close[:, column]))
        for bar in np.flatnonzero(np.isfinite(splits[:, column]) & (splits[:, column] > 0.0)):
            place = int(np.searchsorted(bars, bar))
            if 0 < place < len(bars) and bars[place] == bar:
                logarithm = float(np.log(splits[bar, column]))
                moved -= logarithm * float(np.log(close[bar, column] / close[bars[place - 1], column]))
                total += logarithm * logarithm
    return moved / total if total > _JUDGED else None


def check_splits(close: Table, splits: Table, dates: Sequence[str], symbols: Sequence[str]) -> None:
    """Check that splits show in the prices.

    Raises:
        OpenOutcryError: `value_invalid`: the prices do not move as the splits say, so they are adjusted already.
    """
    share = split_share(close, splits)
    if share is None or share >= 0.5:
        return
    bar, column = (int(place) for place in np.argwhere(np.isfinite(splits) & (splits != 1.0))[0])
    received = (
        f"the split {splits[bar, column]:g} of {symbols[column]} on {dates[bar]}, where the close does not show it"
    )
    keyword = 'adjusted="split" if they are adjusted already'
    raise unstated(Question("value_invalid", "a split must show in the price", received, keyword, "--adjusted split"))


def check_adjusted(close: Table, splits: Table, dates: Sequence[str], symbols: Sequence[str]) -> None:
    """Check that no split shows in prices that a vendor adjusts for splits.

    Raises:
        OpenOutcryError: `value_invalid`: the prices move as the splits say, so they are as traded.
    """
    share = split_share(close, splits)
    if share is None or share < 0.5:
        return
    bar, column = (int(place) for place in np.argwhere(np.isfinite(splits) & (splits != 1.0))[0])
    received = f"the split {splits[bar, column]:g} of {symbols[column]} on {dates[bar]}, which the close shows"
    required, keyword = "a split must not show in adjusted prices", 'adjusted="none" if they are as traded'
    raise unstated(Question("value_invalid", required, received, keyword, "--adjusted none"))


def check_factor(close: Table, adj_close: Table, dates: Sequence[str], symbols: Sequence[str]) -> None:
    """Check that a close next to an adjusted close has no split.

    Raises:
        OpenOutcryError: `value_invalid`: the factor of the two jumps where the close jumps the other way.
    """
    for column, symbol in enumerate(symbols):
        bars = np.flatnonzero(np.isfinite(close[:, column]) & np.isfinite(adj_close[:, column]))
        moves = np.diff(np.log(close[bars, column]))
        factors = np.diff(np.log(adj_close[bars, column] / close[bars, column]))
        jumps = np.flatnonzero((np.abs(factors) > _JUMP) & (np.abs(moves + factors) < 0.5 * np.abs(factors)))
        if len(jumps):
            bar = bars[jumps[0] + 1]
            received = f"the close of {symbol} on {dates[bar]}, which moves by a factor of"
            received += f" {np.exp(moves[jumps[0]]):.3g} that the adjusted close does not have"
            required, keyword = "a split must be in a column", 'adjusted="total"'
            raise unstated(Question("value_invalid", required, received, keyword, "--adjusted total"))


def neutral_events(values: Table, neutral: Sequence[float]) -> Table:
    """Return events with NaN in place of the values that mean none."""
    return np.where(np.isin(values, neutral), np.nan, values)
