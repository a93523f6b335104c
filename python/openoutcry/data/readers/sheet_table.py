"""The table of a sheet of a workbook, by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.text_table import ColumnTable, TextTable, is_value, of_grid, take_header
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import SheetReader

Numbers = npt.NDArray[np.float64]
# Characters of all cells: a text is stored once for any number of cells, and read in each.
_MOST_CHARACTERS = 1 << 27


class SheetTable(ColumnTable):
    """Columns of a sheet, and the numbers of number columns."""

    def __init__(self, table: ColumnTable, numbers: Sequence[Numbers | None]) -> None:
        super().__init__(table.names, table.columns, table.lines, table.preamble)
        self._numbers = numbers

    def numbers(self, place: int) -> Numbers | None:
        return self._numbers[place]


def of_sheet(sheet: SheetReader) -> TextTable:
    """Return the table of a sheet, as `text_table.of_grid` does, by column.

    Raises:
        OpenOutcryError: `dataset_too_large`: its cells have too many characters.
    """
    columns, lines, short_rows = sheet.columns()
    n_characters = sum(sum(map(len, column)) for column in columns)
    if n_characters > _MOST_CHARACTERS:
        message = f"a sheet of at most {_MOST_CHARACTERS} characters is required; received {n_characters}"
        raise refusal("dataset_too_large", f"{message}; hint: leave out the columns that are not prices, or split it")
    # Rows with empty last fields, and whether each has a number.
    short = dict(short_rows)
    start = next(place for place in range(len(lines)) if place not in short)
    end = len(lines)
    # Text below the rows.
    while end - 1 in short and not _has_value(columns, end - 1, short):
        end -= 1
    preamble = [_fields(columns, place) for place in range(start)]
    is_plain = all(_has_value(columns, place, short) for place in short if start < place < end)
    if not is_plain or any(is_value(row[0]) or len(row) == len(columns) - 1 for row in preamble):
        return of_grid([(line, _fields(columns, place)) for place, line in enumerate(lines)])
    before = [",".join(row) for row in preamble]
    table = ColumnTable([], [column[start:end] for column in columns], lines[start:end], before)
    found = take_header(table)
    if isinstance(found, ColumnTable):
        found = SheetTable(found, sheet.numbers(end - len(found.lines), end))
    if end < len(lines):
        footer = ",".join(_fields(columns, end)).strip()
        found.notes.append(f"line {lines[end]} begins a footer: {footer[:60]!r}")
    return found


def _has_value(columns: Sequence[list[str]], place: int, short: dict[int, bool]) -> bool:
    return short[place] or any(is_value(column[place]) for column in columns)


def _fields(columns: Sequence[list[str]], place: int) -> list[str]:
    """Return the fields of a row up to the last one that is not empty."""
    row = [column[place] for column in columns]
    while not row[-1]:
        row.pop()
    return row
