"""Test of zero expected profit for sums of conditionally symmetric moves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float64]

STAKES: Series = np.exp2(np.arange(-6.0, 9.0))
"""Stakes u that the test averages over, because the best stake is not known in advance."""


def p_values(gain: npt.ArrayLike, spread: npt.ArrayLike, *, both_ways: bool) -> Series:
    """Return p-values of the null hypothesis that expected profit is at most 0.

    Let S be a sum of moves that are conditionally symmetric given the past, and V the sum of their squares. Then the
    expectation of exp(uS - u²V/2) is at most 1 for every stake u, every position sizing and every stopping rule. The
    same holds for the average over several u, and Markov's inequality turns it into a p-value. The test needs neither
    a large sample nor a normal distribution, so a doubling strategy does not break it as it breaks a t-test.

    Args:
        gain: S of each test; lower where costs were paid.
        spread: V of each test.
        both_ways: Whether a loss is evidence too. Without costs, the opposite position would gain.

    Source: de la Peña (1999), A general class of exponential inequalities for martingales and ratios.
    """
    total, square = (np.asarray(each, dtype=np.float64)[..., None] for each in (gain, spread))
    stakes = np.concatenate([STAKES, -STAKES]) if both_ways else STAKES
    exponents = stakes * total - 0.5 * stakes**2 * square
    highest = exponents.max(axis=-1)
    evidence = highest + np.log(np.exp(exponents - highest[..., None]).mean(axis=-1))
    values: Series = np.exp(-np.maximum(evidence, 0.0))
    return values
