"""Trading rules are causal and unlevered, and their alpha equals a regression."""

from __future__ import annotations

import numpy as np
import pytest
from builders import count, dataset_of, dates_of
from hypothesis import given
from hypothesis import strategies as st
from markets import random_market
from numpy.typing import NDArray
from scipy import stats

import openoutcry as oo
from openoutcry.audits.realism import RULES, Rule, rule_signals
from openoutcry.audits.realism.rule_alpha import (
    alpha_sharpe,
    alphas_of,
    buy_and_hold_weights,
    martingale,
    returns_before_costs,
)
from openoutcry.audits.realism.significance_tests import equivalence, excess, holm
from openoutcry.audits.realism.trading_rules import total_return_index, trading_days

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
N_BARS, N_SYMBOLS = 700, 5
DAYS = np.busday_offset(np.datetime64("2001-01-01"), np.arange(N_BARS), roll="forward")


def walk(seed: int, n_bars: int = N_BARS) -> Array:
    """Return closes with one symbol listed late and one delisted early."""
    rng = np.random.default_rng(seed)
    closes = 100.0 * np.exp(np.cumsum(0.02 * rng.standard_t(4.0, (n_bars, N_SYMBOLS)), axis=0))
    closes[: n_bars // 3, 1] = np.nan
    closes[2 * n_bars // 3 :, 2] = np.nan
    return closes


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_causal(rule: Rule) -> None:
    closes = walk(1)
    weights = rule(closes, DAYS, 252.0)
    rng = np.random.default_rng(2)
    for cut in (0, 1, 19, 20, 130, 251, 400, N_BARS - 2):
        for later in (100.0 * rng.random((N_BARS - cut - 1, N_SYMBOLS)) + 1e-3, np.nan, 1e9):
            changed = closes.copy()
            changed[cut + 1 :] = later
            np.testing.assert_array_equal(rule(changed, DAYS, 252.0)[: cut + 1], weights[: cut + 1])
        np.testing.assert_array_equal(rule(closes[: cut + 1], DAYS[: cut + 1], 252.0), weights[: cut + 1])


def test_a_rule_with_lookahead_is_detected() -> None:
    def peek(closes: Array, dates: NDArray[np.datetime64]) -> Array:
        return rule_signals.spread((np.roll(closes, -1, axis=0) > closes).astype(float), closes)

    with pytest.raises(AssertionError):
        test_a_rule_is_causal(Rule("peek", "none", peek))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_trades_only_listed_symbols_without_leverage(rule: Rule) -> None:
    closes = walk(3)
    weights = rule(closes, DAYS, 252.0)
    assert weights.shape == closes.shape
    assert np.isfinite(weights).all()
    assert np.abs(weights).sum(axis=1).max() <= 1.0 + 1e-9
    assert np.abs(weights[:, [0, 3, 4]]).max() > 0.0
    assert (weights[np.isnan(closes)] == 0.0).all()


def test_there_are_thirty_rules_with_distinct_names() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) == 30


@given(seed=st.integers(0, 2**32 - 1), bars=st.integers(1, 40))
def test_signals_equal_plain_loops(seed: int, bars: int) -> None:
    closes = walk(seed, 60)[:, :1]
    for t in range(bars - 1, 60):
        window = closes[t - bars + 1 : t + 1, 0]
        assert rule_signals.highest(closes, bars)[t, 0] == window.max()
        assert rule_signals.lowest(closes, bars)[t, 0] == window.min()
        assert rule_signals.mean(closes, bars)[t, 0] == pytest.approx(window.mean(), rel=1e-12)
        assert rule_signals.deviation(closes, bars)[t, 0] == pytest.approx(window.std(), rel=1e-9, abs=1e-12)
    assert np.isnan(rule_signals.highest(closes, bars)[: bars - 1]).all()


def test_ranks_run_from_minus_one_to_one_over_known_values() -> None:
    table = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan, np.nan, np.nan, 5.0]])
    expected = [[1.0, np.nan, -1.0, 0.0], [np.nan, np.nan, np.nan, -1.0]]
    np.testing.assert_array_equal(rule_signals.ranked(table), expected)


@pytest.mark.parametrize("seed", range(count(200, 40)))
def test_the_total_return_index_does_not_depend_on_later_bars(seed: int) -> None:
    market = random_market(seed)[0]
    try:
        dataset = dataset_of(market)
    except oo.OpenOutcryError:
        return
    n_bars = max(2, dataset.n_bars // 2)
    np.testing.assert_array_equal(total_return_index(dataset.head(n_bars)), total_return_index(dataset)[:n_bars])


def test_the_index_continues_through_a_halt_and_ends_at_a_delisting() -> None:
    close = np.array([[10.0, np.nan], [11.0, 5.0], [np.nan, 5.5], [12.1, np.nan], [12.1, np.nan]])
    delistings = np.full(close.shape, np.nan)
    delistings[3, 1] = -0.5
    index = total_return_index(oo.Dataset.from_arrays(dates_of(5), ["A", "B"], close, delistings=delistings))
    nan = np.nan
    expected = [[100.0, nan], [110.0, 100.0], [110.0, 110.0], [121.0, nan], [121.0, nan]]
    np.testing.assert_allclose(index, expected, rtol=1e-12)


def test_buy_and_hold_rebalances_only_when_listings_change() -> None:
    closes = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, 1.0], [2.0, 1.0], [2.0, np.nan]])
    nan = np.nan
    expected = [[1.0, 0.0], [nan, nan], [0.5, 0.5], [nan, nan], [1.0, 0.0]]
    np.testing.assert_array_equal(buy_and_hold_weights(closes), expected)


def test_alpha_is_the_residual_of_a_regression() -> None:
    rng = np.random.default_rng(4)
    market = 0.01 * rng.standard_normal(500) + 0.0004
    returns = 0.6 * market + 0.004 * rng.standard_normal(500) + 0.0003
    slope = stats.linregress(market, returns).slope
    rest = returns - slope * market
    assert alpha_sharpe(returns, market, 252.0) == pytest.approx(rest.mean() / rest.std(ddof=1) * 252**0.5, rel=1e-9)


def test_alpha_of_a_pure_market_exposure_is_undefined() -> None:
    market = 0.01 * np.random.default_rng(5).standard_normal(500)
    assert np.isnan(alpha_sharpe(0.5 * market, market, 252.0))
    assert np.isnan(alpha_sharpe(np.zeros(500), market, 252.0))


def test_returns_before_costs_equal_those_of_a_run_without_costs() -> None:
    dataset = oo.Dataset.synthetic(3, 300, 1)
    weights = RULES[0](total_return_index(dataset), trading_days(dataset), 252.0)
    paid, free = (oo.run_backtest(dataset, weights, costs=costs) for costs in (None, oo.CostModel.zero()))
    assert np.abs(paid.returns - free.returns).max() > 1e-5
    np.testing.assert_allclose(returns_before_costs(paid), free.returns, atol=2e-6)


def test_a_martingale_has_the_requested_volatility_and_correlation_and_no_drift() -> None:
    like = oo.Dataset.synthetic(6, 5000, 0)
    close = martingale(like, 0.3, 0.4, seed=1).close
    returns = np.diff(close, axis=0) / close[:-1]
    assert returns.std() * 252**0.5 == pytest.approx(0.3, rel=0.03)
    correlation = np.corrcoef(returns.T)
    assert correlation[np.triu_indices(6, 1)].mean() == pytest.approx(0.4, abs=0.04)
    assert abs(returns.mean()) < 4.0 * returns.mean(axis=1).std() / 5000**0.5


def test_a_rule_has_alpha_on_a_planted_effect_and_none_on_a_martingale() -> None:
    rng = np.random.default_rng(8)
    shocks, moved = 0.01 * rng.standard_normal((1500, 4)), np.zeros((1500, 4))
    for t in range(1, 1500):
        moved[t] = 0.2 * moved[t - 1] + shocks[t]
    market = oo.Dataset.from_arrays(dates_of(1500), list("ABCD"), 100.0 * np.exp(np.cumsum(moved, axis=0)))
    by_name = dict(zip([rule.name for rule in RULES], alphas_of(market).gross, strict=True))
    assert by_name["reversal-1"] < -1.5
    calm = dict(zip(by_name, alphas_of(martingale(market, 0.16, 0.3, seed=2)).gross, strict=True))
    assert abs(calm["reversal-1"]) < 1.2


def test_holm_follows_its_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([]) == []


@pytest.mark.parametrize("mean", [-0.3, -0.1, 0.0, 0.05, 0.149, 0.2])
@pytest.mark.parametrize("n_seeds", [8, 30, 200])
def test_tests_of_a_mean_agree_with_students_t(mean: float, n_seeds: int) -> None:
    values = np.random.default_rng(9).standard_normal(n_seeds)
    values = mean + 0.3 * (values - values.mean()) / values.std(ddof=1)
    error = 0.3 / n_seeds**0.5
    within = max(stats.t.sf((mean + 0.15) / error, n_seeds - 1), stats.t.sf((0.15 - mean) / error, n_seeds - 1))
    assert equivalence(values, 0.15) == pytest.approx(within, abs=2e-3)
    beyond = min(1.0, 2.0 * stats.t.sf((abs(mean) - 0.15) / error, n_seeds - 1))
    assert excess(values, 0.15) == pytest.approx(beyond, abs=4e-3)


def test_a_volatility_target_is_annual_by_the_bars_of_the_market() -> None:
    rule = next(rule for rule in RULES if rule.name == "volatility-target-20")
    closes = 100.0 * np.exp(np.cumsum(np.random.default_rng(4).normal(0.0, 0.06, (300, 2)), axis=0))
    days = np.datetime64("2010-01-04") + np.arange(300)
    # The first rows have no volatility.
    np.testing.assert_allclose(rule(closes, days, 91.25)[25:], 2.0 * rule(closes, days, 365.0)[25:], rtol=1e-12)
