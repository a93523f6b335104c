"""Advisory statistics of a session's trials: count, overfitting, data snooping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.trial_scores import OosScore
from openoutcry.scoring.multiple_testing import field_tests, overfit
from openoutcry.scoring.skill import Trials

T = TypeVar("T")

N_DRAWS = 1000


@dataclass(frozen=True)
class Advice:
    """Statistics over a panel of trials; None where undefined.

    Attributes:
        n_eff: Clusters of trials, by average linkage at a correlation of 0.5.
        pbo: Probability of backtest overfitting, by CSCV over all trials.
        spa: p-value of Hansen's SPA test that no trial beats cash.
    """

    n_eff: int | None = None
    pbo: float | None = None
    spa: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self)


def advice_of(scores: Sequence[OosScore], seed: int) -> Advice:
    """Return the statistics over the trials of a session.

    Args:
        scores: Out-of-sample scores of all trials of the session.
        seed: Seed of the bootstrap.
    """
    # A constant return series has no correlation and cannot beat the others.
    series = [score.returns for score in scores if score.moments is not None]
    if len(series) < 2:
        return Advice()
    panel = np.ascontiguousarray(np.array(series).T)
    return Advice(
        n_eff=_defined_or_none(lambda: Trials.of(panel.T).n_eff),
        pbo=_defined_or_none(lambda: overfit(panel).probability),
        spa=_defined_or_none(lambda: field_tests(panel, seed=seed, n_draws=N_DRAWS).spa_consistent),
    )


def _defined_or_none(compute: Callable[[], T]) -> T | None:
    try:
        return compute()
    except OpenOutcryError:
        return None
