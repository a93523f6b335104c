"""Changes by arithmetic on whole columns, which look like a leak."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from openoutcry.audits.leakcheck.target_trace import Mask, Trace

# Units in the last place of the largest value of a column: what a transform of all of it rounds by, and far less than
# a leak that garbage shows at each cut.
_ROUNDING = 450.0


def blotted(base: Trace, other: Trace, cut: int, changed: Mapping[str, Mask]) -> dict[str, float]:
    """Return what the columns became whose early numbers all became one.

    A constant that fills the rows of a warm-up stays.

    Args:
        base: What the target knew.
        other: What it knew with another future.
        cut: The last bar that both had in common.
        changed: Rows that differ, by column.
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
    """Return the first rows that hold one value; none if only one does."""
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
    """Return whether a column misses no number after its warm-up."""
    missing = base.bars[base.present & np.isnan(base.numbers[name])]
    known = base.bars[base.present & ~np.isnan(base.numbers[name])]
    return bool(missing.max(initial=-1) < known.min(initial=np.iinfo(np.intp).max))


def is_rounding(base: Trace, other: Trace, name: str, cut: int) -> bool:
    """Return whether a column changes by rounding of its largest value.

    Args:
        base: What the target knew.
        other: What it knew with another future, to the end of the data.
        name: A column of both.
        cut: The last bar that both had in common.
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
