"""Contracts that follow one another in the rows of one symbol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import instrument_columns
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.market_columns import Table
from openoutcry.data.readers.text_table import TextTable

# Numbers of instruments that some vendors assign anew each day: more changes are no rolls.
_ASSIGNED = frozenset(("instrumentid",))
_MOST_CHANGES = 0.25
_CURRENCIES = frozenset(("currency", "ccy", "curr", "quotecurrency"))
_WORDS = instrument_columns.CONTRACTS | _CURRENCIES


@dataclass(frozen=True)
class Cells:
    """Rows that were read, and the closes of their market.

    Attributes:
        rows: Rows of the table.
        bars: Bar of each of these rows.
        columns: Symbol of each of these rows.
        close: Shape `(n_bars, n_symbols)`.
    """

    rows: npt.NDArray[np.intp]
    bars: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    close: Table


def notices(
    table: TextTable, ignored: Sequence[str], cells: Cells, dates: Sequence[str], symbols: Sequence[str]
) -> list[str]:
    """Return notices of contracts or currencies that change within a symbol.

    Args:
        table: The table.
        ignored: Names of the columns that are not read.
        cells: Its rows and closes.
        dates: Dates of the bars.
        symbols: Names of the symbols.
    """
    found = []
    for place in instrument_columns.named(table, ignored, _WORDS):
        codes = np.full(cells.close.shape, -1, np.int64)
        codes[cells.bars, cells.columns] = table.distinct(place).places[cells.rows]
        rolls = _rolls(codes, cells.close, is_assigned=simple(table.names[place]) in _ASSIGNED)
        if rolls:
            found.append(_text(table.names[place], rolls, cells.close, (dates, symbols)))
    return found


def _rolls(codes: npt.NDArray[np.int64], close: Table, *, is_assigned: bool) -> list[tuple[int, int, int]]:
    """Return changes: symbol, bar before and bar after."""
    rolls = []
    for column in range(close.shape[1]):
        bars = np.flatnonzero(np.isfinite(close[:, column]))
        changes = np.flatnonzero(np.diff(codes[bars, column]) != 0)
        if not is_assigned or len(changes) <= _MOST_CHANGES * len(bars):
            rolls += [(column, int(bars[change]), int(bars[change + 1])) for change in changes]
    return rolls


def _text(
    name: str, rolls: Sequence[tuple[int, int, int]], close: Table, labels: tuple[Sequence[str], Sequence[str]]
) -> str:
    dates, symbols = labels
    jumps = [abs(float(np.log(close[after, column] / close[before, column]))) for column, before, after in rolls]
    column, before, after = rolls[int(np.argmax(jumps))]
    n_rolls = f"{len(rolls)} change{'s' * (len(rolls) != 1)}"
    largest = f"from {close[before, column]:g} to {close[after, column]:g} of {symbols[column]} on {dates[after]}"
    if simple(name) in _CURRENCIES:
        text = f"prices of several currencies in {name!r} are joined as they are: {n_rolls}, the largest {largest}"
        return f"{text}; hint: convert them to one currency: returns over a change are not real"
    text = f"the contracts in {name!r} are joined without adjustment: {n_rolls}, the largest {largest}"
    return f"{text}; hint: returns over a change cannot be earned: adjust the prices, or read each contract as a symbol"
