"""How sure scores are, and what they would be on the same markets (R-53 to R-55).

The native core computes; this converts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import LOSS_UNIT, UNIT, Whole, millionths
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
"""Names on a board of what the native core says by its own."""


def _losses(forecasts: Forecasts) -> npt.NDArray[np.float64]:
    return forecasts.loss / LOSS_UNIT


def _markets(forecasts: Forecasts) -> npt.NDArray[np.uint32]:
    return forecasts.market.astype(np.uint32)


def log_scores(forecasts: Forecasts) -> list[float | None]:
    """Return the mean logarithm of what each agent gave to what came true, clipped."""
    least = millionths(forecasts.facts.parameters.log_clip)
    given = np.where(forecasts.yes, forecasts.probability, UNIT - forecasts.probability)
    return _known(native.forecast_log_scores(forecasts.starts, np.clip(given, least, UNIT - least) / UNIT))


def adjusted(forecasts: Forecasts) -> list[float | None]:
    """Return Brier scores as though all agents had forecast the same markets."""
    found = native.forecast_effects(forecasts.starts, _markets(forecasts), _losses(forecasts), forecasts.n_markets)
    return _known(found)


def intervals(forecasts: Forecasts, used: Sequence[Reference], place: Whole) -> list[dict[str, float | None]]:
    """Return what resamples say of each agent; nothing on too few markets."""
    rules = forecasts.facts.parameters
    enough = np.diff(forecasts.starts) >= rules.min_markets
    kept = enough[forecasts.agent]
    expected = np.array([_rounded(each.expected(1)) for each in used], dtype=np.float64)
    found = native.forecast_intervals(
        [0, *np.cumsum(np.diff(forecasts.starts)[enough]).tolist()],
        _markets(forecasts)[kept],
        _losses(forecasts)[kept],
        expected[place[kept]],
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
