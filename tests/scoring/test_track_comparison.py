"""Comparison of runs on their common dates, and the interval of a mean difference."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from builders import count
from scipy import stats

import openoutcry as oo
from openoutcry.scoring.mean_difference import mean_difference
from openoutcry.scoring.multiple_testing import holm, sharpe_difference
from openoutcry.scoring.return_tracks import Track, align
from openoutcry.scoring.track_comparison import compare_tracks

DAYS = [str(np.datetime64("2020-01-01") + day) for day in range(400)]


def track(name: str, seed: int, days: slice = slice(None), **changes: Any) -> Track:
    dates = DAYS[days]
    returns = np.random.default_rng(seed).normal(5e-4, 0.01, len(DAYS))[days]
    fields: dict[str, Any] = {"risk_free": None, "start": "2019-12-31", "periods_per_year": 365.0}
    return Track(name, dates, **{"returns": returns, **fields, **changes})


def test_on_equal_dates_every_metric_is_that_of_the_run_to_the_bit() -> None:
    data = oo.data.load("us-treasury").head(600)
    runs = [oo.run_backtest(data, name) for name in ("momentum", "buy-and-hold")]
    compared = compare_tracks([Track.of(run) for run in runs], n_draws=200)
    assert data.risk_free is not None
    for metrics, run in zip(compared.metrics, runs, strict=True):
        assert metrics == {name: run.metrics[name] for name in metrics}
    assert compared.notices == ()


def test_returns_between_common_dates_are_compounded_and_the_lost_ones_are_counted() -> None:
    whole, part = track("whole", 1), track("part", 2)
    some = [*range(10, 200), *range(205, 390)]
    part = track("part", 2, slice(None))
    part = Track("part", [DAYS[i] for i in some], part.returns[some], None, DAYS[9], 365.0)
    compared = compare_tracks([whole, part], n_draws=200)
    aligned = compared.aligned
    assert aligned.n_lost == (400 - 375, 0)
    assert aligned.n_compounded == (5, 0)
    assert aligned.start == DAYS[9]
    assert np.prod(1.0 + aligned.returns[:, 0]) == pytest.approx(np.prod(1.0 + whole.returns[10:390]), rel=1e-13)
    assert aligned.returns[190, 0] == pytest.approx(np.prod(1.0 + whole.returns[200:206]) - 1.0, rel=1e-12)
    assert (
        "Not on a common date: 25 of the 400 returns of whole; 5 compounded into the next common date."
        in compared.notices
    )


def test_a_daily_and_a_weekly_run_are_compared_by_week_and_the_page_says_so() -> None:
    daily, weeks = track("daily", 1), list(range(6, 400, 7))
    growth = np.cumprod(1.0 + track("x", 2).returns)[weeks]
    weekly = growth[1:] / growth[:-1] - 1.0
    other = Track("weekly", [DAYS[i] for i in weeks[1:]], weekly, None, DAYS[6], 52.0)
    compared = compare_tracks([daily, other], n_draws=200)
    assert compared.periods_per_year == 52.0
    assert any("52, 365 bars per year; the common dates have 52" in notice for notice in compared.notices)
    assert compared.pairs[0].sharpe.interval is None
    assert "250" in compared.pairs[0].sharpe.reason


def test_runs_without_a_common_date_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"common dates .* received 'a' from 2020-01-01 .*hint"):
        compare_tracks([track("a", 1, slice(0, 100)), track("b", 2, slice(100, 200))])


@pytest.mark.parametrize("n", [1, 9])
def test_another_number_of_runs_is_refused(n: int) -> None:
    with pytest.raises(oo.OpenOutcryError, match=rf"from 2 to 8 runs are required; received {n}"):
        compare_tracks([track(f"t{i}", i) for i in range(n)])


def test_differences_are_those_of_the_paired_tests_adjusted_over_all_pairs() -> None:
    tracks = [track(name, seed) for name, seed in (("a", 1), ("b", 2), ("c", 3))]
    pairs = compare_tracks(tracks, seed=5, n_draws=400).pairs
    alone = []
    for pair in pairs:
        one, two = tracks[pair.first].returns, tracks[pair.second].returns
        expected = sharpe_difference(one, two, periods_per_year=365.0, seed=5, n_draws=400)
        assert pair.sharpe.interval == expected
        assert pair.mean.interval == mean_difference(one, two, seed=5, n_draws=400)
        alone.append(expected.p_value)
    assert [pair.sharpe.adjusted for pair in pairs] == holm(alone).tolist()
    assert compare_tracks(tracks, seed=6, n_draws=400).pairs[0].mean != pairs[0].mean


def test_what_cannot_be_compared_is_undefined_with_its_reason() -> None:
    cash = track("cash", 1, returns=np.zeros(400))
    compared = compare_tracks([track("a", 1), track("a", 1), cash], n_draws=200)
    assert [each.name for each in compared.tracks] == ["a", "a (2)", "cash"]
    copies, flat = compared.pairs[0], compared.pairs[1]
    assert copies.sharpe.reason.endswith("these two runs have the same ones")
    assert copies.mean.interval is None
    assert flat.sharpe.reason.endswith("those of cash are constant")
    assert flat.mean.interval is not None
    assert np.isnan(compared.correlation[2]).all()
    assert compared.correlation[0, 1] == pytest.approx(1.0)
    assert "only returns are known" in compared.undefined[0]["turnover"]
    json.dumps(compared.to_json(), allow_nan=False)


def test_metrics_of_trades_are_undefined_where_a_date_of_the_run_is_not_common() -> None:
    data = oo.data.load("us-treasury").head(700)
    runs = [oo.run_backtest(data, "momentum", (100, 700)), oo.run_backtest(data, "buy-and-hold", (100, 600))]
    compared = compare_tracks([Track.of(run) for run in runs], n_draws=200)
    assert compared.metrics[0]["turnover"] is None
    assert "some are not common" in compared.undefined[0]["turnover"]
    assert compared.metrics[1]["turnover"] == runs[1].metrics["turnover"]


def test_differing_conditions_are_stated() -> None:
    data = oo.data.load("us-treasury").head(400)
    other = oo.run_backtest(data, "momentum", costs=oo.CostModel(fee_bps=9.0, capital=5e6))
    compared = compare_tracks([Track.of(oo.run_backtest(data, "momentum")), Track.of(other)], n_draws=200)
    text = " ".join(compared.notices)
    assert "The costs differ" in text
    assert "fee_bps 9" in text
    assert "The capital differs: momentum: 1,000,000; momentum (2): 5,000,000" in text
    mixed = compare_tracks([track("a", 1), track("b", 2, risk_free=np.full(400, 1e-4))], n_draws=200)
    assert "Sharpe ratios use raw returns, because a has no risk-free rate." in mixed.notices


def test_the_interval_of_independent_differences_is_that_of_a_t_test() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.normal(1e-3, 0.01, 3000), rng.normal(0.0, 0.01, 3000)
    found = mean_difference(one, two, seed=0)
    expected = stats.ttest_rel(one, two).confidence_interval(0.95)
    width = expected.high - expected.low
    assert found.estimate == pytest.approx(float(np.mean(one - two)), rel=1e-12)
    assert abs(found.low - expected.low) < 0.15 * width
    assert abs(found.high - expected.high) < 0.15 * width


def test_the_interval_covers_the_mean_of_dependent_differences() -> None:
    """An interval for independent returns would cover about 80 % here."""
    rng = np.random.default_rng(1)
    n_worlds, n_covered = count(2000, 300), 0
    for seed in range(n_worlds):
        shocks = rng.normal(0.0, 0.01, 700)
        series = np.empty(700)
        series[0] = shocks[0]
        for bar in range(1, 700):
            series[bar] = 0.4 * series[bar - 1] + shocks[bar]
        found = mean_difference(series, np.zeros(700), seed=seed, n_draws=300)
        n_covered += found.low <= 0.0 <= found.high
    low, high = stats.binom.ppf([0.0005, 0.9995], n_worlds, [0.92, 0.97])
    assert low <= n_covered <= high


@pytest.mark.parametrize(("n_bars", "message"), [(249, "250 returns"), (400, "varying differences")])
def test_a_mean_difference_without_information_is_refused(n_bars: int, message: str) -> None:
    series = np.random.default_rng(2).normal(0.0, 0.01, n_bars)
    with pytest.raises(oo.OpenOutcryError, match=message):
        mean_difference(series, series if n_bars > 250 else -series, seed=0)


def test_one_holding_in_bars_of_two_lengths_has_equal_returns_on_every_row() -> None:
    daily = track("daily", 1)
    ends = list(range(29, 400, 30))
    growth = np.cumprod(1.0 + daily.returns)
    slow = growth[ends[1:]] / growth[ends[:-1]] - 1.0
    coarse = Track("coarse", [DAYS[end] for end in ends[1:]], slow, None, DAYS[ends[0]], 12.0)
    late = Track("late", DAYS[50:], daily.returns[50:], None, DAYS[49], 365.0)
    aligned = align([late, coarse])
    assert (aligned.start, aligned.dates) == (DAYS[59], tuple(DAYS[end] for end in ends[2:]))
    assert aligned.returns[:, 0] == pytest.approx(aligned.returns[:, 1], rel=1e-12)
    assert aligned.n_compounded == (29 * 11, 0)
