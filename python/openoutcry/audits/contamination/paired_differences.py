"""The mean of paired differences, and how sure it is."""

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
"""Bars below which an interval would be too narrow; `docs/contamination.md` has the rates."""

ROUNDING = 1e-9
"""Differences of returns that are rounding: a disguise has the symbols in another order, and so sums differ."""

_POWER = 0.8
_CHUNK = 100


@dataclass(frozen=True)
class Difference:
    """How much more a bar earned in one arm than in another, simple returns.

    Attributes:
        mean: Mean over bars.
        standard_error: Its standard error; None where it is undefined, as are all that follow.
        low: Lower end of the interval of probability `1 - 2 level`: above 0 where `p_value` is below `level`.
        high: Upper end.
        p_value: Probability of such a mean, or a higher one, where the true one is 0.
        detectable: True mean that would be found four times in five, by this test alone.
        block_length: Bars of a block, on average.
        undefined: Why numbers are None.
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
        """Return whether both arms earned the same on every bar."""
        return self.undefined.get("p_value") == SAME

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON has them."""
        return asdict(self)


SAME = "the same was earned on every bar in both arms"


def difference_of(differences: Series, windows: Sequence[int], level: float, n_draws: int, seed: int) -> Difference:
    """Return the mean of differences over windows with its interval.

    Resamples are those of the stationary bootstrap, about the mean of the sample, in blocks that stay inside windows.

    Args:
        differences: Of the same bars in two arms. Shape `(n_bars,)`, simple returns.
        windows: Bars of each window.
        level: Of the one-sided test.
        n_draws: Resamples.
        seed: What they are a function of.

    Source: Politis and Romano (1994); Politis and White (2004) for the length of blocks.
    """
    n_bars, mean = len(differences), float(differences.mean())
    if np.abs(differences).max() <= ROUNDING:
        return _undefined(mean, SAME)
    if n_bars < MIN_BARS:
        return _undefined(mean, f"at least {MIN_BARS} bars in all are required; received {n_bars}")
    length = min(max(block_length(differences, windows=windows), 1.0), n_bars / 10.0)
    off = deviations(differences - mean, windows, length, n_draws, np.random.default_rng([seed, 0x70616972]))
    # A resample varies as little as the sample about its own mean, not about the true one.
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


def deviations(
    centred: Series, windows: Sequence[int], length: float, n_draws: int, rng: np.random.Generator
) -> Series:
    """Return the means of resamples of a series of mean 0. Shape `(n_draws,)`.

    A block begins on any bar alike and goes on for a geometric number of bars, of mean `length`; after the last bar of
    a window comes its first.

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
        # Where the block of each place began, and the bar that was drawn there.
        since = np.maximum.accumulate(np.where(begins, np.arange(n_bars), 0), axis=1)
        drawn = np.take_along_axis(origin, since, axis=1)
        window = starts[drawn]
        bars = window + (drawn - window + np.arange(n_bars) - since) % sizes[drawn]
        means.append(centred[bars].mean(axis=1))
    return np.concatenate(means)


def _undefined(mean: float, why: str) -> Difference:
    names = ("standard_error", "low", "high", "p_value", "detectable", "block_length")
    return Difference(mean, undefined=dict.fromkeys(names, why))
