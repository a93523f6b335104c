"""Multiple testing against `arch`: frozen numbers, and the library itself if it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import multiple_testing as source
import numpy as np
import pytest
from builders import Array

from openoutcry.scoring import multiple_testing

pytestmark = pytest.mark.once

FROZEN = json.loads((Path(__file__).parents[1] / "oracle" / "multiple_testing.json").read_text(encoding="utf-8"))
N_DRAWS = 10_000
# The largest of eighty deviations, with Monte Carlo errors on both sides, exceeds this with probability 0.001.
SIGMAS = 4.3


def error(p_value: float, n_draws: int) -> float:
    """Return the tolerance of two p-values with `N_DRAWS` and `n_draws` resamples."""
    p = max(p_value, 1e-3)
    return SIGMAS * float(np.sqrt(p * (1.0 - p) * (1.0 / N_DRAWS + 1.0 / n_draws))) + 1.0 / N_DRAWS


def compare(seed: int, expected: dict[str, Any], n_draws: int) -> list[tuple[str, float, float]]:
    """Return the results of a panel outside the tolerance: name, our value, the value of `arch`."""
    tests = multiple_testing.field_tests(source.panel(seed), seed=seed, n_draws=N_DRAWS, block_length=source.BLOCK)
    ours = [tests.spa_lower, tests.spa_consistent, tests.spa_upper, tests.reality_check]
    theirs = [*expected["spa"], expected["reality_check"]]
    names = ("lower", "consistent", "upper", "reality check")
    far = [
        (name, mine, other)
        for name, mine, other in zip(names, ours, theirs, strict=True)
        if abs(mine - other) > error((mine + other) / 2.0, n_draws)
    ]
    for size, superior in zip(source.SIZES, expected["superior"], strict=True):
        for agent, p_value in enumerate(tests.romano_wolf):
            is_close = abs(p_value - size) < error(size, n_draws)
            if not is_close and (agent in superior) != (p_value <= size):
                far.append((f"agent {agent} at {size}", float(p_value), float(agent in superior)))
    return far


@pytest.mark.parametrize("seed", range(source.N_PANELS))
def test_p_values_and_significant_agents_equal_those_of_arch(seed: int) -> None:
    assert compare(seed, FROZEN["panels"][seed], source.N_DRAWS) == []


def test_the_panels_have_significant_and_losing_agents() -> None:
    superior = [panel["superior"][0] for panel in FROZEN["panels"]]
    assert sum(map(bool, superior)) >= 3
    assert sum(map(bool, superior)) <= 17
    assert any(panel["spa"][0] < panel["spa"][1] < panel["spa"][2] for panel in FROZEN["panels"])


@pytest.mark.parametrize("seed", range(source.N_PANELS))
def test_block_lengths_equal_those_of_arch(seed: int) -> None:
    returns, expected = source.panel(seed), FROZEN["panels"][seed]["block_lengths"]
    np.testing.assert_allclose([multiple_testing.block_length(each) for each in returns.T], expected, rtol=1e-9)
    assert multiple_testing.block_length(returns) == pytest.approx(np.mean(expected), rel=1e-9)


@pytest.mark.once
@pytest.mark.parametrize("seed", [1, 11])
def test_arch_still_gives_the_frozen_numbers(seed: int) -> None:
    pytest.importorskip("arch")
    found = source.answers(seed, n_draws=1_000)
    np.testing.assert_allclose(found["block_lengths"], FROZEN["panels"][seed]["block_lengths"], rtol=1e-9)
    assert compare(seed, found, 1_000) == []


@pytest.mark.parametrize("block", [1.0, 2.5, 20.0])
def test_a_mean_is_studentized_by_the_kernel_of_hansen(block: float) -> None:
    returns = source.panel(7)
    tests = multiple_testing.field_tests(returns, seed=0, n_draws=1, block_length=block)
    expected = np.sqrt(len(returns)) * returns.mean(axis=0) / source.deviation(returns, block)
    np.testing.assert_allclose(tests.statistics, expected, rtol=1e-10)


def resampled_deviation(returns: Array, windows: list[int], block: float, n_draws: int) -> float:
    """Return the standard deviation of resampled means, with blocks that wrap around in their window."""
    random, n = np.random.default_rng(1), len(returns)
    starts = np.repeat(np.cumsum([0, *windows[:-1]]), windows)
    lengths = np.repeat(windows, windows)
    means = []
    for _ in range(n_draws):
        day = random.integers(n)
        total = 0.0
        jumps, fresh = random.uniform(size=n) < 1.0 / block, random.integers(n, size=n)
        for jump, new in zip(jumps, fresh, strict=True):
            day = new if jump else starts[day] + (day + 1 - starts[day]) % lengths[day]
            total += returns[day]
        means.append(total / n)
    return float(np.std(means))


def test_over_windows_a_mean_is_studentized_by_its_deviation_over_resamples() -> None:
    windows, block = [20, 150, 90], 8.0
    returns = source.panel(3)[:260, 0] + np.repeat([0.01, -0.005, 0.0], windows)
    tests = multiple_testing.field_tests(returns, windows=windows, seed=0, n_draws=1, block_length=block)
    deviation = resampled_deviation(returns, windows, block, 3_000)
    assert tests.statistics[0] == pytest.approx(returns.mean() / deviation, rel=0.06)
    whole = multiple_testing.field_tests(returns, seed=0, n_draws=1, block_length=block)
    assert abs(whole.statistics[0] / tests.statistics[0] - 1.0) > 1e-3
