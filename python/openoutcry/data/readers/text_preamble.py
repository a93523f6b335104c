"""Lines of a text before its header, and what they say about the lines below."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from openoutcry.data.readers.column_roles import is_date_name
from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.number_text import is_numeric

# The line by which Excel knows the separator.
_SEPARATOR = re.compile(r'\ufeff?"?sep=(?P<mark>[,;\t|])"?[,;\t| ]*(?:\r?\n|\r)', re.IGNORECASE)
_LINE = re.compile(r"[^\n]*\n?")
# Lines among which a header is looked for.
_MOST_LINES = 100
# Names among which that of the dates is looked for, and the longest line.
_MOST_NAMES, _LONGEST = 40, 1 << 16


class Body(NamedTuple):
    """A text with empty lines in place of those before its header.

    Attributes:
        text: The text; lines keep their numbers.
        delimiter: Separator of the fields, if it is known.
        preamble: Lines before the header, if it was found below prose.
    """

    text: str
    delimiter: str | None = None
    preamble: tuple[str, ...] = ()


def body_of(text: str, delimiters: Sequence[str]) -> Body:
    """Return a text without the lines before its header."""
    if "\n" not in text:
        # Line ends of old versions of Excel for Mac.
        text = text.replace("\r", "\n")
    stated = _SEPARATOR.match(text)
    if stated is not None:
        return Body("\n" + text[stated.end() :], stated["mark"])
    lines = [match[0] for match in islice(_LINE.finditer(text), _MOST_LINES)]
    for delimiter in delimiters:
        place = _header(lines, delimiter)
        if place:
            before = lines[:place]
            rest = text[sum(map(len, before)) :]
            preamble = tuple(line.strip() for line in before if line.strip())
            return Body("\n" * place + rest, delimiter, preamble)
    return Body(text)


def _header(lines: Sequence[str], delimiter: str) -> int | None:
    """Return the line of a header below prose: a name of dates, above a date.

    None if all lines before it have as many fields, as the headers of several rows have.
    """
    widths: list[int] = []
    row = _fields(lines[0], delimiter) if lines else []
    for place, line in enumerate(lines[1:]):
        below = _fields(line, delimiter)
        if len(row) == len(below) > 1 and _is_above_a_date(row, below):
            return place if set(widths) - {0, len(row)} else None
        if row and (looks_like_date(row[0]) or is_numeric(row[:1])):
            # A row above the header is no prose.
            return None
        widths.append(len(row))
        row = below
    return None


def _is_above_a_date(names: Sequence[str], row: Sequence[str]) -> bool:
    pairs = zip(names[:_MOST_NAMES], row[:_MOST_NAMES], strict=True)
    return any(name and is_date_name(name) and looks_like_date(cell) for name, cell in pairs)


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; none if it is empty or not CSV."""
    if len(line) > _LONGEST or not line.strip():
        return []
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []
