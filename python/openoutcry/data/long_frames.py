"""Rows of long frames, read in parts, so that no part of a frame is held twice.

Dates and symbols become numbers: each distinct value is checked and converted to text once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data import columns
from openoutcry.data.readers.distinct import MOST_DAYS, Distinct, Numbers, Values, of_times
from openoutcry.errors import refusal

# The number of a value that has none so far.
_UNKNOWN = 2**32 - 1
# Days of ten years: the length of a table of days.
_DAYS = 3653


def core_of(parts: Iterable[dict[str, Any]], names: Iterable[str], periods_per_year: float | None) -> native.Dataset:
    """Return the market of the parts of a long frame.

    Args:
        parts: Columns by name: arrays, or `Distinct` for `date` and `symbol`.
        names: Names of the columns.
        periods_per_year: Bars per year; inferred from the dates by default.

    Raises:
        OpenOutcryError: the first invalid value, with its row in the frame, counted from 0.
    """
    rows = LongRows(names)
    for part in parts:
        rows.push(part)
    return rows.market(periods_per_year)


class LongRows:
    """Rows of a long frame that arrive in parts."""

    def __init__(self, names: Iterable[str], n_rows: int = 0) -> None:
        self._rows = native.LongRows(list(names))
        self._dates, self._symbols, self._n_rows = _Names("date"), _Names("symbol"), 0
        self._columns = {name: native.NumberColumn(n_rows) for name in self._rows.names}

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        return any(column.has_missing for column in self._columns.values())

    def push(self, part: dict[str, Any]) -> None:
        """Add rows; refuse the first value that is no number, date or symbol."""
        for name, column in self._columns.items():
            # The core converts the usual integers.
            values = part[name]
            numbers = values if values.dtype == np.int64 else number_column(name, values, self._n_rows)
            column.push(np.ascontiguousarray(numbers))
        dates, symbols = _distinct(part["date"]), _distinct(part["symbol"])
        added = self._rows.push_keys(self._dates.keys(dates), self._symbols.keys(symbols))
        for names, found, places in ((self._dates, dates, added[0]), (self._symbols, symbols, added[1])):
            names.add(found, places, self._n_rows)
        self._n_rows += len(dates.places)

    def market(self, periods_per_year: float | None) -> native.Dataset:
        """Return the market of the rows."""
        dates, symbols = columns.iso(self._dates.known()), columns.names(self._symbols.known())
        columns_of = list(self._columns.values())
        return self._rows.dataset(dates, symbols, columns_of, periods_per_year=periods_per_year)


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
        # The values of the last part, the text or time of each, and its number.
        self._values: Sequence[Any] | Values = ()
        self._texts: list[Any] = []
        self._number_of = np.empty(0, np.uint32)
        # The first value with the text of each, if some have the same.
        self._first_of: Numbers | None = None

    def keys(self, found: Distinct) -> tuple[Numbers, Numbers]:
        """Return the position of each row among the values, and the number of each value."""
        values, places = found
        if values is not self._values:
            self._read(values)
        return (places if self._first_of is None else self._first_of.take(places)), self._number_of

    def add(self, found: Distinct, places: list[int], first_row: int) -> None:
        """Add the values at the places, which have got a number.

        Refuse one that is no date or symbol.
        """
        texts = [self._texts[place] for place in places]
        if None in texts:
            values = [place for place, text in enumerate(self._texts) if text is None]
            row = int(np.flatnonzero(np.isin(found.places, values))[0])
            self._refuse(first_row + row, found.values[found.places[row]])
        self._numbers.update(zip(texts, range(len(self._numbers), len(self._numbers) + len(texts)), strict=True))

    def _read(self, values: Sequence[Any] | Values) -> None:
        self._values = values
        if isinstance(values, np.ndarray):
            self._dtype, self._texts = values.dtype, values.view(np.int64).tolist()
        else:
            are_texts = set(map(type, values)) <= {str, type(None)}
            self._texts = list(values) if are_texts else [_text(self._column, value) for value in values]
        numbers = self._numbers
        known = map(numbers.get, self._texts, repeat(_UNKNOWN))
        self._number_of = np.fromiter(known, np.uint32, len(self._texts))
        self._first_of = None
        if len(set(self._texts)) < len(self._texts):
            firsts = dict[Any, int]()
            self._first_of = np.array(
                [firsts.setdefault(text, place) for place, text in enumerate(self._texts)], np.uint32
            )

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


def _of_times(column: Any) -> Distinct:
    return of_times(column.to_numpy(zero_copy_only=False))


class _ArrowKeys:
    """Dates or symbols of Arrow batches.

    Equal dictionaries of two batches are one object, and so are the days of all batches within some years.
    """

    def __init__(self) -> None:
        self._dictionary: Any = None
        self._values: Sequence[Any] | Values = ()
        self._days, self._first_day = np.empty(0, "datetime64[D]"), 0
        # The places of the last batch, whose memory the next one uses again.
        self._places = np.empty(0, np.int32)

    def distinct(self, column: Any) -> Distinct:
        """Return the distinct values of a batch; None or NaT for a missing one."""
        if not hasattr(column, "dictionary") and _is_time(column.type):
            is_whole = str(column.type) == "date32[day]" and not column.null_count
            return self._of_days(column) if is_whole else _of_times(column)
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        places, dictionary = encoded.indices, encoded.dictionary
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._dictionary, self._values = dictionary, [*dictionary.to_pylist(), None]
            if _is_time(dictionary.type):
                self._values = np.append(dictionary.to_numpy(zero_copy_only=False), np.datetime64("NaT"))
        # A small type of places may not hold one more.
        places = places.cast("int64").fill_null(len(dictionary)) if places.null_count else places
        numbers = places.to_numpy(zero_copy_only=False)
        return Distinct(self._values, numbers.view(np.uint32) if numbers.itemsize == 4 else numbers.astype(np.uint32))

    def _of_days(self, column: Any) -> Distinct:
        """Return days as numbers, which Arrow would convert to 64 bits one by one."""
        days = column.view("int32").to_numpy()
        places = self._days_after(self._first_day, days)
        if len(days) and places.max() >= len(self._days):
            first, last = int(days.min()), int(days.max())
            if last - first >= MOST_DAYS:
                return _of_times(column)
            self._first_day = first
            self._days = np.arange(first, max(last, first + _DAYS) + 1).view("datetime64[D]")
            places = self._days_after(first, days)
        return Distinct(self._days, places)

    def _days_after(self, first: int, days: npt.NDArray[np.int32]) -> Numbers:
        if len(self._places) < len(days):
            self._places = np.empty(len(days), np.int32)
        # A day before the first wraps around to a large number.
        places: Numbers = np.subtract(days, np.int32(first), out=self._places[: len(days)]).view(np.uint32)
        return places


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
