"""Frames with dates or symbols in their index, or in a form of their library."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from openoutcry.data.readers import column_roles, number_text
from openoutcry.errors import OpenOutcryError, refusal

_YYYYMMDD = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_HINTS = {
    "date_invalid": "pass datetimes or dates such as 2024-01-31, or state their form with `date_format`",
    "duplicate_row": 'duplicates="last" for the last row of a date',
    "field_unparsable": "convert the column first, such as `frame[name] = frame[name].astype(float)`",
    "symbol_invalid": 'read symbols as text, such as `pd.read_csv(path, converters={"symbol": str})`',
}
# Methods that read a frame into memory, by libraries of frames that are not.
_LOADERS = ("collect", "compute", "toPandas")


def named(frame: Any) -> Any:
    """Return a frame with the dates and symbols of its index under their names.

    A pandas series becomes a frame, and periods of a day or longer their last day. Others are returned as they are.

    Raises:
        OpenOutcryError: `argument_invalid`: the frame is not in memory, or its index has levels without names.
            `duplicate_symbol`: two columns of an Arrow table have one name.
    """
    loader = next((name for name in _LOADERS if hasattr(type(frame), name)), None)
    if loader is not None:
        message = f"`frame` must be a frame in memory; received {type(frame).__name__}"
        raise refusal("argument_invalid", f"{message}; hint: pass `frame.{loader}()`")
    names = getattr(frame, "column_names", None)
    if isinstance(names, list):
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise refusal("duplicate_symbol", f"columns must be unique; received {twice!r} twice")
        return frame
    if hasattr(frame, "to_frame") and not hasattr(frame, "columns"):
        frame = _of_series(frame)
    if not hasattr(frame, "index") or not hasattr(frame.index, "inferred_type") or not hasattr(frame, "columns"):
        return frame
    return _with_index(frame)


def is_written_otherwise(frame: Any, slug: str) -> bool:
    """Return whether a refused frame has numbers as symbols, or as texts.

    Those of CRSP are integers. A value of another type, such as a truth, is no form of a number.
    """
    if slug not in ("symbol_invalid", "field_unparsable"):
        return False
    for name in getattr(frame, "column_names", getattr(frame, "columns", ())):
        role, values = str(name).strip().lower(), np.asarray(frame[name])
        if slug == "symbol_invalid" and role == "symbol":
            return values.dtype.kind in "iu"
        is_price = slug == "field_unparsable" and role not in ("date", "symbol") and values.dtype.kind not in "fiu"
        if is_price and not _are_number_texts(values.tolist()):
            return False
    return slug == "field_unparsable"


def with_hint(error: OpenOutcryError, frame: Any) -> OpenOutcryError:
    """Return the refusal of a frame with what to type next, where it is known."""
    has_hint = "hint: " in str(error)
    lacks_date = any(words in str(error) for words in ("column `date` is required", "column of dates"))
    if lacks_date and hasattr(type(frame), "reset_index"):
        start = ", or" if has_hint else "; hint:"
        error.args = (f"{error}{start} `frame.reset_index()` if the index holds the dates",)
    elif not has_hint and error.slug in _HINTS:
        error.args = (f"{error}; hint: {_HINTS[error.slug]}",)
    return error


def _of_series(series: Any) -> Any:
    """Return a series of closes, with dates as its index, as a frame."""
    frame = series
    if hasattr(series, "index"):
        frame = _with_index(series.to_frame("close" if series.name is None else series.name))
    if not hasattr(frame, "index") or frame.index.inferred_type == "integer":
        message = f"`frame` must be a pandas, polars or Arrow frame; received {type(series).__name__} without dates"
        raise refusal("argument_invalid", f'{message}; hint: a frame with the columns "date" and a symbol')
    return frame


def _are_number_texts(values: list[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str) or not number_text.is_missing(str(value))]
    return all(isinstance(text, str) for text in texts) and number_text.is_numeric(texts)


def _with_index(frame: Any) -> Any:
    index = frame.index
    if index.nlevels > 1:
        return _with_levels(frame)
    periods = [place for place, kind in enumerate(frame.dtypes) if str(kind).startswith("period[")]
    frame = frame.copy(deep=False) if periods else frame
    for place in periods:
        values = _ends_of(frame.iloc[:, place].array)
        if values is not None:
            frame.isetitem(place, values)
    ends = _ends_of(index) if str(index.dtype).startswith("period[") else None
    if ends is not None:
        return frame.set_axis(ends.rename("date" if index.name is None else index.name))
    has_date = any(column_roles.is_date_name(str(name)) for name in frame.columns)
    is_counted = index.inferred_type != "integer" or has_date or not len(index)
    if is_counted or not all(_YYYYMMDD.fullmatch(str(value)) for value in index):
        return frame
    # A row number has seldom eight digits, and never those of a date on every row.
    return frame.set_axis([f"{text[:4]}-{text[4:6]}-{text[6:]}" for text in map(str, index)]).rename_axis("date")


def _ends_of(periods: Any) -> Any:
    """Return the last days of periods.

    None for periods within a day, which keep their start.
    """
    ends, starts = periods.end_time, periods.start_time
    is_long = (ends - starts >= np.timedelta64(86_399, "s")).all()
    return ends.normalize() if is_long else None


def _with_levels(frame: Any) -> Any:
    """Return a frame with names for the levels of its index."""
    names = list(frame.index.names)
    if None not in names:
        return frame
    levels = frame.index.levels
    has_dates = [level.inferred_type in ("datetime64", "datetime", "date", "period") for level in levels]
    if len(levels) != 2 or sum(has_dates) != 1:
        message = f"the levels of an index must have names; received {', '.join(map(str, names))}"
        raise refusal("argument_invalid", f'{message}; hint: `frame.index.names = ["date", "symbol"]`')
    known = ["date" if is_date else "symbol" for is_date in has_dates]
    return frame.rename_axis([new if name is None else name for name, new in zip(names, known, strict=True)])
