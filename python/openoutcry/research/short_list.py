"""The short list, frozen before the holdout is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from openoutcry.research.session_config import Guard
from openoutcry.research.trial_scores import OosScore


class Scored(Protocol):
    """A trial as the selection sees it: key and out-of-sample score."""

    @property
    def key(self) -> str:
        """Key of the trial."""

    @property
    def oos(self) -> OosScore:
        """Its out-of-sample score."""


T = TypeVar("T", bound=Scored)


@dataclass(frozen=True)
class Dropped:
    """A candidate left out of the short list, and why."""

    key: str
    reason: str


def select_shortlist(trials: Sequence[T], guard: Guard, most: int) -> tuple[list[T], list[Dropped]]:
    """Return the best trials, best first, and those left out.

    Of trials whose returns have a correlation of at least `guard.correlation`, only the best stays.

    Args:
        trials: Eligible trials.
        guard: Holds the correlation limit.
        most: Maximum length of the list.
    """
    kept: list[T] = []
    dropped: list[Dropped] = []
    for trial in sorted(trials, key=_rank):
        like = next((each for each in kept if _correlation(trial.oos, each.oos) >= guard.correlation), None)
        if like is not None:
            dropped.append(Dropped(trial.key, f"its returns duplicate those of {like.key[:12]}, which is better"))
        elif len(kept) == most:
            dropped.append(Dropped(trial.key, f"the list is limited to {most}"))
        else:
            kept.append(trial)
    return kept, dropped


def _rank(trial: Scored) -> tuple[float, str]:
    sharpe = trial.oos.sharpe
    return (float("inf") if sharpe is None else -sharpe), trial.key


def _correlation(one: OosScore, other: OosScore) -> float:
    a, b = one.returns - one.returns.mean(), other.returns - other.returns.mean()
    scale = float(np.sqrt(float(a @ a) * float(b @ b)))
    return float(a @ b) / scale if scale > 0.0 else 0.0
