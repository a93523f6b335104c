"""The columns of a market as the engine takes them.

They are made from arrays, lists and dates of the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import is_truth, plain
from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]


def unlabelled(name: str, values: Any, symbols: Sequence[str]) -> Any:
    """Return values without the names of their columns, which must be the symbols.

    Those of an array or a list have none.
    """
    is_arrow = hasattr(values, "column_names")
    labels = values.column_names if is_arrow else getattr(values, "columns", None)
    if labels is None:
        return values
    if [str(label) for label in labels] != list(symbols):
        received = ", ".join(map(str, labels))
        raise refusal("shape_mismatch", f"`{name}`: columns must be {', '.join(symbols)}; received {received}")
    return np.column_stack([np.asarray(column) for column in values.columns]) if is_arrow else values


def table(name: str, values: npt.ArrayLike, symbols: Sequence[str]) -> Table:
    """Return numbers, bars by symbols, as float64."""
    array = plain(name, unlabelled(name, values, symbols))
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        message = f"`{name}` must be a 2-d array of numbers; received {array.ndim}-d {array.dtype}"
        raise refusal("shape_mismatch", message)
    return np.ascontiguousarray(array, dtype=np.float64)


def mask(values: npt.ArrayLike, symbols: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return booleans, bars by symbols."""
    array = plain("tradable", unlabelled("tradable", values, symbols))
    if array.dtype.kind != "b" or array.ndim != 2:
        message = f"`tradable` must be a 2-d array of booleans; received {array.ndim}-d {array.dtype}"
        raise refusal("shape_mismatch", message)
    return np.ascontiguousarray(array)


def series(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return numbers, one a bar, as float64."""
    array = plain(name, values)
    if array.dtype.kind not in "fiu" or array.ndim != 1:
        message = f"`{name}` must be a 1-d array of numbers; received {array.ndim}-d {array.dtype}"
        raise refusal("shape_mismatch", message)
    return np.ascontiguousarray(array, dtype=np.float64)


def names(symbols: Iterable[str]) -> list[str]:
    """Return the names of symbols, which must be texts."""
    if isinstance(symbols, (str, bytes)) or not isinstance(symbols, Iterable):
        raise refusal("symbol_invalid", f"`symbols` must be a list of texts; received {symbols!r}")
    found = list(symbols)
    for place, symbol in enumerate(found):
        if not _is_text(symbol):
            raise refusal("symbol_invalid", f"`symbols[{place}]` must be a text; received {symbol!r}")
    return found


def iso(dates: Iterable[Any]) -> list[str]:
    """Return ISO 8601 texts of dates, for the engine to check."""
    if isinstance(dates, np.ndarray) and dates.dtype.kind == "M":
        known = dates[~np.isnat(dates)]
        if (known.astype("datetime64[D]") == known).all():
            return [str(day) for day in dates.astype("datetime64[D]")]
        # What is finer than a second is printed in full, for the engine to refuse.
        exact = (known.astype("datetime64[s]") == known).all()
        return [str(time) for time in (dates.astype("datetime64[s]") if exact else dates)]
    texts = [date if isinstance(date, str) else _date_text(date) for date in dates]
    for row, text in enumerate(texts):
        if not _is_text(text):
            raise refusal("date_invalid", f"`date` at row {row} must be ISO 8601; received {text!r}")
    # A midnight timestamp of a daily index means its day.
    return [text[:10] for text in texts] if texts and all(text[10:] == "T00:00:00" for text in texts) else texts


def fundamentals(items: Iterable[Any]) -> list[tuple[str, str, str, float]]:
    """Return point-in-time numbers, `(symbol, available_at, name, value)`."""
    found = []
    for place, item in enumerate(items):
        symbol, available_at, name, value = _tuple(
            "fundamentals", place, item, ("symbol", "available_at", "name", "value")
        )
        if is_truth(value) or not hasattr(value, "__float__"):
            raise refusal("value_invalid", f"`fundamentals[{place}]` must have a number; received {value!r}")
        found.append((symbol, available_at, name, float(value)))
    return found


def news(items: Iterable[Any]) -> list[tuple[str, str, str]]:
    """Return headlines, `(symbol, available_at, headline)`."""
    return [_tuple("news", place, item, ("symbol", "available_at", "headline")) for place, item in enumerate(items)]


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array, read-only from here on."""
    array.flags.writeable = False
    return array


def _tuple(lane: str, place: int, item: Any, fields: tuple[str, ...]) -> Any:
    is_shaped = isinstance(item, Sequence) and not isinstance(item, str) and len(item) == len(fields)
    if not is_shaped or not all(_is_text(text) for text in item[:3]):
        wanted = f"`{lane}[{place}]` must be ({', '.join(fields)})"
        raise refusal("value_invalid", f"{wanted}, texts but for a value; received {item!r}")
    return tuple(item)


def _is_text(value: Any) -> bool:
    """Return whether a value is a text in UTF-8: half of a surrogate pair is none."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value))


def _date_text(date: Any) -> str:
    return str(date.isoformat()) if hasattr(date, "isoformat") else str(date)
