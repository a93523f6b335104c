"""Attacks on the scorer, each with a naive scorer as a positive control.

`run_attacks` submits records through `openoutcry.scoring.scorer.score`. The command is `openoutcry score --attack`.
Imports the core and `scoring`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from openoutcry.arguments import checked_integer, seed_of
from openoutcry.audits.score_attacks import (
    false_prices,
    field_gaming,
    forged_records,
    luck_as_skill,
    rule_breaking,
)
from openoutcry.audits.score_attacks.attack_result import Attack, Outcome, Plan, tally

__all__ = ["ATTACKS", "Attack", "Outcome", "Plan", "run_attacks", "table"]

ATTACKS: tuple[Plan, ...] = (
    *luck_as_skill.PLANS,
    *rule_breaking.PLANS,
    *forged_records.PLANS,
    *false_prices.PLANS,
    *field_gaming.PLANS,
)
"""Every attack, and the honest agents that must be eligible."""

_LUCK_RATIO = 10


def run_attacks(
    seed: int = 0,
    *,
    n_draws: int = 40,
    plans: Sequence[Plan] = ATTACKS,
    on_attack: Callable[[Attack], None] = lambda _: None,
) -> list[Attack]:
    """Run the attacks on the scorer.

    Args:
        seed: Seed of markets and attackers.
        n_draws: Number of draws of attacks that may win by luck and of honest agents; other attacks use a tenth.
        plans: Attacks to run.
        on_attack: Called after each attack.

    Returns:
        One row for each attack. The scorer passes if every row has `held`.
    """
    seed, n_draws = seed_of(seed), checked_integer("n_draws", n_draws, 1, 1_000_000)
    rows = []
    for plan in plans:
        n = n_draws if plan.is_luck or plan.is_control else -(-n_draws // _LUCK_RATIO)
        # Seeded by name, so that a row does not depend on the other rows.
        entropy = [seed, *plan.slug.encode()]
        outcomes = [plan.go(np.random.default_rng([*entropy, place])) for place in range(1 if plan.is_fixed else n)]
        rows.append(tally(plan, outcomes))
        on_attack(rows[-1])
    return rows


def table(rows: Sequence[Attack]) -> list[tuple[str, ...]]:
    """Return the cells of a table of attacks, with its head first."""
    head = (
        "attack",
        "method",
        "naive scorer",
        "fooled",
        "won",
        "allowed",
        "verdicts",
        "reasons",
        "held",
    )
    cells: list[tuple[str, ...]] = [head]
    for row in rows:
        naive = f"{row.naive}: {row.number:.3g}"
        bound = f"at least {row.n_bound}" if row.is_control else f"at most {row.n_bound}"
        verdicts = ", ".join(f"{name} {n}" for name, n in row.verdicts.items())
        results = (f"{row.n_fooled} of {row.n}", f"{row.n_won} of {row.n}", bound, verdicts, ", ".join(row.reasons))
        cells.append((row.slug, row.tries, naive, *results, "yes" if row.held else "NO"))
    return cells
