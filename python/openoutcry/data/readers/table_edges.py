"""Rows at the edges of a table that are no bars: units and footers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openoutcry.data.readers import series_metadata
from openoutcry.data.readers.frame_table import FrameTable
from openoutcry.data.readers.text_table import ColumnTable, TextTable, is_value

_CURRENCIES = (
    "usd eur gbp jpy chf cad aud nzd sek nok dkk pln czk huf ron try rub cny cnh hkd twd krw sgd inr idr myr thb php"
    " vnd brl mxn clp cop ars pen zar ils sar aed btc eth usdt usdc gbx gbp gbpence usc cents cent pence"
)
_QUANTITIES = (
    "shares share contracts contract lots lot units unit coins index points point pts pct percent number count string"
    " float price"
)
_UNIT = re.compile(
    rf"[(\[]?({'|'.join(f'{_CURRENCIES} {_QUANTITIES}'.split())}|[$€£¥%])( ?(/|per) ?[a-z.]+)?[)\]]?", re.IGNORECASE
)
_UNITS = frozenset(("", "unit", "units", "unit:", "units:"))


def trimmed(table: TextTable) -> tuple[TextTable, list[str]]:
    """Return a table of text without a row of units and without footers, and notices.

    A footer has no digit, or only one cell, which is neither a number nor a date.
    """
    if isinstance(table, FrameTable) or not table.names:
        return table, []
    table, notices = series_metadata.without_metadata(table)
    rows, first, last = table.rows, 0, len(table.rows)
    if last > 1 and _are_units(table.names, rows[0]):
        first = 1
        units = ", ".join(dict.fromkeys(cell.strip() for cell in rows[0][1:] if cell.strip()))
        notices.append(f"line {table.lines[0]} holds units and is not read: {units[:60]}")
    while last - first > 1 and _is_footer(rows[last - 1]):
        last -= 1
    if last < len(rows):
        footer = table.delimiter.join(rows[last]).strip(f" {table.delimiter}")
        notices.append(f"line {table.lines[last]} begins a footer: {footer[:60]!r}")
    return (_between(table, first, last) if last - first < len(table.rows) else table), notices


def _are_units(names: Sequence[str], row: Sequence[str]) -> bool:
    present = [cell.strip() for cell in row[1:] if cell.strip()]
    # Below names that occur twice, USD can be a ticker.
    is_plain = len({name.strip().lower() for name in names}) == len(names)
    is_first = row[0].strip().lower() in _UNITS
    return is_plain and is_first and bool(present) and all(_UNIT.fullmatch(cell) for cell in present)


def _is_footer(row: Sequence[str]) -> bool:
    present = [cell for cell in row if cell.strip()]
    if len(present) == 1:
        return not is_value(present[0]) and re.search(r"[^\W\d_]", present[0]) is not None
    return not any(character.isdigit() for cell in present for character in cell)


def _between(table: TextTable, first: int, last: int) -> TextTable:
    lines = table.lines[first:last]
    below: TextTable
    if isinstance(table, ColumnTable):
        columns = [column[first:last] for column in table.columns]
        below = ColumnTable(table.names, columns, lines, table.preamble, table.delimiter)
        below.notes = table.notes
    else:
        below = TextTable(table.names, table.rows[first:last], lines, table.preamble, table.delimiter, table.notes)
    below.symbol, below.adjusted, below.zones = table.symbol, table.adjusted, table.zones
    return below
