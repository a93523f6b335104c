"""Plans and results of attacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from openoutcry.openoutcry_py import OpenOutcryError

LEVEL = 0.05
"""False positive rate of the scorer's tests."""
# Many rows depend on luck, and a false alarm in one fails the command.
_ALARM = 1e-4


@dataclass(frozen=True)
class Outcome:
    """Result of one draw of an attack.

    Attributes:
        won: Whether the attack succeeded.
        verdict: Verdict on the attacker, or `refused`.
        reasons: Slugs of the reasons.
        fooled: Whether the naive scorer was fooled.
        number: Result of the naive scorer.
    """

    won: bool
    verdict: str
    reasons: tuple[str, ...]
    fooled: bool
    number: float

    @classmethod
    def of(cls, score: Any, fooled: bool, number: float, *, won: bool = False) -> Outcome:
        """Return the outcome of a score; an eligible attacker wins."""
        return cls(score.is_eligible or won, score.verdict, tuple(score.reasons), bool(fooled), float(number))


@dataclass(frozen=True)
class Plan:
    """Definition of an attack.

    Attributes:
        slug: Stable name.
        tries: Description of the method.
        naive: Description of the naive scorer and its `number`.
        go: Runs one draw.
        is_luck: Whether it may win by luck, at most at the level of the tests.
        is_control: Whether it is an honest agent that must be eligible.
        is_fixed: Whether it has no randomness, so that one draw suffices.
    """

    slug: str
    tries: str
    naive: str
    go: Callable[[np.random.Generator], Outcome]
    is_luck: bool = False
    is_control: bool = False
    is_fixed: bool = False


@dataclass(frozen=True)
class Attack:
    """Result of an attack or an honest agent over all draws.

    Attributes:
        slug: Stable name.
        tries: Description of the method.
        naive: Description of the naive scorer.
        n: Number of draws.
        n_fooled: Draws that fool the naive scorer; 0 means that the attack proves nothing.
        number: Median result of the naive scorer.
        n_won: Draws that succeeded.
        n_bound: Maximum number of wins by luck; for an honest agent, the minimum number of wins.
        verdicts: Counts of the verdicts on the attacker.
        reasons: Counts of the slugs of the reasons.
        is_control: Whether it is an honest agent.
    """

    slug: str
    tries: str
    naive: str
    n: int
    n_fooled: int
    number: float
    n_won: int
    n_bound: int
    verdicts: dict[str, int]
    reasons: dict[str, int]
    is_control: bool

    @property
    def held(self) -> bool:
        """Whether the scorer withstood the attack, or accepted the honest agent."""
        return self.n_won >= self.n_bound if self.is_control else self.n_won <= self.n_bound

    @property
    def won(self) -> bool:
        """Whether the row fails: the attack won, or the honest agent was rejected."""
        return not self.held

    @property
    def is_shown(self) -> bool:
        """Whether the attack fools the naive scorer more often than the level."""
        return self.is_control or self.n_fooled > LEVEL * self.n

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON types."""
        return {**self.__dict__, "held": self.held}


def tally(plan: Plan, outcomes: Sequence[Outcome]) -> Attack:
    """Summarize the draws of an attack."""
    n = len(outcomes)
    bound = max_lucky_wins(n) if plan.is_luck else 0
    if plan.is_control:
        bound = n - n // 10
    return Attack(
        slug=plan.slug,
        tries=plan.tries,
        naive=plan.naive,
        n=n,
        n_fooled=sum(each.fooled for each in outcomes),
        number=float(np.median([each.number for each in outcomes])),
        n_won=sum(each.won for each in outcomes),
        n_bound=bound,
        verdicts=dict(Counter(each.verdict for each in outcomes).most_common()),
        reasons=dict(Counter(reason for each in outcomes for reason in each.reasons).most_common()),
        is_control=plan.is_control,
    )


def max_lucky_wins(n: int) -> int:
    """Return the number of wins in `n` draws that luck exceeds in one row of 10,000."""
    left, wins = 1.0, -1
    while left > _ALARM:
        wins += 1
        left -= comb(n, wins) * LEVEL**wins * (1.0 - LEVEL) ** (n - wins)
    return wins


def refused(call: Callable[[], Any]) -> str | None:
    """Return the slug of the refusal of a call; None if the call succeeds."""
    try:
        call()
    except OpenOutcryError as error:
        return error.slug
    return None


def refusals(calls: Sequence[Callable[[], Any]], slugs: Sequence[str], fooled: bool, number: float) -> Outcome:
    """Return the outcome of calls that must all be refused with one of `slugs`."""
    received = [refused(call) for call in calls]
    taken = [slug not in slugs for slug in received]
    reasons = tuple(sorted({slug or "taken" for slug in received}))
    return Outcome(any(taken), "taken" if any(taken) else "refused", reasons, bool(fooled), float(number))
