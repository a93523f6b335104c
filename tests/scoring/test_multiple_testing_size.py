"""Size and power of the tests of a field, with fixed seeds.

Every test prints its table, which `docs/multiple-testing.md` shows at full counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from builders import Array, count

from openoutcry.scoring import multiple_testing

pytestmark = pytest.mark.once
LEVEL, N_DRAWS = 0.05, 499
YEAR = 252.0


def noise(seed: int, n_days: int, n_agents: int, degrees: float = 4.0) -> Array:
    """Return returns without skill: heavy tails, volatility clustering, half of the variance common."""
    random = np.random.default_rng(seed)
    wave = np.exp(0.5 * np.sin(np.arange(n_days) / 20.0 + random.uniform(0.0, 6.0)))[:, None]
    own, shared = random.standard_t(degrees, (n_days, n_agents)), random.standard_t(degrees, (n_days, 1))
    return 0.01 * wave * (own + shared) / np.sqrt(2.0 * degrees / (degrees - 2.0))


def share(reject: Callable[[int], bool], n: int) -> float:
    return sum(map(reject, range(n))) / n


def nominal(n: int, level: float = LEVEL) -> float:
    """Return the 99.9 % quantile of the share of rejections at a level."""
    return float(level + 3.1 * np.sqrt(level * (1.0 - level) / n))


@pytest.mark.parametrize(("n_days", "n_agents"), [(250, 20), (1_000, 20), (500, 100)])
def test_tests_of_a_field_have_their_nominal_size(n_days: int, n_agents: int) -> None:
    n = count(1_000, 100)
    found = np.zeros(5)
    for seed in range(n):
        tests = multiple_testing.field_tests(noise(seed, n_days, n_agents), seed=seed, n_draws=N_DRAWS)
        p_values = [tests.reality_check, tests.spa_lower, tests.spa_consistent, tests.spa_upper]
        found += np.array([*p_values, tests.romano_wolf.min()]) <= LEVEL
    names = ("reality check", "lower", "consistent", "upper", "romano-wolf")
    rates = ", ".join(f"{name} {winners / n:.1%}" for name, winners in zip(names, found, strict=True))
    print(f"{n_days} x {n_agents}, {n} fields: {rates}")
    # Hansen's lower test is liberal by design; here no agent is far below the benchmark.
    assert (np.delete(found, 1) / n <= nominal(n)).all()
    assert found[4] / n > 0.01


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_planted_skill_is_found_with_the_power_of_the_normal_formula(ratio: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    n, n_days, n_agents = count(1_000, 80), 1_000, 20
    hits = false = 0
    for seed in range(n):
        random = np.random.default_rng(seed)
        days = 0.01 * random.standard_normal((n_days, n_agents))
        days[:, 0] += 0.01 * ratio / np.sqrt(YEAR)
        p_values = multiple_testing.field_tests(days, seed=seed, n_draws=N_DRAWS).romano_wolf
        hits += p_values[0] <= LEVEL
        false += p_values[1:].min() <= LEVEL
    # The largest of twenty independent normal variables.
    bar = stats.norm.ppf((1.0 - LEVEL) ** (1.0 / n_agents))
    expected = stats.norm.sf(bar - ratio * np.sqrt(n_days / YEAR))
    print(f"Sharpe {ratio} in {n_agents}: found {hits / n:.1%}, expected {expected:.1%}, others {false / n:.1%}")
    assert hits / n == pytest.approx(expected, abs=4.0 * np.sqrt(expected * (1.0 - expected) / n) + 0.02)
    assert false / n <= nominal(n)


@pytest.mark.parametrize("n_windows", [2, 3, 5, 24])
def test_the_mean_test_has_its_nominal_size_and_resampled_windows_do_not(n_windows: int) -> None:
    n, length = count(1_000, min(200, 900 // n_windows)), 250
    days_low = windows_low = signs_low = 0
    for seed in range(n):
        days = noise(seed, n_windows * length, 1)[:, 0]
        test = multiple_testing.mean_test(days, [length] * n_windows, seed=seed, n_draws=N_DRAWS)
        days_low += test.p_value <= LEVEL
        signs_low += test.sign_flip is not None and test.sign_flip <= LEVEL
        means = days.reshape(n_windows, length).mean(axis=1)
        drawn = means[np.random.default_rng(seed).integers(n_windows, size=(N_DRAWS, n_windows))].mean(axis=1)
        windows_low += (1 + np.sum(drawn - test.mean >= test.mean)) / (1 + N_DRAWS) <= LEVEL
    rates = f"days {days_low / n:.1%}, windows {windows_low / n:.1%}, signs {signs_low / n:.1%}"
    print(f"{n_windows} windows of {length} days, {n} tracks: {rates}")
    assert days_low / n <= nominal(n, 0.06)
    assert signs_low / n <= nominal(n)
    if n_windows <= 5:
        assert windows_low / n > 0.08


@pytest.mark.parametrize("n_days", [250, 1_000])
def test_sharpe_differences_and_intervals_have_their_nominal_size(n_days: int) -> None:
    n = count(1_000, 120)
    true = 1.5
    differ = miss = 0
    for seed in range(n):
        days = noise(seed, n_days, 2, degrees=6.0)
        days += true / np.sqrt(YEAR) * 0.01 * np.sqrt(np.exp(np.sin(np.arange(628) / 100.0)).mean())
        pair = multiple_testing.sharpe_difference(*days.T, periods_per_year=YEAR, seed=seed, n_draws=N_DRAWS)
        alone = multiple_testing.sharpe_interval(days[:, 0], periods_per_year=YEAR, seed=seed, n_draws=N_DRAWS)
        differ += pair.p_value <= LEVEL
        miss += not alone.low <= true <= alone.high
    print(f"{n_days} days, {n} pairs: equal agents differ {differ / n:.1%}, intervals miss {miss / n:.1%}")
    assert 0.01 < differ / n <= nominal(n)
    assert 0.01 < miss / n <= nominal(n, 0.07)


@pytest.mark.parametrize(
    ("n_agents", "n_days", "n"), [(8, 250, count(1_000, 60)), (8, 500, count(1_000, 60)), (60, 500, count(400, 8))]
)
def test_bands_of_equal_agents_have_their_nominal_size(n_agents: int, n_days: int, n: int) -> None:
    def is_split(seed: int) -> bool:
        days = noise(seed, n_days, n_agents)
        return len(multiple_testing.tie_bands(days, periods_per_year=YEAR, seed=seed, n_draws=N_DRAWS).bands) > 1

    split = share(is_split, n)
    print(f"{n_agents} equal agents, {n_days} days, {n} boards: split {split:.1%}")
    assert split <= nominal(n)


def test_families_of_equal_agents_are_separated_and_not_split() -> None:
    n, n_days, each = count(400, 10), 1_000, 15
    split = apart = 0
    for seed in range(n):
        # One family shares 95 % of its days, another half, the third none.
        random = np.random.default_rng(seed)
        families = [
            random.standard_t(5, (n_days, each)) * np.sqrt(1.0 - common)
            + random.standard_t(5, (n_days, 1)) * np.sqrt(common)
            for common in (0.95, 0.5, 0.0)
        ]
        ratios = np.repeat([4.5, 0.0, -4.5], each)
        days = 0.01 * (np.hstack(families) / np.sqrt(5.0 / 3.0) + ratios / np.sqrt(YEAR))
        bands = multiple_testing.tie_bands(days, periods_per_year=YEAR, seed=seed, n_draws=N_DRAWS)
        differ = {(pair.first // each, pair.second // each) for pair in bands.pairs if pair.adjusted <= LEVEL}
        split += any(first == second for first, second in differ)
        apart += len(bands.bands) >= 3
    print(f"3 families of {each}, {n_days} days, {n} boards: a family split {split / n:.1%}, apart {apart / n:.1%}")
    assert split / n <= nominal(n)
    assert apart / n > 0.9
