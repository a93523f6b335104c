"""How unlikely a gain is where every move is as likely upwards as downwards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float64]

STAKES: Series = np.exp2(np.arange(-6.0, 9.0))
"""Stakes that are averaged: the best one is not known before."""


def p_values(gain: npt.ArrayLike, spread: npt.ArrayLike, *, both_ways: bool) -> Series:
    """Return the p-values of "nothing is gained" for sums of moves.

    A sum S of moves that are each, given all before, as likely upwards as downwards keeps the mean of
    exp(uS - u²V/2) at or below 1, V being the sum of their squares, whoever chose how much of them to take and when to
    stop. So does the average over stakes u, and Markov's inequality bounds how often it is large. No number of bars
    must be large and no distribution be normal: a doubling strategy cannot break it, as it breaks a t-test.

    Args:
        gain: S of each, or less where something was paid.
        spread: V of each.
        both_ways: Whether a loss counts as a gain does, since where nothing is paid its opposite gains.

    Source: de la Peña (1999), A general class of exponential inequalities for martingales and ratios.
    """
    total, square = (np.asarray(each, dtype=np.float64)[..., None] for each in (gain, spread))
    stakes = np.concatenate([STAKES, -STAKES]) if both_ways else STAKES
    exponents = stakes * total - 0.5 * stakes**2 * square
    highest = exponents.max(axis=-1)
    evidence = highest + np.log(np.exp(exponents - highest[..., None]).mean(axis=-1))
    found: Series = np.exp(-np.maximum(evidence, 0.0))
    return found
