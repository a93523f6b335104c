"""Dates with fewer bars than their bars per year are a caveat; holidays are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry import data
from openoutcry.cli.commands import app
from openoutcry.data.bar_counts import is_count
from openoutcry.openoutcry_py import inferred_periods_per_year
from openoutcry.scoring import skill

QUICK = {"draws": {"replicates": 99}}
FREE = oo.CostModel.zero()


def thinned(dates: pd.DatetimeIndex, n_missing: int) -> pd.DatetimeIndex:
    inside = np.random.default_rng(2).choice(np.arange(1, len(dates) - 1), n_missing, replace=False)
    return dates.delete(inside)


HOURS, MONTHS = pd.date_range("2024-01-01", periods=1440, freq="h"), pd.date_range("2005-01-31", periods=120, freq="ME")
DAYS = pd.bdate_range("2020-01-01", periods=500)
# Dates with missing bars, the bars per year they show, and the caveat.
THINNED = {
    "hours": (thinned(HOURS, 432), 8760.0, "8760 bars per year by their spacing; the dates hold 6134: 30% "),
    "months": (thinned(MONTHS, 16), 12.0, "12 bars per year by their spacing; the dates hold 10.4: 13% "),
    "weekdays": (thinned(DAYS, 80), 252.0, "252 bars per year by their spacing; the dates hold 219: 13% "),
}


def market(dates: pd.DatetimeIndex, periods_per_year: float | None = None) -> oo.Dataset:
    prices = 100 * np.exp(np.cumsum(np.random.default_rng(1).normal(0.0, 0.01, len(dates))))
    return oo.Dataset.from_frame(pd.DataFrame({"A": prices}, index=dates), periods_per_year)


def missing(notices: Any) -> list[str]:
    return [notice for notice in notices if is_count(notice)]


@pytest.mark.parametrize("name", THINNED)
def test_missing_bars_are_a_caveat_of_datasets_runs_and_scores(name: str, tmp_path: Path) -> None:
    dates, periods, wanted = THINNED[name]
    dataset = market(dates)
    assert dataset.periods_per_year == periods
    (notice,) = missing(dataset.notices)
    assert notice.startswith(wanted)
    assert oo.run_backtest(dataset, "buy-and-hold", (0, len(dates)), costs=FREE).caveats["cagr"] == notice
    (of_window,) = missing([oo.run_backtest(dataset, "buy-and-hold", costs=FREE).caveats["cagr"]])
    assert of_window.split(" hold ")[0] == notice.split(" hold ")[0]
    (stated,) = missing(market(dates, periods).notices)
    assert stated == notice.replace("by their spacing", "as stated")
    returns = pd.Series(np.random.default_rng(3).normal(0.0, 0.01, len(dates)), dates)
    assert oo.score({"a": returns}, config=QUICK).caveats == (notice,)
    assert oo.score({"a": returns}, periods_per_year=periods, config=QUICK).caveats == (stated,)
    assert skill.sharpe_errors(returns, periods).caveats == (stated,)
    path = tmp_path / "prices.csv"
    labels = [date.isoformat() for date in dates] if name == "hours" else [f"{date:%Y-%m-%d}" for date in dates]
    pd.DataFrame({"date": labels, "A": dataset.close[:, 0]}).to_csv(path, index=False)
    shown = CliRunner().invoke(app, ["data", "check", str(path)]).output
    assert notice in " ".join(shown.split())


def test_a_stated_number_of_dates_that_show_none_is_compared_with_them() -> None:
    dates = thinned(DAYS, 200)
    assert inferred_periods_per_year([f"{day:%Y-%m-%d}" for day in dates]) is None
    (notice,) = missing(market(dates, 252).notices)
    assert notice.startswith("252 bars per year as stated; the dates hold 156: 38% ")
    assert not missing(market(dates).notices)


@pytest.mark.parametrize("name", data.names())
def test_a_bundled_market_has_all_of_its_bars(name: str) -> None:
    assert not missing(data.load(name).notices)


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        pd.date_range("2024-01-01", periods=300, freq="7D"),
        HOURS,
        thinned(HOURS, 100),
        MONTHS,
        # The first days of 2024 in Shanghai: one holiday, and the lunar new year.
        pd.DatetimeIndex(
            [day for day in pd.bdate_range("2024-01-02", periods=45) if not 9 <= day.day_of_year - 31 <= 18]
        ),
        pd.DatetimeIndex([day for day in DAYS if day.day_of_year % 26]),
        DAYS[::2][:9],
    ],
    ids=["weekdays", "weeks", "hours", "7 % missing", "months", "lunar new year", "14 holidays a year", "9 bars"],
)
def test_holidays_and_a_few_missing_bars_are_no_caveat(dates: pd.DatetimeIndex) -> None:
    assert not missing(market(dates).notices)


def test_longer_bars_of_dates_with_missing_bars_have_a_caveat_of_their_own() -> None:
    dataset = market(THINNED["hours"][0])
    days = dataset.resample("1d")
    assert days.periods_per_year == 365.0
    assert not missing(days.notices)


def union(first: pd.DatetimeIndex, second: pd.DatetimeIndex, label: str | None = None) -> oo.Dataset:
    """Return a market of two symbols, each with bars on dates of its own."""
    columns = [market(dates).close[:, 0] for dates in (first, second)]
    series = [pd.Series(close, dates) for close, dates in zip(columns, (first, second), strict=True)]
    return oo.Dataset.from_frame(pd.concat(series, axis=1, keys=["STOCK", "COIN"], sort=True), label=label)


def test_a_symbol_that_adds_weekends_later_is_a_caveat() -> None:
    stocks, coins = pd.bdate_range("2010-01-01", "2017-12-31"), pd.date_range("2016-01-01", "2017-12-31")
    dataset = union(stocks, coins)
    assert dataset.periods_per_year == 252.0
    (notice,) = missing(dataset.notices)
    assert "from 2015-12-28 on, a year holds 365: annual numbers take it for 1.45 years; hint: " in notice
    run = oo.run_backtest(dataset, "buy-and-hold", window="2016-02-01:2017-11-30", costs=FREE)
    # The bars of the window, from its first day on.
    assert run.caveats["cagr"].startswith("252 bars per year by their spacing; from 2016-02-01 on, a year holds 365: ")
    assert run.caveats["cagr"].split(" on, ")[1] == notice.split(" on, ")[1]
    part = dataset.between(int(np.searchsorted(np.array(dataset.dates), "2016-01-01")), dataset.n_bars)
    (of_part,) = missing(part.notices)
    assert (part.periods_per_year, of_part.split(" on, ")[1]) == (252.0, notice.split(" on, ")[1])
    assert union(coins, coins).notices == market(coins).notices


def test_bars_between_those_of_another_symbol_are_a_caveat() -> None:
    hours = pd.date_range("2023-01-01", "2023-12-31", freq="h")
    halves = pd.DatetimeIndex([time for time in hours if time.day_of_week < 5 and 14 <= time.hour < 21])
    dataset = union(halves + pd.Timedelta(minutes=30), hours, "end")
    assert dataset.periods_per_year == 8760.0
    (notice,) = missing(dataset.notices)
    assert "a year holds 105" in notice
    assert "for 1.21 years" in notice


@pytest.mark.parametrize(("stated", "is_more"), [(252.0, True), (345.0, False), (365.0, False), (400.0, False)])
def test_a_stated_number_below_the_bars_of_a_year_is_a_caveat(stated: float, is_more: bool) -> None:
    notices = missing(market(pd.date_range("2020-01-01", periods=800), stated).notices)
    assert [
        notice.startswith("252 bars per year as stated; from 2020-01-01 on, a year holds 365") for notice in notices
    ] == [True] * is_more


def test_missing_bars_outside_the_window_of_a_run_are_no_caveat_of_it() -> None:
    full, thin = pd.bdate_range("2012-01-02", "2014-12-31"), pd.bdate_range("2015-01-01", "2017-12-29")
    dates = full.append(thin[np.random.default_rng(4).random(len(thin)) < 0.55])
    dataset = market(dates)
    assert len(missing(dataset.notices)) == 1
    early, late = (
        oo.run_backtest(dataset, "buy-and-hold", window=window, costs=FREE).caveats
        for window in ((0, len(full)), (len(full), dataset.n_bars))
    )
    assert "cagr" not in early
    assert "4" in late["cagr"].split("% of the bars are missing")[0][-2:]
    assert is_count(late["cagr"])
    # Later bars do not change it.
    assert oo.run_backtest(market(full), "buy-and-hold", costs=FREE).caveats == early
