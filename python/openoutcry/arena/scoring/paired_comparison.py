"""Paired comparison of two agents on their common markets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import LOSS_UNIT
from openoutcry.errors import refusal


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean loss of `first` minus that of `second` on their common settled markets.

    Below 0, `first` is better. `low` and `high` are the 95 % bootstrap interval over markets, `p_better` is the share
    of resamples below 0, and `p_value` is that of the two-sided sign-flip test. With too few common markets all are
    None and `reason` is `too_few_markets`.
    """

    first: str
    second: str
    n_markets: int
    difference: float | None
    low: float | None
    high: float | None
    p_better: float | None
    p_value: float | None
    reason: str | None


def compare(forecasts: Forecasts, first: str, second: str) -> Comparison:
    """Return the paired comparison of two agents, given by slug."""
    slugs = [agent.slug for agent in forecasts.agents]
    for slug in (first, second):
        if slug not in slugs:
            raise refusal("argument_invalid", f"a registered slug is required; received {slug!r}")
    rules, settled = forecasts.inputs.parameters, forecasts.where(forecasts.is_settled)
    one, other = (settled.where(settled.agent == slugs.index(slug)) for slug in (first, second))
    _, of_one, of_other = np.intersect1d(one.market, other.market, assume_unique=True, return_indices=True)
    differences = one.loss[of_one] - other.loss[of_other]
    n = len(differences)
    if n < max(1, rules.min_markets):
        return Comparison(first, second, n, None, None, None, None, None, "too_few_markets")
    low, high, better, p_value = native.paired_forecasts(differences, n_draws=rules.n_draws, seed=rules.seed)
    mean = sum(differences.tolist()) / (n * LOSS_UNIT)
    return Comparison(first, second, n, mean, low / LOSS_UNIT, high / LOSS_UNIT, better, p_value, None)
