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
from openoutcry.data import long_frames
from openoutcry.data.columns import native_dataset
from openoutcry.errors import refusal

# Optional columns of a long frame.
_OPTIONAL = ("open", "high", "low", "volume", "dividend", "split", "delisting_return")
LONG = ("date", "symbol", "close", *_OPTIONAL)

Columns = dict[str, npt.NDArray[Any]]


def core_of(frame: Any, periods_per_year: float | None = None) -> native.Dataset:
    """Return the market of a long or wide frame.

    Raises:
        OpenOutcryError: the first invalid value, with its row in the frame, counted from 0.
    """
    table = _arrow_table(frame)
    if table is not None:
        names = long_names(table.column_names)
        if names and long_frames.is_plain(table.schema, names):
            return long_frames.core_of(long_frames.arrow_parts(table.to_batches(), names), names, periods_per_year)
        columns = {name: _array(name, table[name], table[name].type) for name in table.column_names}
    else:
        columns = _read(frame)
        names = long_names(columns)
    if names:
        part = {lower: columns[name] for lower, name in names.items()}
        return long_frames.core_of([part], names, periods_per_year)
    values, rows = _wide(columns)
    return native_dataset(values | {"periods_per_year": periods_per_year}, (rows, []))


def long_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of the columns of a long frame by their role.

    None for a wide frame.

    Raises:
        OpenOutcryError: a column is missing, unknown or there twice.
    """
    written = list(names)
    named = {name: name.strip().lower() for name in written}
    known = {lower: name for name, lower in named.items() if lower in LONG}
    received = _listed(written)
    twice = [lower for lower, count in Counter(named.values()).items() if count > 1 and lower in LONG]
    if twice:
        raise refusal("unknown_column", f"columns must be unique; received `{twice[0]}` twice in {received}")
    if "date" not in known:
        raise refusal("missing_column", f"column `date` is required; received {received}")
    if "symbol" in known:
        unknown = [lower for lower in named.values() if lower not in LONG]
        if unknown or "close" not in known:
            received = _listed(named.values())
            message = f"columns must be date, symbol, close[, {', '.join(_OPTIONAL)}]; received {received}"
            raise refusal("unknown_column" if unknown else "missing_column", message)
        return known
    # LOW and OPEN are also tickers. Next to `close`, or on their own, they are price columns of one symbol.
    if len(known) > 1 and ("close" in known or len(known) == len(named)):
        column = next(lower for lower in known if lower != "date")
        hint = "hint: add it, or name each column of closes by its symbol"
        raise refusal("missing_column", f"column `symbol` is required with `{column}`; received {received}; {hint}")
    return {}


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


def _arrow_table(frame: Any) -> Any:
    """Return a frame as an Arrow table; None for another kind of frame."""
    is_known = hasattr(frame, "columns") and (hasattr(frame, "reset_index") or hasattr(frame, "get_columns"))
    is_series = hasattr(frame, "to_frame") and not hasattr(frame, "columns")
    if is_known or is_series or not (hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")):
        return None
    import pyarrow

    return pyarrow.table(frame)


def _read(frame: Any) -> Columns:
    if hasattr(frame, "reset_index") and hasattr(frame, "columns"):
        return _read_pandas(frame)
    if hasattr(frame, "get_columns"):
        return {series.name: _array(series.name, series, series.dtype) for series in frame.get_columns()}
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


def _wide(columns: Columns) -> tuple[dict[str, Any], list[int]]:
    date = next(name for name in columns if name.strip().lower() == "date")
    dates = _dates(columns[date])
    order = np.argsort(dates, kind="stable")
    duplicates = np.flatnonzero(dates[order][1:] == dates[order][:-1])
    if len(duplicates):
        first, row = order[duplicates[0]], order[duplicates[0] + 1]
        raise refusal("duplicate_row", f"a date must occur once; received {dates[row]} at rows {first} and {row}")
    symbols = [name for name in columns if name != date]
    close = np.empty((len(dates), len(symbols)))
    for place, name in enumerate(symbols):
        close[:, place] = long_frames.number_column(name, columns[name])
    return {"dates": dates[order], "symbols": symbols, "close": close[order]}, order.tolist()


def _dates(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind == "M":
        return values
    texts = [value if isinstance(value, str) else _iso(row, value) for row, value in enumerate(values.tolist())]
    return np.asarray(texts, dtype=str)


def _iso(row: int, value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise refusal("date_invalid", f"`date` at row {row} must be a date or an ISO 8601 text; received {value!r}")
