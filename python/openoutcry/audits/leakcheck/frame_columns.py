"""Frames of any library as columns by bars, and frames again with other values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal

Column = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]

TIMES = ("date", "datetime", "timestamp", "time")
NAMES = ("symbol", "tic", "ticker", "asset", "instrument")
LEAST_BARS = 8


@dataclass(frozen=True)
class Source:
    """A frame, or what a change left of one, whose rows belong to bars.

    Attributes:
        columns: Values by name, each of shape `(n_rows,)`.
        bars: The bar of each row, shape `(n_rows,)`, counted from 0 by date, or by row where there is no date.
        rows: The row of the original frame that each row was, shape `(n_rows,)`.
        library: `pandas`, `polars`, `numpy`, or `matrix` for a 2-D array.
        template: The frame of the original rows that new frames are made from.
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

    @cached_property
    def time(self) -> str | None:
        """Name of the column of dates, if there is one beside the index."""
        return next((name for name in self.columns if _is_time(name, self.columns[name])), None)

    @cached_property
    def name(self) -> str | None:
        """Name of the column of symbols, if there is one."""
        return next((name for name in self.columns if name.strip().lower() in NAMES), None)

    @cached_property
    def dates(self) -> tuple[str, ...] | None:
        """ISO 8601 dates of the bars, None where the frame has none."""
        times = self.columns[self.time] if self.time is not None else index_times(self.template)
        if times is None:
            return None
        first = np.unique(self.bars, return_index=True)[1]
        return tuple(iso(times[row]) for row in first)

    @property
    def values(self) -> list[str]:
        """Names of the columns that are neither dates nor symbols."""
        return [name for name in self.columns if name not in (self.time, self.name)]

    @property
    def lacks_values(self) -> bool:
        """Whether a number is missing somewhere."""
        columns = (self.columns[name] for name in self.values)
        return any(bool(np.isnan(values).any()) for values in columns if values.dtype.kind == "f")

    def changed(self, columns: Mapping[str, Column]) -> Source:
        """Return the source with other values in some of the columns."""
        return replace(self, columns={**self.columns, **columns})

    def truncated(self, cut: int) -> Source:
        """Return the source without the rows after a bar."""
        kept = np.flatnonzero(self.bars <= cut)
        columns = {name: values[kept] for name, values in self.columns.items()}
        return replace(self, columns=columns, bars=self.bars[kept], rows=self.rows[kept])

    def frame(self) -> Any:
        """Return a new frame, of the library and layout of the original."""
        return _BUILDERS[self.library](self)

    def column(self, *names: str) -> str | None:
        """Return the first column of one of these names, in any case."""
        lower = {name.strip().lower(): name for name in self.columns}
        return next((lower[name] for name in names if name in lower), None)


def source_of(frame: Any) -> Source:
    """Return the columns and bars of a pandas or polars frame, or numpy array.

    Raises:
        OpenOutcryError: it is none of these, or too short.
    """
    library, columns = _read(frame)
    n_rows = len(next(iter(columns.values()), ()))
    times = next((values for name, values in columns.items() if _is_time(name, values)), None)
    times = index_times(frame) if times is None else times
    rows = np.arange(n_rows)
    if times is not None and (missing := [row for row, time in enumerate(times) if _is_missing(time)]):
        message = (
            f"`frame` must have a date in every row; received none in {len(missing)} rows, first in row {missing[0]}"
        )
        raise refusal("date_invalid", message)
    bars = rows if times is None else np.unique(times, return_inverse=True)[1].reshape(-1).astype(np.intp)
    n_bars = int(bars.max(initial=-1)) + 1
    if n_bars < LEAST_BARS:
        raise refusal("dataset_too_small", f"`frame` must have at least {LEAST_BARS} bars; received {n_bars}")
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
    wanted = "a pandas or polars frame, or a structured or 2-D numpy array"
    raise refusal("argument_invalid", f"`frame` must be {wanted}; received {type(frame).__name__}")


def unique_names(what: str, names: Sequence[Any]) -> list[str]:
    """Return names as texts, levels joined, once it is sure that none is there twice."""
    texts = ["/".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
    if twice := [name for place, name in enumerate(texts) if name in texts[:place]]:
        raise refusal("argument_invalid", f"columns of `{what}` must be unique; received {twice[0]!r} twice")
    return texts


def pandas_columns(what: str, frame: Any) -> dict[str, Column]:
    """Return the columns of a pandas frame by name."""
    names = unique_names(what, frame.columns)
    kinds = set(frame.dtypes)
    # One array at once: taking a hundred columns one by one costs as much as making them.
    if len(kinds) == 1 and isinstance(kind := next(iter(kinds)), np.dtype) and kind.kind in "fiu":
        table = np.array(frame.to_numpy().T, order="C")
        return dict(zip(names, table, strict=True))
    return {name: pandas_values(frame.iloc[:, place]) for place, name in enumerate(names)}


def pandas_values(series: Any) -> Column:
    """Return a pandas column as an array of numbers where it holds any."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "fiub" and not isinstance(series.dtype, np.dtype):
        return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array(series.to_numpy())


def iso(value: Any) -> str:
    """Return a date as ISO 8601 text, without a time of midnight."""
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="s")).removesuffix("T00:00:00")
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return str(text).removesuffix("T00:00:00")


def _is_missing(time: Any) -> bool:
    # NaT and NaN are unlike themselves.
    return time is None or bool(time != time)


def _is_time(name: str, values: Column) -> bool:
    return values.dtype.kind == "M" or (name.strip().lower() in TIMES and values.dtype.kind in "OUT")


def index_times(frame: Any) -> Column | None:
    """Return the dates in the index of a pandas frame, None where it has none."""
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
    # A column of nothing has no type that a value could be of, and no value to change.
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
