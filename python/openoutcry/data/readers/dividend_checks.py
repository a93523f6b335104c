"""Checks that dividends are amounts of ex-dates, and not of a trailing year."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.column_words import simple
from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]

# A symbol that pays on a larger share of its bars is judged, with at least so many dividends.
_MOST_PAYING, _FEWEST = 0.5, 8
# More bars a year than those of weeks: nothing pays on most of them.
_WEEKLY = 60.0
# On weeks and longer bars: yield a year above which steady amounts are annual ones.
_YIELD = 0.25
# Amounts are steady if most are within this share of the one before.
_STEADY = 0.01
# Columns next to the annual dividend of an index, of Shiller's table.
_ANNUAL = frozenset(("realdividend", "pe10", "cape"))
_DAYS = 365.25


def check_dividends(
    close: Table, dividends: Table, dates: Sequence[str], symbols: Sequence[str], names: Sequence[str] = ()
) -> None:
    """Check that no symbol has a trailing or annual amount on its bars.

    Args:
        close: Closes. Shape `(n_bars, n_symbols)`.
        dividends: Cash per share. Shape `(n_bars, n_symbols)`.
        dates: Dates of the bars.
        symbols: Names of the columns.
        names: Names of the columns of the file.

    Raises:
        OpenOutcryError: `value_invalid`: a symbol has a dividend on most bars that cannot be one of that bar.
    """
    with np.errstate(invalid="ignore"):
        pays = np.isfinite(close) & (dividends > 0.0)
    n_paid, n_bars = pays.sum(axis=0), np.isfinite(close).sum(axis=0)
    is_annual = not _ANNUAL.isdisjoint(map(simple, names))
    for column in np.flatnonzero((n_paid >= _FEWEST) & (n_paid > _MOST_PAYING * n_bars)).tolist():
        bars = np.flatnonzero(np.isfinite(close[:, column]))
        days = np.datetime64(dates[bars[-1]][:10]) - np.datetime64(dates[bars[0]][:10])
        per_year = (len(bars) - 1) * _DAYS / max(int(days.astype(np.int64)), 1)
        paid = np.flatnonzero(pays[:, column])
        amounts = dividends[paid, column]
        if not (is_annual or per_year > _WEEKLY or _is_annual(amounts, close[paid, column], len(bars) / per_year)):
            continue
        shown = " and ".join(f"{dividends[bar, column]:g} on {dates[bar]}" for bar in paid[:2].tolist())
        received = f"dividends of {symbols[column]} on {len(paid)} of {len(bars)} bars, {shown}"
        message = f"each dividend must be on its ex-date only; received {received}, which look like"
        message += " a trailing or annual amount"
        raise refusal("value_invalid", f"{message}; hint: leave the column out, or keep each amount on its ex-date")


def _is_annual(amounts: Table, prices: Table, years: float) -> bool:
    """Return whether amounts hardly change and add up to no plausible yield."""
    is_steady = np.abs(np.diff(amounts)) <= _STEADY * amounts[:-1]
    total = float((amounts / prices).sum())
    return total > _YIELD * years and bool(2 * is_steady.sum() > len(is_steady))
