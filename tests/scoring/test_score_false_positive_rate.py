"""False positive rate and power of all gates together, with fixed seeds.

Returns alone have no trace and no passive portfolios, and are under no suite: `unknown` where every gate passes that
they can pass. Every test prints its table, which `docs/score.md` shows at full counts.
"""

from __future__ import annotations

import numpy as np
import pytest
from builders import Array, count

import openoutcry as oo
from openoutcry.scoring import skill
from openoutcry.scoring.power import power

pytestmark = pytest.mark.once

YEAR = 252.0


def market(random: np.random.Generator, n_days: int, ratio: float = 0.5) -> Array:
    return 0.01 * ratio / np.sqrt(YEAR) + 0.01 * random.standard_normal(n_days)


def heavy(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return returns without skill: heavy tails, volatility clustering, half of the variance common."""
    wave = np.exp(0.5 * np.sin(np.arange(shape[0]) / 20.0 + random.uniform(0.0, 6.0)))[:, None]
    both = random.standard_t(4.0, shape) + random.standard_t(4.0, (shape[0], 1))
    return 0.01 * wave * both / 2.0


def passing(days: Array, held: Array, windows: list[int], n_draws: int = 199) -> list[str]:
    """Return the agents that pass every gate."""
    agents = {str(agent): days[:, agent] for agent in range(days.shape[1])}
    board = oo.score(
        agents, periods_per_year=252, windows=windows, benchmark=held, config={"draws": {"replicates": n_draws}}
    )
    return [each.agent_id for each in board.scores if set(each.reasons) == {"no_suite", "no_trace", "no_passive"}]


@pytest.mark.parametrize(
    ("kind", "n_agents", "windows"),
    [
        ("normal", 1, [126, 126]),
        ("heavy", 1, [126, 126]),
        ("normal", 5, [126] * 4),
        ("heavy", 5, [126] * 4),
        ("heavy", 5, [63] * 8),
    ],
)
def test_the_false_positive_rate_is_at_most_the_level(kind: str, n_agents: int, windows: list[int]) -> None:
    n, found = count(1_000, 25), 0
    for seed in range(n):
        random = np.random.default_rng([seed, n_agents])
        shape = (sum(windows), n_agents)
        # All earn the premium of a rising market, so cash is beaten and only alpha is left to luck.
        held = market(random, sum(windows), ratio=4.0)
        own = heavy(random, shape) if kind == "heavy" else 0.01 * random.standard_normal(shape)
        found += bool(passing(own + random.uniform(1.0, 1.5, n_agents) * held[:, None], held, windows))
    print(f"{kind}, {n_agents} agents, {len(windows)} windows of {windows[0]}: {found / n:.1%} of {n} fields")
    assert found / n <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / n)


def planted(seed: int, n_days: int, n_agents: int, ratio: float) -> tuple[Array, Array]:
    """Return returns of agents, the first with a true ratio, and of buy-and-hold."""
    random = np.random.default_rng([seed, n_days])
    held = market(random, n_days)
    days = 0.01 * random.standard_normal((n_days, n_agents))
    days[:, 0] += 0.01 * ratio / np.sqrt(YEAR)
    return days, held


@pytest.mark.parametrize(("n_agents", "ratio"), [(1, 1.0), (5, 2.0)])
def test_planted_skill_is_eligible_with_the_power_of_the_formula(n_agents: int, ratio: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    n, windows = count(400, 30), [252] * 4
    # The Sharpe ratio must be 1.645 standard errors above the expected best without skill.
    bar = stats.norm.ppf(0.95) + skill.expected_max(n_agents)
    hits = false = above = 0
    for seed in range(n):
        days, held = planted(seed, sum(windows), n_agents, ratio)
        found = passing(days, held, windows, 999)
        hits += "0" in found
        false += any(each != "0" for each in found)
        above += skill.z_score(skill.Moments.of(days[:, 0])) > bar
    expected = float(stats.norm.sf(bar - ratio * 2.0))
    rates = f"{hits / n:.1%} of {n}, expected {expected:.1%}, {above / n:.1%} of these are above the bar"
    print(f"ratio {ratio} among {n_agents}: {rates}; others {false / n:.1%}")
    assert hits / n == pytest.approx(expected, abs=4.0 * np.sqrt(expected * (1.0 - expected) / n))
    assert hits / n == pytest.approx(above / n, abs=0.06)
    assert false / n <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / n)


def test_the_sample_size_of_the_power_formula_gives_the_stated_power() -> None:
    n, wanted = count(400, 30), power(1_000, 1, sharpe=2.0, power=0.8)
    length = int(wanted.n_needed) // 3
    hits = sum(bool(passing(*planted(seed, 3 * length, 1, 2.0), [length] * 3, 999)) for seed in range(n))
    print(f"{3 * length} days for a ratio of 2: {hits / n:.1%} of {n}, expected 80%")
    assert hits / n == pytest.approx(0.8, abs=4.0 * np.sqrt(0.16 / n))
