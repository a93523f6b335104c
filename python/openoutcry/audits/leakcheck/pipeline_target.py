"""Feature pipelines as leak check targets: results aligned with input rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.column_layout import type_of
from openoutcry.audits.leakcheck.frame_columns import (
    Column,
    Rows,
    Source,
    index_times,
    iso,
    pandas_columns,
    pandas_values,
)
from openoutcry.audits.leakcheck.target_trace import Trace
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted


class Pipeline:
    """A function from a frame to a frame with the rows of its input."""

    kind = "pipeline"

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return the result of the pipeline, aligned with the rows of the original frame."""
        frame = source.frame()
        # Read before the call, which may drop rows of its input frame.
        index = getattr(frame, "index", None)
        return trace_of(self._function(frame), index, source, original)

    def start_bar(self, source: Source) -> None:
        """Return None: its rows are those of the frame."""


def trace_of(result: Any, given: Any, source: Source, original: Source) -> Trace:
    """Align the result of a pipeline with the rows of the original frame.

    Args:
        result: Return value of the pipeline.
        given: Pandas index of the input frame; None for other libraries.
        source: Input of the pipeline.
        original: Unchanged data of the source.

    Raises:
        OpenOutcryError: `shape_mismatch`: the result is not a frame, or its rows cannot be aligned.
    """
    columns, index = _read(result)
    if not columns and index is not None and len(index):
        # Rows without columns: the pipeline dropped the columns with missing values, which is a change.
        return Trace({}, original.bars, np.zeros(len(original.rows), dtype=bool), is_whole=True)
    if not columns:
        raise refusal("shape_mismatch", "`target` must return at least one column and row; received none")
    n = len(next(iter(columns.values())))
    bars = original.bars
    by_date = _by_date(result, columns, source, original)
    if by_date is None:
        places = source.rows[_places(columns, (given, index), n, source)]
    else:
        places, bars = by_date, np.arange(original.n_bars)
    present = np.zeros(len(bars), dtype=bool)
    present[places] = True
    shown = {name: values for name, values in columns.items() if not _is_key(name, original)}
    spread = {name: _spread(values, places, len(bars)) for name, values in shown.items()}
    types = {name: type_of(values) for name, values in shown.items()}
    return Trace(spread, bars, present, is_whole=True, order=places, types=types)


def _by_date(result: Any, columns: Mapping[str, Column], source: Source, original: Source) -> Rows | None:
    """Return the bar of each row of a result pivoted by date; otherwise None."""
    if source.time is None or source.name is None or source.name in columns or len(original.rows) == original.n_bars:
        return None
    times = columns.get(source.time, index_times(result))
    if times is None or len({*times.tolist()}) < len(times):
        return None
    bar_of = dict(zip(map(iso, source.columns[source.time]), source.bars.tolist(), strict=True))
    bars = [bar_of.get(iso(time)) for time in times]
    return None if None in bars else np.array(bars, dtype=np.intp)


def _is_key(name: str, original: Source) -> bool:
    return name in (original.time, original.name)


def _read(result: Any) -> tuple[dict[str, Column], Any]:
    """Return the columns of a result, and its index if it is a pandas object."""
    if isinstance(result, np.ma.MaskedArray):
        hint = "hint: `.filled(np.nan)` marks masked values as missing"
        raise refusal("shape_mismatch", f"a pipeline must return arrays without a mask; received a masked one; {hint}")
    if hasattr(result, "collect") and hasattr(result, "lazy"):
        result = result.collect()
    if hasattr(result, "isetitem"):
        return pandas_columns("result", result), result.index
    if hasattr(result, "to_frame") and hasattr(result, "index"):
        return {str(result.name or "value"): pandas_values(result)}, result.index
    if hasattr(result, "get_columns"):
        return {each.name: np.array(each.to_numpy()) for each in result.get_columns()}, None
    if hasattr(result, "to_frame") and hasattr(result, "to_numpy"):
        return {str(result.name or "value"): np.array(result.to_numpy())}, None
    if isinstance(result, Mapping):
        return _mapping_columns(result), None
    if isinstance(result, np.ndarray) and result.dtype.names is not None:
        return {name: np.array(result[name]) for name in result.dtype.names}, None
    if isinstance(result, np.ndarray) and result.ndim in (1, 2):
        table = result.reshape(len(result), -1)
        return {f"[{place}]": np.array(table[:, place]) for place in range(table.shape[1])}, None
    required = "a pipeline must return a pandas or polars frame or a 1-D, 2-D or structured array"
    raise refusal("shape_mismatch", f"{required}; received {type(result).__name__}")


def _mapping_columns(result: Mapping[Any, Any]) -> dict[str, Column]:
    columns = {str(name): np.asarray(values) for name, values in result.items()}
    shapes = {name: values.shape for name, values in columns.items()}
    if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
        received = ", ".join(f"`{name}` {shape}" for name, shape in shapes.items())
        raise refusal(
            "shape_mismatch", f"columns of a result must be 1-D and have the same length; received {received}"
        )
    return columns


def _places(columns: Mapping[str, Column], indices: tuple[Any, Any], n: int, source: Source) -> Rows:
    """Return the source row of each row of a result.

    `indices` are the pandas indices of the input frame and of the result.
    """
    given, index = indices
    n_rows = len(source.rows)
    keys = _keys(source)
    if keys is not None and all(name in columns for name in keys):
        if all(np.array_equal(source.columns[name], columns[name]) for name in keys):
            return np.arange(n_rows)
        places = _matched(_labels(source.columns, keys), _labels(columns, keys))
        if places is not None:
            return places
    if given is not None and index is not None and given.is_unique and index.is_unique and index.isin(given).all():
        is_counted = _counts(given) and _counts(index)
        if not is_counted or n == n_rows:
            return np.asarray(given.get_indexer(index), dtype=np.intp)
    if n == n_rows:
        return np.arange(n_rows)
    hint = "hint: keep the index of the frame, or its date column"
    if source.name is not None and source.time is not None:
        hint = f"hint: keep the columns `{source.time}` and `{source.name}`, or return one row for each date"
    raise refusal(
        "shape_mismatch",
        f"a result must have a row for each of {counted(n_rows, 'row')}; received {counted(n, 'row')}; {hint}",
    )


def _counts(index: Any) -> bool:
    """Return whether an index only counts rows from 0."""
    return len(index) == 0 or (index.inferred_type == "integer" and bool((index == np.arange(len(index))).all()))


def _keys(source: Source) -> list[str] | None:
    if source.time is None:
        return None
    return [source.time] if source.name is None else [source.time, source.name]


def _labels(columns: Mapping[str, Column], keys: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*([iso(value) for value in columns[name]] for name in keys), strict=True))


def _matched(given: list[tuple[str, ...]], received: list[tuple[str, ...]]) -> Rows | None:
    place_of = {label: place for place, label in enumerate(given)}
    if len(place_of) < len(given) or len(set(received)) < len(received) or not place_of.keys() >= set(received):
        return None
    return np.array([place_of[label] for label in received], dtype=np.intp)


def _spread(values: Column, places: Rows, n_rows: int) -> npt.NDArray[Any]:
    if values.dtype.kind in "fiub":
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        full = np.full(n_rows, np.nan, kind)
    else:
        full = np.full(n_rows, None, object)
    full[places] = values
    return full
