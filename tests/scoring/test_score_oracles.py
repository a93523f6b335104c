"""Metrics of the native scorer against empyrical, SciPy and independent formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import empyrical
import numpy as np
import pytest
from builders import Array, count
from scipy import stats

import openoutcry as oo
from openoutcry import openoutcry_py as native

pytestmark = pytest.mark.once

RELATIVE = 1e-12
N_SERIES = count(2_000, 200)
PERIODS = (252.0, 365.0, 52.0, 12.0, 256.5)


def series(seed: int) -> tuple[Array, Array | None, float]:
    """Return random returns, risk-free returns or None, and periods per year."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 2_000)) if seed % 4 else int(rng.integers(3, 12))
    noise = rng.standard_t(3, n) if seed % 3 else rng.standard_normal(n)
    returns = np.maximum(rng.normal(0.0, 0.002) + 10.0 ** rng.uniform(-4.0, -1.3) * noise, -0.95)
    risk_free = rng.uniform(0.0, 3e-4, n) if seed % 2 else None
    return returns, risk_free, PERIODS[seed % len(PERIODS)]


def summary(returns: Any, ppy: float = 252.0, risk_free: Any = None) -> tuple[dict[str, Any], dict[str, str]]:
    return native.summarize(np.asarray(returns, dtype=float), periods_per_year=ppy, risk_free=risk_free)


def excess(r: Array, rf: Array | None) -> Array:
    return r if rf is None else r - rf


Oracle = Callable[[Array, "Array | None", float], float]
EMPYRICAL: dict[str, Oracle] = {
    "sharpe": lambda r, rf, ppy: empyrical.sharpe_ratio(excess(r, rf), annualization=ppy),
    "sortino": lambda r, rf, ppy: empyrical.sortino_ratio(excess(r, rf), annualization=ppy),
    "vol": lambda r, _, ppy: empyrical.annual_volatility(r, annualization=ppy),
    "cagr": lambda r, _, ppy: empyrical.annual_return(r, annualization=ppy),
    "return": lambda r, _, ppy: empyrical.cum_returns_final(r),
    "max_drawdown": lambda r, _, ppy: empyrical.max_drawdown(r),
    "calmar": lambda r, _, ppy: empyrical.calmar_ratio(r, annualization=ppy),
    "var_95": lambda r, _, ppy: empyrical.value_at_risk(r, cutoff=0.05),
    "cvar_95": lambda r, _, ppy: empyrical.conditional_value_at_risk(r, cutoff=0.05),
    "tail_ratio": lambda r, _, ppy: empyrical.tail_ratio(r),
}
SCIPY: dict[str, Oracle] = {
    "skew": lambda r, _, ppy: stats.skew(r),
    "kurtosis": lambda r, _, ppy: stats.kurtosis(r, fisher=False),
}


def sharpe_se(r: Array, rf: Array | None, ppy: float) -> float:
    """Return the standard error of an annual Sharpe ratio: Mertens (2002), with population moments."""
    values, n = excess(r, rf).tolist(), len(r)
    mean = math.fsum(values) / n
    moments = [math.fsum((x - mean) ** k for x in values) / n for k in (2, 3, 4)]
    ratio = mean / math.sqrt(moments[0] * n / (n - 1))
    skew, kurtosis = moments[1] / moments[0] ** 1.5, moments[2] / moments[0] ** 2
    return math.sqrt(ppy * (1.0 - skew * ratio + (kurtosis - 1.0) / 4.0 * ratio**2) / (n - 1))


def plain(r: Array, rf: Array | None, ppy: float) -> dict[str, float]:
    """Return statistics by independent formulas, with those of a library."""
    path = np.concatenate([[1.0], np.cumprod(1.0 + r)])
    ordered, over = np.sort(r), excess(r, rf)
    downside = math.sqrt(math.fsum(min(x, 0.0) ** 2 for x in over) / len(r))
    drawdown = (path / np.maximum.accumulate(path) - 1.0).min()
    cagr = path[-1] ** (ppy / len(r)) - 1.0
    found = {
        "n_returns": len(r),
        "return": path[-1] - 1.0,
        "sharpe_se": sharpe_se(r, rf, ppy),
        "sharpe": math.fsum(over) / len(r) / np.std(over, ddof=1) * math.sqrt(ppy),
        "max_drawdown": drawdown,
        "cvar_95": ordered[: int((len(r) - 1) * 0.05) + 1].mean(),
        "var_95": np.percentile(r, 5.0),
        "cagr": cagr,
    }
    found |= {"sortino": math.fsum(over) / len(r) * ppy / (downside * math.sqrt(ppy))} if downside else {}
    return found | ({"calmar": cagr / abs(drawdown)} if drawdown else {})


def size(name: str, r: Array, expected: float) -> float:
    """Return the scale of the tolerance of a statistic: its value, or larger terms that cancel in it."""
    if name in {"skew", "max_drawdown"}:
        return max(1.0, abs(expected))
    if name == "calmar":
        return abs(expected) / min(1.0, abs(empyrical.max_drawdown(r)))
    return abs(expected)


def errors(oracles: Callable[[Array, Any, float], dict[str, float]]) -> dict[str, float]:
    worst: dict[str, float] = {}
    for seed in range(N_SERIES):
        r, rf, ppy = series(seed)
        values, undefined = summary(r, ppy, rf)
        for name, expected in oracles(r, rf, ppy).items():
            # Growth over less than a month is not annualised.
            is_short = name in {"cagr", "calmar"} and 12 * len(r) < ppy
            if is_short or np.isnan(expected) or np.isinf(expected):
                assert (values[name], name in undefined) == (None, True), (seed, name)
                continue
            error = 0.0 if values[name] == expected else abs(values[name] - expected) / size(name, r, expected)
            worst[name] = max(worst.get(name, 0.0), error)
    return worst


def all_of(oracles: dict[str, Oracle]) -> Callable[[Array, Any, float], dict[str, float]]:
    return lambda r, rf, ppy: {name: float(oracle(r, rf, ppy)) for name, oracle in oracles.items()}


@pytest.mark.parametrize("name", EMPYRICAL)
def test_the_statistic_equals_that_of_empyrical(name: str) -> None:
    worst = errors(all_of({name: EMPYRICAL[name]}))
    print(f"empyrical, {N_SERIES} series: {name} {worst[name]:.1e}")
    assert worst[name] <= RELATIVE


@pytest.mark.parametrize("name", SCIPY)
def test_the_moment_equals_that_of_scipy(name: str) -> None:
    worst = errors(all_of({name: SCIPY[name]}))
    print(f"scipy, {N_SERIES} series: {name} {worst[name]:.1e}")
    assert worst[name] <= RELATIVE


def test_the_statistics_equal_their_definitions() -> None:
    worst = errors(plain)
    print(f"written out, {N_SERIES} series: " + ", ".join(f"{name} {error:.1e}" for name, error in worst.items()))
    assert {name: error for name, error in worst.items() if not error <= RELATIVE} == {}


def test_the_standard_error_of_a_sharpe_ratio_equals_its_simulated_deviation() -> None:
    rng = np.random.default_rng(1)
    tracks = [summary(rng.normal(5e-4, 0.01, 1_000))[0] for _ in range(2_000)]
    spread = np.std([track["sharpe"] for track in tracks])
    assert np.mean([track["sharpe_se"] for track in tracks]) == pytest.approx(spread, rel=0.05)


EVERY = set(summary([0.1, -0.1, 0.2])[0])
MOMENTS = {"sharpe", "sharpe_se", "skew", "kurtosis"}
UNTRADED = {"turnover", "cost", "exposure", "net_exposure"}  # what a series of returns cannot tell
ANNUAL = {"cagr", "vol", "sharpe", "sharpe_se", "sortino", "calmar"}
UNDEFINED: dict[str, tuple[list[float], set[str]]] = {
    "none": ([], EVERY - {"n_returns"} - UNTRADED),
    "one": ([0.01], MOMENTS | {"vol", "sortino", "calmar"}),
    "constant": ([0.01] * 9, MOMENTS | {"sortino", "calmar"}),
    "constant and not exact": ([0.1, 0.1, 0.1], MOMENTS | {"sortino", "calmar"}),
    "zero": ([0.0] * 9, MOMENTS | {"sortino", "calmar", "tail_ratio"}),
    "rising": ([0.01, 0.02, 0.03], {"sortino", "calmar"}),
    "beyond the range of a float": ([1e200, 1e100], ANNUAL | MOMENTS),
    "NaN": ([0.01, np.nan, -0.02], EVERY - {"n_returns"} - UNTRADED),
    "infinite": ([0.01, np.inf, -0.02], EVERY - {"n_returns"} - UNTRADED),
    "below -1": ([0.01, -1.5, 0.02], {"return", "cagr", "calmar", "max_drawdown"}),
    "ruin": ([0.01, -1.0, 0.0], set()),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_an_undefined_statistic_is_none_with_a_reason(name: str) -> None:
    returns, expected = UNDEFINED[name]
    values, reasons = summary(returns, 12.0)
    assert {each for each, value in values.items() if value is None} == expected | UNTRADED
    assert set(reasons) == expected | UNTRADED
    assert all(reason and "required" in reason for reason in reasons.values())
    assert all(math.isfinite(value) for value in values.values() if value is not None)


@pytest.mark.parametrize("ppy", [None, np.nan])
def test_annual_statistics_are_undefined_if_the_bars_per_year_are_unknown(ppy: float | None) -> None:
    known, _ = summary([0.01, -0.02, 0.03], 12.0)
    values, reasons = native.summarize(np.array([0.01, -0.02, 0.03]), periods_per_year=ppy)
    assert {name for name in known if known[name] != values[name]} == ANNUAL
    assert {reasons[name] for name in ANNUAL} == {
        "a known number of bars per year is required; received dates that do not show it"
    }


@pytest.mark.parametrize(("ppy", "month"), [(252.0, 21), (365.0, 31), (52.0, 5), (12.0, 1), (98_280.0, 8_190)])
def test_growth_over_less_than_a_month_is_not_annualised(ppy: float, month: int) -> None:
    values, reasons = summary([0.01, -0.02] * month, ppy)
    assert values["cagr"] == pytest.approx((1.01 * 0.98) ** (ppy / 2.0) - 1.0, rel=1e-9)
    values, reasons = summary(([0.01, -0.02] * month)[: month - 1], ppy)
    assert values["cagr"] is values["calmar"] is None
    wanted = f"at least {month} returns, one month, are required for annual growth; received {month - 1}"
    assert month == 1 or reasons["cagr"] == wanted


def test_a_ruined_series_has_a_return_of_minus_one() -> None:
    values, _ = summary([0.5, -1.0, 0.0, 0.0], 12.0)
    assert (values["return"], values["cagr"], values["max_drawdown"], values["calmar"]) == (-1.0, -1.0, -1.0, -1.0)


def test_an_initial_loss_is_a_drawdown_from_the_start() -> None:
    assert summary([-0.1, 0.05])[0]["max_drawdown"] == pytest.approx(-0.1, rel=1e-15)


def test_the_scale_of_nav_does_not_matter() -> None:
    r, rf, ppy = series(9)
    values = summary(r, ppy, rf)[0]
    assert summary(r[::-1].copy(), ppy, rf[::-1].copy())[0]["sharpe"] == pytest.approx(values["sharpe"], rel=1e-12)
    strided = np.repeat(r, 2)[::2]
    assert summary(strided, ppy, np.repeat(rf, 2)[::2])[0] == values


@pytest.mark.parametrize("n", [0, 2, 4])
def test_a_risk_free_series_of_a_wrong_length_is_refused(n: int) -> None:
    with pytest.raises(oo.OpenOutcryError, match="risk_free") as refused:
        summary([0.1, 0.2, -0.1], risk_free=np.zeros(n))
    assert refused.value.slug == "shape_mismatch"


def test_a_run_has_the_statistics_of_its_returns_turnover_and_costs() -> None:
    dataset = oo.data.load("us-treasury")
    run = oo.run_backtest(dataset, "inverse-volatility", (100, 600), oo.CostModel(fee_bps=5.0))
    expected, _ = summary(run.returns, dataset.periods_per_year, dataset.risk_free[101:600].copy())
    traded = UNTRADED
    assert {name: value for name, value in run.metrics.items() if name not in traded} == {
        name: value for name, value in expected.items() if name not in traded
    }
    cost = sum(run.costs.values()) / run.nav[:-1]
    for name, per_bar in {"turnover": run.turnover, "cost": cost}.items():
        assert run.metrics[name] == pytest.approx(per_bar.mean() * dataset.periods_per_year, rel=1e-12)
    assert run.undefined == {}
    held = oo.run_backtest(dataset, "hold-cash", (100, 600), oo.CostModel.zero())
    assert held.metrics["sharpe"] is not None  # below the risk-free rate
    assert {held.metrics[name] for name in ("calmar", "skew", "tail_ratio")} == {None}
    assert set(held.undefined) == {name for name, value in held.metrics.items() if value is None}


@pytest.mark.parametrize("seed", range(20))
def test_exposure_is_the_sum_of_the_weights_of_each_bar(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.normal(0.0, 0.3, (int(rng.integers(1, 60)), int(rng.integers(1, 40))))
    for table in (weights, np.asfortranarray(weights), np.repeat(weights, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(native.gross_exposure(table), np.abs(weights).sum(axis=1), rtol=1e-13)
        np.testing.assert_allclose(native.net_exposure(table), weights.sum(axis=1), rtol=1e-12, atol=1e-14)


def test_exposure_of_no_symbol_is_refused() -> None:
    for exposure in (native.gross_exposure, native.net_exposure):
        with pytest.raises(oo.OpenOutcryError, match="at least 1; received shape") as refused:
            exposure(np.zeros((3, 0)))
        assert refused.value.slug == "shape_mismatch"


@pytest.mark.parametrize("seed", range(20))
def test_drawdowns_are_relative_to_the_running_peak(seed: int) -> None:
    nav = np.concatenate([[1.0], np.cumprod(1.0 + series(seed)[0])])
    assert native.drawdowns(nav).tolist() == (nav / np.maximum.accumulate(nav) - 1.0).tolist()
    assert native.drawdowns(np.append(nav, 0.0))[-1] == -1.0


def test_a_constant_return_is_riskless_despite_rounding() -> None:
    assert native.is_riskless(np.full(500, 1e-4))
    grown = np.cumprod(np.full(500, 1.0001))
    assert native.is_riskless(grown[1:] / grown[:-1] - 1.0)
    assert not native.is_riskless(series(1)[0])


def test_the_exposure_of_a_run_is_the_mean_of_its_weights_after_the_first_bar() -> None:
    run = oo.run_backtest(oo.Dataset.synthetic(5, 90, 3), "random")
    held = run.weights[1:]
    assert run.metrics["exposure"] == pytest.approx(np.abs(held).sum(axis=1).mean(), rel=1e-12)
    assert run.metrics["net_exposure"] == pytest.approx(held.sum(axis=1).mean(), rel=1e-12)
    short = oo.run_backtest(oo.Dataset.synthetic(2, 90, 3), np.tile([0.5, -0.5], (90, 1)))
    assert short.metrics["exposure"] == pytest.approx(1.0, abs=0.05)
    assert short.metrics["net_exposure"] == pytest.approx(0.0, abs=0.05)
