"""Detection of false positives: NaN propagation and rounding in transforms.

The transforms apply to complete columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from openoutcry.audits.leakcheck.target_trace import Mask, Trace

# In units in the last place of the largest value of a column: the rounding error of a transform of the column, and far
# below the effect of garbage on a real leak.
_ROUNDING = 450.0


def collapsed_columns(base: Trace, other: Trace, cut: int, changed: Mapping[str, Mask]) -> dict[str, float]:
    """Find columns whose numbers up to a cut all became the same value.

    Rows of a constant warm-up fill are ignored.

    Args:
        base: Trace on the unchanged data.
        other: Trace on the perturbed data.
        cut: Last bar that both data sets have in common.
        changed: Mask of the rows that differ, by column.

    Returns:
        The common value of each such column; NaN where all are NaN.
    """
    found = {}
    for name, rows in changed.items():
        if name not in base.numbers or name not in other.numbers:
            continue
        known = (base.bars <= cut) & ~_filled(base, name)
        known &= base.present & ~np.isnan(base.numbers[name])
        became = other.numbers[name][known]
        if rows[~known].any() or not len(became) or not other.present[known].all():
            continue
        if np.isnan(became).all() or (became == became[0]).all():
            found[name] = float(became[0])
    return found


def _filled(base: Trace, name: str) -> Mask:
    """Return the initial rows with a repeated constant value."""
    values = base.numbers[name]
    rows = np.flatnonzero(base.present & ~np.isnan(values))
    filled = np.zeros(len(values), dtype=bool)
    if len(rows):
        rows = rows[np.argsort(base.bars[rows], kind="stable")]
        others = np.flatnonzero(values[rows] != values[rows[0]])
        n = int(others[0]) if len(others) else len(rows)
        filled[rows[: n if n > 1 else 0]] = True
    return filled


def is_complete(base: Trace, name: str) -> bool:
    """Return whether a column has no missing value after its warm-up."""
    missing = base.bars[base.present & np.isnan(base.numbers[name])]
    known = base.bars[base.present & ~np.isnan(base.numbers[name])]
    return bool(missing.max(initial=-1) < known.min(initial=np.iinfo(np.intp).max))


def is_rounding(base: Trace, other: Trace, name: str, cut: int) -> bool:
    """Return whether a column changes only by the rounding error of its largest value.

    Args:
        base: Trace on the unchanged data.
        other: Trace on the perturbed data, to its end.
        name: A column of both traces.
        cut: Last bar that both data sets have in common.
    """
    if name not in base.numbers or name not in other.numbers:
        return False
    kind = other.columns[name].dtype
    a, b = base.numbers[name], other.numbers[name]
    early = (base.bars <= cut) & base.present
    if kind.kind != "f" or not other.present[early].all() or not np.array_equal(np.isnan(a[early]), np.isnan(b[early])):
        return False
    largest = np.abs(b[other.present & np.isfinite(b)]).max(initial=0.0)
    gaps = np.abs(a[early] - b[early])
    return bool(np.nanmax(gaps, initial=0.0) <= _ROUNDING * np.finfo(kind).eps * largest)
