"""Tables of Excel workbooks."""

from __future__ import annotations

import zipfile
import zlib

from openoutcry.data.readers import sheet_table, workbook_parts
from openoutcry.data.readers.text_table import TextTable
from openoutcry.data.readers.workbook_parts import WorkbookParts
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.openoutcry_py import SheetReader

# A workbook that lacks parts, has invalid XML, or is encrypted or compressed in an unknown way.
_DAMAGES = (
    EOFError, LookupError, NotImplementedError, OSError, RuntimeError, StopIteration, SyntaxError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip

# Rows of a sheet of Excel, and cells of a table as wide as its widest row.
_MOST_ROWS, _MOST_CELLS = 1 << 20, 1 << 25
# In a larger sheet, at least one cell of so many must have a value.
_SMALL_CELLS, _LEAST_FILLED = 1 << 20, 100


def table_of(content: bytes, name: str) -> TextTable:
    """Return the table of the only sheet of a workbook that is not empty.

    Rows above the header and below the table are handled as in a text file.

    Raises:
        OpenOutcryError: `field_unparsable`: the file is damaged, or several sheets have cells.
            `dataset_too_large`: a sheet has cells far apart.
    """
    try:
        book = workbook_parts.opened(content)
        sheets = {title: _sheet(book, part, name) for title, part in book.sheets.items()}
    except OpenOutcryError:
        raise
    except _DAMAGES as error:
        message = f"a complete workbook is required; received {name!r}: {str(error)[:100]}"
        raise refusal("field_unparsable", f"{message}; hint: open it in a spreadsheet and save it as CSV") from error
    filled = {title: sheet for title, sheet in sheets.items() if not sheet.is_empty}
    if len(filled) != 1:
        received = ", ".join(filled) if filled else "no cell"
        message = f"a workbook of one sheet with cells is required; received {received} in {name!r}"
        raise refusal("field_unparsable", f"{message}; hint: save the sheet of prices as a file of its own")
    title, sheet = next(iter(filled.items()))
    found = sheet_table.of_sheet(sheet)
    if len(sheets) > 1:
        found.notes.append(f"sheets without cells are left out; {title!r} is read")
    return found


def _sheet(book: WorkbookParts, part: str, name: str) -> SheetReader:
    """Return the cells of a sheet.

    A row ends in its last cell that is not empty: a format without a value does not make it wider.
    """
    limits = (_MOST_ROWS, _MOST_CELLS, _SMALL_CELLS, _LEAST_FILLED)
    sheet = SheetReader(book.strings, book.kinds, book.is_1904, limits)
    for content in workbook_parts.parts_of(book.archive, part):
        if (size := sheet.push(content)) is not None:
            n_filled, n_cells, line = size
            message = f"a sheet of prices without wide gaps is required; received {n_filled} values in {n_cells} cells"
            hint = "hint: delete what stands apart from the table, or save the sheet as CSV"
            raise refusal("dataset_too_large", f"{message} of the first {line} rows of {name!r}; {hint}")
    sheet.finish()
    return sheet
