"""Stylized facts equal plain loops and SciPy, and detect planted effects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import dates_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import openoutcry as oo
from openoutcry.audits.realism import FACTS, Fact, facts_of, panel_of
from openoutcry.audits.realism import stylized_facts as of
from openoutcry.audits.realism.market_panel import MIN_RETURNS, Panel

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
N_BARS = 1200


def noise(seed: int, n_symbols: int = 1, n_bars: int = N_BARS) -> Array:
    return 0.01 * np.random.default_rng(seed).standard_t(4.0, (n_bars, n_symbols))


def fact(name: str, panel: Panel) -> float:
    value = facts_of(panel)[name].value
    assert value is not None
    return value


def loop_correlation(left: list[float], right: list[float]) -> float:
    n, a, b = len(left), sum(left) / len(left), sum(right) / len(right)
    cross = sum((left[i] - a) * (right[i] - b) for i in range(n))
    return float(cross / (sum((x - a) ** 2 for x in left) * sum((x - b) ** 2 for x in right)) ** 0.5)


@given(seed=st.integers(0, 2**32 - 1), lag=st.sampled_from([1, 5, 20]))
def test_autocorrelation_equals_a_loop(seed: int, lag: int) -> None:
    values = np.abs(noise(seed)[:, 0])
    centre = sum(values) / len(values)
    cross = sum((values[t] - centre) * (values[t + lag] - centre) for t in range(len(values) - lag))
    assert of.autocorrelation(values, lag) == pytest.approx(cross / sum((x - centre) ** 2 for x in values), rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_hill_equals_a_loop(seed: int) -> None:
    returns = noise(seed)[:, 0]
    sizes = sorted(abs(returns), reverse=True)
    count = int(0.05 * len(sizes))
    mean = sum(np.log(sizes[i] / sizes[count]) for i in range(count)) / count
    assert of.hill(returns) == pytest.approx(1.0 / mean, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_leverage_equals_a_loop(seed: int) -> None:
    returns = noise(seed)[:, 0].tolist()
    sizes = [abs(x) for x in returns]
    found = [loop_correlation(returns[:-lag], sizes[lag:]) for lag in range(1, 11)]
    assert of.leverage(np.array(returns)) == pytest.approx(sum(found) / 10, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_pairwise_correlation_equals_a_loop_over_shared_bars(seed: int) -> None:
    table = noise(seed, 3) + noise(seed + 1)
    table[:300, 0] = np.nan
    table[700:720, 1] = np.nan
    found = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        rows = [t for t in range(N_BARS) if not (np.isnan(table[t, i]) or np.isnan(table[t, j]))]
        found.append(loop_correlation(table[rows, i].tolist(), table[rows, j].tolist()))
    assert fact("pairwise_correlation", Panel(table)) == pytest.approx(sum(found) / 3, rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_volume_volatility_equals_a_loop(seed: int) -> None:
    returns = noise(seed)
    trend = np.linspace(0.0, 3.0, N_BARS)[:, None]
    volume = np.exp(trend + np.random.default_rng(seed + 1).standard_normal(returns.shape))
    logs = np.log(volume[:, 0]).tolist()
    above = [logs[t] - sum(logs[t - 250 : t]) / 250 for t in range(250, N_BARS)]
    expected = loop_correlation(above, np.abs(returns[250:, 0]).tolist())
    assert fact("volume_volatility", Panel(returns, volume)) == pytest.approx(expected, rel=1e-6)


def test_moments_and_quantiles_equal_scipy() -> None:
    returns = noise(3)[:, 0]
    assert of.skew(returns) == pytest.approx(stats.skew(returns), rel=1e-10)
    assert of.excess_kurtosis(returns) == pytest.approx(stats.kurtosis(returns), rel=1e-10)
    long = [returns[t : t + 20].sum() for t in range(0, N_BARS, 20)]
    assert of.long_kurtosis(returns) == pytest.approx(stats.kurtosis(long), rel=1e-10)
    low, first, third, high = stats.mstats.mquantiles(returns, [0.025, 0.25, 0.75, 0.975], alphap=1, betap=1)
    assert of.quantile_kurtosis(returns) == pytest.approx((high - low) / (third - first), rel=1e-10)


def test_facts_of_known_distributions_equal_their_theoretical_values() -> None:
    rng = np.random.default_rng(5)
    normal = rng.standard_normal(200_000)
    assert of.quantile_kurtosis(normal) == pytest.approx(2.906, abs=0.03)
    assert of.annual_volatility(0.01 * normal, 252.0) == pytest.approx(0.01 * 252.0**0.5, rel=0.01)
    pareto = (rng.pareto(3.0, 200_000) + 1.0) * rng.choice([-1.0, 1.0], 200_000)
    assert of.hill(pareto) == pytest.approx(3.0, abs=0.1)


def test_planted_clustering_and_leverage_are_detected() -> None:
    rng = np.random.default_rng(6)
    shocks, level, returns = rng.standard_normal(20_000), 0.0, []
    for shock in shocks:
        returns.append(0.01 * np.exp(level) * shock)
        level = 0.97 * level - 0.12 * shock
    found = np.array(returns)
    assert of.leverage(found) < -0.05 < -0.02 < of.leverage(0.01 * shocks)
    assert of.autocorrelation(np.abs(found), 5) > 0.1 > of.autocorrelation(np.abs(shocks), 5)


def test_range_ratio_and_overnight_share_of_a_random_walk_are_measured() -> None:
    rng = np.random.default_rng(7)
    n_bars, n_ticks, night = 2000, 400, 0.25
    ticks = rng.standard_normal((n_bars, n_ticks)) * np.sqrt((1.0 - night) / n_ticks) * 0.01
    gaps = rng.standard_normal(n_bars) * np.sqrt(night) * 0.01
    paths = np.cumsum(np.hstack([np.zeros((n_bars, 1)), ticks]), axis=1)
    returns = (gaps + paths[:, -1])[:, None]
    panel = Panel(returns, high=np.exp(paths.max(axis=1))[:, None], low=np.exp(paths.min(axis=1))[:, None])
    panel = replace(panel, overnight=gaps[:, None])
    assert fact("overnight_share", panel) == pytest.approx(night, abs=0.02)
    assert fact("range_ratio", panel) == pytest.approx(np.sqrt(1.0 - night), abs=0.04)


def test_an_undefined_fact_is_none_with_a_reason() -> None:
    found = facts_of(Panel(noise(1), periods_per_year=252.0))
    undefined = {name: each.reason for name, each in found.items() if each.value is None}
    assert undefined == {
        "pairwise_correlation": f"needs two symbols with {MIN_RETURNS} returns",
        "volume_volatility": "no volume",
        "range_ratio": "no high and low",
        "overnight_share": "no opens",
    }
    short = facts_of(Panel(noise(1, n_bars=MIN_RETURNS - 1)))
    assert tuple(short) == FACTS
    assert all(each.value is None and each.reason for each in short.values())


def test_a_symbol_with_mostly_zero_returns_is_excluded() -> None:
    table = noise(2, 2)
    table[::3, 1] = 0.0
    table[1::3, 1] = 0.0
    assert Panel(table).counted == [0]


def test_returns_are_total_returns_across_dividends_splits_and_halts() -> None:
    close = np.array([[100.0], [99.0], [49.0], [np.nan], [50.0], [55.0]])
    dividends, splits = np.zeros(close.shape), np.ones(close.shape)
    dividends[1], splits[2], dividends[3] = 1.0, 2.0, 0.5
    dataset = oo.Dataset.from_arrays(dates_of(6), ["A"], close, dividends=dividends, splits=splits)
    expected = np.log([1.0, 98.0 / 99.0, np.nan, 50.5 / 49.0, 55.0 / 50.0])
    np.testing.assert_allclose(panel_of(dataset).returns[:, 0], expected, rtol=1e-12)


def test_the_gap_after_a_dividend_is_adjusted_as_the_return_is() -> None:
    close = np.array([[100.0], [99.0]])
    opens, dividends = np.array([[100.0], [98.0]]), np.array([[0.0], [1.0]])
    panel = panel_of(oo.Dataset.from_arrays(dates_of(2), ["A"], close, opens, dividends=dividends))
    assert panel.overnight is not None
    np.testing.assert_allclose(panel.overnight, np.log([[0.99]]), rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_sharpe_of_buy_and_hold_equals_a_loop_over_equal_amounts(seed: int) -> None:
    table = noise(seed, 3)
    prices = np.vstack([np.ones((1, 3)), np.exp(np.cumsum(table, axis=0))])
    nav = [sum(row) / 3 for row in prices]
    returns = [nav[t] / nav[t - 1] - 1.0 for t in range(1, len(nav))]
    mean = sum(returns) / len(returns)
    deviation = (sum((r - mean) ** 2 for r in returns) / (len(returns) - 1)) ** 0.5
    assert fact("buy_and_hold_sharpe", Panel(table, periods_per_year=252.0)) == pytest.approx(
        mean / deviation * 252**0.5, rel=1e-6
    )


def test_annual_facts_follow_the_bars_per_year_of_the_market() -> None:
    table = noise(1)
    annual = ("annual_volatility", "buy_and_hold_sharpe")
    weekly, daily = (facts_of(Panel(table, periods_per_year=year)) for year in (52.0, 252.0))
    unknown = facts_of(Panel(table))
    for name in annual:
        assert weekly[name].value == pytest.approx(daily[name].value * (52 / 252) ** 0.5, rel=1e-12)  # type: ignore[operator]
        assert unknown[name] == Fact(None, "needs the bars per year of the market")
    assert all(unknown[name] == fact for name, fact in daily.items() if name not in annual)
