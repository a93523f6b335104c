"""Numbers of the columns of a market: decimal mark, scale, missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from openoutcry.data.readers import column_roles, column_words, number_text
from openoutcry.data.readers.market_columns import MarketColumns, Table
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

_PRICES = ("close", "open", "high", "low", "adj_close")
_BAR = ("open", "high", "low")
# CRSP writes these for a delisting return that it does not know.
_NO_RETURN = re.compile(r"[A-Z]|-(55|66|77|88|99)(\.0*)?", re.ASCII)


def decimal_mark(table: TextTable, places: Mapping[str, int], stated: str | None) -> str:
    """Return the decimal mark of columns; see `number_text.decimal_mark`.

    Raises:
        OpenOutcryError: `argument_invalid`: a mark is stated for a frame of numbers.
    """
    columns = {key: table.column(place) for key, place in places.items() if table.numbers(place) is None}
    if stated is not None and places and not columns:
        message = f"`decimal` must be left out for columns of numbers, which have no mark; received {stated!r}"
        raise refusal("argument_invalid", message)
    volumes = [texts for key, texts in columns.items() if key.rpartition("\0")[2] == "volume"]
    is_continental = table.delimiter == ";" or column_roles.are_continental(table.names)
    is_continental = is_continental or any(map(number_text.are_dotted, volumes))
    return number_text.decimal_mark(columns.values(), stated, is_continental=is_continental)


def numbers_of(
    found: MarketColumns, table: TextTable, places: Mapping[str, int], mark: str, scale: float
) -> dict[str, Table]:
    """Return the numbers of columns by key; a key ends in NUL and its role.

    Raises:
        OpenOutcryError: a text is no number, or a price is not above 0.
    """
    if mark == ",":
        found.described.append(("decimal mark", "comma"))
    numbers = {}
    for key, place in places.items():
        role, name = key.rpartition("\0")[2], table.names[place]
        found.close_column = name if role == "close" else found.close_column
        has_codes = role == "delisting_return" and column_words.simple(name) == "dlret"
        known = None if has_codes else table.numbers(place)
        if known is None:
            values = table.column(place)
            values = _without_codes(found, values, name) if has_codes else values
            known = number_text.parse(values, table.lines, name, mark)
        else:
            number_text.check_finite(known, table.lines, name)
        numbers[key] = known
    _leave_out_suspensions(found, numbers)
    for key, column in numbers.items():
        role, name = key.rpartition("\0")[2], table.names[places[key]]
        checked = _prices(found, table.lines, column, name) if role in _PRICES else column
        numbers[key] = checked * scale if role in (*_PRICES, "dividend") else checked
    return numbers


def _without_codes(found: MarketColumns, values: Sequence[str], name: str) -> list[str]:
    """Return delisting returns without the codes of CRSP for a missing one."""
    kept = ["" if _NO_RETURN.fullmatch(text.strip()) else text for text in values]
    n_codes = sum(before != after for before, after in zip(values, kept, strict=True))
    if n_codes:
        codes = sorted({before.strip() for before, after in zip(values, kept, strict=True) if before != after})
        are = counted(n_codes, f"value of {name} is a code", f"values of {name} are codes")
        found.notices.append(f"{are} for a missing return: {', '.join(codes[:5])}")
    return kept


def _leave_out_suspensions(found: MarketColumns, numbers: dict[str, Table]) -> None:
    """Replace opens, highs and lows that are all 0 on bars without volume."""
    n_bars = 0
    for key, close in numbers.items():
        start, _, role = key.rpartition("\0")
        prefix = f"{start}\0" if start else ""
        bar = [f"{prefix}{name}" for name in _BAR if f"{prefix}{name}" in numbers]
        if role != "close" or len(bar) < len(_BAR):
            continue
        volume = numbers.get(f"{prefix}volume", np.full(len(close), np.nan))
        is_idle = (close > 0.0) & np.logical_and.reduce([numbers[name] == 0.0 for name in bar])
        is_idle &= ~(volume > 0.0)
        n_bars += int(is_idle.sum())
        for name in bar if is_idle.any() else ():
            numbers[name] = np.where(is_idle, np.nan, numbers[name])
    if n_bars:
        bars = f"{n_bars} bar{'s' * (n_bars != 1)}"
        found.notices.append(f"open, high and low 0 without volume are missing values on {bars}")


def _prices(found: MarketColumns, lines: Sequence[int], values: Table, name: str) -> Table:
    """Return prices; refuse one that is not above 0."""
    bad = np.flatnonzero(values <= 0.0)
    if not len(bad):
        return values
    if column_words.simple(name) == "prc":
        negative = f"{counted(len(bad), 'value')} of {name} below 0"
        found.notices.append(f"{negative}: CRSP writes the midpoint of bid and ask with a minus sign")
        return np.where(values == 0.0, np.nan, np.abs(values))
    line, value = lines[int(bad[0])], values[int(bad[0])]
    message = f"`{name}` on line {line} must be a price above 0; received {value:g}"
    raise refusal("price_invalid", f"{message}; hint: a macro series, rate or spread is not a price that can be bought")
