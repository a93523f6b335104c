"""Columns of frames: pandas, polars, pyarrow, or anything of the Arrow PyCapsule interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LONG = {"open": "open", "high": "high", "low": "low", "volume": "volume"}
_LONG |= {"dividend": "dividends", "split": "splits", "delisting_return": "delistings"}


def columns_of(frame: Any) -> dict[str, Any]:
    """Return the arguments of `Dataset.from_arrays` that a long or wide frame holds."""
    columns = _read(frame)
    names = {str(name).strip().lower(): name for name in columns}
    if len(names) < len(columns):
        raise ValueError(f"columns must be unique; received {', '.join(map(str, columns))}")
    if "date" not in names:
        raise ValueError(f"column `date` is required; received {', '.join(map(str, columns))}")
    if "symbol" in names:
        return _long({name: columns[original] for name, original in names.items()})
    ohlcv = [name for name in ("close", *_LONG) if name in names]
    if ohlcv:
        raise ValueError(f"column `symbol` is required beside `{ohlcv[0]}`; hint: a wide frame has one column a symbol")
    return _wide(columns, names["date"])


def _read(frame: Any) -> dict[Any, npt.NDArray[Any]]:
    if hasattr(frame, "index") and hasattr(frame, "columns"):
        return _read_pandas(frame)
    if not hasattr(frame, "columns") and hasattr(frame, "__arrow_c_stream__"):
        import pyarrow

        frame = pyarrow.table(frame)
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return {name: np.asarray(frame[name].to_numpy()) for name in names}


def _read_pandas(frame: Any) -> dict[Any, npt.NDArray[Any]]:
    if not any(str(name).strip().lower() == "date" for name in frame.columns):
        names = [name or "date" for name in frame.index.names]
        frame = frame.rename_axis(index=names if len(names) > 1 else names[0]).reset_index()
    return {name: frame[name].to_numpy() for name in frame.columns}


def _long(columns: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    unknown = [name for name in columns if name not in {"date", "symbol", "close", *_LONG}]
    if unknown or "close" not in columns:
        wanted = f"date, symbol, close[, {', '.join(_LONG)}]"
        raise ValueError(f"columns must be {wanted}; received {', '.join(columns)}")
    dates, rows = np.unique(_dates(columns["date"]), return_inverse=True)
    symbols, places = np.unique(np.asarray(columns["symbol"], dtype=str), return_inverse=True)
    cells = rows * len(symbols) + places
    first = np.unique(cells, return_index=True)[1]
    if len(first) < len(cells):
        row = int(np.setdiff1d(np.arange(len(cells)), first)[0])
        raise ValueError(
            f"a date and symbol must occur once; received {dates[rows[row]]} {symbols[places[row]]!r} in row {row} too"
        )
    tables = {"close": "close"} | {name: target for name, target in _LONG.items() if name in columns}
    arrays: dict[str, Any] = {"dates": dates, "symbols": symbols.tolist()}
    for name, target in tables.items():
        table = np.full(len(dates) * len(symbols), np.nan)
        table[cells] = _numbers(name, columns[name])
        arrays[target] = table.reshape(len(dates), len(symbols))
    return arrays


def _wide(columns: dict[Any, npt.NDArray[Any]], date: Any) -> dict[str, Any]:
    dates = _dates(columns[date])
    order = np.argsort(dates, kind="stable")
    symbols = [name for name in columns if name != date]
    close = np.column_stack([_numbers(str(name), columns[name]) for name in symbols])
    return {"dates": dates[order], "symbols": [str(name) for name in symbols], "close": close[order]}


def _dates(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind == "M":
        return values
    texts = [value if isinstance(value, str) else value.isoformat() for value in values.tolist()]
    return np.asarray(texts, dtype=str)


def _numbers(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if values.dtype.kind == "O":
        numbers = [np.nan if value is None or value != value else value for value in values.tolist()]
        bad = [row for row, value in enumerate(numbers) if isinstance(value, (str, bool))]
        if not bad:
            return np.asarray(numbers, dtype=np.float64)
        raise ValueError(f"`{name}` at row {bad[0]} must be a number; received {numbers[bad[0]]!r}")
    raise ValueError(f"`{name}` must be a column of numbers; received {values.dtype}")


def frame_of(dates: tuple[str, ...], columns: dict[str, npt.NDArray[np.float64]]) -> Any:
    """Return columns by date as a pandas frame, or a polars one where pandas is not installed."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        pass
    else:
        return pd.DataFrame(columns, index=pd.DatetimeIndex(dates, name="date"))
    try:
        import polars as pl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install pandas` or `pip install polars`", name="pandas") from error
    return pl.DataFrame({"date": list(dates), **columns}).with_columns(pl.col("date").str.to_date(strict=False))
