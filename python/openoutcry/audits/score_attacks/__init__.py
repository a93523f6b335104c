"""Attacks on the scorer, each beside a scorer that it is known to beat.

They go through `openoutcry.scoring.scorer.score`, as everybody does. The command is `openoutcry score --attack`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from openoutcry.arguments import seed_of, whole
from openoutcry.audits.score_attacks import forged_records, luck_as_skill, rule_breaking
from openoutcry.audits.score_attacks.attack_result import Attack, Plan, Try, tally

__all__ = ["ATTACKS", "Attack", "Plan", "Try", "run_attacks", "table"]

ATTACKS: tuple[Plan, ...] = (*luck_as_skill.PLANS, *rule_breaking.PLANS, *forged_records.PLANS)
"""Every attack, and the honest agents that must be eligible beside them."""

_PER_LUCK = 10


def run_attacks(
    seed: int = 0,
    *,
    n_tries: int = 40,
    plans: Sequence[Plan] = ATTACKS,
    on_attack: Callable[[Attack], None] = lambda _: None,
) -> list[Attack]:
    """Attack the scorer and return what came of it.

    Args:
        seed: What markets and attackers are drawn by.
        n_tries: Tries of what may win by luck, and of honest agents; of what may never win, a tenth of it.
        plans: Attacks to make.
        on_attack: Called after each.

    Returns:
        One row an attack. The scorer survives if every row `held`.
    """
    seed, n_tries = seed_of(seed), whole("n_tries", n_tries, 1, 1_000_000)
    rows = []
    for plan in plans:
        n = n_tries if plan.is_luck or plan.is_control else -(-n_tries // _PER_LUCK)
        # By its name, so that a row is the same whatever stands before it.
        words = [seed, *plan.slug.encode()]
        made = [plan.go(np.random.default_rng([*words, place])) for place in range(1 if plan.is_fixed else n)]
        rows.append(tally(plan, made))
        on_attack(rows[-1])
    return rows


def table(rows: Sequence[Attack]) -> list[tuple[str, ...]]:
    """Return the cells of a table of attacks, its head first."""
    head = (
        "attack",
        "what it tries",
        "a scorer that it beats",
        "fooled",
        "won",
        "may win",
        "verdicts",
        "reasons",
        "held",
    )
    cells: list[tuple[str, ...]] = [head]
    for row in rows:
        shown = f"{row.naive}: {row.number:.3g}"
        bound = f"at least {row.n_bound}" if row.is_control else f"at most {row.n_bound}"
        verdicts = ", ".join(f"{name} {n}" for name, n in row.verdicts.items())
        told = (f"{row.n_fooled} of {row.n}", f"{row.n_won} of {row.n}", bound, verdicts, ", ".join(row.reasons))
        cells.append((row.slug, row.tries, shown, *told, "yes" if row.held else "NO"))
    return cells
