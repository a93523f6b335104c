"""Interval of the mean difference of two return series, by block bootstrap.

The circular block bootstrap of the differences, studentised, for dependent returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]

MIN_RETURNS = 250
"""Minimum returns of an interval, as for the interval of a Sharpe ratio."""
_AT_ONCE = 64


@dataclass(frozen=True)
class MeanInterval:
    """Confidence interval of a mean difference of returns per bar.

    Attributes:
        estimate: Sample mean of the differences.
        standard_error: Standard error of the estimate.
        low: Lower end of the interval.
        high: Upper end of the interval.
        p_value: Two-sided p-value; the null hypothesis is 0.
        block_length: Block length, in bars.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
    block_length: int


def mean_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, *, seed: int, n_draws: int = 2_000, level: float = 0.95
) -> MeanInterval:
    """Compute a two-sided interval of the mean of `first` less `second`.

    Args:
        first: Returns. Shape `(n_bars,)`.
        second: Returns on the same bars. Shape `(n_bars,)`.
        seed: Seed of the resamples.
        n_draws: Number of resamples.
        level: Confidence level.

    Raises:
        OpenOutcryError: `insufficient` for fewer than 250 bars; the differences are constant.

    Source: Götze and Künsch (1996); block length of Politis and White (2004).
    """
    differences = np.subtract(first, second, dtype=np.float64)
    n_bars = len(differences)
    if n_bars < MIN_RETURNS:
        raise refusal("insufficient", f"at least {MIN_RETURNS} returns are required; received {n_bars}")
    if native.is_riskless(differences):
        raise refusal("insufficient", "varying differences of the returns are required; received constant ones")
    block = min(max(ceil(native.block_length(differences[:, None], [n_bars])), 1), n_bars // 10)
    mean, error = float(differences.mean()), _error(differences, block)
    statistics = np.sort(_statistics(differences, block, n_draws, seed))
    half = float(statistics[min(ceil(level * n_draws), n_draws) - 1]) * error
    p_value = (1 + int((statistics >= abs(mean) / error).sum())) / (n_draws + 1)
    return MeanInterval(mean, error, mean - half, mean + half, p_value, block)


def _error(differences: Array, block: int) -> float:
    """Return the standard error of the mean, from overlapping blocks of a circle."""
    n_bars = len(differences)
    means = _block_sums(differences, block) / block
    return float(np.sqrt(block * means.var() / (n_bars - block) * (n_bars / (n_bars - 1))))


def _statistics(differences: Array, block: int, n_draws: int, seed: int) -> Array:
    """Return the absolute studentised error of the mean of each resample."""
    n_blocks = len(differences) // block
    means = _block_sums(differences, block) / block
    # The mean of all blocks of a circle is the sample mean.
    rng = np.random.Generator(np.random.PCG64(seed))
    found = []
    for first in range(0, n_draws, _AT_ONCE):
        drawn = means[rng.integers(0, len(means), (min(_AT_ONCE, n_draws - first), n_blocks))]
        spread = drawn.std(axis=1, ddof=1)
        errors = np.abs(drawn.mean(axis=1) - means.mean()) * np.sqrt(n_blocks)
        # Without a spread, a resample says nothing about the interval, which must not be narrower for it.
        found.append(np.divide(errors, spread, out=np.full(len(spread), np.inf), where=spread > 0.0))
    return np.concatenate(found)


def _block_sums(differences: Array, block: int) -> Array:
    """Return the sum of every block of bars; the last ones continue at the first."""
    totals = np.concatenate([[0.0], np.cumsum(np.concatenate([differences, differences[: block - 1]]))])
    sums: Array = totals[block:] - totals[:-block]
    return sums
