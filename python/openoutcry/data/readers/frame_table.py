"""Tables of pandas, polars and Arrow frames.

Numbers stay numbers. Each distinct time and text of a column is converted once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import distinct, text_table
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.distinct import Distinct
from openoutcry.data.readers.text_table import Rows, TextTable
from openoutcry.errors import OpenOutcryError, refusal


class _Texts(list[str]):
    """Texts of values of any types.

    Attributes:
        lost: First row of a number with a fraction or a truth, which are no text; None without one.
    """

    lost: int | None = None


# A column: numbers, distinct texts, or a text per row.
_Column = npt.NDArray[Any] | Distinct | list[str]

# Days since 1970 of the years 1 to 9999, and of a `timedelta`; the ends are exclusive.
_MOST_DAYS, _MOST_DURATION = (-719_162, 2_932_897), (-999_999_999, 999_999_999)
_FIELDS = frozenset(("open", "high", "low", "close", "adjclose", "volume", "dividends", "stocksplits", "capitalgains"))


class FrameTable(TextTable):
    """Columns of a frame. Rows are counted from 0."""

    def __init__(self, names: list[str], columns: list[_Column]) -> None:
        n_rows = len(_places(columns[0])) if columns else 0
        super().__init__(names, Rows([partial(_cell, column) for column in columns], n_rows), range(n_rows))
        self._columns = columns

    def column(self, place: int) -> list[str]:
        column = self._columns[place]
        if isinstance(column, Distinct):
            return list(map(column.values.__getitem__, column.places.tolist()))
        return column if isinstance(column, list) else list(map(_text, column.tolist()))

    def distinct(self, place: int) -> Distinct:
        column = self._columns[place]
        return column if isinstance(column, Distinct) else distinct.of_texts(self.column(place))

    def without(self, places: Sequence[int]) -> TextTable:
        """Return the table without some columns."""
        kept = [place for place in range(len(self.names)) if place not in places]
        found = FrameTable([self.names[place] for place in kept], [self._columns[place] for place in kept])
        found.notes, found.symbol, found.adjusted = self.notes, self.symbol, self.adjusted
        found.preamble, found.zones = self.preamble, self.zones
        return found

    def numbers(self, place: int) -> npt.NDArray[np.float64] | None:
        column = self._columns[place]
        return column.astype(np.float64, copy=False) if isinstance(column, np.ndarray) else None

    def lost_text(self, place: int) -> int | None:
        """Return the first row of a number with a fraction, or of a truth."""
        column = self._columns[place]
        if isinstance(column, np.ndarray) and column.dtype.kind == "f":
            present = np.flatnonzero(~np.isnan(column))
            return int(present[0]) if len(present) else None
        return column.lost if isinstance(column, _Texts) else None

    def first(self, place: int) -> str:
        column = self._columns[place]
        if isinstance(column, Distinct):
            rows = zip(column.first_rows().tolist(), column.values, strict=True)
            return min(((row, text) for row, text in rows if row >= 0 and text.strip()), default=(0, ""))[1]
        if isinstance(column, np.ndarray):
            present = np.flatnonzero(~np.isnan(column))
            return _text(column[present[0]].item()) if len(present) else ""
        return next((text for text in column if text.strip()), "")


def _places(column: _Column) -> Any:
    return column.places if isinstance(column, Distinct) else column


def _cell(column: _Column, row: int) -> str:
    if isinstance(column, Distinct):
        return str(column.values[column.places[row]])
    return column[row] if isinstance(column, list) else _text(column[row].item())


def table_of(frame: Any) -> TextTable:
    """Return a frame, or a list of rows such as ccxt returns, as a table.

    A pandas index becomes the first column. Columns of two levels, as of yfinance, become `TICKER.FIELD`.

    Raises:
        OpenOutcryError: `argument_invalid`: the argument is no frame. `date_invalid`: a year is none of Python.
    """
    with of_python():
        return _table_of(frame)


@contextmanager
def of_python() -> Iterator[None]:
    """Refuse a frame with values that Python does not have, such as later years.

    Raises:
        OpenOutcryError: `date_invalid`: a library cannot convert a value.
    """
    try:
        yield
    except (OpenOutcryError, UnicodeError):
        raise
    except (NotImplementedError, OverflowError, ValueError) as error:
        message = f"values must be those of Python, with times in the years 1 to 9999; received another: {error}"
        raise refusal("date_invalid", f"{message}; hint: leave the column out if it has no prices") from error


def _table_of(frame: Any) -> TextTable:
    if isinstance(frame, list) and frame and all(isinstance(row, (list, tuple)) and len(row) > 4 for row in frame):
        return text_table.of_rows([], [[_text(cell) for cell in row] for row in frame])
    is_series = hasattr(frame, "to_frame") and not hasattr(frame, "columns")
    if hasattr(frame, "reset_index") and hasattr(frame, "columns"):
        return FrameTable(*_pandas(frame))
    if hasattr(frame, "get_columns"):
        return FrameTable(list(frame.columns), [_polars_column(series) for series in frame.get_columns()])
    if not is_series and (hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")):
        import pyarrow

        table = pyarrow.table(frame)
        columns = [_arrow_column(table.column(place)) for place in range(table.num_columns)]
        return FrameTable(list(table.column_names), columns)
    received = type(frame).__name__
    raise refusal("argument_invalid", f"`frame` must be a pandas, polars or Arrow frame; received {received}")


def _pandas(frame: Any) -> tuple[list[str], list[_Column]]:
    if frame.index.nlevels > 1 or frame.index.inferred_type != "integer":
        named = {str(name) for name in frame.columns}
        frame = frame.reset_index(drop=any(str(name) in named for name in frame.index.names))
    names = [_name(label) for label in frame.columns]
    return names, [_pandas_column(frame.iloc[:, place]) for place in range(len(names))]


def _pandas_column(series: Any) -> _Column:
    kind = getattr(series.dtype, "kind", "O")
    if kind in "fiu" and (kind == "f" or not series.isna().any()):
        return np.asarray(series.to_numpy(dtype=f"{kind}8", na_value=np.nan) if kind == "f" else series.to_numpy())
    if kind == "M":
        codes, values = series.factorize()
        return _coded(codes, values.tolist())
    if hasattr(series, "cat"):
        return _coded(series.cat.codes.to_numpy(), series.cat.categories.tolist())
    return _of_objects(series.tolist())


def _polars_column(series: Any) -> _Column:
    kind = series.dtype
    numbers = np.asarray(series.to_numpy()) if kind.is_numeric() else np.empty(0, object)
    if numbers.dtype.kind in "fiu":
        return numbers
    if not kind.is_temporal():
        return _of_objects(series.to_list())
    _check_years(series)
    codes = series.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    return _coded(codes, series.drop_nulls().unique().sort().to_list())


def _check_years(series: Any) -> None:
    """Raise for times that polars cannot convert: it would panic."""
    kind, numbers = series.dtype, series.to_physical()
    scale = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}.get(getattr(kind, "time_unit", None) or "", 0)
    least, most = (_MOST_DAYS[0], _MOST_DAYS[1]) if hasattr(kind, "time_zone") or not scale else _MOST_DURATION
    # A zone moves a time by at most a day.
    edge = 1 if getattr(kind, "time_zone", None) else 0
    per_day = 86_400 * scale if scale else 1
    found = (numbers.min(), numbers.max())
    if (
        str(kind) != "Time"
        and None not in found
        and not ((least + edge) * per_day <= found[0] and found[1] < (most - edge) * per_day)
    ):
        raise OverflowError(f"{found[0]} to {found[1]} as {kind}")


def _arrow_column(column: Any) -> _Column:
    import pyarrow

    kind = str(column.type)
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        return np.asarray(column.to_numpy())
    if not kind.startswith(("date", "time", "string", "large_string", "dictionary")) or not len(column):
        return _of_objects(column.to_pylist())
    coded = column if kind.startswith("dictionary") else column.dictionary_encode()
    coded = pyarrow.chunked_array(coded.chunks, coded.type).unify_dictionaries()
    codes = np.concatenate([chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in coded.chunks])
    dictionary = coded.chunk(0).dictionary
    return _coded(codes, _seconds(dictionary) or dictionary.to_pylist())


def _seconds(dictionary: Any) -> list[str] | None:
    """Return times in ISO 8601, as `isoformat` writes them.

    They must be whole seconds without a zone.
    """
    kind = str(dictionary.type)
    if not kind.startswith("timestamp[") or getattr(dictionary.type, "tz", None) or dictionary.null_count:
        return None
    times = dictionary.to_numpy(zero_copy_only=False)
    seconds = times.astype("datetime64[s]")
    years = seconds.astype("datetime64[Y]").astype(np.int64) + 1970
    if (seconds != times).any() or ((years < 1) | (years > 9999)).any():
        return None
    texts: list[str] = np.datetime_as_string(seconds).tolist()
    return texts


def _of_objects(values: list[Any]) -> _Column:
    """Return texts of any values."""
    # Equal values of other types can have different texts, as 1 and True.
    if {str} >= set(map(type, values)):
        return distinct.of_texts(values)
    texts = _Texts(map(_text, values))
    others = (row for row, value in enumerate(values) if isinstance(value, (bool, float)) and texts[row])
    texts.lost = next(others, None)
    return texts


def _coded(codes: npt.NDArray[Any], values: Iterable[Any]) -> Distinct:
    """Return texts of distinct values; the code -1 is an empty text."""
    texts = [*map(_text, values), ""]
    return Distinct(texts, np.where(codes < 0, len(texts) - 1, codes).astype(np.uint32))


def _name(label: Any) -> str:
    """Return the name of a column; of two levels, the ticker and the field."""
    if not isinstance(label, tuple):
        return "" if label is None else str(label)
    parts = [str(part) for part in label if str(part)]
    if len(parts) == 2 and simple(parts[0]) in _FIELDS:
        parts.reverse()
    return ".".join(parts)


def _text(value: Any) -> str:
    """Return a value as text: numbers in full, times in ISO 8601."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType":
        return ""
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return "" if text == "NaT" else str(text)
    return str(value)


def names_of(frame: Any) -> list[str]:
    """Return the names of a frame's columns and of its index of dates.

    None for columns of two levels: they name a ticker and a field.
    """
    columns: Any = getattr(frame, "columns", ())
    index: Any = getattr(frame, "index", None)
    if getattr(columns, "nlevels", 1) > 1:
        return []
    names = [str(name) for name in getattr(frame, "column_names", columns)]
    if not hasattr(index, "inferred_type") or index.inferred_type == "integer" or "date" in map(str.lower, names):
        return names
    return ["date", *names] if index.nlevels == 1 else [*map(str, index.names), *names]
