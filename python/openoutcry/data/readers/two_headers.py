"""Tables with a header of fields and one of tickers, as of yfinance or Bloomberg."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.data.readers import column_roles, column_words, number_text
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

Fields = dict[str, dict[str, int]]


def fields_of(table: TextTable) -> tuple[TextTable, Fields, list[str]] | None:
    """Return the table below both headers, its columns by ticker, and notices.

    None if the table has one header.

    Raises:
        OpenOutcryError: `missing_column`: a ticker has no close.
    """
    rows, names = table.rows, [name.strip() for name in table.names]
    is_below = len(rows) > 1 and len(names) > 1 and _has_dates_below(rows[0])
    names = _filled(names, rows[0], table.lines[0]) if is_below else names
    is_double = len(rows) > 1 and rows[0][0].strip().lower() in ("ticker", "tickers", "price", "") and len(names) > 1
    if not (is_double or is_below) or any(number_text.is_numeric([cell]) for cell in rows[0]):
        return None
    second = [cell.strip() for cell in rows[0]]
    has_axis_row = rows[1][0].strip().lower() in ("date", "datetime") and not any(map(str.strip, rows[1][1:]))
    known = "close" in {column_words.simple(name) for name in names[1:]}
    by_name, tickers = (names, second) if known else (second, names)
    fields: Fields = {}
    notices = []
    for place in range(1, len(names)):
        role = column_roles.role_of(by_name[place])
        if role is None:
            notices.append(f"columns not read: {by_name[place]!r} of {tickers[place]}")
        else:
            fields.setdefault(tickers[place], {})[role] = place
    if known and not has_axis_row and len(set(names)) == len(names) and not second[0]:
        message = f"rows below the header must be bars; received {column_roles.listed(second)} on line {table.lines[0]}"
        raise refusal("field_unparsable", f"{message}; hint: delete the line")
    if not fields or not all("close" in of for of in fields.values()):
        raise refusal("missing_column", f"a `Close` of every ticker is required; received {column_roles.listed(names)}")
    skipped = 2 if has_axis_row else 1
    header = ["Date", *(f"{tickers[place]}.{by_name[place]}" for place in range(1, len(names)))]
    below = TextTable(header, rows[skipped:], table.lines[skipped:], table.preamble, table.delimiter, table.notes)
    return below, fields, notices


def _has_dates_below(row: Sequence[str]) -> bool:
    """Return whether a row names dates and fields, as Bloomberg below tickers."""
    cells = [cell.strip() for cell in row]
    are_fields = all(column_roles.role_of(cell) or _is_date(cell) for cell in cells[1:])
    return _is_date(cells[0]) and are_fields


def _is_date(cell: str) -> bool:
    return column_words.simple(cell) in ("date", "dates")


def _filled(names: Sequence[str], row: Sequence[str], line: int) -> list[str]:
    """Return names in which a ticker stands above each of its fields."""
    if any(map(_is_date, row[1:])):
        message = f"one column of dates is required; received several on line {line}: {column_roles.listed(row)}"
        hint = (
            "save the columns of each ticker as a file of its own, and read all files: `openoutcry data import *.csv`"
        )
        raise refusal("missing_column", f"{message}; hint: {hint}")
    filled = list(names)
    for place in range(2, len(filled)):
        filled[place] = filled[place] or filled[place - 1]
    return filled
