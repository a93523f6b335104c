"""Ratios of a quantstats sheet, against its formulas written out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from openoutcry.scoring.benchmark_comparison import rolling_sortino, summary_of
from openoutcry.scoring.drawdown_periods import drawdowns_of
from openoutcry.scoring.ratio_statistics import ratio_statistics
from openoutcry.scoring.statistic_values import Statistics

RNG = np.random.default_rng(12)
RETURNS = np.where(RNG.random(700) < 0.05, 0.0, RNG.standard_t(5, 700) * 0.008 + 3e-4)
RATE = np.full(700, 4e-5) + 2e-5 * RNG.random(700)
NAV = np.concatenate([[1.0], np.cumprod(1.0 + RETURNS)])
EXACT = {"rel": 1e-12, "abs": 0.0}


def ratios(nav: np.ndarray, returns: np.ndarray, periods: float | None, rate: np.ndarray | None) -> Statistics:
    return ratio_statistics(drawdowns_of(nav), returns, summary_of(returns, periods, rate), periods, rate)


def test_every_ratio_is_that_of_its_formula() -> None:
    gains, losses, moved = RETURNS[RETURNS > 0], RETURNS[RETURNS < 0], RETURNS[RETURNS != 0]
    payoff, wins = gains.mean() / -losses.mean(), len(gains) / len(moved)
    factor = gains.sum() / -losses.sum()
    tail = abs(np.quantile(RETURNS, 0.95)) / abs(np.quantile(RETURNS, 0.05))
    drawdowns = NAV / np.maximum.accumulate(NAV) - 1.0
    ulcer = np.sqrt((drawdowns**2).mean())
    growth = np.prod(1.0 + RETURNS) ** (252.0 / 700) - np.prod(1.0 + RATE) ** (252.0 / 700)
    found = ratios(NAV, RETURNS, 252.0, RATE)
    wanted = {
        "kelly": (payoff * wins - (1.0 - wins)) / payoff,
        "payoff_bars": payoff,
        "common_sense": factor * tail,
        "cpc_index": factor * wins * payoff,
        "ulcer_performance": growth / ulcer,
        "outlier_gain": np.quantile(RETURNS, 0.99) / RETURNS[RETURNS >= 0].mean(),
        "outlier_loss": np.quantile(RETURNS, 0.01) / losses.mean(),
    }
    assert found.undefined == {}
    assert set(found.values) == set(wanted)
    for name, value in wanted.items():
        assert found.values[name] == pytest.approx(value, **EXACT), name
    bare = ratios(NAV, RETURNS, 252.0, None)
    assert bare.values["ulcer_performance"] == pytest.approx((NAV[-1] ** (252.0 / 700) - 1.0) / ulcer, **EXACT)


@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0])
def test_an_undefined_ratio_has_its_reason(sign: float) -> None:
    returns = sign * np.linspace(0.01, 0.02, 30)
    nav = np.concatenate([[1.0], np.cumprod(1.0 + returns)])
    found = ratios(nav, returns, 252.0, None)
    absent = {name for name, value in found.values.items() if value is None}
    assert absent == set(found.undefined)
    always = {"kelly", "payoff_bars", "common_sense", "cpc_index"}
    extra = {1.0: {"ulcer_performance", "outlier_loss"}, -1.0: {"outlier_gain"}, 0.0: {"ulcer_performance"}}[sign]
    assert always | extra <= absent
    word = {1.0: "no return is negative", -1.0: "no return is positive", 0.0: "no return is negative"}[sign]
    assert found.undefined["kelly"] == word


def test_the_ulcer_performance_index_needs_the_bars_per_year() -> None:
    found = ratios(NAV, RETURNS, None, None)
    assert set(found.undefined) == {"ulcer_performance"}
    assert "bars per year" in found.undefined["ulcer_performance"]


def test_a_rolling_sortino_ratio_is_that_of_each_window_and_a_gap_without_a_loss() -> None:
    excess = RETURNS - RATE
    excess[300:340] = 0.01
    found = rolling_sortino(excess, 40, 252.0)
    assert np.isnan(found[:39]).all()
    for end in range(40, 701):
        window = excess[end - 40 : end]
        below = np.sqrt((np.minimum(window, 0.0) ** 2).mean())
        if below == 0.0:
            assert end == 340
            assert np.isnan(found[end - 1])
        else:
            assert found[end - 1] == pytest.approx(window.mean() / below * np.sqrt(252.0), rel=1e-12, abs=1e-12)
