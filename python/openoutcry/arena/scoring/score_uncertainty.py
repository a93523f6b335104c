"""Bootstrap intervals, log scores and difficulty-adjusted scores.

The Rust core computes them; this module converts arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import LOSS_UNIT, UNIT, Int64Array, millionths
from openoutcry.arena.scoring.reference_rates import Reference

INTERVALS = {
    "brier_low": "loss_low",
    "brier_high": "loss_high",
    "brier_skill_score_low": "skill_low",
    "brier_skill_score_high": "skill_high",
    "rank_low": "rank_low",
    "rank_high": "rank_high",
    "p_best": "best",
    "p_top": "top",
    "p_rank": "holds",
}
"""Field of a board to field of the Rust core's result."""


def _losses(forecasts: Forecasts) -> npt.NDArray[np.float64]:
    return forecasts.loss / LOSS_UNIT


def _markets(forecasts: Forecasts) -> npt.NDArray[np.uint32]:
    return forecasts.market.astype(np.uint32)


def log_scores(forecasts: Forecasts) -> list[float | None]:
    """Return each agent's mean log probability of the outcome, clipped."""
    least = millionths(forecasts.inputs.parameters.log_clip)
    outcome_probability = np.where(forecasts.yes, forecasts.probability, UNIT - forecasts.probability)
    return _known(
        native.forecast_log_scores(forecasts.starts, np.clip(outcome_probability, least, UNIT - least) / UNIT)
    )


def adjusted_scores(forecasts: Forecasts) -> list[float | None]:
    """Return each agent's Brier score adjusted for the difficulty of its markets."""
    found = native.forecast_effects(forecasts.starts, _markets(forecasts), _losses(forecasts), forecasts.n_markets)
    return _known(found)


def intervals(forecasts: Forecasts, used: Sequence[Reference], place: Int64Array) -> list[dict[str, float | None]]:
    """Return each agent's bootstrap intervals and rank probabilities.

    All are None for agents with fewer than `min_markets` markets.
    """
    rules = forecasts.inputs.parameters
    enough = np.diff(forecasts.starts) >= rules.min_markets
    is_included = enough[forecasts.agent]
    expected = np.array([_rounded(each.expected(1)) for each in used], dtype=np.float64)
    found = native.forecast_intervals(
        [0, *np.cumsum(np.diff(forecasts.starts)[enough]).tolist()],
        _markets(forecasts)[is_included],
        _losses(forecasts)[is_included],
        expected[place[is_included]],
        forecasts.n_markets,
        n_draws=rules.n_draws,
        seed=rules.seed,
    )
    columns = {name: iter(_known(found[key])) for name, key in INTERVALS.items()}  # type: ignore[literal-required]
    return [{name: next(column) if has else None for name, column in columns.items()} for has in enough.tolist()]


def _known(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(each) else each for each in values.tolist()]


def _rounded(value: Fraction) -> float:
    return value.numerator / value.denominator
