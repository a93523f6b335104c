"""Test that bars per year are inferred from the dates, and that annual numbers follow them."""

from __future__ import annotations

import empyrical
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.openoutcry_py import inferred_periods_per_year

FREE, UNLIMITED = oo.CostModel.zero(), oo.Limits.off()
DAYS = pd.bdate_range("2024-01-01", periods=30)
SESSIONS = [day + pd.Timedelta(hours=hour) for day in DAYS for hour in range(9, 16)]
# Frequency -> dates, and the bars per year they show.
CALENDARS = {
    "weekdays": (pd.bdate_range("2019-01-01", periods=300), 252.0),
    "every day": (pd.date_range("2019-01-01", periods=300), 365.0),
    "Fridays": (pd.date_range("2019-01-04", periods=120, freq="W-FRI"), 52.0),
    "month ends": (pd.date_range("2015-01-31", periods=60, freq="ME"), 12.0),
    "business month ends": (pd.date_range("2015-01-31", periods=60, freq="BME"), 12.0),
    "quarter ends": (pd.date_range("2000-03-31", periods=60, freq="QE"), 4.0),
    "year ends": (pd.date_range("1970-12-31", periods=40, freq="YE"), 1.0),
    "hours": (pd.date_range("2024-01-01", periods=840, freq="h"), 8760.0),
    "five minutes": (pd.date_range("2024-01-01", periods=9000, freq="5min"), 105_120.0),
    "hours of sessions": (pd.DatetimeIndex(SESSIONS), 1764.0),
    "hours without weekends": (
        pd.DatetimeIndex([t for t in pd.date_range("2024-01-01", periods=720, freq="h") if t.day_of_week < 5]),
        6240.0,
    ),
}  # fmt: skip


def frame(dates: pd.DatetimeIndex, seed: int = 0) -> pd.DataFrame:
    moves = np.random.default_rng(seed).normal(0.001, 0.02, len(dates))
    return pd.DataFrame({"A": 100 * np.exp(np.cumsum(moves))}, index=dates)


def returns_of(prices: pd.DataFrame) -> npt.NDArray[np.float64]:
    return prices["A"].to_numpy()[1:] / prices["A"].to_numpy()[:-1] - 1.0


@pytest.mark.parametrize("name", CALENDARS)
def test_the_metrics_of_a_frequency_follow_hand_formulas(name: str) -> None:
    dates, periods = CALENDARS[name]
    prices = frame(dates)
    dataset = oo.Dataset.from_frame(prices)
    assert dataset.periods_per_year == periods
    run = oo.run_backtest(dataset, np.ones((len(dates), 1)), window=(0, len(dates)), costs=FREE, limits=UNLIMITED)
    returns = returns_of(prices)
    metrics = run.metrics
    assert metrics["sharpe"] == pytest.approx(returns.mean() / returns.std(ddof=1) * periods**0.5, rel=1e-9)
    assert metrics["vol"] == pytest.approx(returns.std(ddof=1) * periods**0.5, rel=1e-9)
    growth = np.prod(1.0 + returns) ** (periods / len(returns)) - 1.0
    assert metrics["cagr"] == pytest.approx(growth, rel=1e-9)
    assert metrics["sharpe"] == pytest.approx(empyrical.sharpe_ratio(returns, annualization=periods), rel=1e-9)
    assert metrics["vol"] == pytest.approx(empyrical.annual_volatility(returns, annualization=periods), rel=1e-9)
    assert metrics["cagr"] == pytest.approx(empyrical.annual_return(returns, annualization=periods), rel=1e-9)


@pytest.mark.parametrize("name", CALENDARS)
def test_the_carry_of_a_short_follows_a_hand_formula(name: str) -> None:
    dates, periods = CALENDARS[name]
    dataset = oo.Dataset.from_frame(pd.DataFrame({"A": np.full(len(dates), 100.0)}, index=dates))
    costs = oo.CostModel(fee_bps=0, slippage_bps=0, borrow_bps=500, cash_bps=0, financing_bps=0, impact_bps=0)
    weights = np.full((len(dates), 1), np.nan)
    weights[0] = -0.1
    nav = oo.run_backtest(dataset, weights, window=(0, len(dates)), costs=costs, limits=UNLIMITED).nav
    # The price is constant, so the short is 0.1 on every bar after its fill.
    assert nav[-1] == pytest.approx(1.0 - 0.1 * 0.05 * (len(dates) - 1) / periods, rel=1e-12)


@pytest.mark.parametrize("name", CALENDARS)
def test_every_interface_infers_the_same_number(name: str) -> None:
    dates, periods = CALENDARS[name]
    prices = frame(dates)
    texts = [date.isoformat() for date in dates]
    days = [text[:10] for text in texts] if all(text.endswith("T00:00:00") for text in texts) else texts
    wide = "date,A\n" + "".join(f"{day},{price!r}\n" for day, price in zip(days, prices["A"].tolist(), strict=True))
    by_csv = oo.Dataset.from_csv(wide)
    by_arrays = oo.Dataset.from_arrays(dates.to_numpy(), ["A"], prices.to_numpy())
    assert by_csv == by_arrays == oo.Dataset.from_frame(prices)
    assert by_csv.periods_per_year == periods
    assert by_csv.notices == oo.Dataset.from_csv(wide, periods).notices


def test_a_stated_number_that_contradicts_the_dates_is_a_notice() -> None:
    prices = frame(CALENDARS["month ends"][0])
    dataset = oo.Dataset.from_frame(prices, 252)
    assert dataset.periods_per_year == 252.0
    assert "`periods_per_year` 252 was stated; the dates imply 12" in dataset.notices
    assert not any("was stated" in notice for notice in oo.Dataset.from_frame(prices, 12.5).notices)


def test_dates_that_show_no_calendar_leave_the_number_unknown() -> None:
    minutes = pd.date_range("2024-01-02 09:30", periods=3, freq="min")
    prices = pd.DataFrame({"A": [100.0, 200.0, 300.0]}, index=minutes)
    dataset = oo.Dataset.from_frame(prices)
    assert dataset.periods_per_year is None
    assert "unknown bars per year" in repr(dataset)
    assert any("hint: state `periods_per_year`" in notice for notice in dataset.notices)
    assert oo.Dataset.from_frame(prices, 98_280).periods_per_year == 98_280.0


@given(st.lists(st.integers(0, 4000), min_size=2, max_size=60, unique=True).map(sorted))
def test_an_inferred_number_is_one_of_the_documented_ones(offsets: list[int]) -> None:
    start = np.datetime64("2000-01-03")
    dates = [str(start + np.timedelta64(offset, "D")) for offset in offsets]
    assert inferred_periods_per_year(dates) in (None, 365.0, 313.0, 252.0, 201.6, 52.0, 13.0, 12.0, 4.0, 2.0, 1.0)


@given(st.integers(0, 3000), st.integers(30, 400), st.sampled_from([252.0, 365.0]))
def test_the_start_of_a_daily_calendar_changes_no_number(first: int, n_days: int, expected: float) -> None:
    start = pd.Timestamp("2000-01-01") + pd.Timedelta(days=first)
    dates = pd.bdate_range(start, periods=n_days) if expected == 252.0 else pd.date_range(start, periods=n_days)
    assert inferred_periods_per_year([f"{date:%Y-%m-%d}" for date in dates]) == expected


def test_a_replay_names_the_number_that_restores_the_recorded_market() -> None:
    prices = frame(CALENDARS["every day"][0])
    stated = oo.Dataset.from_frame(prices, 252)
    run = oo.run_backtest(stated, "buy-and-hold", capture=True)
    assert run.record is not None
    assert oo.replay(run.record, stated).verified
    first = oo.replay(run.record, oo.Dataset.from_frame(prices)).first
    assert first is not None
    assert "`periods_per_year=252` restores the recorded market" in str(first)
    other = oo.replay(run.record, oo.Dataset.from_frame(frame(CALENDARS["every day"][0], seed=1))).first
    assert other is not None
    assert "restores" not in str(other)


# Bars at one time of day of a place with clock changes.
LOCAL = {
    "days at the open": (pd.bdate_range("2024-01-02", periods=120) + pd.Timedelta(hours=9.5), 252.0),
    "days at the close": (pd.bdate_range("2024-01-02", periods=500) + pd.Timedelta(hours=16), 252.0),
    "days of currencies": (pd.bdate_range("2024-01-02", periods=400) - pd.Timedelta(hours=7), 252.0),
    "every midnight": (pd.date_range("2024-01-02", periods=400), 365.0),
    "weeks": (pd.date_range("2024-01-05", periods=60, freq="W-FRI") + pd.Timedelta(hours=17), 52.0),
    "month ends": (pd.date_range("2015-01-31", periods=60, freq="BME") + pd.Timedelta(hours=16), 12.0),
    "quarters": (pd.date_range("2005-03-31", periods=40, freq="QE") + pd.Timedelta(hours=16), 4.0),
}


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Sydney", "Asia/Tokyo"])
@pytest.mark.parametrize("name", LOCAL)
def test_a_change_of_clocks_keeps_the_number_of_one_bar_a_day(name: str, zone: str) -> None:
    dates, periods = LOCAL[name]
    times = dates.tz_localize(zone)
    text = "time,close\n" + "".join(f"{time.isoformat()},{100 + place % 7}\n" for place, time in enumerate(times))
    assert oo.Dataset.from_csv(text, symbol="A").periods_per_year == periods
    # At midnight the reader requires `tz`: a time may mean a day.
    if name != "every midnight":
        epochs = pd.DataFrame({"time": times.as_unit("s").asi8, "close": 5.0})
        assert oo.Dataset.from_frame(epochs, symbol="A").periods_per_year == periods


def test_a_half_day_keeps_the_number_of_days() -> None:
    days = pd.bdate_range("2024-01-02", periods=60)
    times = [day + pd.Timedelta(hours=13 if place == 30 else 16) for place, day in enumerate(days)]
    text = "Date,Close\n" + "".join(f"{time:%m/%d/%Y %H:%M:%S},{100 + place}\n" for place, time in enumerate(times))
    assert oo.Dataset.from_csv(text, symbol="A").periods_per_year == 252.0
