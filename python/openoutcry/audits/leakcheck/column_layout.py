"""Comparison of column order, row order and column types between two traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.audits.leakcheck.episode_trace import LAYOUT
from openoutcry.audits.leakcheck.target_trace import Mask, Trace, not_missing

COLUMNS, ROWS = "columns (order)", "rows (order)"
TYPE = " (type)"


def layout_changes(base: Trace, other: Trace, cut: int, keys: Mapping[str, npt.NDArray[Any]]) -> dict[str, Mask]:
    """Return masks of rows up to a bar whose order or type differs between traces.

    Args:
        base: Trace on the unchanged data.
        other: Trace on the perturbed data.
        cut: Last bar that both data sets have in common.
        keys: Columns of the frame that may be sort keys.
    """
    both = (base.bars <= cut) & base.present & other.present
    if base.order is None or other.order is None or not both.any():
        return {}
    found = {}
    shared = [name for name in base.columns if name in other.columns]
    if shared != [name for name in other.columns if name in base.columns]:
        shown = np.logical_or.reduce([not_missing(base.columns[name]) for name in shared])
        found[COLUMNS] = both & shown
    moved = _moved(base, other, both, keys)
    if moved is not None:
        found[ROWS] = moved
    for name in shared:
        if base.types[name] != other.types[name] and not _is_due_to_missing(name, base, other):
            found[name + TYPE] = both & not_missing(base.columns[name]) & not_missing(other.columns[name])
    return found


def same_order(base: Trace, second: Trace) -> bool:
    """Return whether two runs on the same data return their rows in the same order."""
    if base.order is None or second.order is None:
        return base.order is second.order
    return np.array_equal(base.order, second.order)


def is_explained(name: str, changed: Iterable[str]) -> bool:
    """Return whether a change of type or layout follows from a change of values."""
    if name.endswith(TYPE):
        return name.removesuffix(TYPE) in changed
    whole = name.removesuffix(LAYOUT)
    return whole != name and any(each == whole or each.startswith((f"{whole}.", f"{whole}[")) for each in changed)


def _moved(base: Trace, other: Trace, both: Mask, keys: Mapping[str, npt.NDArray[Any]]) -> Mask | None:
    one, two = (trace.order[both[trace.order]] for trace in (base, other) if trace.order is not None)
    if len(one) != len(two) or np.array_equal(one, two):
        return None
    # An unstable sort returns rows with equal keys in any order.
    if any(_is_sort_by(key, one, two) for key in (base.bars, *_row_keys(keys, both), *base.columns.values())):
        return None
    rows = np.zeros(len(both), dtype=bool)
    rows[one[one != two]] = True
    return rows


def _row_keys(keys: Mapping[str, npt.NDArray[Any]], both: Mask) -> Iterable[npt.NDArray[Any]]:
    return (values for values in keys.values() if len(values) == len(both))


def _is_sort_by(key: npt.NDArray[Any], one: npt.NDArray[np.intp], two: npt.NDArray[np.intp]) -> bool:
    """Return whether both runs sort their rows by a key."""
    a, b = key[one], key[two]
    try:
        is_sorted = bool(np.all(a[1:] >= a[:-1]) or np.all(a[1:] <= a[:-1]))
        return is_sorted and bool(np.all(a == b)) and bool(np.any(a != a[0]))
    except TypeError:  # a key of missing values has no order
        return False


def _is_due_to_missing(name: str, base: Trace, other: Trace) -> bool:
    """Return whether a type differs because of a missing value."""
    for wide, narrow in ((base, other), (other, base)):
        if wide.types[name] == "O" or (wide.types[name] == "f8" and narrow.types[name] in "iub"):
            return not not_missing(wide.columns[name])[wide.present].all()
    return False


def type_of(values: npt.NDArray[Any]) -> str:
    """Return the kind of a column's dtype, with the item size for floats."""
    return f"f{values.dtype.itemsize}" if values.dtype.kind == "f" else str(values.dtype.kind)
