"""What came of an attack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from openoutcry.openoutcry_py import OpenOutcryError

LEVEL = 0.05
"""How often luck may be found eligible: the level of the scorer's tests."""
# Rows of luck are many, and a false alarm in one fails the command.
_ALARM = 1e-4


@dataclass(frozen=True)
class Try:
    """One go at the scorer.

    Attributes:
        won: Whether it got what it was after.
        verdict: Verdict on the attacker, or `refused`.
        reasons: Slugs of why.
        fooled: Whether the scorer that the attack is known to beat falls for it here.
        number: What that scorer shows.
    """

    won: bool
    verdict: str
    reasons: tuple[str, ...]
    fooled: bool
    number: float

    @classmethod
    def of(cls, score: Any, fooled: bool, number: float, *, won: bool = False) -> Try:
        """Return the try that ended in a score; to be eligible is to win."""
        return cls(score.is_eligible or won, score.verdict, tuple(score.reasons), bool(fooled), float(number))


@dataclass(frozen=True)
class Plan:
    """An attack before it is tried.

    Attributes:
        slug: Its stable name.
        tries: What it tries, in words.
        naive: The scorer that it is known to beat, in words, and what `number` is there.
        go: Makes one try.
        is_luck: Whether it may win as often as the level of the tests says: each try is another draw.
        is_control: Whether it is no attack but an agent that must be eligible.
        is_fixed: Whether nothing in it is drawn, so that one try is all.
    """

    slug: str
    tries: str
    naive: str
    go: Callable[[np.random.Generator], Try]
    is_luck: bool = False
    is_control: bool = False
    is_fixed: bool = False


@dataclass(frozen=True)
class Attack:
    """What came of an attack over all its tries, or of an honest agent.

    Attributes:
        slug: Its stable name.
        tries: What it tries, in words.
        naive: The scorer that it is known to beat, in words.
        n: Tries.
        n_fooled: Tries that this other scorer falls for: where it is 0, the attack shows nothing.
        number: What that scorer shows, the median of all tries.
        n_won: Tries that got what they were after.
        n_bound: Wins that luck may have at most; of an honest agent, the fewest that it must have.
        verdicts: Verdicts on the attacker, counted.
        reasons: Slugs of why, counted.
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
        """Whether the scorer held: no attack won, and the honest agent did."""
        return self.n_won >= self.n_bound if self.is_control else self.n_won <= self.n_bound

    @property
    def won(self) -> bool:
        """Whether the row fails: an attack won, or an honest agent did not."""
        return not self.held

    @property
    def is_shown(self) -> bool:
        """Whether the scorer that it beats falls for it oftener than the level."""
        return self.is_control or self.n_fooled > LEVEL * self.n

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {**self.__dict__, "held": self.held}


def tally(plan: Plan, made: Sequence[Try]) -> Attack:
    """Return the row of an attack."""
    n = len(made)
    bound = most_lucky(n) if plan.is_luck else 0
    if plan.is_control:
        bound = n - n // 10
    return Attack(
        slug=plan.slug,
        tries=plan.tries,
        naive=plan.naive,
        n=n,
        n_fooled=sum(each.fooled for each in made),
        number=float(np.median([each.number for each in made])),
        n_won=sum(each.won for each in made),
        n_bound=bound,
        verdicts=dict(Counter(each.verdict for each in made).most_common()),
        reasons=dict(Counter(reason for each in made for reason in each.reasons).most_common()),
        is_control=plan.is_control,
    )


def most_lucky(n: int) -> int:
    """Return how many of `n` tries luck exceeds in one row of 10,000."""
    left, wins = 1.0, -1
    while left > _ALARM:
        wins += 1
        left -= comb(n, wins) * LEVEL**wins * (1.0 - LEVEL) ** (n - wins)
    return wins


def refused(ask: Callable[[], Any]) -> str | None:
    """Return the slug of a refusal; None where something is taken."""
    try:
        ask()
    except OpenOutcryError as error:
        return error.slug
    return None


def refusals(asks: Sequence[Callable[[], Any]], slugs: Sequence[str], fooled: bool, number: float) -> Try:
    """Return the try of several inputs, each to be refused by one of `slugs`."""
    told = [refused(ask) for ask in asks]
    taken = [slug not in slugs for slug in told]
    reasons = tuple(sorted({slug or "taken" for slug in told}))
    return Try(any(taken), "taken" if any(taken) else "refused", reasons, bool(fooled), float(number))
