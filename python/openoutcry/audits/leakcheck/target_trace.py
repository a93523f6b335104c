"""Trace of a target's outputs by bar, and the comparison of two traces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]

# Relative tolerance by float size, far above the effect of another summation order.
TOLERANCE = {8: 1e-9, 4: 1e-5, 2: 1e-2}


@dataclass(frozen=True)
class Trace:
    """Outputs of a target by column, with one row per original row or bar.

    Attributes:
        columns: Values by name, each of shape `(n_rows,)`.
        bars: Bar of each row, shape `(n_rows,)`.
        present: Mask of the rows that the target returned, shape `(n_rows,)`.
        is_whole: Whether a missing row counts as a change. True for pipelines, whose dropped rows depend on data;
            False for environments, which may end before the data.
        flags: Columns that mark the end of an episode; NaN before the first step. They also cover the last bar, whose
            observation is not compared.
        free_text: Columns of texts next to decisions, which may differ between runs.
        optional: Columns that are listed as compared only if they have a value.
        order: Rows in the order in which the target returned them; None if it returns them one by one.
        types: Type of each column: `f4` or `f8` for floats, otherwise the kind of the dtype.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    bars: npt.NDArray[np.intp]
    present: Mask
    is_whole: bool
    flags: frozenset[str] = frozenset()
    free_text: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    order: npt.NDArray[np.intp] | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[str, npt.NDArray[np.float64]]:
        """Numeric columns as float64."""
        return {name: values.astype(np.float64) for name, values in self.columns.items() if values.dtype.kind in "fiub"}

    @cached_property
    def sizes(self) -> dict[str, float]:
        """Median magnitude of each numeric column."""
        sizes = {}
        for name, values in self.numbers.items():
            known = np.abs(values[self.present & np.isfinite(values)])
            sizes[name] = float(np.median(known)) if len(known) else 0.0
        return sizes

    def shown(self, name: str) -> npt.NDArray[np.float64]:
        """Return the numbers of a column; NaN in rows that the target did not return."""
        values = self.numbers[name]
        return values if name in self.flags else np.where(self.present, values, np.nan)


def changes(base: Trace, other: Trace, cut: int, rtol: float | None = None) -> dict[str, Mask]:
    """Return masks of the rows up to a bar that differ between two traces, by column.

    Two numbers differ if their distance exceeds the tolerance times the largest of both magnitudes and the median
    magnitude of the column. NaN equals NaN.

    Args:
        base: Trace on the unchanged data.
        other: Trace on the perturbed data.
        cut: Last bar that both data sets have in common.
        rtol: Relative tolerance; None for that of the float size.
    """
    early = base.bars <= cut
    both = early & base.present & other.present
    rows = early & (base.present != other.present) if base.is_whole else np.zeros_like(early)
    found = {}
    for name, values in base.columns.items():
        there = other.columns.get(name)
        if there is None:
            found[name] = early & base.present if base.is_whole else np.zeros_like(early)
        elif name in base.flags:
            found[name] = early & not_missing(values) & not_missing(there) & (values != there)
        elif name in base.numbers and name in other.numbers:
            tolerance = _tolerance(values, there) if rtol is None else rtol
            differ = _apart(base.numbers[name], other.numbers[name], tolerance, base.sizes[name])
            found[name] = rows | (both & differ)
        else:
            found[name] = rows | (both & _unlike(values, there, both, rtol))
    for name in other.columns.keys() - base.columns.keys():
        found[name] = early & other.present if base.is_whole else both & not_missing(other.columns[name])
    return found


def not_missing(values: npt.NDArray[Any]) -> Mask:
    """Return a mask of the values that are not missing."""
    if values.dtype.kind == "f":
        return np.asarray(~np.isnan(values))
    if values.dtype.kind in "iub":
        return np.ones(len(values), dtype=bool)
    return np.array([not _is_none(value) for value in values], dtype=bool)


def _tolerance(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    sizes = [each.dtype.itemsize for each in (a, b) if each.dtype.kind == "f"]
    return TOLERANCE.get(min(sizes, default=8), TOLERANCE[8])


def _apart(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], rtol: float, size: float) -> Mask:
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= rtol * np.maximum(np.maximum(np.abs(a), np.abs(b)), size)
    # Infinity does not equal a finite number, although the tolerance is infinite too.
    is_infinite = np.isinf(a) | np.isinf(b)
    return np.asarray(~(((a == b) | (near & ~is_infinite)) | (np.isnan(a) & np.isnan(b))))


def _unlike(a: npt.NDArray[Any], b: npt.NDArray[Any], where: Mask, rtol: float | None) -> Mask:
    unlike = np.zeros(len(a), dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in np.flatnonzero(where):
            unlike[row] = not _same(a[row], b[row], rtol)
    return unlike


def _same(x: Any, y: Any, rtol: float | None) -> bool:
    """Return whether two values are equal, with a tolerance for numbers in lists."""
    if x is y or (_is_none(x) and _is_none(y)):
        return True
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return _alike(x, y, rtol)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        # A list with NaN does not equal itself.
        return len(x) == len(y) and all(_same(each, other, rtol) for each, other in zip(x, y, strict=True))
    if isinstance(x, float) and isinstance(y, float):
        gap = abs(x - y)
        return x == y or (isfinite(gap) and gap <= (TOLERANCE[8] if rtol is None else rtol) * max(abs(x), abs(y)))
    return bool(np.all(x == y))


def _alike(x: npt.NDArray[Any], y: npt.NDArray[Any], rtol: float | None) -> bool:
    """Return whether two arrays are equal, with numbers compared within the tolerance."""
    if x.shape != y.shape:
        return False
    if x.dtype.kind not in "fiub" or y.dtype.kind not in "fiub":
        return not _unlike(x.ravel(), y.ravel(), np.ones(x.size, dtype=bool), rtol).any()
    a, b = x.astype(np.float64), y.astype(np.float64)
    known = np.abs(a[np.isfinite(a)])
    size = float(np.median(known)) if len(known) else 0.0
    return not _apart(a, b, _tolerance(x, y) if rtol is None else rtol, size).any()


def _is_none(value: Any) -> bool:
    # NaN, NaT and pandas' NA do not equal themselves.
    if value is None:
        return True
    if isinstance(value, (list, tuple, dict, np.ndarray)):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return str(value) == "<NA>"
