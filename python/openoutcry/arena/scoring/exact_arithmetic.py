"""Arithmetic without rounding.

Decimals are whole millionths, sums are whole numbers, and ratios are rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal

Whole = npt.NDArray[np.int64]
UNIT = 1_000_000
"""Millionths in 1."""
LOSS_UNIT = UNIT * UNIT
"""Units of a squared error in 1."""
NONE = -1
"""What stands in a column of millionths where there is no number."""


class Millionths(dict[str | None, int]):
    """Reads decimal texts from 0 to 1, each once."""

    def column(self, texts: Sequence[str | None]) -> Whole:
        """Return the millionths of texts, and `NONE` where there is none."""
        return whole(map(self.__getitem__, texts), len(texts))

    def __missing__(self, text: str | None) -> int:
        """Return the millionths of a text, and `NONE` of None."""
        self[text] = found = NONE if text is None else millionths(text)
        return found


def millionths(text: str) -> int:
    """Return a decimal from 0 to 1 in millionths."""
    try:
        scaled = Decimal(text) * UNIT
        found = int(scaled)
    except (InvalidOperation, OverflowError, TypeError, ValueError):
        found, scaled = NONE, Decimal(0)
    if found != scaled or not 0 <= found <= UNIT:
        raise refusal("value_invalid", f"a decimal from 0 to 1 of at most 6 places is required; received {text!r}")
    return found


def whole(values: Iterable[int], n: int) -> Whole:
    """Return `n` whole numbers as an array."""
    return np.fromiter(values, dtype=np.int64, count=n)


def group_sums(groups: Whole, values: Whole, n_groups: int) -> list[int]:
    """Return the sum of the values of each group, however large.

    Args:
        groups: Group of each value, from 0. Shape `(n,)`.
        values: At least 0. Shape `(n,)`.
        n_groups: Groups there are.
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sums = [0] * n_groups
    if len(starts) == 0:
        return sums
    # In halves: a sum of fewer than 2^31 of either cannot overflow.
    halves = [np.add.reduceat(half[order], starts).tolist() for half in (values >> 32, values & 0xFFFFFFFF)]
    for group, high, low in zip(ordered[starts].tolist(), *halves, strict=True):
        sums[group] = (high << 32) + low
    return sums


def group_counts(groups: Whole, n_groups: int) -> list[int]:
    """Return how many values are in each group."""
    counts: list[int] = np.bincount(groups, minlength=n_groups).tolist()
    return counts


def fraction_sum(terms: Iterable[tuple[int, int]]) -> Fraction:
    """Return the sum of ratios of whole numbers.

    Pairs of neighbours are added until one is left: numbers stay short, and are reduced once.
    """
    level: Sequence[tuple[int, int]] = list(terms) or [(0, 1)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        added = [(a * d + c * b, b * d) for (a, b), (c, d) in pairs]
        level = added + ([level[-1]] if len(level) % 2 else [])
    return Fraction(*level[0])


def to_float(value: Fraction | None) -> float | None:
    """Return the nearest float, and None of None."""
    return None if value is None else value.numerator / value.denominator
