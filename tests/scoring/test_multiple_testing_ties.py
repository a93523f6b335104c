"""Ties of agents, intervals of Sharpe ratios, and the probability of overfitting."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import log

import numpy as np
import pytest
from builders import Array, count

import openoutcry as oo
from openoutcry.scoring import multiple_testing

pytestmark = pytest.mark.once

YEAR = 252.0


def tracks(n_days: int, ratios: list[float], seed: int, common: float = 0.0) -> Array:
    """Return returns of agents with these true annual Sharpe ratios, heavy tails and a common factor."""
    random = np.random.default_rng(seed)
    own, shared = random.standard_t(5, (n_days, len(ratios))), random.standard_t(5, (n_days, 1))
    unit = (np.sqrt(1.0 - common) * own + np.sqrt(common) * shared) / np.sqrt(5.0 / 3.0)
    return 0.01 * (unit + np.array(ratios) / np.sqrt(YEAR))


def ratio_of(days: Array) -> Array:
    return np.asarray(days.mean(axis=0) / days.std(axis=0))


def gradient(days: Array) -> Array:
    """Return the gradient of Ledoit and Wolf with respect to means and second moments of both agents."""
    mean, second = days.mean(axis=0), (days**2).mean(axis=0)
    spread = (second - mean**2) ** 1.5
    signs = np.array([1.0, -1.0])
    return np.concatenate([signs * second / spread, -0.5 * signs * mean / spread])


def moments(days: Array, about: Array) -> Array:
    return np.hstack([days, days**2]) - np.concatenate([about.mean(axis=0), (about**2).mean(axis=0)])


def studentised(days: Array, block: int, n_draws: int, seed: int) -> Array:
    """Return the test statistics of resamples in circular blocks, by the formulas of the paper."""
    random, n = np.random.default_rng(seed), len(days)
    n_blocks = n // block
    difference = np.subtract(*ratio_of(days))
    found = []
    for _ in range(n_draws):
        starts = random.integers(0, n, n_blocks)
        drawn = days[(starts[:, None] + np.arange(block)).ravel() % n]
        sums = moments(drawn, drawn).reshape(n_blocks, block, 4).sum(axis=1) / np.sqrt(block)
        slope = gradient(drawn)
        error = np.sqrt(slope @ (sums.T @ sums / n_blocks) @ slope / len(drawn))
        found.append(abs(np.subtract(*ratio_of(drawn)) - difference) / error)
    return np.array(found)


@pytest.mark.parametrize("seed", range(count(4, 2)))
def test_the_interval_equals_that_of_ledoit_and_wolf(seed: int) -> None:
    n_draws = count(20_000, 2_000)
    days, block = tracks(400, [2.0, 0.5], seed, 0.3), 4
    found = multiple_testing.sharpe_difference(
        *days.T, periods_per_year=YEAR, seed=seed, n_draws=n_draws, block_length=block
    )
    assert found.estimate == pytest.approx(np.subtract(*ratio_of(days)) * np.sqrt(YEAR), rel=1e-12)
    assert found.block_length == block
    distances = studentised(days, block, n_draws, seed)
    expected = np.quantile(distances, 0.95) * found.standard_error
    assert (found.high - found.low) / 2.0 == pytest.approx(expected, rel=0.08)
    p_value = np.mean(distances >= abs(found.estimate) / found.standard_error)
    assert found.p_value == pytest.approx(p_value, abs=4.0 * np.sqrt(2.0 * p_value * (1.0 - p_value) / n_draws) + 1e-3)


@pytest.mark.parametrize("common", [0.0, 0.6])
def test_the_standard_error_is_asymptotically_correct_for_independent_days(common: float) -> None:
    days = tracks(20_000, [1.0, 1.0], 5, common)
    found = multiple_testing.sharpe_difference(*days.T, periods_per_year=YEAR, seed=0, n_draws=19, block_length=1.0)
    slope, deviations = gradient(days), moments(days, days)
    expected = np.sqrt(slope @ (deviations.T @ deviations / len(days)) @ slope / len(days) * YEAR)
    assert found.standard_error == pytest.approx(expected, rel=0.03)


def test_an_interval_contains_zero_if_and_only_if_the_p_value_exceeds_the_level() -> None:
    inside = 0
    for seed in range(60):
        days = tracks(260, [2.0, 0.0], seed)
        found = multiple_testing.sharpe_difference(*days.T, periods_per_year=YEAR, seed=seed, n_draws=199, level=0.9)
        assert (found.low <= 0.0 <= found.high) == (found.p_value > 0.1)
        inside += found.p_value > 0.1
    assert 5 < inside < 55


def test_copies_are_tied_at_any_leverage() -> None:
    days = tracks(300, [1.0, 0.0], 1)
    for copy in (days[:, 0], 2.0 * days[:, 0]):
        with pytest.raises(oo.OpenOutcryError, match="positive variance") as refused:
            multiple_testing.sharpe_difference(days[:, 0], copy, periods_per_year=YEAR, seed=0)
        assert refused.value.slug == "no_precision"
    bands = multiple_testing.tie_bands(np.column_stack([days, 3.0 * days[:, 0]]), periods_per_year=YEAR, seed=0)
    (copies,) = (pair for pair in bands.pairs if (pair.first, pair.second) == (0, 2))
    assert (copies.p_value, copies.adjusted) == (1.0, 1.0)


def test_a_band_holds_all_agents_tied_with_its_leader() -> None:
    days = tracks(2_000, [6.0, 5.8, 0.2, 0.0, -6.0], 2)
    bands = multiple_testing.tie_bands(days, periods_per_year=YEAR, seed=0)
    assert [set(band) for band in bands.bands] == [{0, 1}, {2, 3}, {4}]
    best = ratio_of(days)
    assert [band[0] for band in bands.bands] == [int(np.argmax(best)), 2 + int(np.argmax(best[2:4])), 4]
    assert len(bands.pairs) == 10
    for pair in bands.pairs:
        expected = (best[pair.first] - best[pair.second]) * np.sqrt(YEAR)
        assert pair.difference == pytest.approx(expected, rel=1e-12)
    worst_first = multiple_testing.tie_bands(days, periods_per_year=YEAR, seed=0, rank_by=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert [set(band) for band in worst_first.bands] == [{4}, {2, 3}, {0, 1}]
    assert [band[0] for band in worst_first.bands] == [4, 3, 1]


def test_a_pair_of_a_band_has_the_p_value_of_the_pair_alone() -> None:
    days = tracks(500, [1.5, 0.0, 0.5], 3)
    bands = multiple_testing.tie_bands(days, periods_per_year=YEAR, seed=0, block_length=3.0, n_draws=4_000)
    for pair in bands.pairs:
        alone = multiple_testing.sharpe_difference(
            days[:, pair.first], days[:, pair.second], periods_per_year=YEAR, seed=9, block_length=3.0, n_draws=4_000
        )
        # A p-value from twenty extreme resamples has a relative error of about a quarter.
        assert pair.p_value == pytest.approx(alone.p_value, rel=0.9)
        assert pair.adjusted >= pair.p_value


def distances_of_pairs(days: Array, block: int, n_draws: int, seed: int) -> Array:
    """Return the statistics of all pairs per resample, shape `(n_draws, n_pairs)`, by the formulas of the paper."""
    random, n, n_agents = np.random.default_rng(seed), len(days), days.shape[1]
    first, second = np.triu_indices(n_agents, 1)
    ratios, found = ratio_of(days), []
    for _ in range(n_draws):
        drawn = days[(random.integers(0, n, n // block)[:, None] + np.arange(block)).ravel() % n]
        mean, spread = drawn.mean(axis=0), (drawn**2).mean(axis=0) - drawn.mean(axis=0) ** 2
        slopes = (mean**2 + spread) / spread**1.5, -0.5 * mean / spread**1.5
        influence = slopes[0] * (drawn - mean) + slopes[1] * (drawn**2 - (drawn**2).mean(axis=0))
        sums = influence.reshape(-1, block, n_agents).sum(axis=1)
        errors = np.sqrt(((sums[:, first] - sums[:, second]) ** 2).sum(axis=0)) / len(drawn)
        shifts = ratio_of(drawn) - ratios
        found.append(np.abs(shifts[first] - shifts[second]) / errors)
    return np.array(found)


def stepped_down(distances: Array, own: Array, level: float) -> Array:
    """Return step-down p-values, by the largest statistic of the remaining pairs."""
    adjusted, is_open, least = np.ones(len(own)), np.ones(len(own), bool), 0.0
    while is_open.any():
        reached = (distances[:, is_open].max(axis=1)[:, None] >= own).mean(axis=0)
        adjusted[is_open] = np.maximum(least, reached[is_open])
        differ = is_open & (adjusted <= level)
        if not differ.any():
            break
        least, is_open = adjusted[differ].max(), is_open & ~differ
    return adjusted


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_adjusted_by_step_down(seed: int) -> None:
    days, n_draws, block = tracks(400, [4.0, 0.8, 0.5, 0.0, -4.0], seed, 0.4), 1_500, 3
    bands = multiple_testing.tie_bands(
        days, periods_per_year=YEAR, seed=seed, n_draws=n_draws, block_length=float(block)
    )
    errors = [
        multiple_testing.sharpe_difference(
            *pair, periods_per_year=YEAR, seed=0, n_draws=19, block_length=float(block)
        ).standard_error
        for pair in combinations(days.T, 2)
    ]
    own = np.abs([pair.difference for pair in bands.pairs]) / errors
    expected = stepped_down(distances_of_pairs(days, block, n_draws, 100 + seed), own, 0.05)
    found = np.array([pair.adjusted for pair in bands.pairs])
    within = 4.0 * np.sqrt(2.0 * expected * (1.0 - expected) / n_draws) + 3e-3
    assert (np.abs(found - expected) <= within).all(), (found, expected)
    assert (found <= 0.05).any()
    assert (found > 0.05).any()


def test_an_agent_with_one_extreme_day_does_not_tie_others() -> None:
    days = tracks(1_000, [6.0, 6.0, -6.0, -6.0], 1)
    crash = np.full(1_000, 2e-4) + 1e-6 * np.arange(1_000) % 3e-6
    crash[400] = -0.05
    bands = multiple_testing.tie_bands(
        np.column_stack([days, crash]), periods_per_year=YEAR, seed=0, rank_by=[4, 3, 2, 1, 0]
    )
    assert [set(band) - {4} for band in bands.bands] == [{0, 1}, {2, 3}]
    alone = [pair for pair in bands.pairs if pair.second == 4]
    assert all(pair.adjusted >= pair.p_value for pair in alone)


def test_near_copies_do_not_tie_others() -> None:
    days = tracks(1_000, [6.0, 6.0, -6.0, -6.0], 1)
    other = days[:, 0].copy()
    other[[300, 700]] += 0.01
    bands = multiple_testing.tie_bands(np.column_stack([days, other]), periods_per_year=YEAR, seed=0)
    assert [set(band) for band in bands.bands] == [{0, 1, 4}, {2, 3}]


def overfit_written_out(days: Array, n_blocks: int) -> list[float]:
    """Return the logits of Bailey et al., with halves in bit order."""
    edges = [place * len(days) // n_blocks for place in range(n_blocks + 1)]
    rows = [list(range(start, end)) for start, end in pairwise(edges)]
    halves = sorted(combinations(range(n_blocks), n_blocks // 2), key=lambda half: sum(2**place for place in half))
    logits = []
    for half in halves:
        seen = days[[row for place in half for row in rows[place]]]
        unseen = days[[row for place in range(n_blocks) if place not in half for row in rows[place]]]
        best = int(np.argmax(ratio_of(seen)))
        rank = 1 + sum(bool(other < ratio_of(unseen)[best]) for other in ratio_of(unseen))
        share = rank / (days.shape[1] + 1)
        logits.append(log(share / (1.0 - share)))
    return logits


@pytest.mark.parametrize("seed", range(6))
def test_the_probability_of_overfitting_equals_its_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    days = random.normal(0.0, 0.01, (int(random.integers(100, 300)), int(random.integers(2, 15)))) + 1e-4 * seed
    found, expected = multiple_testing.overfit(days, n_blocks=8), overfit_written_out(days, 8)
    np.testing.assert_allclose(found.logits, expected, rtol=1e-12, atol=1e-12)
    assert found.probability == np.mean(np.array(expected) <= 0.0)


def test_an_agent_with_skill_is_not_overfit_and_copies_rank_in_the_middle() -> None:
    days = np.random.default_rng(1).normal(0.0, 0.01, (600, 10))
    assert multiple_testing.overfit(days + np.array([0.004] + [0.0] * 9)).probability == 0.0
    copies = multiple_testing.overfit(np.repeat(days[:, :1], 3, axis=1))
    assert (copies.logits == 0.0).all()
    assert copies.probability == 1.0


def test_overfitting_on_noise_has_mean_one_half_and_a_large_deviation() -> None:
    found = [
        multiple_testing.overfit(np.random.default_rng(seed).normal(0.0, 0.01, (500, 20)), n_blocks=10).probability
        for seed in range(count(500, 150))
    ]
    print(f"probability of overfitting on noise: mean {np.mean(found):.2f}, standard deviation {np.std(found):.2f}")
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)
    assert 0.1 < np.std(found) < 0.3


@pytest.mark.parametrize("n_blocks", [3, 0, 26, 200])
def test_an_invalid_number_of_blocks_is_refused(n_blocks: int) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"received {n_blocks} of 300 days") as refused:
        multiple_testing.overfit(np.random.default_rng(0).normal(0.0, 0.01, (300, 3)), n_blocks=n_blocks)
    assert refused.value.slug == "argument_invalid"


def test_an_agent_that_is_constant_in_a_half_is_refused() -> None:
    days = np.random.default_rng(0).normal(0.0, 0.01, (300, 3))
    days[:150, 1] = 0.0
    with pytest.raises(oo.OpenOutcryError, match="varying returns of agent 1"):
        multiple_testing.overfit(days, n_blocks=4)
