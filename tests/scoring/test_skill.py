"""Skill statistics against SciPy, frozen numbers of skfolio, and independent formulas."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import empyrical
import numpy as np
import pytest
from builders import Array, count
from scipy import integrate, special, stats
from scipy.cluster import hierarchy
from skfolio_sharpe import sharpe, track

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.scoring import skill
from openoutcry.scoring.skill import Moments, Trials

SKFOLIO = json.loads((Path(__file__).parents[1] / "oracle" / "skfolio_sharpe.json").read_text(encoding="utf-8"))
GAMMA = 0.57721566490153286
N_POINTS = count(200_000, 20_000)


def heavy(rng: np.random.Generator, n: int) -> Array:
    """Return returns with fat tails, some of them autocorrelated."""
    noise = rng.standard_t(4, n + 1)
    return 2e-4 + 0.01 * (noise[1:] + rng.uniform(-0.5, 0.5) * noise[:-1])


def worst(function: Callable[[float], float], points: Array, expected: Array) -> float:
    found = np.array([function(float(point)) for point in points])
    return float(np.max(np.abs(found / expected - 1.0)))


def test_the_normal_distribution_equals_that_of_scipy_in_both_tails() -> None:
    rng = np.random.default_rng(1)
    near = 10.0 ** rng.uniform(-20.0, 0.0, N_POINTS // 4) * rng.choice([-1.0, 1.0], N_POINTS // 4)
    points = np.concatenate([rng.uniform(-37.5, 8.5, N_POINTS), near])
    error = worst(native.normal_cdf, points, special.ndtr(points))
    print(f"cdf, {len(points)} points: {error:.1e}")
    assert error <= 1e-12


def test_the_normal_quantile_equals_that_of_scipy_in_both_tails() -> None:
    rng = np.random.default_rng(2)
    centre = 0.5 + 10.0 ** rng.uniform(-15.0, -1.0, N_POINTS // 4) * rng.choice([-1.0, 1.0], N_POINTS // 4)
    small = 10.0 ** rng.uniform(-323.0, -0.4, N_POINTS)
    points = np.concatenate([small, centre, 1.0 - small[small > 1e-16], [5e-324, 1e-308, 1.0 - 2.0**-53]])
    error = worst(native.normal_quantile, points[points != 0.5], special.ndtri(points[points != 0.5]))
    print(f"quantile, {len(points)} points: {error:.1e}")
    assert error <= 1e-12
    assert (native.normal_quantile(0.0), native.normal_quantile(1.0)) == (-math.inf, math.inf)
    assert math.isnan(native.normal_quantile(1.5))


@pytest.mark.parametrize("case", SKFOLIO["tracks"], ids=lambda case: f"T={case['n_returns']}")
def test_the_ratios_equal_those_of_skfolio(case: dict[str, Any]) -> None:
    n, first = case["n_returns"], case["first_trial"]
    moments = Moments.of(track(case["seed"], n))
    assert skill.probabilistic_sharpe(moments) == pytest.approx(case["psr"], rel=1e-12)
    assert skill.probabilistic_sharpe(moments, 0.05) == pytest.approx(case["psr_over_0.05"], rel=1e-12)
    ratios = [sharpe(track(seed, n)) for seed in range(first, first + case["n_trials"])]
    spread = float(np.std(ratios, ddof=1))
    found = skill.deflate(moments, len(ratios), spread=spread)
    # skfolio has no minimum of the spread of trials.
    floor = 1.0 / math.sqrt(n - 1)
    assert found.sigma == max(spread, floor)
    assert skill.probabilistic_sharpe(moments, spread * skill.expected_max(len(ratios))) == pytest.approx(
        case["dsr"], rel=1e-12
    )
    if spread >= floor:
        assert found.dsr == pytest.approx(case["dsr"], rel=1e-12)


def test_the_skfolio_cases_cover_spreads_above_and_below_the_minimum() -> None:
    def is_above(case: dict[str, Any]) -> bool:
        n, first = case["n_returns"], case["first_trial"]
        ratios = [sharpe(track(seed, n)) for seed in range(first, first + case["n_trials"])]
        return bool(np.std(ratios, ddof=1) >= 1.0 / math.sqrt(n - 1))

    assert {is_above(case) for case in SKFOLIO["tracks"]} == {True, False}


@pytest.mark.parametrize(("n_trials", "expected"), SKFOLIO["expected_max"].items())
def test_the_expected_maximum_equals_skfolio_and_the_formula(n_trials: str, expected: float) -> None:
    n = int(n_trials)
    assert skill.expected_max(n) == pytest.approx(expected, rel=1e-8 if n > 10_000 else 1e-12)
    if n > 1:
        # The upper tail by symmetry, because the quantile of 1 - 1/N loses digits for N = 1e9.
        written = -(1.0 - GAMMA) * special.ndtri(1.0 / n) - GAMMA * special.ndtri(1.0 / (n * math.e))
        assert skill.expected_max(n) == pytest.approx(written, rel=1e-13)


@pytest.mark.parametrize("n", [5, 21, 100, 1000])
def test_the_expected_maximum_is_close_to_numerical_integration(n: int) -> None:
    x = np.linspace(-10.0, 12.0, 200_001)
    exact = integrate.trapezoid(x * n * stats.norm.pdf(x) * stats.norm.cdf(x) ** (n - 1), x)
    assert skill.expected_max(n) == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("seed", range(20))
def test_moments_errors_and_probabilities_equal_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    r = heavy(rng, int(rng.integers(10, 2_000)))
    n, ratio = len(r), r.mean() / r.std(ddof=1)
    moments = Moments.of(r)
    assert moments.n_returns == n
    assert moments.sharpe == pytest.approx(ratio, rel=1e-12)
    assert moments.kurtosis == pytest.approx(stats.kurtosis(r, fisher=False), rel=1e-12)
    variance = 1.0 - stats.skew(r) * ratio + (stats.kurtosis(r, fisher=False) - 1.0) / 4.0 * ratio**2
    z = (ratio - 0.02) * math.sqrt(n - 1) / math.sqrt(variance)
    assert skill.z_score(moments, 0.02) == pytest.approx(z, rel=1e-11)
    assert skill.probabilistic_sharpe(moments, 0.02) == pytest.approx(stats.norm.cdf(z), rel=1e-11)
    if ratio > 0.0:
        least = 1.0 + variance * (stats.norm.ppf(0.95) / ratio) ** 2
        assert skill.min_track_record(moments) == pytest.approx(least, rel=1e-11)
        assert skill.min_track_record(moments, confidence=0.3) == 1.0
    errors = skill.sharpe_errors(r, 252.0)
    assert errors.standard_error == pytest.approx(math.sqrt(252.0 * variance / (n - 1)), rel=1e-12)
    assert errors.sharpe == native.summarize(r, periods_per_year=252.0)[0]["sharpe"]


def lo_error(r: Array, ppy: float, lags: int) -> float:
    """Return the HAC error of a Sharpe ratio: delta method on a Newey-West matrix of mean and variance (Lo 2002)."""
    n, mean, variance = len(r), r.mean(), r.var()
    moments = np.stack([r - mean, (r - mean) ** 2 - variance])
    total = moments @ moments.T / n
    for lag in range(1, lags + 1):
        step = moments[:, lag:] @ moments[:, :-lag].T / n
        total += (1.0 - lag / (lags + 1)) * (step + step.T)
    # The ratio and its derivative use ddof 1.
    ratio, deviation = mean / r.std(ddof=1), math.sqrt(variance)
    slope = np.array([1.0 / deviation, -ratio / (2.0 * variance)])
    return math.sqrt(ppy * float(slope @ total @ slope) / (n - 1))


@pytest.mark.parametrize("seed", range(20))
def test_the_hac_error_equals_that_of_lo(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    r = heavy(rng, int(rng.integers(30, 2_000)))
    rule = int(4.0 * (len(r) / 100.0) ** (2.0 / 9.0))
    for lags in (None, 0, 1, 12):
        found = skill.sharpe_errors(r, 252.0, lags)
        assert found.lags == (rule if lags is None else lags)
        assert found.hac_standard_error == pytest.approx(lo_error(r, 252.0, found.lags), rel=1e-11)
    centred = r - r.mean()
    assert found.autocorrelation == pytest.approx((centred[1:] @ centred[:-1]) / (centred @ centred), rel=1e-10)


def test_the_hac_error_equals_the_simulated_deviation_of_autocorrelated_series() -> None:
    rng = np.random.default_rng(5)
    found, plain, ratios = [], [], []
    for _ in range(count(4_000, 600)):
        noise = 0.01 * rng.standard_normal(1_001)
        errors = skill.sharpe_errors(5e-4 + noise[1:] + 0.5 * noise[:-1], 252.0, 20)
        found.append(errors.hac_standard_error)
        plain.append(errors.standard_error)
        ratios.append(errors.sharpe)
    spread = np.std(ratios, ddof=1)
    print(f"spread {spread:.3f}, HAC {np.mean(found):.3f}, plain {np.mean(plain):.3f}")
    assert np.mean(found) == pytest.approx(spread, rel=0.1)
    assert np.mean(plain) < 0.8 * spread


@pytest.mark.parametrize("seed", range(12))
def test_clusters_of_trials_equal_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    factors = rng.standard_normal((4, 300))
    tracks = rng.dirichlet(np.full(4, 0.3), 60) @ factors + rng.uniform(0.1, 1.0) * rng.standard_normal((60, 300))
    tracks[50:] = tracks[rng.integers(0, 50, 10)]
    distances = 1.0 - np.corrcoef(tracks)[np.triu_indices(60, 1)]
    tree = hierarchy.linkage(np.maximum(distances, 0.0), "average")
    expected = len(set(hierarchy.fcluster(tree, 0.5, "distance")))
    assert Trials.of(tracks).n_eff == expected
    assert 1 < expected < 60


@pytest.mark.parametrize("seed", range(8))
def test_the_spread_of_trials_excludes_correlated_ones(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    tracks = rng.normal(0.0, 0.01, (30, 120))
    tracks[10:] = tracks[rng.integers(0, 10, 20)] + rng.choice([0.001, 0.003, 0.005], 20)[:, None] * rng.normal(
        size=(20, 120)
    )
    correlations, kept = np.corrcoef(tracks), []
    for trial in range(30):
        if all(correlations[trial, earlier] <= 0.95 for earlier in kept):
            kept.append(trial)
    found = Trials.of(tracks)
    ratios = tracks[kept].mean(axis=1) / tracks[kept].std(axis=1, ddof=1)
    assert (found.n_trials, found.n_spread) == (30, len(kept))
    assert 10 <= len(kept) < 30
    assert found.spread == pytest.approx(ratios.std(ddof=1), rel=1e-12)


def test_neither_an_honest_nor_a_padded_ledger_makes_luck_pass() -> None:
    rng, n_rounds = np.random.default_rng(7), count(20_000, 400)
    n_padded = count(500, 10)
    honest, unfloored, padded, related = 0, 0, 0, 0
    for played in range(n_rounds):
        tracks = rng.normal(0.0, 0.01, (100, 250))
        ratios = tracks.mean(axis=1) / tracks.std(axis=1, ddof=1)
        best = Moments.of(tracks[ratios.argmax()])
        honest += skill.deflate(best, Trials.of(tracks)).dsr >= 0.95
        median = int(ratios.argsort()[50])
        # The standard deviation over the complete ledger, which copies of one series reduce.
        naive = float(np.concatenate([ratios, np.full(9_900, ratios[median])]).std(ddof=1))
        unfloored += skill.probabilistic_sharpe(best, naive * skill.expected_max(10_000)) >= 0.95
        if played < n_padded:
            copies = np.repeat(tracks[[median]], 9_900, axis=0)
            padded += skill.deflate(best, Trials.of(np.concatenate([tracks, copies]))).dsr >= 0.95
            # Just different enough to count in the spread; the minimum applies.
            near = tracks[median] + 0.0045 * rng.standard_normal((400, 250))
            related += skill.deflate(best, Trials.of(np.concatenate([tracks, near]))).dsr >= 0.95
    print(f"best of 100 without skill is eligible: {honest / n_rounds:.2%} of {n_rounds} honest ledgers,")
    print(f"{unfloored / n_rounds:.1%} padded and unfloored, {padded} and {related} of {n_padded} padded here")
    assert honest / n_rounds <= 0.004
    assert 0.85 < unfloored / n_rounds < 0.93
    assert (padded, related) == (0, 0)


def test_a_regression_equals_that_of_scipy() -> None:
    rng = np.random.default_rng(11)
    for n in (3, 30, 700):
        b = rng.normal(3e-4, 0.01, n)
        r = 1e-4 + 0.7 * b + rng.normal(0.0, 0.004, n)
        found, line = skill.regress(r, b), stats.linregress(b, r)
        assert found.beta == pytest.approx(line.slope, rel=1e-11)
        assert found.beta == pytest.approx(empyrical.beta(r, b), rel=1e-11)
        assert found.alpha == pytest.approx(line.intercept, rel=1e-9)
        assert found.alpha_error == pytest.approx(line.intercept_stderr, rel=1e-9)
        assert found.r_squared == pytest.approx(line.rvalue**2, rel=1e-9)
        np.testing.assert_allclose(found.active, r - line.slope * b, rtol=1e-10, atol=1e-16)
    assert skill.regress([0.1, 0.2], [0.1, 0.3]).undefined == {
        "alpha_error": "at least 3 returns are required; received 2"
    }


def test_levered_buy_and_hold_has_no_active_return() -> None:
    b = np.random.default_rng(12).normal(5e-4, 0.01, 500)
    with pytest.raises(oo.OpenOutcryError, match="varying returns are required"):
        Moments.of(skill.regress(2.0 * b, b).active)
    assert skill.tracking(2.0 * b, b, 252.0).information_ratio > 0.0
    with pytest.raises(oo.OpenOutcryError, match="varying returns are required"):
        skill.tracking(b + 1e-4, b, 252.0)


def test_undefined_ratios_are_refused_or_none_with_a_reason() -> None:
    rng = np.random.default_rng(13)
    rolled = skill.rolling_sharpe(np.concatenate([np.zeros(5), rng.normal(0.0, 0.01, 20)]), 5, 252.0)
    assert np.isnan(rolled.ratios[0])
    assert rolled.worst == np.nanmin(rolled.ratios)
    assert rolled.worst_at == int(np.nanargmin(rolled.ratios))
    flat = skill.rolling_sharpe(np.zeros(5), 3, 252.0)
    assert (flat.worst, flat.worst_at, set(flat.undefined)) == (None, None, {"worst", "worst_at"})
    gone = skill.decay(-np.abs(rng.normal(size=9)), rng.normal(size=9), 252.0)
    assert (gone.decay, set(gone.undefined)) == (None, {"decay"})
    alone = Trials.of(rng.normal(size=(1, 9)))
    assert (alone.spread, set(alone.undefined)) == (None, {"spread"})
    refused: list[Callable[[], object]] = [
        lambda: Moments.of(np.zeros(9)),
        lambda: Moments.of([0.1, math.nan]),
        lambda: Moments.of([]),
        lambda: skill.probabilistic_sharpe(Moments(9, 1.0, 4.0, 5.0)),
        lambda: skill.min_track_record(Moments(9, 0.1), 0.2),
        lambda: skill.min_track_record(Moments(9, 0.1), 0.0, 1.0),
        lambda: skill.min_backtest_years(10, -1.0),
        lambda: skill.deflate(Moments(9, 0.1), Trials.of(rng.normal(size=(3, 8)))),
        lambda: skill.deflate(Moments(9, 0.1), Trials.of(rng.normal(size=(3, 9))), spread=0.1),
        lambda: skill.deflate(Moments(9, 0.1), -1),
        lambda: skill.deflate(Moments(9, 0.1), 3, spread=math.nan),
        lambda: skill.expected_max(True),
        lambda: skill.sharpe_errors(rng.normal(size=9), 252.0, lags=9),
        lambda: skill.calibrate([(1.5, 0.5, 1.0, 1.0)]),
        lambda: skill.calibrate([]),
        lambda: skill.probabilistic_sharpe(Moments(9, 0.1), math.nan),
        lambda: skill.probabilistic_sharpe(Moments(9, math.nan)),
        lambda: skill.min_track_record(Moments(9, 0.1), -math.inf),
        lambda: skill.min_backtest_years(10, math.inf),
        lambda: skill.at_cost([0.1], [math.nan], [0.1], 1.0),
        lambda: skill.at_cost([0.1], [0.0], [0.1], math.nan),
    ]
    for call in refused:
        with pytest.raises(oo.OpenOutcryError, match="; received ") as error:
            call()
        assert error.value.slug == "argument_invalid"
    for values in (["a"], np.zeros((2, 2)), [True, False], np.ma.masked_array([1.0])):
        with pytest.raises(oo.OpenOutcryError) as error:
            Moments.of(values)
        assert error.value.slug == "shape_mismatch"


@pytest.mark.parametrize("ppy", [0.0, -252.0, math.nan, math.inf])
def test_invalid_periods_per_year_are_refused(ppy: float) -> None:
    r, b = np.random.default_rng(16).normal(size=(2, 9))
    calls: list[Callable[[], object]] = [
        lambda: skill.sharpe_errors(r, ppy),
        lambda: skill.rolling_sharpe(r, 5, ppy),
        lambda: skill.tracking(r, b, ppy),
        lambda: skill.decay(r, b, ppy),
    ]
    for call in calls:
        with pytest.raises(oo.OpenOutcryError, match=r"bars per year( above 0 are| is) required") as refused:
            call()
        assert refused.value.slug == "argument_invalid"


def test_declared_trials_and_those_of_the_ledger_are_added() -> None:
    rng = np.random.default_rng(14)
    tracks = rng.normal(0.0, 0.01, (20, 250))
    moments, ledger = Moments.of(tracks[0]), Trials.of(tracks)
    counted, declared = skill.deflate(moments, ledger), skill.deflate(moments, ledger, declared=80)
    assert (counted.n_trials, declared.n_trials) == (20, 100)
    assert declared.dsr < counted.dsr
    assert declared.sr0 == declared.sigma * skill.expected_max(100)
    assert (declared.n_eff, declared.moments) == (ledger.n_eff, moments)
    assert skill.deflate(moments, 1).dsr == skill.deflate(moments, 1).psr
    longer = skill.deflate(replace(moments, n_returns=1_000), 20)
    assert longer.sigma == 1.0 / math.sqrt(999)


def test_calibration_equals_the_brier_score() -> None:
    rng = np.random.default_rng(15)
    confidences = rng.uniform(0.0, 1.0, 400)
    weights, fills = rng.choice([-0.5, 0.25], 400), rng.uniform(5.0, 50.0, 400)
    closes = fills * (1.0 + rng.normal(0.0, 0.02, 400))
    came = (weights * (closes / fills - 1.0) > 0.0).astype(float)
    orders = [*zip(confidences, weights, fills, closes, strict=True), (None, 0.5, 1.0, 1.0), (0.5, 0.0, 1.0, 2.0)]
    found = skill.calibrate(orders)
    assert (found.n_stated, found.n_absent, found.n_flat) == (400, 1, 1)
    assert found.brier == pytest.approx(((confidences - came) ** 2).mean(), rel=1e-12)
    places = np.minimum((confidences * 10).astype(int), 9)
    assert [each.n_orders for each in found.bins] == np.bincount(places, minlength=10).tolist()
    for place, each in enumerate(found.bins):
        assert each.hit_rate == pytest.approx(came[places == place].mean(), rel=1e-12)
        assert each.confidence == pytest.approx(confidences[places == place].mean(), rel=1e-12)


def test_returns_at_a_common_cost_equal_a_run_at_that_cost_to_first_order() -> None:
    dataset = oo.data.load("ecb-fx")
    cheap = oo.run_backtest(dataset, "momentum", costs=oo.CostModel(fee_bps=1.0, slippage_bps=0.0))
    dear = oo.run_backtest(dataset, "momentum", costs=oo.CostModel(fee_bps=10.0, slippage_bps=0.0))
    paid = cheap.costs["fee"] / cheap.nav[:-1]
    found = skill.at_cost(cheap.returns, paid, cheap.turnover, 10.0)
    np.testing.assert_allclose(found, dear.returns, atol=3e-6)
    zero = skill.break_even_bps(cheap.returns, paid, cheap.turnover)
    assert skill.at_cost(cheap.returns, paid, cheap.turnover, zero).mean() == pytest.approx(0.0, abs=1e-15)
