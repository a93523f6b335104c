"""Read and write data frames: pandas, polars, pyarrow and Arrow PyCapsules.

All three libraries are optional. A frame of one library never imports another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

# Optional columns of a long frame -> arguments of `Dataset.from_arrays`.
_OPTIONAL = {"open": "open", "high": "high", "low": "low", "volume": "volume"}
_OPTIONAL |= {"dividend": "dividends", "split": "splits", "delisting_return": "delistings"}
LONG = ("date", "symbol", "close", *_OPTIONAL)

Columns = dict[str, npt.NDArray[Any]]
Rows = tuple[list[int], list[int]]


def columns_of(frame: Any) -> tuple[dict[str, Any], Rows]:
    """Return the columns of a long or wide frame, and the rows of its bars and cells.

    Row numbers start at 0 in the order of the frame; -1 marks a cell without a row. Error messages use them.
    """
    columns = _read(frame)
    named = {name: name.strip().lower() for name in columns}
    known = {lower: name for name, lower in named.items() if lower in LONG}
    received = _listed(columns)
    twice = [lower for lower, count in Counter(named.values()).items() if count > 1 and lower in LONG]
    if twice:
        raise refusal("unknown_column", f"columns must be unique; received `{twice[0]}` twice in {received}")
    if "date" not in known:
        raise refusal("missing_column", f"column `date` is required; received {received}")
    if "symbol" in known:
        return _long({lower: columns[name] for name, lower in named.items()})
    # LOW and OPEN are also tickers. Next to `close`, or on their own, they are price columns of one symbol.
    if len(known) > 1 and ("close" in known or len(known) == len(named)):
        column = next(lower for lower in known if lower != "date")
        hint = "hint: add it, or name each column of closes by its symbol"
        raise refusal("missing_column", f"column `symbol` is required with `{column}`; received {received}; {hint}")
    return _wide(columns, known["date"])


def frame_of(dates: tuple[str, ...], columns: dict[str, npt.NDArray[np.float64]]) -> Any:
    """Return columns by date as a pandas frame, or polars if pandas is not installed."""
    library = _library()
    if library.__name__ == "pandas":
        return library.DataFrame(columns, index=library.DatetimeIndex(dates, name="date"))
    parsed = library.Series("date", dates)
    parsed = parsed.str.to_date() if len(dates[0]) == 10 else parsed.str.strip_chars("Z").str.to_datetime()
    return library.DataFrame({"date": parsed, **columns})


def table_of(columns: dict[str, Any]) -> Any:
    """Return columns as a pandas frame, or polars if pandas is not installed."""
    return _library().DataFrame(columns)


def _library() -> Any:
    try:
        import pandas as pd
    except ModuleNotFoundError:
        pass
    else:
        return pd
    try:
        import polars as pl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install pandas` or `pip install polars`", name="pandas") from error
    return pl


def _read(frame: Any) -> Columns:
    if hasattr(frame, "reset_index") and hasattr(frame, "columns"):
        return _read_pandas(frame)
    if hasattr(frame, "get_columns"):
        return {series.name: _array(series.name, series, series.dtype) for series in frame.get_columns()}
    is_series = hasattr(frame, "to_frame") and not hasattr(frame, "columns")
    if not is_series and (hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")):
        import pyarrow

        table = pyarrow.table(frame)
        return {name: _array(name, table[name], table[name].type) for name in table.column_names}
    message = f"`frame` must be a pandas, polars or Arrow frame; received {type(frame).__name__}"
    raise refusal("argument_invalid", message)


def _read_pandas(frame: Any) -> Columns:
    named = [str(name).strip().lower() for name in frame.columns]
    # Without a `date` column, the index holds the dates, unless it is a range of row numbers.
    if "date" not in named and frame.index.inferred_type != "integer":
        names = ["date" if name is None or frame.index.nlevels == 1 else name for name in frame.index.names]
        frame = frame.rename_axis(index=names).reset_index()
    columns = [str(name) for name in frame.columns]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise refusal("duplicate_symbol", f"columns must be unique; received {twice!r} twice")
    return {name: _pandas_array(frame.iloc[:, place]) for place, name in enumerate(columns)}


def _array(name: str, column: Any, kind: Any) -> npt.NDArray[Any]:
    """Return a polars or Arrow column as an array.

    A time zone raises, because numpy would drop it.
    """
    zone = getattr(kind, "time_zone", None) or getattr(kind, "tz", None)
    if zone is not None and name.strip().lower() == "date":
        hint = "hint: drop the zone, or pass UTC dates as texts that end in Z"
        raise refusal("date_invalid", f"`{name}` must be dates without a time zone; received {zone}; {hint}")
    array = np.asarray(column.to_numpy())
    if array.ndim != 1:
        raise refusal("field_unparsable", f"`{name}` must hold one value a row; received {kind}")
    return array


def _pandas_array(series: Any) -> npt.NDArray[Any]:
    numeric = getattr(series.dtype, "_is_numeric", False) and not getattr(series.dtype, "_is_boolean", False)
    array = series.to_numpy(dtype=np.float64, na_value=np.nan) if numeric else series.to_numpy()
    return np.asarray(array)


def _listed(names: Iterable[str]) -> str:
    """Return names on one line, control characters escaped."""
    return ", ".join(repr(name)[1:-1] for name in names)


def _long(columns: Columns) -> tuple[dict[str, Any], Rows]:
    unknown = [name for name in columns if name not in LONG]
    if unknown or "close" not in columns:
        message = f"columns must be date, symbol, close[, {', '.join(_OPTIONAL)}]; received {_listed(columns)}"
        raise refusal("unknown_column" if unknown else "missing_column", message)
    dates, of_bar, rows = np.unique(_dates(columns["date"]), return_index=True, return_inverse=True)
    symbols, places = np.unique(_symbols(columns["symbol"]), return_inverse=True)
    n_columns = 1 + sum(name in columns for name in _OPTIONAL)
    native.check_rows(len(rows), len(symbols), len(dates), n_columns)
    cells = rows * len(symbols) + places
    first = np.unique(cells, return_index=True)[1]
    if len(first) < len(cells):
        row = int(np.setdiff1d(np.arange(len(cells)), first)[0])
        before = int(np.flatnonzero(cells == cells[row])[0])
        received = f"{dates[rows[row]]} '{symbols[places[row]]}' at rows {before} and {row}"
        raise refusal("duplicate_row", f"a date and symbol must occur once; received {received}")
    arrays: dict[str, Any] = {"dates": dates, "symbols": symbols.tolist()}
    for name, target in {"close": "close", **_OPTIONAL}.items():
        if name in columns:
            table = np.full(len(dates) * len(symbols), np.nan)
            table[cells] = _numbers(name, columns[name])
            arrays[target] = table.reshape(len(dates), len(symbols))
    of_cell = np.full(len(dates) * len(symbols), -1)
    of_cell[cells] = np.arange(len(cells))
    return arrays, (of_bar.tolist(), of_cell.tolist())


def _wide(columns: Columns, date: str) -> tuple[dict[str, Any], Rows]:
    dates = _dates(columns[date])
    order = np.argsort(dates, kind="stable")
    duplicates = np.flatnonzero(dates[order][1:] == dates[order][:-1])
    if len(duplicates):
        first, row = order[duplicates[0]], order[duplicates[0] + 1]
        raise refusal("duplicate_row", f"a date must occur once; received {dates[row]} at rows {first} and {row}")
    symbols = [name for name in columns if name != date]
    close = np.empty((len(dates), len(symbols)))
    for place, name in enumerate(symbols):
        close[:, place] = _numbers(name, columns[name])
    return {"dates": dates[order], "symbols": symbols, "close": close[order]}, (order.tolist(), [])


def _dates(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind == "M":
        return values
    texts = [value if isinstance(value, str) else _iso(row, value) for row, value in enumerate(values.tolist())]
    return np.asarray(texts, dtype=str)


def _iso(row: int, value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise refusal("date_invalid", f"`date` at row {row} must be a date or an ISO 8601 text; received {value!r}")


def _symbols(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    for row, value in enumerate(values.tolist()):
        if not isinstance(value, str):
            raise refusal("symbol_invalid", f"`symbol` at row {row} must be a text; received {value!r}")
    return np.asarray(values.tolist(), dtype=str)


def _numbers(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    # `tolist` would convert datetimes and timedeltas to integers.
    for row, value in enumerate(values):
        if value is not None and not _is_number(value):
            message = f"`{name}` at row {row} must be a number; received {str(value)!r}"
            raise refusal("field_unparsable", message)
        numbers[row] = np.nan if value is None else float(value)
    return numbers


def _is_number(value: Any) -> bool:
    """Return whether a value is a real number.

    Bools, strings, times and complex numbers are not.
    """
    others = (str, bytes, bool, complex, np.ndarray, np.bool_, np.complexfloating, np.datetime64, np.timedelta64)
    return hasattr(value, "__float__") and not isinstance(value, others) and not hasattr(value, "isoformat")
