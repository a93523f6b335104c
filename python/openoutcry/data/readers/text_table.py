"""Columns of text of a delimited file."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.errors import refusal

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 60
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s*\d[\d.,' \u00a0]*([eE][-+]?\d+)?[)%KMBT]?")


@dataclass
class TextTable:
    """Columns of a file as it stands there.

    Attributes:
        names: Column names; empty if the file has no header.
        rows: Fields as text.
        lines: Line of each row, counted from 1.
        preamble: Lines before the header.
        delimiter: Separator of the fields.
        notes: What was skipped.
        symbol: Symbol that the file states outside its rows; empty if none.
        adjusted: What the file states about its prices; None if nothing.
    """

    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    preamble: list[str] = field(default_factory=list)
    delimiter: str = ","
    notes: list[str] = field(default_factory=list)
    symbol: str = ""
    adjusted: str | None = None

    def column(self, place: int) -> list[str]:
        """Return the fields of a column."""
        return [row[place] for row in self.rows]


def parse(text: str) -> TextTable:
    """Return the table of a delimited text.

    Raises:
        OpenOutcryError: `missing_column`: no delimiter yields columns. `field_unparsable`: a row in the middle of
            the file has another number of fields.
    """
    delimiter, width = _delimiter(text)
    found: list[tuple[int, list[str]]] = []
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    previous = 0
    try:
        for row in reader:
            line, previous = previous + 1, reader.line_num
            if "".join(row).strip():
                found.append((line, row))
    except csv.Error as error:
        raise refusal("field_unparsable", f"line {reader.line_num} must be valid CSV; received {error}") from error
    return _table(found, width, delimiter)


def of_grid(grid: Sequence[tuple[int, list[str]]]) -> TextTable:
    """Return the table of the cells of a sheet: rows with their numbers."""
    first = min(next(place for place, cell in enumerate(row) if cell) for _, row in grid)
    cells = [(line, row[first : max(place for place, cell in enumerate(row) if cell) + 1]) for line, row in grid]
    width = max(len(row) for _, row in cells)
    start = next(place for place, (_, row) in enumerate(cells) if len(row) == width)
    # A row of the table can end in empty cells, which a sheet does not store.
    padded = [
        (line, row + [""] * (width - len(row)) if place > start and any(map(_is_value, row)) else row)
        for place, (line, row) in enumerate(cells)
    ]
    return take_header(_table(padded, width, ","))


def _table(found: Sequence[tuple[int, list[str]]], width: int, delimiter: str) -> TextTable:
    """Return the table of rows of one width, without preamble and footer."""
    preamble: list[list[str]] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    for line, row in found:
        if not rows and len(row) != width:
            if _is_value(row[0]):
                received = f"{len(row)}, and {width} on most lines"
                raise refusal("field_unparsable", f"line {line} must have {width} fields; received {received}")
            preamble.append(row)
        else:
            rows.append(row)
            lines.append(line)
    if preamble and len(preamble[-1]) == width - 1 and rows and any(map(_is_value, rows[0])):
        # A header is shorter by one than rows that end in a delimiter, or that begin with an index, as R writes it.
        head = preamble.pop()
        rows.insert(0, [*head, ""] if all(not row[-1].strip() for row in rows) else ["", *head])
        lines.insert(0, 1)
    before = [delimiter.join(row) for row in preamble]
    return _without_footer(TextTable([], rows, lines, before, delimiter), width)


def of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> TextTable:
    """Return the table of rows that were read from JSON. None is an empty field."""
    texts = [["" if value is None else str(value) for value in row] for row in rows]
    return TextTable(list(names), texts, list(range(1, len(texts) + 1)))


def take_header(table: TextTable) -> TextTable:
    """Move the first row to the names if it is a header."""
    if table.names or not table.rows:
        return table
    if any(_is_value(cell) for cell in table.rows[0] if cell.strip()):
        return table
    names, rows, lines = [cell.strip() for cell in table.rows[0]], table.rows[1:], table.lines[1:]
    return TextTable(names, rows, lines, table.preamble, table.delimiter, table.notes)


def _is_value(cell: str) -> bool:
    text = cell.strip()
    return _NUMBER.fullmatch(text) is not None or looks_like_date(text)


def _delimiter(text: str) -> tuple[str, int]:
    """Return the delimiter and the number of fields that most lines agree on."""
    sample = [line for line in islice(io.StringIO(text), _SAMPLE) if line.strip()]
    found = []
    for delimiter in _DELIMITERS:
        counts = Counter(_widths(sample, delimiter))
        width, count = counts.most_common(1)[0] if counts else (0, 0)
        if width > 1:
            found.append((count / len(sample), width, delimiter))
    if not found:
        shown = sample[0][:60] if sample else "an empty file"
        message = f"columns separated by a comma, semicolon, tab or bar are required; received {shown!r}"
        raise refusal(
            "missing_column", f"{message}; hint: a header and rows such as `Date,Close` and `2024-01-02,101.5`"
        )
    _, width, delimiter = max(found)
    return delimiter, width


def _widths(sample: Sequence[str], delimiter: str) -> list[int]:
    """Return the number of fields of each line; none if they are not CSV."""
    try:
        return [len(row) for row in csv.reader(sample, delimiter=delimiter)]
    except csv.Error:
        return []


def _without_footer(table: TextTable, width: int) -> TextTable:
    """Drop text below the last row; refuse a row of another width above it."""
    while table.rows and len(table.rows[-1]) != width:
        # A footer is text: a row that is cut off in the middle of its numbers is refused.
        if any(_is_value(cell) for cell in table.rows[-1]):
            break
        footer = table.delimiter.join(table.rows.pop()).strip()
        table.notes[:] = [f"line {table.lines.pop()} begins a footer: {footer[:60]!r}"]
    for row, line in zip(table.rows, table.lines, strict=True):
        # A trailing delimiter is an empty last field.
        if len(row) == width + 1 and not row[-1].strip():
            row.pop()
        if len(row) != width:
            raise refusal("field_unparsable", f"line {line} must have {width} fields; received {len(row)}")
    return table
