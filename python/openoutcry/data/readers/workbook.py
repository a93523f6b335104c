"""Tables of Excel workbooks."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import Any

from openoutcry.data.readers import text_table
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError, refusal

_DAMAGES = (
    AttributeError, EOFError, LookupError, OSError, OverflowError, SyntaxError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip

_THREE_DIGITS = re.compile(r"-?[1-9]\d{0,2}\.\d{3}", re.ASCII)
# Rows of a sheet of Excel, cells up to the last one of each row, and characters of its texts.
_MOST_ROWS, _MOST_CELLS, _MOST_CHARACTERS = 1 << 20, 1 << 25, 1 << 27
# In a larger sheet, at least one cell of so many must have a value.
_SMALL_CELLS, _LEAST_FILLED = 1 << 20, 100


def table_of(content: bytes, name: str) -> TextTable:
    """Return the table of the only sheet of a workbook that is not empty.

    Rows above the header and below the table are handled as in a text file.

    Raises:
        ModuleNotFoundError: openpyxl is not installed.
        OpenOutcryError: `field_unparsable`: the file is damaged, or several sheets have cells.
            `dataset_too_large`: a sheet has cells far apart.
    """
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[excel]`", name=error.name) from error
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: _rows(sheet, name) for sheet in book.worksheets}
    except OpenOutcryError:
        raise
    # openpyxl raises these for a workbook that lacks parts, or has invalid XML.
    except _DAMAGES as error:
        message = f"a complete workbook is required; received {name!r}: {str(error)[:100]}"
        raise refusal("field_unparsable", f"{message}; hint: open it in a spreadsheet and save it as CSV") from error
    filled = {title: rows for title, rows in sheets.items() if rows}
    if len(filled) != 1:
        received = ", ".join(filled) if filled else "no cell"
        message = f"a workbook of one sheet with cells is required; received {received} in {name!r}"
        raise refusal("field_unparsable", f"{message}; hint: save the sheet of prices as a file of its own")
    found = text_table.of_grid(next(iter(filled.values())))
    if len(sheets) > 1:
        found.notes.append(f"sheets without cells are left out; {next(iter(filled))!r} is read")
    return found


def _rows(sheet: Any, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows that have cells, with their numbers.

    A row ends in its last cell that is not empty: a format without a value does not make it wider.
    """
    # The stated size of a sheet may be anything; every row would have its width.
    sheet.reset_dimensions()
    found: list[tuple[int, list[str]]] = []
    n_cells = n_filled = n_characters = 0
    for line, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        filled = [place for place, cell in enumerate(cells) if cell is not None]
        n_cells, n_filled = n_cells + (filled[-1] + 1 if filled else 0), n_filled + len(filled)
        is_sparse = n_cells > _SMALL_CELLS and n_filled * _LEAST_FILLED < n_cells
        if line > _MOST_ROWS or n_cells > _MOST_CELLS or is_sparse:
            message = f"a sheet of prices without wide gaps is required; received {n_filled} values in {n_cells} cells"
            hint = "hint: delete what stands apart from the table, or save the sheet as CSV"
            raise refusal("dataset_too_large", f"{message} of the first {line} rows of {name!r}; {hint}")
        # A text is stored once for any number of cells.
        n_characters += sum(len(cells[place]) for place in filled if isinstance(cells[place], str))
        if n_characters > _MOST_CHARACTERS:
            message = f"a sheet of at most {_MOST_CHARACTERS} characters of text is required; received more"
            hint = "hint: leave out the columns that are not prices, or split it"
            raise refusal("dataset_too_large", f"{message} in the first {line} rows of {name!r}; {hint}")
        if filled and any(row := [_text(cell) for cell in cells[: filled[-1] + 1]]):
            found.append((line, row))
    return found


def _text(cell: Any) -> str:
    """Return a cell as text: numbers in full, times in ISO 8601, truths as shown."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    text = str(cell.isoformat() if hasattr(cell, "isoformat") else cell).strip()
    # The point of a number is a decimal mark, also in `50.092`, which a text may have for thousands.
    return f"{text}0" if isinstance(cell, float) and _THREE_DIGITS.fullmatch(text) else text
