"""Naive scorers that the attacks fool, as positive controls."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from openoutcry.scoring import skill

Days = npt.NDArray[np.float64]


def sharpe(days: Days) -> float:
    """Return the annual Sharpe ratio, without validation of the returns."""
    with np.errstate(all="ignore"):
        return float(np.mean(days) / np.std(days) * math.sqrt(252.0))


def p_value(days: Days) -> float:
    """Return the p-value of a test of the mean, without correction for trials."""
    return 0.5 * math.erfc(sharpe(days) / math.sqrt(252.0) * math.sqrt(len(days) / 2.0))


def deflated(days: Days, n_trials: int, spread: float) -> float:
    """Return the deflated Sharpe ratio with an unchecked spread of the trials."""
    return skill.probabilistic_sharpe(skill.Moments.of(days), skill.expected_max(n_trials) * spread)
