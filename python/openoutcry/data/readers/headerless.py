"""Column names of files without a header, by the forms of their fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import number_text
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

_BARS = ("open", "high", "low", "close")
KLINES = ("date", *_BARS, "volume", "close_time", "quote_volume", "trades", "taker_base", "taker_quote", "ignore")
LEAN = "Lean, prices times 10,000"
# Rows on which open, high, low and close must be in order, to take a layout for granted.
_CHECKED = 200
_ORDERED = 0.99
# Lean writes prices times 10,000, and dates such as `20200302 00:00`.
_LEAN_DATE = re.compile(r"\d{8} \d\d:\d\d")
_TIME = re.compile(r"\d\d?:\d\d(:\d\d)?")
_LEAN_LEAST = 1000.0


def names_of(
    table: TextTable, stated: Sequence[str] | None, is_date: Callable[[str], bool], fitting: Sequence[str] = ()
) -> tuple[list[str], str]:
    """Return the column names of a table without a header, and its layout.

    Args:
        table: The table.
        stated: Names of all columns; None if the layout must be known.
        is_date: Whether a text is a date.
        fitting: Named forms that the table can have, for the hint.

    Raises:
        OpenOutcryError: `missing_column`: the layout is unknown, or open, high, low and close are not in order.
            `argument_invalid`: the number of stated names is not that of the columns.
    """
    first = [cell.strip() for cell in table.rows[0]]
    if stated is not None:
        if len(stated) != len(first):
            message = f"`columns` must have {counted(len(first), 'name')}, one per column; received {len(stated)}"
            raise refusal("argument_invalid", f"{message} for a first row {table.delimiter.join(first)!r}")
        return list(stated), "names as stated"
    names, layout = _layout(first, is_date)
    if names and are_bars(table, names):
        is_lean = _LEAN_DATE.fullmatch(first[0]) and _are_whole(table, names)
        return names, LEAN if is_lean else layout
    required = "a header is required, or `columns=`"
    received = f"a first row {table.delimiter.join(first)[:120]!r}"
    example = _example(first, is_date)
    rest = f", or a form that fits: {' or '.join(fitting)} (`form`, `--as`)" if fitting else ""
    raise unstated(
        Question("missing_column", required, received, f"columns={example}", f"--columns {','.join(example)}", rest)
    )


def _example(first: Sequence[str], is_date: Callable[[str], bool]) -> list[str]:
    """Return names for as many columns as there are, by the forms of their fields."""
    texts = [cell for cell in first if not is_date(cell) and not number_text.is_numeric([cell])]
    n_numbers = len(first) - len(texts) - any(map(is_date, first))
    numbers = iter([*_BARS, "volume"] if n_numbers > 3 else ["close", "volume"])
    names: list[str] = []
    for place, cell in enumerate(first, 1):
        if is_date(cell) and "date" not in names:
            names.append("date")
        elif cell in texts:
            role = "time" if _TIME.fullmatch(cell) else "symbol"
            names.append(f"x{place}" if role in names else role)
        else:
            names.append(next(numbers, f"x{place}"))
    return names


def are_bars(table: TextTable, names: Sequence[str]) -> bool:
    """Return whether highs and lows bound the other prices of each bar."""
    bars = _bars(table, names)
    if not np.isfinite(bars).any(axis=None):
        return False
    ordered = (bars[:, 1] >= bars.max(axis=1)) & (bars[:, 2] <= bars.min(axis=1))
    moving = bars.max(axis=1) > bars.min(axis=1)
    return bool(moving.any() and ordered[moving].mean() >= _ORDERED)


def _are_whole(table: TextTable, names: Sequence[str]) -> bool:
    bars = _bars(table, names)
    return bool((bars % 1 == 0).all() and bars.min() >= _LEAN_LEAST)


def _bars(table: TextTable, names: Sequence[str]) -> npt.NDArray[np.float64]:
    places = [names.index(name) for name in _BARS]
    return np.array([[_number(row[place]) for place in places] for row in table.rows[:_CHECKED]])


def _layout(first: Sequence[str], is_date: Callable[[str], bool]) -> tuple[list[str], str]:
    if not is_date(first[0]):
        return [], ""
    if len(first) == len(KLINES) and re.fullmatch(r"\d{13}|\d{16}", first[0]):
        return list(KLINES), "Binance klines"
    has_clock = len(first) > 5 and re.fullmatch(r"\d\d?:\d\d(:\d\d)?|\d{4}|\d{6}", first[1]) is not None
    rest = len(first) - (2 if has_clock else 1)
    if rest not in (4, 5, 6):
        return [], ""
    # The last column is an open interest, a count of trades or a turnover.
    others = ("volume", f"column {len(first)}")[: rest - 4]
    names = ["date", *(["time"] if has_clock else []), *_BARS, *others]
    return names, "date, time, open, high, low, close, volume" if has_clock else "date, open, high, low, close, volume"


def _number(text: str) -> float:
    return float(number_text.parse([text], [0], "row")[0]) if number_text.is_numeric([text]) else np.nan
