"""Returns by calendar period, drawdowns, statistics of bars, and resampled paths."""

from __future__ import annotations

import numpy as np
import pytest

from openoutcry import openoutcry_py as native
from openoutcry.report.charts.downsampling import month_returns, year_returns
from openoutcry.scoring import return_bands
from openoutcry.scoring.bar_statistics import bar_statistics
from openoutcry.scoring.drawdown_periods import calendar_days, drawdown_periods, drawdowns_of
from openoutcry.scoring.period_returns import period_returns, summarize_periods, trailing
from openoutcry.scoring.return_bands import DEPTHS, LEVELS, Bands, bands_of

RNG = np.random.default_rng(8)
DAYS = np.arange("2019-11-25", "2023-03-10", dtype="datetime64[D]")
DATES = [str(day) for day in DAYS[np.is_busday(DAYS)]]
RETURNS = RNG.normal(2e-4, 0.01, len(DATES) - 1)
NAV = np.concatenate([[1.0], np.cumprod(1.0 + RETURNS)])


def bands(returns: np.ndarray, periods: float | None, seed: int, n_paths: int) -> Bands:
    found = bands_of(returns, periods, seed, n_paths)
    assert isinstance(found, Bands)
    return found


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
def test_the_returns_of_all_periods_compound_to_the_return_of_the_run(unit: str) -> None:
    found = np.array(list(period_returns(DATES, NAV, unit).values()))
    assert np.prod(1.0 + found) == pytest.approx(NAV[-1], rel=1e-12)


def test_months_and_years_are_those_of_the_heatmap() -> None:
    months = {(int(key[:4]), int(key[5:])): value for key, value in period_returns(DATES, NAV, "month").items()}
    assert months == month_returns(DATES, NAV)
    assert {int(key): value for key, value in period_returns(DATES, NAV, "year").items()} == year_returns(DATES, NAV)


def test_weeks_start_on_monday_and_quarters_have_their_number() -> None:
    dates = ["2021-01-01", "2021-01-04", "2021-01-08", "2021-01-11", "2021-04-01"]
    nav = np.array([1.0, 1.1, 1.21, 1.331, 1.0])
    weeks = period_returns(dates, nav, "week")
    assert list(weeks) == ["2021-01-04", "2021-01-11", "2021-03-29"]
    assert weeks["2021-01-04"] == pytest.approx(0.21)
    assert list(period_returns(dates, nav, "quarter")) == ["2021-Q1", "2021-Q2"]


def test_a_period_after_ruin_has_no_return() -> None:
    dates = ["2020-01-30", "2020-01-31", "2020-02-03", "2020-03-02"]
    assert period_returns(dates, np.array([1.0, 0.5, 0.0, 0.0]), "month") == {"2020-01": -0.5, "2020-02": -1.0}


def test_monthly_returns_are_those_of_empyrical() -> None:
    empyrical, pd = pytest.importorskip("empyrical"), pytest.importorskip("pandas")
    series = pd.Series(RETURNS, index=pd.DatetimeIndex(DATES[1:]))
    wanted = empyrical.aggregate_returns(series, "monthly")
    found = period_returns(DATES, NAV, "month")
    assert list(found.values()) == pytest.approx(wanted.tolist(), rel=1e-9, abs=1e-12)
    assert bar_statistics(DATES, NAV, RETURNS, drawdowns_of(NAV)).values["omega"] == pytest.approx(
        empyrical.omega_ratio(series)
    )


def test_a_summary_has_the_best_and_worst_period_and_quantiles() -> None:
    summary = {each.unit: each for each in summarize_periods(DATES, NAV)}
    months = period_returns(DATES, NAV, "month")
    found = summary["month"]
    assert found.n_periods == len(months)
    assert found.best == (max(months.values()), max(months, key=months.__getitem__))
    assert found.worst == (min(months.values()), min(months, key=months.__getitem__))
    assert found.quantiles[2] == pytest.approx(np.median(list(months.values())))
    assert found.positive == pytest.approx(np.mean([value > 0.0 for value in months.values()]))


def test_trailing_returns_end_at_the_last_bar_and_long_ones_are_annual() -> None:
    found = trailing(DATES, NAV, 252.0)
    nav = dict(zip(DATES, NAV.tolist(), strict=True))
    assert DATES[-1] == "2023-03-09"
    assert found.values["MTD"] == pytest.approx(NAV[-1] / nav["2023-02-28"] - 1.0)
    assert found.values["YTD"] == pytest.approx(NAV[-1] / nav["2022-12-30"] - 1.0)
    assert found.values["1Y"] == pytest.approx(NAV[-1] / nav["2022-03-09"] - 1.0)
    n_bars = len(DATES) - 1 - DATES.index("2020-03-09")
    assert found.values["3Y"] == pytest.approx((NAV[-1] / nav["2020-03-09"]) ** (252.0 / n_bars) - 1.0)
    assert (found.values["5Y"], found.undefined["5Y"]) == (None, "the run is shorter")
    assert (
        found.values["all"]
        == native.summarize(RETURNS, periods_per_year=252.0)[0]["cagr"]
        == pytest.approx(NAV[-1] ** (252.0 / len(RETURNS)) - 1.0)
    )
    assert trailing(DATES, NAV, None).undefined["all"] == "the number of bars per year is unknown"


def test_drawdowns_have_peak_trough_recovery_and_lengths_and_an_open_one_has_no_recovery() -> None:
    nav = np.array([1.0, 1.2, 0.9, 1.0, 1.2, 1.3, 1.3, 1.1, 1.2])
    first, second = drawdown_periods(nav)
    assert (first.peak, first.trough, first.recovery, first.n_bars) == (1, 2, 4, 3)
    assert first.depth == pytest.approx(-0.25)
    assert (second.peak, second.trough, second.recovery, second.n_bars) == (6, 7, None, 2)
    assert drawdown_periods(np.array([1.0, 1.0, 1.1])) == []
    assert calendar_days(["2020-02-28", "2020-03-01T12:00:00Z"], 0, 1) == 2


def test_the_deepest_drawdown_is_the_maximum_drawdown_and_all_bars_below_a_peak_are_in_one() -> None:
    periods = drawdown_periods(NAV)
    falls = native.drawdowns(NAV)
    assert periods[0].depth == falls.min()
    inside = sum((len(NAV) if each.recovery is None else each.recovery) - each.peak - 1 for each in periods)
    assert inside == (falls < 0.0).sum()
    assert drawdowns_of(NAV).ulcer_index == pytest.approx(np.sqrt(np.mean(np.square(falls))))


def test_statistics_of_bars_match_direct_counts_and_undefined_ones_have_a_reason() -> None:
    returns = np.array([0.1, 0.1, -0.1, 0.0, -0.1, -0.1])
    nav = np.concatenate([[1.0], np.cumprod(1.0 + returns)])
    dates = [f"2020-01-{day:02}" for day in range(1, 8)]
    found = bar_statistics(dates, nav, returns, drawdowns_of(nav), 4 / 6).values
    assert (found["longest_gain"], found["longest_loss"], found["n_drawdowns"]) == (2.0, 2.0, 1.0)
    assert (found["positive_bars"], found["time_in_market"]) == pytest.approx((2 / 6, 4 / 6))
    assert found["omega"] == pytest.approx(0.2 / 0.3)
    assert found["longest_drawdown"] == found["mean_drawdown_days"] == 4.0
    assert found["mean_loss_month"] == pytest.approx(nav[-1] - 1.0)
    assert found["mean_gain_month"] is None
    assert found["recovery_factor"] == pytest.approx((nav[-1] - 1.0) / (1.0 - nav[-1] / 1.21))
    up = 1.1 ** np.arange(7.0)
    rising = bar_statistics(dates, up, np.full(6, 0.1), drawdowns_of(up))
    names = {"omega", "gain_to_pain", "recovery_factor", "mean_drawdown", "mean_drawdown_days", "longest_drawdown"}
    names.add("mean_loss_month")
    assert {name for name, value in rising.values.items() if value is None} == names == set(rising.undefined)


def test_bands_are_the_same_for_one_seed_and_differ_for_another() -> None:
    one, same, other = (bands(RETURNS, 252.0, seed, 50) for seed in (3, 3, 4))
    assert one.final == same.final != other.final
    assert (one.bars[0], one.bars[-1]) == (0, len(RETURNS))
    assert all(nav[0] == 1.0 for nav in one.nav.values())
    assert one.cagr == pytest.approx({q: nav ** (252.0 / len(RETURNS)) - 1.0 for q, nav in one.final.items()}, rel=1e-2)


def test_bands_below_a_month_have_no_annual_growth() -> None:
    short = bands(RETURNS[:20], 252.0, 1, 50)
    assert short.cagr is None
    assert short.no_cagr == "at least a month, 21 returns, is required; the run has 20"
    assert bands(RETURNS[:21], 252.0, 1, 50).no_cagr == ""
    assert bands(RETURNS, None, 1, 50).no_cagr == "the number of bars per year is unknown"


def test_resampled_growth_has_the_mean_and_the_spread_of_the_returns() -> None:
    found = bands(RETURNS, None, 1, 2000)
    logs = np.log1p(RETURNS)
    n = len(RETURNS)
    middle, spread = n * logs.mean(), np.sqrt(n) * logs.std()
    assert found.cagr is None
    assert np.log(found.final[0.5]) == pytest.approx(middle, abs=4.0 * 1.25 * spread / 2000**0.5)
    assert np.log(found.final[0.95] / found.final[0.05]) == pytest.approx(2 * 1.645 * spread, rel=0.15)


def test_shares_of_drawdowns_fall_with_depth_and_agree_with_the_quantiles() -> None:
    found = bands(RETURNS, 252.0, 0, 400)
    shares = [found.deeper[depth] for depth in DEPTHS]
    assert shares == sorted(shares, reverse=True)
    for level, depth in found.drawdown.items():
        for least, share in found.deeper.items():
            assert share >= level - 0.01 if depth <= -least else share <= level + 0.01


@pytest.mark.parametrize(
    ("returns", "reason"), [(RETURNS[:19], "at least 20 returns"), (np.full(50, 1e-4), "the returns are constant")]
)
def test_returns_without_bands_have_a_reason(returns: np.ndarray, reason: str) -> None:
    found = bands_of(returns, 252.0)
    assert isinstance(found, str)
    assert reason in found


def test_blocks_keep_the_order_of_correlated_returns() -> None:
    """Blocks of a persistent series are long, and so spread the final NAV more than single returns do."""
    noise = np.random.default_rng(2).normal(0.0, 0.004, 1500)
    smooth = np.convolve(noise, np.ones(10) / 2.0, "valid")
    found = bands(smooth, 252.0, 0, 400)
    assert found.block_length > 5.0
    apart = np.sqrt(len(smooth)) * np.log1p(smooth).std()
    assert np.log(found.final[0.95] / found.final[0.05]) > 1.5 * 2 * 1.645 * apart


def test_the_cells_of_a_long_series_keep_its_drawdowns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same paths, bar by bar: the extremes of the cells give their drawdowns, and their NAV at the edges."""
    returns = np.random.default_rng(3).normal(0.0, 0.02, 1003)
    returns[700] = -0.6
    monkeypatch.setattr(return_bands, "_MOST_CELLS", 100)
    cells = return_bands._cells_of(returns)
    edges = cells.edges.tolist()
    assert set(np.diff(edges)) == {10, 11}
    assert (edges[0], edges[-1]) == (0, 1003)
    chosen = np.random.default_rng(4).integers(100, size=(7, 100))
    paths = np.concatenate([np.ones((7, 1)), np.cumprod(cells.growth[chosen], axis=1)], axis=1)
    for row, path, depth in zip(chosen, paths, return_bands._depths(cells, chosen, paths), strict=True):
        bars = np.concatenate([returns[edges[cell] : edges[cell + 1]] for cell in row])
        nav = np.concatenate([[1.0], np.cumprod(1.0 + bars)])
        assert depth == pytest.approx(native.drawdowns(nav).min(), rel=1e-12)
        assert path[-1] == pytest.approx(nav[-1], rel=1e-12)


def test_bands_of_a_long_series_are_near_those_of_its_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    returns = np.random.default_rng(6).normal(1e-4, 0.01, 6000)
    alone = bands(returns, 252.0, 0, 800)
    monkeypatch.setattr(return_bands, "_MOST_CELLS", 300)
    cells = bands(returns, 252.0, 0, 800)
    assert (alone.cell, cells.cell) == (1.0, 20.0)
    assert cells.block_length >= 20.0
    assert cells.bars[-1] == alone.bars[-1] == 6000
    for level in LEVELS:
        assert np.log(cells.final[level]) == pytest.approx(np.log(alone.final[level]), abs=0.2)
        assert cells.drawdown[level] == pytest.approx(alone.drawdown[level], abs=0.05)


def test_a_series_that_ends_in_ruin_has_bands_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    returns = np.concatenate([np.random.default_rng(6).normal(0.0, 0.01, 500), [-1.0], np.zeros(99)])
    monkeypatch.setattr(return_bands, "_MOST_CELLS", 60)
    found = bands(returns, 252.0, 0, 50)
    assert found.drawdown[0.05] == -1.0
    assert all(np.isfinite(nav).all() for nav in found.nav.values())
