"""Columns of text of a delimited file."""

from __future__ import annotations

import copy
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data.readers import text_preamble
from openoutcry.data.readers.column_roles import is_date_name
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.distinct import Distinct, of_texts
from openoutcry.errors import refusal

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 60
_MOST_COLUMNS = 1 << 16
# The digits behind a decimal mark.
_FRACTION = re.compile(r"0\d{1,2}", re.ASCII)
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
        zones: Time zones that the file states outside its rows.
    """

    names: list[str]
    rows: Sequence[list[str]]
    lines: Sequence[int]
    preamble: list[str] = field(default_factory=list)
    delimiter: str = ","
    notes: list[str] = field(default_factory=list)
    symbol: str = ""
    adjusted: str | None = None
    zones: list[str] = field(default_factory=list)

    @cached_property
    def _by_column(self) -> list[tuple[str, ...]]:
        return list(zip(*self.rows, strict=True))

    def column(self, place: int) -> Sequence[str]:
        """Return the fields of a column."""
        return self._by_column[place]

    def distinct(self, place: int) -> Distinct:
        """Return the distinct fields of a column, and the place of each row among them."""
        return of_texts(self.column(place))

    def numbers(self, place: int) -> npt.NDArray[np.float64] | None:
        """Return the numbers of a column of a frame, NaN where missing; None for text."""
        return None

    def named(self, names: list[str]) -> TextTable:
        """Return the table with other names."""
        found = copy.copy(self)
        found.names = names
        return found

    def without(self, places: Sequence[int]) -> TextTable:
        """Return the table without some columns."""
        kept = [place for place in range(len(self.names)) if place not in places]
        found = copy.copy(self)
        found.__dict__.pop("_by_column", None)
        found.names, found.rows = [self.names[place] for place in kept], self._cells(kept)
        return found

    def _cells(self, kept: Sequence[int]) -> Sequence[list[str]]:
        return [[row[place] for place in kept] for row in self.rows]

    def first(self, place: int) -> str:
        """Return the first field of a column that is not empty."""
        return next((text for text in self.column(place) if text.strip()), "")


class ColumnTable(TextTable):
    """Columns of a file; rows are built when they are needed."""

    def __init__(
        self,
        names: list[str],
        columns: Sequence[list[str]],
        lines: Sequence[int],
        preamble: Sequence[str] = (),
        delimiter: str = ",",
    ) -> None:
        rows = Rows([column.__getitem__ for column in columns], len(lines))
        super().__init__(names, rows, lines, list(preamble), delimiter)
        self.columns = columns

    def column(self, place: int) -> Sequence[str]:
        return self.columns[place]

    def _cells(self, kept: Sequence[int]) -> Sequence[list[str]]:
        return Rows([self.columns[place].__getitem__ for place in kept], len(self.lines))

    def without(self, places: Sequence[int]) -> TextTable:
        """Return the table without some columns."""
        found = super().without(places)
        assert isinstance(found, ColumnTable)
        found.columns = [column for place, column in enumerate(self.columns) if place not in places]
        return found


class Rows(Sequence[list[str]]):
    """Rows of text, built when they are needed.

    Each column is a function from a row to its field.
    """

    def __init__(self, columns: Sequence[Callable[[int], str]], n_rows: int) -> None:
        self._columns, self._rows = columns, range(n_rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> list[str]: ...

    @overload
    def __getitem__(self, row: slice) -> list[list[str]]: ...

    def __getitem__(self, row: int | slice) -> list[str] | list[list[str]]:
        if isinstance(row, slice):
            return [self[place] for place in self._rows[row]]
        place = self._rows[row]
        return [cell(place) for cell in self._columns]


def parse(text: str) -> TextTable:
    """Return the table of a delimited text.

    Raises:
        OpenOutcryError: `missing_column`: no delimiter yields columns. `field_unparsable`: a row in the middle of
            the file has another number of fields.
    """
    text, delimiter, preamble = text_preamble.body_of(text, _DELIMITERS)
    delimiter, width = _delimiter(text, _DELIMITERS if delimiter is None else [delimiter])
    table = _parsed(text, delimiter, width)
    table.preamble[:0] = preamble
    return table


def _parsed(text: str, delimiter: str, width: int) -> TextTable:
    check_width(width)
    split = native.split_columns(text, delimiter, width)
    if split is not None and not _begins_oddly(split[0], width, delimiter):
        return ColumnTable([], split[1], split[2], split[0], delimiter)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    ends: list[int] = []
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error as error:
        raise refusal("field_unparsable", f"line {reader.line_num} must be valid CSV; received {error}") from error
    # A row starts after the end of the row before it: a field in quotes can span lines.
    lines = [1, *(end + 1 for end in ends[:-1])]
    kept = [place for place, row in enumerate(rows) if row and (row[0].strip() or "".join(row).strip())]
    if len(kept) < len(rows):
        rows, lines = [rows[place] for place in kept], [lines[place] for place in kept]
    return _table(rows, lines, width, delimiter)


def check_width(width: int) -> None:
    """Refuse a table of more columns or symbols side by side than can be read.

    Raises:
        OpenOutcryError: `dataset_too_large`: there are more.
    """
    if width > _MOST_COLUMNS:
        message = f"at most {_MOST_COLUMNS} columns are required; received {width}"
        raise refusal("dataset_too_large", f"{message}; hint: a row per date and symbol has no such limit")


def _begins_oddly(preamble: Sequence[str], width: int, delimiter: str) -> bool:
    """Return whether a line before the rows is a value or a shorter header."""
    fields = [line.split(delimiter) for line in preamble]
    return any(is_value(row[0]) for row in fields) or any(len(row) == width - 1 for row in fields[-1:])


def of_grid(grid: Sequence[tuple[int, list[str]]]) -> TextTable:
    """Return the table of the cells of a sheet: rows with their numbers."""
    first = min(next(place for place, cell in enumerate(row) if cell) for _, row in grid)
    cells = [(line, row[first : max(place for place, cell in enumerate(row) if cell) + 1]) for line, row in grid]
    width = max(len(row) for _, row in cells)
    start = next(place for place, (_, row) in enumerate(cells) if len(row) == width)
    # A row of the table can end in empty cells, which a sheet does not store.
    padded = [
        (line, row + [""] * (width - len(row)) if place > start and any(map(is_value, row)) else row)
        for place, (line, row) in enumerate(cells)
    ]
    return take_header(_table([row for _, row in padded], [line for line, _ in padded], width, ","))


def _table(found: list[list[str]], numbers: list[int], width: int, delimiter: str) -> TextTable:
    """Return the table of rows of one width, without preamble and footer."""
    first = next((place for place, row in enumerate(found) if len(row) == width), len(found))
    preamble, rows, lines = found[:first], found[first:], numbers[first:]
    for row, line in zip(preamble, numbers, strict=False):
        if is_value(row[0]):
            received = f"{len(row)}, and {width} on most lines"
            raise refusal("field_unparsable", f"line {line} must have {width} fields; received {received}")
    if preamble and len(preamble[-1]) == width - 1 and rows and any(map(is_value, rows[0])):
        # A header is shorter by one than rows that end in a delimiter, or that begin with an index, as R writes it.
        head = preamble.pop()
        is_padded = all(not row[-1].strip() for row in rows)
        if not is_padded:
            _check_split_numbers(head, rows, lines)
        rows.insert(0, [*head, ""] if is_padded else ["", *head])
        lines.insert(0, 1)
    before = [delimiter.join(row) for row in preamble]
    notes = _drop_footer(rows, lines, width, delimiter)
    return TextTable([], rows, lines, before, delimiter, notes)


def _check_split_numbers(head: Sequence[str], rows: Sequence[list[str]], lines: Sequence[int]) -> None:
    """Refuse rows that a decimal comma splits: `2024-01-02,101,05` below two names.

    Raises:
        OpenOutcryError: `field_unparsable`: dates are below a name of dates, or a field such as `05` is no number.
    """
    if not looks_like_date(rows[0][0].strip()) or looks_like_date(rows[0][1].strip()):
        return
    fraction = next((place for place, row in enumerate(rows) if _FRACTION.fullmatch(row[-1].strip())), None)
    if not is_date_name(head[0]) and fraction is None:
        return
    line, received = lines[fraction or 0], ",".join(rows[fraction or 0])
    message = f"line {line} must have {len(head)} fields, as the header has; received {received[:60]!r}"
    hint = "hint: write numbers with a decimal comma in quotes, or separate the fields with semicolons"
    raise refusal("field_unparsable", f"{message}; {hint}")


def of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> TextTable:
    """Return the table of rows that were read from JSON. None is an empty field."""
    check_width(len(names))
    if not rows or not rows[0] or len(set(map(len, rows))) > 1:
        texts = [list(map(_shown, row)) for row in rows]
        return TextTable(list(names), texts, list(range(1, len(texts) + 1)))
    columns = [_as_texts(column) for column in zip(*rows, strict=True)]
    return ColumnTable(list(names), columns, range(1, len(rows) + 1))


def _as_texts(column: Sequence[Any]) -> list[str]:
    return list(column) if set(map(type, column)) == {str} else list(map(_shown, column))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def take_header(table: TextTable) -> TextTable:
    """Move the first row to the names if it is a header."""
    if table.names or not table.rows:
        return table
    first = table.rows[0]
    # Codes of symbols are numbers; the name of a date next to them is no value.
    is_named = bool(first[0].strip()) and is_date_name(first[0])
    # `Date,2024-01-31` above a header is a property of the file.
    is_named = is_named and not (len(table.rows) > 1 and table.rows[1][0].strip() and is_date_name(table.rows[1][0]))
    if not is_named and any(is_value(cell) for cell in first if cell.strip()):
        return table
    names, lines = [cell.strip() for cell in table.rows[0]], table.lines[1:]
    if isinstance(table, ColumnTable):
        return ColumnTable(names, [column[1:] for column in table.columns], lines, table.preamble, table.delimiter)
    return TextTable(names, table.rows[1:], lines, table.preamble, table.delimiter, table.notes)


def is_value(cell: str) -> bool:
    """Return whether a cell is a number or a date."""
    text = cell.strip()
    return _NUMBER.fullmatch(text) is not None or looks_like_date(text)


def _delimiter(text: str, delimiters: Sequence[str]) -> tuple[str, int]:
    """Return the delimiter and the number of fields that most lines agree on."""
    sample = list(islice(filter(str.strip, io.StringIO(text)), _SAMPLE))
    found = []
    for delimiter in delimiters:
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


def _drop_footer(rows: list[list[str]], lines: list[int], width: int, delimiter: str) -> list[str]:
    """Drop text below the rows, and return notes; refuse a row of another width."""
    notes = []
    while rows and len(rows[-1]) != width:
        # A footer is text: a row that is cut off in the middle of its numbers is refused.
        if any(is_value(cell) for cell in rows[-1]):
            break
        footer = delimiter.join(rows.pop()).strip()
        notes = [f"line {lines.pop()} begins a footer: {footer[:60]!r}"]
    if set(map(len, rows)) <= {width}:
        return notes
    for row, line in zip(rows, lines, strict=True):
        # A trailing delimiter is an empty last field.
        if len(row) == width + 1 and not row[-1].strip():
            row.pop()
        if len(row) != width:
            raise refusal("field_unparsable", f"line {line} must have {width} fields; received {len(row)}")
    return notes
