"""Tables of text of pandas, polars and Arrow frames."""

from __future__ import annotations

import math
from typing import Any

from openoutcry.data.readers import text_table
from openoutcry.data.readers.column_roles import simple
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

_FIELDS = frozenset(("open", "high", "low", "close", "adjclose", "volume", "dividends", "stocksplits", "capitalgains"))


def table_of(frame: Any) -> TextTable:
    """Return a frame, or a list of rows such as ccxt returns, as a table of text.

    A pandas index becomes the first column. Columns of two levels, as of yfinance, become `TICKER.FIELD`.

    Raises:
        OpenOutcryError: `argument_invalid`: the argument is no frame.
    """
    if isinstance(frame, list) and frame and all(isinstance(row, (list, tuple)) and len(row) > 4 for row in frame):
        return text_table.of_rows([], [[_text(cell) for cell in row] for row in frame])
    is_series = hasattr(frame, "to_frame") and not hasattr(frame, "columns")
    if hasattr(frame, "reset_index") and hasattr(frame, "columns"):
        names, columns = _pandas(frame)
    elif hasattr(frame, "get_columns"):
        columns = [series.to_list() for series in frame.get_columns()]
        names = list(frame.columns)
    elif not is_series and (hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")):
        import pyarrow

        table = pyarrow.table(frame)
        names, columns = list(table.column_names), [table.column(i).to_pylist() for i in range(table.num_columns)]
    else:
        received = type(frame).__name__
        raise refusal("argument_invalid", f"`frame` must be a pandas, polars or Arrow frame; received {received}")
    texts = [[_text(value) for value in column] for column in columns]
    table = text_table.of_rows(names, [list(row) for row in zip(*texts, strict=True)])
    # Rows of a frame are counted from 0.
    table.lines = list(range(len(table.rows)))
    return table


def _pandas(frame: Any) -> tuple[list[str], list[list[Any]]]:
    if frame.index.nlevels > 1 or frame.index.inferred_type != "integer":
        named = {str(name) for name in frame.columns}
        frame = frame.reset_index(drop=any(str(name) in named for name in frame.index.names))
    names = [_name(label) for label in frame.columns]
    return names, [frame.iloc[:, place].tolist() for place in range(len(names))]


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
    if value is None or (isinstance(value, float) and math.isnan(value)):
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
