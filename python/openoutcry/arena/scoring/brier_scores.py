"""Brier scores, skill and peer scores as exact ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from openoutcry.arena.scoring.decision_selection import Forecasts
from openoutcry.arena.scoring.exact_arithmetic import LOSS_UNIT, Int64Array, fraction_sum, group_counts, group_sums
from openoutcry.arena.scoring.reference_rates import Reference, primary_theaters

_HALF_LOSS = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class PointScore:
    """Sums of an agent's squared errors, and of its reference rates' squared errors.

    `loss` sums `(p - y)^2` over `n` forecasts, `expected` sums `b(1 - b)` and `realized` sums `(b - y)^2`, where `b` is
    the reference rate. `sources` holds the sources of the rates.
    """

    n: int
    loss: Fraction
    expected: Fraction
    realized: Fraction
    sources: frozenset[str]

    @property
    def brier(self) -> Fraction | None:
        """Mean squared error."""
        return self.loss / self.n if self.n else None

    @property
    def skill(self) -> Fraction | None:
        """Brier skill score against the reference's expected loss."""
        return 1 - self.loss / self.expected if self.expected else None

    @property
    def skill_paired(self) -> Fraction | None:
        """Brier skill score against the reference's loss on the same decisions."""
        return 1 - self.loss / self.realized if self.realized else None

    @property
    def skill_vs_50(self) -> Fraction | None:
        """Brier skill score against a constant forecast of 1/2."""
        return 1 - self.brier / _HALF_LOSS if self.brier is not None else None

    @property
    def skill_reference(self) -> str | None:
        """Source of the reference rates, or `mixed` if there are several."""
        return None if not self.n else next(iter(self.sources)) if len(self.sources) == 1 else "mixed"


def assign_references(
    forecasts: Forecasts, found: Mapping[str | None, Reference], theater: str | None
) -> tuple[list[Reference], Int64Array]:
    """Return reference rates, and the index of the rate of each forecast.

    A forecast's rate is that of the board's theater; on the board of all theaters, that of its primary theater.
    """
    if theater is not None:
        return [found[theater]], np.zeros_like(forecasts.agent)
    theaters, primary = primary_theaters(forecasts)
    return [found[each] for each in theaters], primary


def point_scores(forecasts: Forecasts, used: Sequence[Reference], place: Int64Array) -> list[PointScore]:
    """Return the sums of losses of each agent."""
    n_agents, n_used = len(forecasts.agents), len(used)
    losses = group_sums(forecasts.agent, forecasts.loss, n_agents)
    groups = forecasts.agent * n_used + place
    counts = group_counts(groups, n_agents * n_used)
    true = group_counts(groups[forecasts.yes], n_agents * n_used)
    found = []
    for agent, loss in enumerate(losses):
        own = range(agent * n_used, (agent + 1) * n_used)
        parts = [(reference, counts[at], true[at]) for reference, at in zip(used, own, strict=True) if counts[at]]
        found.append(
            PointScore(
                n=sum(n for _, n, _ in parts),
                loss=Fraction(loss, LOSS_UNIT),
                expected=sum((reference.expected(n) for reference, n, _ in parts), Fraction(0)),
                realized=sum((reference.realized(n, yes) for reference, n, yes in parts), Fraction(0)),
                sources=frozenset(reference.source for reference, _, _ in parts),
            )
        )
    return found


def peer_scores(forecasts: Forecasts) -> list[tuple[Fraction | None, int]]:
    """Return the peer score of each agent, and the number of markets in it.

    The score is the mean, over markets that other agents also forecast, of the others' mean loss minus the own loss.
    """
    n_agents = len(forecasts.agents)
    n_of = np.bincount(forecasts.market, minlength=forecasts.n_markets)
    total = np.zeros(forecasts.n_markets, dtype=np.int64)
    np.add.at(total, forecasts.market, forecasts.loss)
    others = n_of[forecasts.market] - 1
    has = others > 0
    agent, own, others = forecasts.agent[has], forecasts.loss[has], others[has]
    theirs = total[forecasts.market[has]] - own
    # Terms with the same number of peers are summed as integers first.
    sizes = np.flatnonzero(np.bincount(others))
    size = np.searchsorted(sizes, others)
    sums = group_sums(agent * len(sizes) + size, theirs, n_agents * len(sizes))
    owns, counts = group_sums(agent, own, n_agents), group_counts(agent, n_agents)
    found: list[tuple[Fraction | None, int]] = []
    for place, (mine, n) in enumerate(zip(owns, counts, strict=True)):
        parts = zip(sums[place * len(sizes) : (place + 1) * len(sizes)], sizes.tolist(), strict=True)
        mean = fraction_sum([(part, count) for part, count in parts if part])
        found.append(((mean - mine) / (n * LOSS_UNIT) if n else None, n))
    return found
