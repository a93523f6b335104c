"""Exact arithmetic: decimals as integer millionths, ratios rounded once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal

Int64Array = npt.NDArray[np.int64]
UNIT = 1_000_000
"""Millionths in 1."""
LOSS_UNIT = UNIT * UNIT
"""Units of a squared error in 1."""
NONE = -1
"""Missing value in a column of millionths."""


class Millionths(dict[str | None, int]):
    """A cache of decimal texts from 0 to 1, converted to millionths."""

    def column(self, texts: Sequence[str | None]) -> Int64Array:
        """Return texts as millionths; None becomes `NONE`."""
        return int64_array(map(self.__getitem__, texts), len(texts))

    def __missing__(self, text: str | None) -> int:
        """Return a text as millionths; None becomes `NONE`."""
        self[text] = found = NONE if text is None else millionths(text)
        return found


def millionths(text: str) -> int:
    """Return a decimal from 0 to 1 as millionths."""
    try:
        scaled = Decimal(text) * UNIT
        found = int(scaled)
    except (InvalidOperation, OverflowError, TypeError, ValueError):
        found, scaled = NONE, Decimal(0)
    if found != scaled or not 0 <= found <= UNIT:
        raise refusal("value_invalid", f"a decimal from 0 to 1 of at most 6 places is required; received {text!r}")
    return found


def int64_array(values: Iterable[int], n: int) -> Int64Array:
    """Return `n` integers as an int64 array."""
    return np.fromiter(values, dtype=np.int64, count=n)


def group_sums(groups: Int64Array, values: Int64Array, n_groups: int) -> list[int]:
    """Return the sum of the values of each group, without overflow.

    Args:
        groups: Group of each value, from 0. Shape `(n,)`, int64.
        values: Values of at least 0. Shape `(n,)`, int64.
        n_groups: Number of groups.
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sums = [0] * n_groups
    if len(starts) == 0:
        return sums
    # The high and low halves are summed separately: fewer than 2^31 terms cannot overflow.
    halves = [np.add.reduceat(half[order], starts).tolist() for half in (values >> 32, values & 0xFFFFFFFF)]
    for group, high, low in zip(ordered[starts].tolist(), *halves, strict=True):
        sums[group] = (high << 32) + low
    return sums


def group_counts(groups: Int64Array, n_groups: int) -> list[int]:
    """Return the number of values in each group."""
    counts: list[int] = np.bincount(groups, minlength=n_groups).tolist()
    return counts


def fraction_sum(terms: Iterable[tuple[int, int]]) -> Fraction:
    """Return the sum of ratios of integers.

    Neighbours are added pairwise, which keeps the integers short, and the result is reduced once.
    """
    level: Sequence[tuple[int, int]] = list(terms) or [(0, 1)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        added = [(a * d + c * b, b * d) for (a, b), (c, d) in pairs]
        level = added + ([level[-1]] if len(level) % 2 else [])
    return Fraction(*level[0])


def to_float(value: Fraction | None) -> float | None:
    """Return the nearest float; None stays None."""
    return None if value is None else value.numerator / value.denominator
