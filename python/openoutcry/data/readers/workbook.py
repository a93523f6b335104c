"""Tables of Excel workbooks."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from openoutcry.data.readers import text_table
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_DAMAGES = (
    AttributeError, EOFError, KeyError, OSError, SyntaxError, TypeError, ValueError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def table_of(content: bytes, name: str) -> TextTable:
    """Return the table of the only sheet of a workbook that is not empty.

    Rows above the header and below the table are handled as in a text file.

    Raises:
        ModuleNotFoundError: openpyxl is not installed.
        OpenOutcryError: `field_unparsable`: the file is damaged, or several sheets have cells.
    """
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[excel]`", name=error.name) from error
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets}
    # openpyxl raises these for a workbook that lacks parts, or has invalid XML.
    except _DAMAGES as error:
        message = f"a complete workbook is required; received {name!r}: {str(error)[:100]}"
        raise refusal("field_unparsable", message) from error
    filled = {title: rows for title, rows in sheets.items() if rows}
    if len(filled) != 1:
        received = ", ".join(filled) if filled else "no cell"
        message = f"a workbook of one sheet with cells is required; received {received} in {name!r}"
        raise refusal("field_unparsable", f"{message}; hint: save the sheet of prices as a file of its own")
    found = text_table.of_grid(next(iter(filled.values())))
    if len(sheets) > 1:
        found.notes.append(f"sheets without cells are left out; {next(iter(filled))!r} is read")
    return found


def _rows(sheet: Any) -> list[tuple[int, list[str]]]:
    """Return the rows that have cells, with their numbers."""
    rows = [[_text(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
    return [(line, row) for line, row in enumerate(rows, 1) if any(row)]


def _text(cell: Any) -> str:
    """Return a cell as text: numbers in full, times in ISO 8601."""
    if cell is None:
        return ""
    return str(cell.isoformat() if hasattr(cell, "isoformat") else cell).strip()
