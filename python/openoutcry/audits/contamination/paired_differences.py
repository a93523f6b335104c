"""Mean of paired differences, with a block-bootstrap interval and p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.scoring.multiple_testing import block_length

Series = npt.NDArray[np.float64]

MIN_BARS = 60
"""Number of bars below which the interval would be too narrow."""

ROUNDING = 1e-9
"""Differences of returns that count as rounding: masking reorders symbols, so sums round differently."""

_POWER = 0.8
_CHUNK = 100


@dataclass(frozen=True)
class Difference:
    """Mean difference of simple returns per bar between two arms.

    Attributes:
        mean: Mean over bars.
        standard_error: Standard error of the mean; None where undefined, like all fields below.
        low: Lower end of the interval with coverage `1 - 2 level`; above 0 where `p_value` is below `level`.
        high: Upper end of the interval.
        p_value: One-sided p-value of the null hypothesis "the true mean is at most 0".
        detectable: True mean that this test detects with a probability of 80 %.
        block_length: Mean block length of the bootstrap, in bars.
        undefined: Reason for each field that is None.
    """

    mean: float
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    detectable: float | None = None
    block_length: float | None = None
    undefined: dict[str, str] = field(default_factory=dict)

    @property
    def is_rounding(self) -> bool:
        """Whether both arms earned the same on every bar, up to rounding."""
        return self.undefined.get("p_value") == SAME

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return asdict(self)


SAME = "both arms earned the same on every bar"


def difference_of(differences: Series, windows: Sequence[int], level: float, n_draws: int, seed: int) -> Difference:
    """Compute the mean of differences over windows, with its interval and p-value.

    Uses the stationary bootstrap about the sample mean, with blocks that stay inside windows.

    Args:
        differences: Differences between two arms on the same bars, shape `(n_bars,)`, float64, simple returns.
        windows: Number of bars of each window.
        level: Level of the one-sided test.
        n_draws: Number of resamples.
        seed: Seed of the resamples.

    Source: Politis and Romano (1994); Politis and White (2004) for the block length.
    """
    n_bars, mean = len(differences), float(differences.mean())
    if np.abs(differences).max() <= ROUNDING:
        return _undefined(mean, SAME)
    if n_bars < MIN_BARS:
        return _undefined(mean, f"at least {MIN_BARS} bars in total are required; received {n_bars}")
    length = min(max(block_length(differences, windows=windows), 1.0), n_bars / 10.0)
    off = bootstrap_deviations(differences - mean, windows, length, n_draws, np.random.default_rng([seed, 0x70616972]))
    # Corrects the bias of the bootstrap variance, which is about the sample mean.
    off *= (n_bars / (n_bars - 1.0)) ** 0.5
    error = float(off.std())
    above, below = (float(np.quantile(off, share)) for share in (1.0 - level, level))
    far = sum(NormalDist().inv_cdf(share) for share in (1.0 - level, _POWER))
    return Difference(
        mean,
        standard_error=error,
        low=mean - above,
        high=mean - below,
        p_value=float(1 + np.sum(off >= mean)) / (1 + n_draws),
        detectable=far * error,
        block_length=length,
    )


def bootstrap_deviations(
    centred: Series, windows: Sequence[int], length: float, n_draws: int, rng: np.random.Generator
) -> Series:
    """Return the means of stationary bootstrap resamples of a centered series.

    Shape `(n_draws,)`, float64.

    A block starts at a uniform random bar and has a geometric length of mean `length`. It wraps around within its
    window.

    Source: Politis and Romano (1994).
    """
    sizes = np.repeat(windows, windows)
    starts = np.repeat(np.cumsum(windows) - windows, windows)
    n_bars, means = len(centred), []
    for first in range(0, n_draws, _CHUNK):
        shape = (min(_CHUNK, n_draws - first), n_bars)
        begins = rng.random(shape) < 1.0 / length
        begins[:, 0] = True
        origin = rng.integers(n_bars, size=shape)
        # Start of the block at each position, and the bar that was drawn for that start.
        since = np.maximum.accumulate(np.where(begins, np.arange(n_bars), 0), axis=1)
        drawn = np.take_along_axis(origin, since, axis=1)
        window = starts[drawn]
        bars = window + (drawn - window + np.arange(n_bars) - since) % sizes[drawn]
        means.append(centred[bars].mean(axis=1))
    return np.concatenate(means)


def _undefined(mean: float, why: str) -> Difference:
    names = ("standard_error", "low", "high", "p_value", "detectable", "block_length")
    return Difference(mean, undefined=dict.fromkeys(names, why))
