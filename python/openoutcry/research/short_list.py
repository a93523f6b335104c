"""The short list: what a person is handed, frozen before the holdout is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from openoutcry.research.session_config import Guard
from openoutcry.research.trial_scores import OosScore


class Scored(Protocol):
    """What may come on the list: nothing here sees more than its score."""

    @property
    def key(self) -> str:
        """Key of the trial."""

    @property
    def oos(self) -> OosScore:
        """Its out-of-sample score."""


T = TypeVar("T", bound=Scored)


@dataclass(frozen=True)
class Dropped:
    """What is not on the list though it might have been, and why."""

    key: str
    reason: str


def shorten(trials: Sequence[T], guard: Guard, most: int) -> tuple[list[T], list[Dropped]]:
    """Return the best trials, best first, and what was dropped.

    Of trials whose returns correlate as `guard.correlation` says or more, the best is kept.

    Args:
        trials: Those that may be listed.
        guard: From which correlation on two are one.
        most: Trials on the list at most.
    """
    kept: list[T] = []
    dropped: list[Dropped] = []
    for trial in sorted(trials, key=_rank):
        like = next((each for each in kept if _correlation(trial.oos, each.oos) >= guard.correlation), None)
        if like is not None:
            dropped.append(Dropped(trial.key, f"its returns are those of {like.key[:12]}, which is better"))
        elif len(kept) == most:
            dropped.append(Dropped(trial.key, f"the list holds {most}"))
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
