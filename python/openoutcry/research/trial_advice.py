"""What the trials of a session say of one another: advisory, and no gate."""

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
    """What a panel of trials says; None where it is undefined.

    Attributes:
        n_eff: Clusters of trials by average linkage at a correlation of 0.5.
        pbo: Probability of backtest overfitting, by CSCV over all trials.
        spa: Hansen's p-value that nobody among them beats cash.
    """

    n_eff: int | None = None
    pbo: float | None = None
    spa: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self)


def advice_of(scores: Sequence[OosScore], seed: int) -> Advice:
    """Return what trials say of one another.

    Args:
        scores: Out-of-sample scores of all trials of a session.
        seed: Seed of the draws.
    """
    # A track that does not vary is correlated with nothing, and beats nobody.
    tracks = [score.returns for score in scores if score.moments is not None]
    if len(tracks) < 2:
        return Advice()
    panel = np.ascontiguousarray(np.array(tracks).T)
    return Advice(
        n_eff=_known(lambda: Trials.of(panel.T).n_eff),
        pbo=_known(lambda: overfit(panel).probability),
        spa=_known(lambda: field_tests(panel, seed=seed, n_draws=N_DRAWS).spa_consistent),
    )


def _known(made: Callable[[], T]) -> T | None:
    try:
        return made()
    except OpenOutcryError:
        return None
