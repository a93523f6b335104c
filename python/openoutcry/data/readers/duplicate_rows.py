"""Rows of one date and symbol: refused, or the last of them is read.

Rows of several instruments, which a column that is not read tells apart, are always refused: the last row is no later
version of the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import clock_columns, instrument_columns
from openoutcry.data.readers.distinct import Distinct
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError, refusal

# Rows for each value of a column that tells rows apart, without a name of such columns: a number differs by itself.
_ROWS_EACH = 3
_MOST_VALUES = 20
_LONGEST = 40
_NUMBER = re.compile(r"'\d+(\.\d+)?'", re.ASCII)
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """Rows of a table by date and symbol.

    Attributes:
        table: The table.
        dates: Date of each row.
        names: Symbol of each row; None for a column per symbol.
        ignored: Names of the columns that are not read.
    """

    table: TextTable
    dates: Distinct
    names: Distinct | None
    ignored: Sequence[str]

    def kept(self, duplicates: str | None, notices: list[str]) -> Places | slice:
        """Return the rows to read: all, or the last of each date and symbol.

        Raises:
            OpenOutcryError: `duplicate_row`: a date and symbol has several rows, and `duplicates` is not stated or they
                are of several instruments.
        """
        cells = self.dates.places.astype(np.int64)
        if self.names is not None:
            cells = cells * len(self.names.values) + self.names.places
        is_filled = np.zeros(int(cells.max()) + 1, bool)
        is_filled[cells] = True
        if is_filled.sum() == len(cells):
            return slice(None)
        order = np.argsort(cells, kind="stable")
        is_last = np.append(np.diff(cells[order]) != 0, True)
        earlier = np.flatnonzero(~is_last)
        pairs = order[earlier], order[earlier + 1]
        instruments = [
            place
            for place in instrument_columns.named(self.table, self.ignored)
            if (self.table.distinct(place).places[pairs[0]] != self.table.distinct(place).places[pairs[1]]).any()
        ]
        if instruments:
            raise self._several(instruments, pairs)
        others = self._distinguishing(cells)
        if duplicates != "last":
            first, second = int(pairs[0][0]), int(pairs[1][0])
            received = self._twice(first, second) + "".join(self._difference(place, pairs) for place in others)
            keyword = 'duplicates="last" for the last row of a date'
            rest = clock_columns.hint_of(self.ignored)
            raise unstated(
                Question("duplicate_row", "a date must occur once", received, keyword, "--duplicates last", rest)
            )
        rows = f"{len(earlier)} row{'s' * (len(earlier) != 1)}"
        differences = "".join(self._difference(place, pairs) for place in others)
        notices.append(f"left out: {rows} with a date that occurs again further down{differences}")
        kept: Places = np.sort(order[is_last])
        return kept

    def _twice(self, first: int, second: int) -> str:
        lines = f"lines {self.table.lines[first]} and {self.table.lines[second]}"
        name = "" if self.names is None else self.names.values[self.names.places[first]]
        of = f' of "{name}"' if name else ""
        return f"{self.dates.values[self.dates.places[first]]}{of} twice, on {lines}"

    def _difference(self, place: int, pairs: tuple[Places, Places]) -> str:
        """Return in words how the rows of the first pair that a column tells apart differ."""
        column = self.table.distinct(place)
        row = int(np.argmax(column.places[pairs[0]] != column.places[pairs[1]]))
        values = [_short(column.values[column.places[int(rows[row])]]) for rows in pairs]
        return f", with {self.table.names[place]!r} {' and '.join(values)}"

    def _distinguishing(self, cells: npt.NDArray[np.int64]) -> list[int]:
        """Return the column of few values that tells all rows of a date apart, if any."""
        for name in dict.fromkeys(self.ignored):
            place = self.table.names.index(name) if name in self.table.names else None
            column = None if place is None else self.table.distinct(place).used()
            if place is None or column is None or len(column.values) > min(_MOST_VALUES, len(cells) / _ROWS_EACH):
                continue
            if len(np.unique(cells * len(column.values) + column.places)) == len(cells):
                return [place]
        return []

    def _several(self, instruments: Sequence[int], pairs: tuple[Places, Places]) -> OpenOutcryError:
        """Return the refusal of rows of several instruments."""
        column = self.table.distinct(instruments[0])
        row = int(np.argmax(column.places[pairs[0]] != column.places[pairs[1]]))
        first, second = int(pairs[0][row]), int(pairs[1][row])
        name, value = self.table.names[instruments[0]], _short(column.values[column.places[second]])
        differences = "".join(self._difference(place, pairs) for place in instruments)
        message = f"a date must occur once; received {self._twice(first, second)}{differences}, which are different"
        message += " series"
        dates = self.dates.places.astype(np.int64)
        is_symbol = len(np.unique(dates * len(column.values) + column.places)) == len(dates)
        value = value.strip("'") if _NUMBER.fullmatch(value) else value
        hint = f"keep the rows of one series, such as frame[frame[{name!r}] == {value}] in pandas, or write the"
        hint += f" symbol of each row as both, such as {self._example(instruments, second)}"
        if is_symbol:
            hint = f'columns={{"symbol": "{name}"}}, `--column symbol={name}` if each {name!r} is a symbol, or {hint}'
        return refusal("duplicate_row", f"{message}; hint: {hint}")

    def _example(self, instruments: Sequence[int], row: int) -> str:
        """Return a symbol of a row that states its instrument."""
        symbol = "ABC" if self.names is None else str(self.names.values[self.names.places[row]]) or "ABC"
        columns = [self.table.distinct(place) for place in instruments]
        return "-".join([symbol, *(str(column.values[column.places[row]])[:_LONGEST] for column in columns)])


def _short(value: Any) -> str:
    text = str(value).strip()
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
