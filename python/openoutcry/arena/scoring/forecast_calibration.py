"""Calibration of forecasts: binned reliability, resolution and ECE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import UNIT, Int64Array, fraction_sum, group_counts, group_sums, to_float

N_BINS = 10
Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""

Tally = tuple[int, int, int]
"""Number of forecasts in a bin, their sum in millionths, and the number of YES outcomes."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Forecasts from `low` to below `high`; the last bin includes 1.

    `observed` is the share of YES, with its 95 % interval. In an empty bin, means and shares are None.
    """

    low: float
    high: float
    n: int
    mean_forecast: float | None
    observed: float | None
    observed_low: float | None
    observed_high: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins of forecasts, the calibration error, and the decomposed Brier score.

    `binned_brier`, the Brier score with each forecast replaced by the mean of its bin, is `reliability - resolution +
    uncertainty`. `ece` is the expected calibration error.
    """

    bins: tuple[Bin, ...]
    ece: float | None
    reliability: float | None
    resolution: float | None
    uncertainty: float | None
    binned_brier: float | None


def tallies(forecasts: Forecasts) -> list[list[Tally]]:
    """Return the tallies of each agent, one per bin."""
    n_agents = len(forecasts.agents)
    bins: Int64Array = np.minimum(forecasts.probability * N_BINS // UNIT, N_BINS - 1)
    groups = forecasts.agent * N_BINS + bins
    counts = group_counts(groups, n_agents * N_BINS)
    sums = group_sums(groups, forecasts.probability, n_agents * N_BINS)
    true = group_counts(groups[forecasts.yes], n_agents * N_BINS)
    rows = list(zip(counts, sums, true, strict=True))
    return [rows[first : first + N_BINS] for first in range(0, len(rows), N_BINS)]


def calibrate(tally: Sequence[Tally]) -> Calibration:
    """Return the calibration of an agent from the tallies of its bins.

    Source: Murphy (1973); Naeini, Cooper and Hauskrecht (2015) for the error; Wilson (1927).
    """
    bins = tuple(_bin(place, *each) for place, each in enumerate(tally))
    n, true = sum(each[0] for each in tally), sum(each[2] for each in tally)
    if n == 0:
        return Calibration(bins, None, None, None, None, None)
    filled = [each for each in tally if each[0]]
    # Sums over bins of the squared gap, and of the squared number of YES, each divided by the bin's count.
    gaps = fraction_sum([((total - yes * UNIT) ** 2, count) for count, total, yes in filled]) / UNIT**2
    shares = fraction_sum([(yes**2, count) for count, _, yes in filled])
    reliability, resolution = gaps / n, shares / n - Fraction(true, n) ** 2
    uncertainty = Fraction(true * (n - true), n**2)
    return Calibration(
        bins,
        sum(abs(total - yes * UNIT) for _, total, yes in filled) / (n * UNIT),
        to_float(reliability),
        to_float(resolution),
        to_float(uncertainty),
        to_float(reliability - resolution + uncertainty),
    )


def _bin(place: int, n: int, total: int, true: int) -> Bin:
    low, high = place / N_BINS, (place + 1) / N_BINS
    if n == 0:
        return Bin(low, high, 0, None, None, None, None)
    return Bin(low, high, n, total / (n * UNIT), true / n, *wilson(true, n))


def wilson(true: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share, given `true` successes of `n`.

    Source: Wilson (1927).
    """
    share, square = true / n, Z * Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return (0.0 if true == 0 else centre - half), (1.0 if true == n else centre + half)
