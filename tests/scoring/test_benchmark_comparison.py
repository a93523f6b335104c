"""Alpha, beta, capture and tracking against a benchmark, and regressions on factors.

The oracle of regressions is statsmodels where it is installed, and a formula by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import count

import openoutcry as oo
from openoutcry.scoring import skill
from openoutcry.scoring.benchmark_comparison import compare, rolling_beta, rolling_volatility, window_of
from openoutcry.scoring.factor_regression import explain
from openoutcry.scoring.least_squares import default_lags, fit

N = 300
RNG = np.random.default_rng(4)
MARKET = RNG.normal(4e-4, 0.01, N)
RETURNS = 1e-4 + 0.7 * MARKET + np.convolve(RNG.normal(0.0, 0.004, N + 2), [1.0, 0.6, 0.3], "valid")
FACTORS = {"size": RNG.normal(0.0, 0.006, N), "value": RNG.normal(1e-4, 0.005, N)}


def newey_west(values: Any, columns: Any, lags: int) -> tuple[Any, Any, Any]:
    """Return coefficients, plain and HAC errors by sums over pairs of rows, written apart from the package."""
    x = np.column_stack([np.ones(len(values)), columns])
    inverse = np.linalg.inv(x.T @ x)
    coefficients = np.linalg.lstsq(x, values, rcond=None)[0]
    e = values - x @ coefficients
    plain = np.sqrt(np.diag(inverse) * (e @ e) / (len(e) - x.shape[1]))
    middle = np.zeros_like(inverse)
    for i in range(len(e)):
        for j in range(max(0, i - lags), min(len(e), i + lags + 1)):
            middle += (1.0 - abs(i - j) / (lags + 1)) * e[i] * e[j] * np.outer(x[i], x[j])
    return coefficients, plain, np.sqrt(np.diag(inverse @ middle @ inverse))


@pytest.mark.parametrize("lags", [0, 5])
def test_coefficients_and_errors_are_those_of_the_formula_by_hand(lags: int) -> None:
    columns = np.column_stack([MARKET, *FACTORS.values()])
    line = fit(RETURNS, columns, lags)
    for found, wanted in zip(
        (line.coefficients, line.errors, line.hac_errors), newey_west(RETURNS, columns, lags), strict=True
    ):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-15)


@pytest.mark.skipif(not count(1, 0), reason="statsmodels takes seconds to import: OPENOUTCRY_FULL=1")
def test_coefficients_and_errors_are_those_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    columns = np.column_stack([MARKET, *FACTORS.values()])
    line = fit(RETURNS, columns)
    plain = sm.OLS(RETURNS, sm.add_constant(columns)).fit()
    robust = sm.OLS(RETURNS, sm.add_constant(columns)).fit(cov_type="HAC", cov_kwds={"maxlags": default_lags(N)})
    assert line.coefficients == pytest.approx(plain.params, rel=1e-9, abs=1e-15)
    assert line.errors == pytest.approx(plain.bse, rel=1e-9)
    assert line.hac_errors == pytest.approx(robust.bse, rel=1e-9)
    assert line.r_squared == pytest.approx(plain.rsquared, rel=1e-9)


def test_alpha_beta_and_tracking_are_those_of_the_native_scorer() -> None:
    found = compare(RETURNS, MARKET, 252.0).values
    line, tracked = skill.regress(RETURNS, MARKET), skill.tracking(RETURNS, MARKET, 252.0)
    assert found["alpha"] == pytest.approx(line.alpha * 252.0, rel=1e-9)
    assert found["alpha_error"] == pytest.approx((line.alpha_error or 0.0) * 252.0, rel=1e-9)
    assert found["beta"] == pytest.approx(line.beta, rel=1e-12)
    assert found["r_squared"] == pytest.approx(line.r_squared, rel=1e-9)
    assert found["r_squared"] == pytest.approx((found["correlation"] or 0.0) ** 2, rel=1e-9)
    assert found["excess"] == pytest.approx(tracked.excess, rel=1e-9)
    assert found["tracking_error"] == pytest.approx(tracked.tracking_error, rel=1e-9)
    assert found["information_ratio"] == pytest.approx(tracked.information_ratio, rel=1e-9)


def test_the_risk_free_rate_is_deducted_of_both_sides_of_alpha_and_of_neither_side_of_tracking() -> None:
    rate = np.full(N, 1e-4)
    with_rate, without = compare(RETURNS, MARKET, 252.0, rate).values, compare(RETURNS, MARKET, 252.0).values
    beta = with_rate["beta"] or 0.0
    assert with_rate["alpha"] == pytest.approx((without["alpha"] or 0.0) - 252e-4 * (1.0 - beta), rel=1e-9)
    assert with_rate["tracking_error"] == without["tracking_error"]


def test_capture_is_the_ratio_of_geometric_means_over_the_bars_of_a_side() -> None:
    found = compare(np.array([0.02, -0.01, 0.03, -0.04, 0.0]), np.array([0.01, -0.02, 0.02, -0.02, 0.0]), None).values
    up = ((1.02 * 1.03) ** 0.5 - 1.0) / ((1.01 * 1.02) ** 0.5 - 1.0)
    down = ((0.99 * 0.96) ** 0.5 - 1.0) / ((0.98 * 0.98) ** 0.5 - 1.0)
    assert (found["up_capture"], found["down_capture"]) == pytest.approx((up, down), rel=1e-12)


def test_the_matched_return_is_that_of_the_levered_run() -> None:
    rate = np.full(N, 1e-4)
    found = compare(RETURNS, MARKET, 252.0, rate).values["matched_return"] or 0.0
    leverage = (found / 252.0 - 1e-4) / float(np.mean(RETURNS - rate))
    assert np.std(leverage * (RETURNS - rate)) == pytest.approx(np.std(MARKET - rate), rel=1e-9)
    own = compare(MARKET, MARKET, 252.0).values["matched_return"]
    assert own == pytest.approx(252.0 * float(np.mean(MARKET)), rel=1e-12)


@pytest.mark.parametrize(
    ("returns", "benchmark", "periods", "names", "reason"),
    [
        (RETURNS, np.full(N, 1e-3), 252.0, ("alpha", "beta", "correlation", "treynor"), "the benchmark is constant"),
        (RETURNS, MARKET, None, ("alpha", "alpha_error", "tracking_error"), "the number of bars per year is unknown"),
        (
            np.zeros(N),
            MARKET,
            252.0,
            ("alpha_t", "r_squared", "correlation", "matched_return"),
            "the returns are constant",
        ),
        (np.full(N, 1e-3), np.zeros(N), 252.0, ("information_ratio",), "the difference of returns is constant"),
        (np.zeros(N), MARKET, 252.0, ("treynor",), "beta is 0"),
        (MARKET, MARKET, 252.0, ("information_ratio",), "the returns do not differ from the benchmark's"),
        (MARKET, MARKET, 252.0, ("alpha_t",), "the benchmark explains every return"),
        (RETURNS[:2], MARKET[:2], 252.0, ("alpha", "beta"), "there are too few returns"),
        (RETURNS, np.abs(MARKET), 252.0, ("down_capture",), "the benchmark never lost"),
    ],
)
def test_an_undefined_number_has_its_reason(
    returns: Any, benchmark: Any, periods: float | None, names: tuple[str, ...], reason: str
) -> None:
    found = compare(returns, benchmark, periods)
    assert {name: found.values[name] for name in names} == dict.fromkeys(names)
    assert {name: found.undefined[name] for name in names} == dict.fromkeys(names, reason)
    assert all(value is None or np.isfinite(value) for value in found.values.values())


def test_a_constant_side_of_excess_returns_has_the_risk_free_rate_in_its_reason() -> None:
    rate = np.abs(MARKET) / 100.0
    assert compare(RETURNS, rate, 252.0, rate).undefined["beta"] == "the benchmark less the risk-free rate is constant"
    assert compare(rate, MARKET, 252.0, rate).undefined["alpha_t"] == "the returns less the risk-free rate are constant"


def test_rolling_beta_and_volatility_are_those_of_each_window() -> None:
    flat = MARKET.copy()
    flat[100:140] = 2e-4
    rolled = rolling_beta(RETURNS, flat, 30).beta
    spread = rolling_volatility(RETURNS, 30, 252.0)
    assert np.isnan(rolled[:29]).all()
    assert np.isnan(rolled[129:140]).all()
    for end in (29, 99, 160, 299):
        part = slice(end - 29, end + 1)
        assert rolled[end] == pytest.approx(np.polyfit(flat[part], RETURNS[part], 1)[0], rel=1e-6)
        assert spread[end] == pytest.approx(RETURNS[part].std(ddof=1) * 252.0**0.5, rel=1e-9)


def test_a_window_is_a_year_or_half_of_a_short_series() -> None:
    assert (window_of(1000, 252.0), window_of(100, 252.0), window_of(39, 252.0)) == (252, 50, None)
    assert window_of(1000, None) is None


def test_factors_have_loadings_errors_and_the_alpha_that_they_leave() -> None:
    found = explain(RETURNS, {"market": MARKET, **FACTORS})
    assert [each.name for each in found.loadings] == ["alpha", "market", "size", "value"]
    alpha, market = found.loadings[:2]
    assert market.value == pytest.approx(0.7, abs=4.0 * market.hac_error)
    assert market.t == pytest.approx(market.value / market.hac_error)
    assert alpha.value == pytest.approx(
        RETURNS.mean()
        - sum(
            each.value * series.mean()
            for each, series in zip(found.loadings[1:], [MARKET, *FACTORS.values()], strict=True)
        )
    )
    assert found.r_squared is not None
    assert found.adjusted_r_squared == pytest.approx(1.0 - (1.0 - found.r_squared) * (N - 1) / (N - 4))


@pytest.mark.parametrize(
    "factors", [{}, {"a": np.zeros(N)}, {"a": MARKET, "b": 2.0 * MARKET}, {"a": MARKET, "b": 1e-3 - MARKET}]
)
def test_factors_that_determine_no_loading_are_refused(factors: dict[str, Any]) -> None:
    with pytest.raises(oo.OpenOutcryError, match="factor") as raised:
        explain(RETURNS, factors)
    assert raised.value.slug == "argument_invalid"
