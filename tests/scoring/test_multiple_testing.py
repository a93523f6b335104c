"""Multiple testing: refused input, windows, determinism, and properties of p-values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builders import Array

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.scoring import multiple_testing


def noise(n_days: int, n_agents: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0.0, 0.01, (n_days, n_agents))


def series(n_days: int, seed: int = 0) -> Array:
    return noise(n_days, 1, seed)[:, 0]


CALLS: dict[str, Callable[..., Any]] = {
    "mean_test": lambda panel, **more: multiple_testing.mean_test(
        panel[:, 0], [len(panel) // 2] * 2, **{"seed": 1} | more
    ),
    "field_tests": lambda panel, **more: multiple_testing.field_tests(panel, **{"seed": 1} | more),
    "sharpe_interval": lambda panel, **more: multiple_testing.sharpe_interval(
        panel[:, 0], **{"seed": 1, "periods_per_year": 252.0} | more
    ),
    "sharpe_difference": lambda panel, **more: multiple_testing.sharpe_difference(
        panel[:, 0], panel[:, 1], **{"seed": 1, "periods_per_year": 252.0} | more
    ),
    "tie_bands": lambda panel, **more: multiple_testing.tie_bands(
        panel, **{"seed": 1, "periods_per_year": 252.0} | more
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_depend_on_the_seed_alone(name: str) -> None:
    panel = noise(400, 4)
    results = [repr(CALLS[name](panel, seed=seed, n_draws=500)) for seed in (3, 3, 4)]
    assert results[0] == results[1] != results[2]


@pytest.mark.parametrize("name", CALLS)
def test_too_few_days_are_insufficient(name: str) -> None:
    CALLS[name](noise(250, 3))
    with pytest.raises(oo.OpenOutcryError, match="250 returns in total are required; received") as refused:
        CALLS[name](noise(248, 3))
    assert refused.value.slug == "insufficient"


def test_one_window_is_insufficient_for_a_mean() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"at least 2 windows .* received 1 window of 900 returns") as refused:
        multiple_testing.mean_test(series(900), [900], seed=0)
    assert refused.value.slug == "insufficient"


@pytest.mark.parametrize("name", CALLS)
def test_a_constant_series_is_refused_by_index(name: str) -> None:
    panel = noise(300, 3)
    panel[:, 0] = 1e-4
    with pytest.raises(oo.OpenOutcryError, match="varying returns of agent 0") as refused:
        CALLS[name](panel)
    assert refused.value.slug == "no_variation"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_non_finite_return_is_refused_by_index(name: str, bad: float) -> None:
    panel = noise(300, 3)
    panel[7, 0] = bad
    with pytest.raises(oo.OpenOutcryError, match="for agent 0 on day 7") as refused:
        CALLS[name](panel)
    assert refused.value.slug == "value_invalid"


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("field_tests", {"n_draws": 10_000_001}, "n_draws` must be from 1 to 10000000; received 10000001"),
        ("field_tests", {"n_draws": 0}, "n_draws` must be"),
        ("field_tests", {"n_draws": True}, "n_draws` must be an integer of at least 1; received True"),
        ("field_tests", {"seed": -1}, "seed` must be an integer"),
        ("field_tests", {"block_length": 0.5}, "block_length` must be from 1 to 300 days; received 0.5"),
        ("field_tests", {"block_length": np.nan}, "received NaN"),
        ("sharpe_interval", {"block_length": 31.0}, "from 1 to 30 days; received 31"),
        ("field_tests", {"windows": [100, 100]}, r"with sum 300 days; received \[100, 100\]"),
        ("field_tests", {"windows": [300, 0]}, r"at least 1 with sum 300 days; received \[300, 0\]"),
        ("field_tests", {"windows": []}, "with sum 300 days"),
        ("sharpe_interval", {"level": 1.0}, "level` must be above 0 and below 1; received 1"),
        ("sharpe_interval", {"level": 0.99, "n_draws": 98}, "n_draws` must be from 99"),
        ("sharpe_interval", {"periods_per_year": 0.0}, "periods_per_year` must be finite and above 0; received 0"),
        ("tie_bands", {"level": 0.0}, "level` must be above 0"),
        ("tie_bands", {"n_draws": 18}, "n_draws` must be from 19"),
        ("tie_bands", {"rank_by": [1.0]}, r"rank_by` must be 3 finite numbers; received \[1.0\]"),
        ("tie_bands", {"rank_by": [1.0, np.nan, 0.0]}, "rank_by` must be 3 finite"),
    ],
)
def test_an_invalid_setting_is_refused(name: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=words) as refused:
        CALLS[name](noise(300, 3), **more)
    assert refused.value.slug == "argument_invalid"


@pytest.mark.parametrize(
    "call",
    [
        lambda: multiple_testing.field_tests(np.zeros((300, 2, 2)), seed=0),
        lambda: multiple_testing.field_tests(np.zeros((300, 0)), seed=0),
        lambda: multiple_testing.sharpe_interval(noise(300, 2), periods_per_year=252.0, seed=0),
        lambda: multiple_testing.sharpe_difference(series(300), series(299), periods_per_year=252.0, seed=0),
        lambda: multiple_testing.mean_test(noise(300, 2), [150, 150], seed=0),
        lambda: multiple_testing.tie_bands(series(300), periods_per_year=252.0, seed=0),
        lambda: multiple_testing.overfit(series(300)),
        lambda: multiple_testing.holm([[0.1]]),
    ],
)
def test_returns_of_a_wrong_shape_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(oo.OpenOutcryError, match="received") as refused:
        call()
    assert refused.value.slug == "shape_mismatch"


def test_the_memory_layout_does_not_matter() -> None:
    panel = noise(300, 5)
    expected = repr(multiple_testing.field_tests(panel, seed=1))
    for same in (np.asfortranarray(panel), np.repeat(panel, 2, axis=0)[::2], panel.tolist()):
        assert repr(multiple_testing.field_tests(same, seed=1)) == expected


def test_the_p_value_of_an_agent_does_not_depend_on_its_column() -> None:
    panel = noise(400, 11)
    order = np.random.default_rng(3).permutation(11)
    one, other = (multiple_testing.field_tests(each, seed=1, block_length=3.0) for each in (panel, panel[:, order]))
    np.testing.assert_array_equal(one.alone[order], other.alone)
    np.testing.assert_array_equal(one.romano_wolf[order], other.romano_wolf)
    assert one.spa_consistent == other.spa_consistent


def test_the_scale_of_returns_does_not_matter() -> None:
    panel = noise(400, 5)
    one, other = (multiple_testing.field_tests(each, seed=1, block_length=3.0) for each in (panel, panel * 4.0))
    np.testing.assert_array_equal(one.romano_wolf, other.romano_wolf)
    np.testing.assert_array_equal(one.statistics, other.statistics)
    assert (one.reality_check, one.spa_lower) == (other.reality_check, other.spa_lower)


def test_the_p_values_of_a_field_have_the_theoretical_order() -> None:
    for seed in range(20):
        panel = noise(300, 8, seed) + np.random.default_rng(seed).normal(0.0, 5e-4, 8)
        tests = multiple_testing.field_tests(panel, seed=seed, n_draws=400)
        assert tests.spa_lower <= tests.spa_consistent <= tests.spa_upper
        best = np.argmax(tests.statistics)
        assert tests.romano_wolf[best] == tests.romano_wolf.min()
        assert (tests.romano_wolf >= tests.alone - 1e-12).all()
        # The first step equals Hansen's upper test, unless the best agent has a loss.
        if tests.statistics[best] > 0.0:
            assert tests.romano_wolf[best] == tests.spa_upper


def test_a_field_of_losers_has_no_significant_agent() -> None:
    tests = multiple_testing.field_tests(noise(300, 4) - 0.01, seed=0)
    assert (tests.spa_lower, tests.spa_consistent, tests.spa_upper) == (1.0, 1.0, 1.0)
    assert (tests.romano_wolf == 1.0).all()


def test_copies_of_an_agent_share_a_p_value_and_do_not_affect_the_others() -> None:
    panel = noise(300, 3) + np.array([1e-3, 0.0, 0.0])
    padded = np.column_stack([panel, *[panel[:, 0]] * 20])
    one, other = (multiple_testing.field_tests(each, seed=1, block_length=2.0) for each in (panel, padded))
    np.testing.assert_array_equal(other.romano_wolf[:3], one.romano_wolf)
    assert set(other.romano_wolf[3:]) == {one.romano_wolf[0]}


def test_a_block_never_crosses_a_window() -> None:
    # Windows of alternating level: a block across two windows would have a mean of 0.
    windows = [150, 150]
    level = np.repeat([1.0, -1.0], 150) + 1e-3 * series(300)
    long, short = (multiple_testing.mean_test(level, windows, seed=0, block_length=length) for length in (150.0, 1.0))
    assert abs(long.mean) < 1e-3
    spread = {
        length: native.field_tests(level[:, None], windows, n_draws=1, seed=0, block_length=length)["statistics"]
        for length in (1.0, 150.0)
    }
    # A block inside its window is all 1 or all -1, so the mean varies like that of a few coins.
    assert abs(spread[150.0][0]) < abs(spread[1.0][0]) / 5.0
    assert short.block_length == 1.0


def test_the_sign_flip_test_requires_eight_windows() -> None:
    days = series(320) + 2e-3
    assert multiple_testing.mean_test(days[:280], [40] * 7, seed=0).sign_flip is None
    eight = multiple_testing.mean_test(days, [40] * 8, seed=0).sign_flip
    sums = days.reshape(8, 40).sum(axis=1)
    signs = np.array(np.meshgrid(*[[1.0, -1.0]] * 8)).reshape(8, -1)
    assert eight == np.mean(sums @ signs >= sums.sum() - 1e-12)


def test_the_sign_flip_test_of_many_windows_uses_random_signs() -> None:
    days = series(400) + 1e-3
    found = multiple_testing.mean_test(days, [20] * 20, seed=0, n_draws=20_000).sign_flip
    sums = days.reshape(20, 20).sum(axis=1)
    signs = np.random.default_rng(1).choice([1.0, -1.0], (40_000, 20))
    assert found == pytest.approx(np.mean(signs @ sums >= sums.sum()), abs=0.01)


def test_adjusted_p_values_equal_their_definitions() -> None:
    stats = pytest.importorskip("scipy.stats")
    for seed in range(50):
        random = np.random.default_rng(seed)
        p = np.round(random.uniform(0.0, 1.0, int(random.integers(1, 40))) ** 3, 3)
        order = np.argsort(p, kind="stable")
        stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
        np.testing.assert_allclose(multiple_testing.holm(p)[order], np.minimum(stepped, 1.0), rtol=1e-15)
        expected = stats.false_discovery_control(p)
        np.testing.assert_allclose(multiple_testing.benjamini_hochberg(p), expected, rtol=1e-14)


@pytest.mark.parametrize("adjust", [multiple_testing.holm, multiple_testing.benjamini_hochberg])
def test_a_p_value_outside_0_to_1_is_refused(adjust: Callable[[Any], Array]) -> None:
    assert adjust([]).tolist() == []
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(oo.OpenOutcryError, match=r"p_values` must be from 0 to 1; received .* at 1"):
            adjust([0.5, bad])
