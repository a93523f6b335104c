"""Conversion of pandas, polars and numpy frames to columns with bars, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

Column = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]

TIMES = ("date", "datetime", "timestamp", "time")
NAMES = ("symbol", "tic", "ticker", "asset", "instrument")
MIN_BARS = 8
# Share of rows that start another symbol, with its first date.
_MOST_DESCENTS = 0.25


@dataclass(frozen=True)
class Source:
    """A frame, original or perturbed, with a bar for each row.

    Attributes:
        columns: Values by name, each of shape `(n_rows,)`.
        bars: Bar of each row, shape `(n_rows,)`, counted from 0 by date, or by row without dates.
        rows: Row of the original frame of each row, shape `(n_rows,)`.
        library: `pandas`, `polars`, `numpy`, or `matrix` for a 2-D array.
        template: The original frame, from which new frames are built.
    """

    columns: Mapping[str, Column]
    bars: Rows
    rows: Rows
    library: str
    template: Any

    @property
    def n_bars(self) -> int:
        """Number of bars of the original frame."""
        return int(self.bars.max()) + 1

    @property
    def is_unordered(self) -> bool:
        """Whether the rows are in no order of dates, also not symbol by symbol."""
        return bool((np.diff(self.bars) < 0).mean() > _MOST_DESCENTS)

    @cached_property
    def time(self) -> str | None:
        """Name of the date column, or None without one.

        Dates in the index do not count.
        """
        return next((name for name in self.columns if _is_time(name, self.columns[name])), None)

    @cached_property
    def name(self) -> str | None:
        """Name of the symbol column, or None."""
        return next((name for name in self.columns if name.strip().lower() in NAMES), None)

    @cached_property
    def dates(self) -> tuple[str, ...] | None:
        """ISO 8601 dates of the bars; None for a frame without dates."""
        times = self.columns[self.time] if self.time is not None else index_times(self.template)
        if times is None:
            return None
        first = np.unique(self.bars, return_index=True)[1]
        return tuple(iso(times[row]) for row in first)

    @property
    def values(self) -> list[str]:
        """Names of the columns other than dates and symbols."""
        return [name for name in self.columns if name not in (self.time, self.name)]

    @property
    def lacks_values(self) -> bool:
        """Whether a floating-point value is missing."""
        columns = (self.columns[name] for name in self.values)
        return any(bool(np.isnan(values).any()) for values in columns if values.dtype.kind == "f")

    def changed(self, columns: Mapping[str, Column]) -> Source:
        """Return a copy with some columns replaced."""
        return replace(self, columns={**self.columns, **columns})

    def truncated(self, cut: int) -> Source:
        """Return a copy without the rows after a bar."""
        kept = np.flatnonzero(self.bars <= cut)
        columns = {name: values[kept] for name, values in self.columns.items()}
        return replace(self, columns=columns, bars=self.bars[kept], rows=self.rows[kept])

    def frame(self) -> Any:
        """Build a new frame with the library and layout of the original."""
        return _BUILDERS[self.library](self)

    def column(self, *names: str) -> str | None:
        """Return the first column with one of these names, ignoring case."""
        lower = {name.strip().lower(): name for name in self.columns}
        return next((lower[name] for name in names if name in lower), None)


def source_of(frame: Any) -> Source:
    """Read the columns and bars of a pandas or polars frame or a numpy array.

    Raises:
        OpenOutcryError: the frame has another type, lacks a date in a row, or is too short.
    """
    library, columns = _read(frame)
    n_rows = len(next(iter(columns.values()), ()))
    times = next((values for name, values in columns.items() if _is_time(name, values)), None)
    times = index_times(frame) if times is None else times
    rows = np.arange(n_rows)
    if times is not None and (missing := [row for row, time in enumerate(times) if _is_missing(time)]):
        received = f"none in {counted(len(missing), 'row')}, first in row {missing[0]}"
        message = f"`frame` must have a date in every row; received {received}"
        raise refusal("date_invalid", message)
    bars = rows if times is None else np.unique(times, return_inverse=True)[1].reshape(-1).astype(np.intp)
    n_bars = int(bars.max(initial=-1)) + 1
    if n_bars < MIN_BARS:
        raise refusal("dataset_too_small", f"`frame` must have at least {MIN_BARS} bars; received {n_bars}")
    template = frame.copy() if library != "polars" else frame
    return Source(columns, bars, rows, library, template)


def _read(frame: Any) -> tuple[str, dict[str, Column]]:
    if isinstance(frame, np.ndarray) and frame.dtype.names is not None and frame.ndim == 1:
        return "numpy", {name: np.array(frame[name]) for name in frame.dtype.names}
    if isinstance(frame, np.ndarray) and frame.ndim == 2:
        return "matrix", {f"[{place}]": np.array(frame[:, place]) for place in range(frame.shape[1])}
    if hasattr(frame, "isetitem"):
        return "pandas", pandas_columns("frame", frame)
    if hasattr(frame, "get_columns"):
        return "polars", {each.name: np.array(each.to_numpy()) for each in frame.get_columns()}
    required = "a pandas or polars frame, or a structured or 2-D numpy array"
    raise refusal("argument_invalid", f"`frame` must be {required}; received {type(frame).__name__}")


def unique_names(what: str, names: Sequence[Any]) -> list[str]:
    """Return column names as texts, with joined levels; refuse duplicates."""
    texts = ["/".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
    if duplicates := [name for place, name in enumerate(texts) if name in texts[:place]]:
        raise refusal("argument_invalid", f"columns of `{what}` must be unique; received {duplicates[0]!r} twice")
    return texts


def pandas_columns(what: str, frame: Any) -> dict[str, Column]:
    """Return the columns of a pandas frame by name."""
    names = unique_names(what, frame.columns)
    kinds = set(frame.dtypes)
    # One conversion of the complete table: converting a hundred columns one by one is as slow as computing them.
    if len(kinds) == 1 and isinstance(kind := next(iter(kinds)), np.dtype) and kind.kind in "fiu":
        table = np.array(frame.to_numpy().T, order="C")
        return dict(zip(names, table, strict=True))
    return {name: pandas_values(frame.iloc[:, place]) for place, name in enumerate(names)}


def pandas_values(series: Any) -> Column:
    """Convert a pandas column to an array, numeric where possible."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "fiub" and not isinstance(series.dtype, np.dtype):
        return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array(series.to_numpy())


def iso(value: Any) -> str:
    """Format a date as ISO 8601, without a midnight time."""
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="s")).removesuffix("T00:00:00")
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return str(text).removesuffix("T00:00:00")


def _is_missing(time: Any) -> bool:
    # NaT and NaN do not equal themselves.
    return time is None or bool(time != time)


def _is_time(name: str, values: Column) -> bool:
    return values.dtype.kind == "M" or (name.strip().lower() in TIMES and values.dtype.kind in "OUT")


def index_times(frame: Any) -> Column | None:
    """Return the dates in the index of a pandas frame, or None."""
    index = getattr(frame, "index", None)
    for level in range(getattr(index, "nlevels", 0)):
        values = index.get_level_values(level)  # type: ignore[union-attr]
        if _is_time(str(values.name), np.asarray(values)):
            return np.asarray(values)
    return None


def _pandas(source: Source) -> Any:
    frame = source.template.iloc[source.rows].copy()
    for place, (name, values) in enumerate(source.columns.items()):
        if name in source.values:
            series = frame.iloc[:, place]
            is_plain = isinstance(series.dtype, np.dtype) and series.dtype == values.dtype
            frame.isetitem(place, values if is_plain else type(series)(values, index=frame.index, dtype=series.dtype))
    return frame


def _polars(source: Source) -> Any:
    frame = source.template[source.rows.tolist()] if len(source.rows) < len(source.template) else source.template
    # A polars column of type Null has no values to change.
    series = (frame[name] for name in source.values if str(frame[name].dtype) != "Null")
    return frame.with_columns([type(each)(each.name, source.columns[each.name], dtype=each.dtype) for each in series])


def _numpy(source: Source) -> Any:
    frame = source.template[source.rows].copy()
    for name in source.values:
        frame[name] = source.columns[name]
    return frame


def _matrix(source: Source) -> Any:
    return np.column_stack(list(source.columns.values())).astype(source.template.dtype)


_BUILDERS: dict[str, Callable[[Source], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "numpy": _numpy,
    "matrix": _matrix,
}
