"""The order of columns and rows, and the types of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.episode_trace import LAYOUT
from openoutcry.audits.leakcheck.target_trace import Mask, Trace, told

COLUMNS, ROWS = "columns (order)", "rows (order)"
TYPE = " (type)"


def layout_changes(base: Trace, other: Trace, cut: int, keys: Mapping[str, npt.NDArray[Any]]) -> dict[str, Mask]:
    """Return which rows up to a bar a target shows in another order or type.

    Args:
        base: What the target knew.
        other: What it knew with another future.
        cut: The last bar that both had in common.
        keys: Columns of the frame that rows may be sorted by.
    """
    both = (base.bars <= cut) & base.present & other.present
    if base.order is None or other.order is None or not both.any():
        return {}
    found = {}
    shared = [name for name in base.columns if name in other.columns]
    if shared != [name for name in other.columns if name in base.columns]:
        shown = np.logical_or.reduce([told(base.columns[name]) for name in shared])
        found[COLUMNS] = both & shown
    moved = _moved(base, other, both, keys)
    if moved is not None:
        found[ROWS] = moved
    for name in shared:
        if base.types[name] != other.types[name] and not _is_of_missing(name, base, other):
            found[name + TYPE] = both & told(base.columns[name]) & told(other.columns[name])
    return found


def same_order(base: Trace, again: Trace) -> bool:
    """Return whether two runs on the same data give their rows in the same order."""
    if base.order is None or again.order is None:
        return base.order is again.order
    return np.array_equal(base.order, again.order)


def is_explained(name: str, changed: Iterable[str]) -> bool:
    """Return whether a type or layout is another one because values are."""
    if name.endswith(TYPE):
        return name.removesuffix(TYPE) in changed
    whole = name.removesuffix(LAYOUT)
    return whole != name and any(each == whole or each.startswith((f"{whole}.", f"{whole}[")) for each in changed)


def _moved(base: Trace, other: Trace, both: Mask, keys: Mapping[str, npt.NDArray[Any]]) -> Mask | None:
    one, two = (trace.order[both[trace.order]] for trace in (base, other) if trace.order is not None)
    if len(one) != len(two) or np.array_equal(one, two):
        return None
    # A sort that is not stable puts rows of one key in any order.
    if any(_is_sort_by(key, one, two) for key in (base.bars, *_of_rows(keys, both), *base.columns.values())):
        return None
    rows = np.zeros(len(both), dtype=bool)
    rows[one[one != two]] = True
    return rows


def _of_rows(keys: Mapping[str, npt.NDArray[Any]], both: Mask) -> Iterable[npt.NDArray[Any]]:
    return (values for values in keys.values() if len(values) == len(both))


def _is_sort_by(key: npt.NDArray[Any], one: npt.NDArray[np.intp], two: npt.NDArray[np.intp]) -> bool:
    """Return whether rows are sorted by a key, here and in the other run."""
    a, b = key[one], key[two]
    try:
        is_sorted = bool(np.all(a[1:] >= a[:-1]) or np.all(a[1:] <= a[:-1]))
        return is_sorted and bool(np.all(a == b)) and bool(np.any(a != a[0]))
    except TypeError:  # a key of missing values has no order
        return False


def _is_of_missing(name: str, base: Trace, other: Trace) -> bool:
    """Return whether a type is another one because a value is missing."""
    for wide, narrow in ((base, other), (other, base)):
        if wide.types[name] == "O" or (wide.types[name] == "f8" and narrow.types[name] in "iub"):
            return not told(wide.columns[name])[wide.present].all()
    return False


def type_of(values: npt.NDArray[Any]) -> str:
    """Return the type of a column, with the size of floats alone."""
    return f"f{values.dtype.itemsize}" if values.dtype.kind == "f" else str(values.dtype.kind)
