"""Rows of long frames, read in parts, so that no part of a frame is held twice.

Dates and symbols become numbers: each distinct value is checked and converted to text once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data import columns
from openoutcry.data.readers.distinct import Distinct, Numbers, Values, of_times
from openoutcry.errors import refusal

# No value has this number.
_UNKNOWN = np.uint32(0xFFFF_FFFF)


def core_of(
    parts: Iterable[dict[str, Any]], names: Iterable[str], periods_per_year: float | None, n_rows: int = 0
) -> native.Dataset:
    """Return the market of the parts of a long frame.

    Args:
        parts: Columns by name: arrays, or `Distinct` for `date` and `symbol`.
        names: Names of the columns.
        periods_per_year: Bars per year; inferred from the dates by default.
        n_rows: Number of rows, 0 if unknown.

    Raises:
        OpenOutcryError: the first invalid value, with its row in the frame, counted from 0.
    """
    rows = native.LongRows(list(names))
    rows.reserve(n_rows)
    dates, symbols = _Names("date"), _Names("symbol")
    first = 0
    for part in parts:
        days, of = _distinct(part["date"]), _distinct(part["symbol"])
        numbers = [np.ascontiguousarray(number_column(name, part[name], first)) for name in rows.names]
        rows.push(dates.numbers(days, first), symbols.numbers(of, first), numbers)
        first += len(of.places)
    return rows.dataset(columns.iso(dates.known()), columns.names(symbols.known()), periods_per_year=periods_per_year)


def arrow_parts(batches: Iterable[Any], names: dict[str, str]) -> Iterable[dict[str, Any]]:
    """Yield the columns of Arrow batches.

    `names` maps columns of a long frame to those of the batches.
    """
    read = {"date": _ArrowKeys(), "symbol": _ArrowKeys()}
    for batch in batches:
        part = {}
        for name, written in names.items():
            column = batch.column(written)
            part[name] = read[name].distinct(column) if name in read else column.to_numpy(zero_copy_only=False)
        yield part


def is_plain(schema: Any, names: dict[str, str]) -> bool:
    """Return whether `arrow_parts` reads a schema.

    Dates are texts, or times without a zone; symbols are texts.
    """
    kinds = {name: schema.field(written).type for name, written in names.items()}
    date, symbol = kinds.pop("date"), kinds.pop("symbol")
    is_date = _is_text(date) or (_is_time(date) and getattr(date, "tz", None) is None)
    return is_date and _is_text(symbol) and all(kind.num_fields == 0 for kind in kinds.values())


def number_column(name: str, values: Values, first_row: int = 0) -> npt.NDArray[np.float64]:
    """Return a column of numbers, NaN where missing.

    Raises:
        OpenOutcryError: `field_unparsable`: a value is no number.
    """
    if values.dtype.kind in "fiu":
        return values.astype(np.float64, copy=False)
    numbers = np.empty(len(values))
    # `tolist` would convert datetimes and timedeltas to integers.
    for row, value in enumerate(values):
        if value is not None and not _is_number(value):
            message = f"`{name}` at row {first_row + row} must be a number; received {str(value)!r}"
            raise refusal("field_unparsable", message)
        numbers[row] = np.nan if value is None else float(value)
    return numbers


class _Names:
    """Numbers of the distinct values of `date` or `symbol`, over all parts."""

    def __init__(self, column: str) -> None:
        self._column, self._numbers = column, dict[Any, int]()
        self._dtype: np.dtype[Any] | None = None
        # The values of the last part, and the number of each, where a row has it so far.
        self._values: Sequence[Any] | Values = ()
        self._number_of = np.empty(0, np.uint32)

    def numbers(self, found: Distinct, first_row: int) -> Numbers:
        """Return the number of each row; refuse the first value that is no date or symbol."""
        values, places = found
        if values is not self._values:
            self._values, self._number_of = values, np.full(len(values), _UNKNOWN)
        numbers = self._number_of.take(places)
        if len(numbers) and numbers.max() == _UNKNOWN:
            self._add(found, first_row)
            numbers = self._number_of.take(places)
        return numbers

    def _add(self, found: Distinct, first_row: int) -> None:
        values, places = found
        # A dictionary of Arrow may have values that no row has.
        is_used = np.zeros(len(values), bool)
        is_used[places] = True
        used = np.flatnonzero(is_used)
        if isinstance(values, np.ndarray):
            self._dtype, keys = values.dtype, values.view(np.int64)[used].tolist()
        else:
            keys = [_text(self._column, values[place]) for place in used.tolist()]
        if None in keys:
            unnamed = [place for place, key in zip(used, keys, strict=True) if key is None]
            row = int(np.flatnonzero(np.isin(places, unnamed))[0])
            self._refuse(first_row + row, values[places[row]])
        self._number_of[used] = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]

    def known(self) -> Any:
        """Return the distinct values in the order of their numbers: texts or datetimes."""
        values = list(self._numbers)
        return values if self._dtype is None else np.array(values, np.int64).view(self._dtype)

    def _refuse(self, row: int, value: Any) -> None:
        wanted = "a text" if self._column == "symbol" else "a date or an ISO 8601 text"
        message = f"`{self._column}` at row {row} must be {wanted}; received {value!r}"
        raise refusal(f"{self._column}_invalid", message)


def _text(column: str, value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value.isoformat()) if column == "date" and hasattr(value, "isoformat") else None


def _distinct(column: Any) -> Distinct:
    if isinstance(column, Distinct):
        return column
    if column.dtype.kind == "M":
        return of_times(column)
    values = column.tolist()
    try:
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    except TypeError:
        # A value that has no hash is refused by its row.
        return Distinct(values, np.arange(len(values), dtype=np.uint32))
    places = np.fromiter(map(numbers.__getitem__, values), np.uint32, len(values))
    return Distinct(list(numbers), places)


class _ArrowKeys:
    """Dates or symbols of Arrow batches. Equal dictionaries of two batches are one object."""

    def __init__(self) -> None:
        self._dictionary: Any = None
        self._values: Sequence[Any] | Values = ()

    def distinct(self, column: Any) -> Distinct:
        """Return the distinct values of a batch; None or NaT for a missing one."""
        if not hasattr(column, "dictionary") and _is_time(column.type):
            return of_times(column.to_numpy(zero_copy_only=False))
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        places, dictionary = encoded.indices, encoded.dictionary
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._dictionary, self._values = dictionary, [*dictionary.to_pylist(), None]
            if _is_time(dictionary.type):
                self._values = np.append(dictionary.to_numpy(zero_copy_only=False), np.datetime64("NaT"))
        places = places.fill_null(len(dictionary)) if places.null_count else places
        numbers = places.to_numpy(zero_copy_only=False)
        return Distinct(self._values, numbers.view(np.uint32) if numbers.itemsize == 4 else numbers.astype(np.uint32))


def _is_text(kind: Any) -> bool:
    return str(getattr(kind, "value_type", kind)) in ("string", "large_string", "string_view")


def _is_time(kind: Any) -> bool:
    return str(kind).startswith(("date32", "date64", "timestamp"))


def _is_number(value: Any) -> bool:
    """Return whether a value is a real number.

    Bools, strings, times and complex numbers are not.
    """
    others = (str, bytes, bool, complex, np.ndarray, np.bool_, np.complexfloating, np.datetime64, np.timedelta64)
    return hasattr(value, "__float__") and not isinstance(value, others) and not hasattr(value, "isoformat")
