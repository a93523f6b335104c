"""Column names of files without a header, by the forms of their fields."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from openoutcry.data.readers import number_text
from openoutcry.data.readers.date_text import looks_like_date
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_BARS = ("open", "high", "low", "close")
_KLINES = ("date", *_BARS, "volume", "close_time", "quote_volume", "trades", "taker_base", "taker_quote", "ignore")
LEAN = "Lean, prices times 10,000"
# Rows on which open, high, low and close must be in order, to take a layout for granted.
_CHECKED = 200
_ORDERED = 0.99
# Lean writes prices times 10,000, and dates such as `20200302 00:00`.
_LEAN_DATE = re.compile(r"\d{8} \d\d:\d\d")
_LEAN_LEAST = 1000.0


def names_of(table: TextTable, stated: Sequence[str] | None) -> tuple[list[str], str]:
    """Return the column names of a table without a header, and its layout.

    Raises:
        OpenOutcryError: `missing_column`: the layout is unknown, or open, high, low and close are not in order.
            `argument_invalid`: the number of stated names is not that of the columns.
    """
    first = [cell.strip() for cell in table.rows[0]]
    if stated is not None:
        if len(stated) != len(first):
            message = f"`columns` must have {len(first)} names, one per column; received {len(stated)}"
            raise refusal("argument_invalid", f"{message} for a first row {table.delimiter.join(first)!r}")
        return list(stated), "names as stated"
    names, layout = _layout(first)
    if names:
        places = [names.index(name) for name in _BARS]
        rows = table.rows[:_CHECKED]
        bars = np.array([[_number(row[place]) for place in places] for row in rows])
        ordered = (bars[:, 1] >= bars.max(axis=1)) & (bars[:, 2] <= bars.min(axis=1))
        moving = bars.max(axis=1) > bars.min(axis=1)
        if moving.any() and ordered[moving].mean() >= _ORDERED:
            is_lean = _LEAN_DATE.fullmatch(first[0]) and (bars % 1 == 0).all() and bars.min() >= _LEAN_LEAST
            return names, LEAN if is_lean else layout
    message = f"a header is required, or `columns=`; received a first row {table.delimiter.join(first)[:120]!r}"
    example = ["date", *_BARS, "volume"]
    raise refusal("missing_column", f"{message}; hint: columns={example}, `--columns {','.join(example)}`")


def _layout(first: Sequence[str]) -> tuple[list[str], str]:
    if not looks_like_date(first[0]):
        return [], ""
    if len(first) == len(_KLINES) and re.fullmatch(r"\d{13}|\d{16}", first[0]):
        return list(_KLINES), "Binance klines"
    has_clock = len(first) > 5 and re.fullmatch(r"\d\d?:\d\d(:\d\d)?|\d{4}|\d{6}", first[1]) is not None
    rest = len(first) - (2 if has_clock else 1)
    if rest not in (4, 5, 6):
        return [], ""
    names = ["date", *(["time"] if has_clock else []), *_BARS, *(("volume", "open_interest")[: rest - 4])]
    return names, "date, time, open, high, low, close, volume" if has_clock else "date, open, high, low, close, volume"


def _number(text: str) -> float:
    return float(number_text.parse([text], [0], "row")[0]) if number_text.is_numeric([text]) else np.nan
