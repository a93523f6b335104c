"""Test that longer bars keep the money, know nothing of later bars, and are those of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.bar_periods import period_of

FREE, UNLIMITED = oo.CostModel.zero(), oo.Limits.off()
SEEDS = st.integers(0, 2**32 - 1)
DAYS = pd.bdate_range("2024-01-01", periods=45)
WEEK_OF = np.arange(45) // 5
WEEK_ENDS = np.arange(4, 45, 5)
Table = npt.NDArray[np.float64]


def market(seed: int, *, with_opens: bool = True) -> dict[str, Any]:
    """Return nine weeks of three symbols with events; C may settle, and closes within a week may be missing."""
    rng = np.random.default_rng(seed)
    shape = (45, 3)
    splits = np.where(rng.random(shape) < 0.15, rng.choice([0.25, 0.5, 1.5, 2.0, 3.0], shape), 1.0)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.03, shape), axis=0)) / np.cumprod(splits, axis=0)
    dividends = np.where(rng.random(shape) < 0.2, 0.02 * close * rng.random(shape), 0.0)
    open_ = close * np.exp(rng.normal(0.0, 0.02, shape))
    close[(rng.random(shape) < 0.2) & ((np.arange(45) % 5 != 0) & (np.arange(45) % 5 != 4))[:, None]] = np.nan
    delistings = np.full(shape, np.nan)
    if rng.random() < 0.7:
        end = int(rng.integers(10, 45))
        delistings[end, 2] = rng.choice([-1.0, 0.0, rng.uniform(-0.9, 0.5)])
        close[end:, 2] = np.nan
    found = {"close": close, "dividends": dividends, "splits": splits, "delistings": delistings}
    found |= {"open": open_, "high": 1.2 * open_, "low": 0.8 * open_} if with_opens else {}
    return found | {"risk_free": rng.normal(0.0, 0.001, 45), "volume": rng.uniform(1.0, 9.0, shape)}


def dataset(columns: dict[str, Any], n_bars: int = 45) -> oo.Dataset:
    return oo.Dataset.from_arrays(
        DAYS[:n_bars], ["A", "B", "C"], **{name: cells[:n_bars] for name, cells in columns.items()}
    )


def nav(data: oo.Dataset, weights: Table) -> Table:
    return oo.run_backtest(data, weights, window=(0, data.n_bars), costs=FREE, limits=UNLIMITED).nav


@given(SEEDS, st.booleans())
@settings(max_examples=40)
def test_weekly_orders_earn_the_same_on_days_and_on_weeks(seed: int, with_opens: bool) -> None:
    columns = market(seed, with_opens=with_opens)
    days = dataset(columns)
    weeks = days.resample("1w")
    assert weeks.n_bars == 9
    assert weeks.periods_per_year == 52.0
    rng = np.random.default_rng(seed)
    orders = np.where(rng.random((9, 3)) < 0.7, rng.uniform(-0.4, 0.6, (9, 3)), np.nan)
    settled = np.flatnonzero(np.isfinite(columns["delistings"][:, 2]))
    # An order of the last week before a settlement fills on days, and not on weeks.
    orders[WEEK_OF[settled[0]] - 1 if len(settled) else 9 :, 2] = np.nan
    by_day = np.full((45, 3), np.nan)
    by_day[WEEK_ENDS] = orders
    held = nav(days, by_day)[WEEK_ENDS]
    # The first week passes before the first order.
    np.testing.assert_allclose(nav(weeks, orders), held / held[0], rtol=1e-9)


@given(SEEDS, st.integers(6, 44))
@settings(max_examples=25)
def test_later_bars_change_no_bar_that_is_complete(seed: int, bar: int) -> None:
    columns = market(seed)
    other = market(seed + 1)
    columns["delistings"][:] = other["delistings"][:] = np.nan
    weeks = dataset(columns).resample("1w")
    changed = {name: np.concatenate([cells[:bar], other[name][bar:]]) for name, cells in columns.items()}
    n_known = sum(date < str(DAYS[bar].date()) for date in weeks.dates)
    for later in (dataset(changed).resample("1w"), dataset(columns, bar).resample("1w", periods_per_year=52)):
        assert later.dates[:n_known] == weeks.dates[:n_known]
        for name in ("close", "open", "high", "low", "volume", "dividends", "splits", "risk_free"):
            np.testing.assert_array_equal(getattr(later, name)[:n_known], getattr(weeks, name)[:n_known])


OHLCV = {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}
MINUTES = pd.date_range("2024-03-01", periods=6000, freq="5min")
YEARS = pd.bdate_range("2015-01-01", periods=1500)


@pytest.mark.parametrize(
    ("every", "rule", "dates"),
    [
        ("15min", "15min", MINUTES),
        ("1h", "1h", MINUTES),
        ("4h", "4h", MINUTES),
        ("1d", "1D", MINUTES),
        ("1w", "W-SUN", YEARS),
        ("ME", "ME", YEARS),
        ("2mo", "2MS", YEARS),
        ("1q", "QE", YEARS),
        ("6mo", "2QS", YEARS),
        ("1y", "YE", YEARS),
    ],
)
def test_bars_without_events_are_those_of_pandas(every: str, rule: str, dates: pd.DatetimeIndex) -> None:
    rng = np.random.default_rng(7)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, len(dates))))
    frame = pd.DataFrame({"open": close * 1.001, "high": close * 1.02, "low": close * 0.98, "close": close}, dates)
    frame["volume"] = rng.integers(1, 1000, len(dates)).astype(float)
    frame = frame[(np.arange(len(dates)) == 0) | (rng.random(len(dates)) < 0.95)]
    stamps = [day.isoformat() + "Z" for day in frame.index] if dates is MINUTES else frame.index
    tables = {name: frame[[name]].to_numpy() for name in frame}
    ours = oo.Dataset.from_arrays(stamps, ["A"], **tables, periods_per_year=252.0)
    found = ours.resample(every, periods_per_year=12.0)
    theirs = frame.resample(rule).agg(OHLCV).dropna()
    for name in OHLCV:
        np.testing.assert_allclose(getattr(found, name)[:, 0], theirs[name], rtol=1e-13)
    last = pd.Series(ours.dates, frame.index).resample(rule).last().dropna()
    assert list(found.dates) == list(last)


def test_prices_before_an_event_are_restated_within_the_period() -> None:
    days = ["2024-01-05", "2024-01-08", "2024-01-09", "2024-01-10", "2024-01-19"]
    close = [[100.0], [104.0], [51.0], [50.0], [52.0]]
    open_, volume = [[100.0], [103.0], [51.5], [50.5], [51.0]], [[5.0], [10.0], [30.0], [40.0], [5.0]]
    high, low = [[101.0], [110.0], [53.0], [52.0], [53.0]], [[99.0], [102.0], [50.0], [48.0], [51.0]]
    dividends, splits = [[0.0], [1.0], [2.0], [0.5], [0.0]], [[1.0], [1.0], [2.0], [1.0], [1.0]]
    found = oo.Dataset.from_arrays(
        days, ["A"], close, open_, high, low, volume, dividends, splits, risk_free=[0.0, 0.001, 0.002, 0.003, 0.0]
    ).resample("1w", periods_per_year=52)
    assert found.dates == ("2024-01-05", "2024-01-10", "2024-01-19")
    assert found.open is not None
    assert found.high is not None
    assert found.low is not None
    assert found.volume is not None
    assert found.dividends is not None
    assert found.splits is not None
    assert found.risk_free is not None
    # Monday's open, less the later dividends of 2.0 before the split and 0.5 after it.
    assert found.open[1, 0] == (103.0 - 2.0) / 2.0 - 0.5
    assert found.high[1, 0] == (110.0 - 2.0) / 2.0 - 0.5
    assert found.low[1, 0] == 48.0
    assert found.close[1, 0] == 50.0
    assert found.volume[1, 0] == 2.0 * 10.0 + 30.0 + 40.0
    assert found.dividends[1, 0] == 1.0 + 2.0 + 2.0 * 0.5
    assert found.splits[1, 0] == 2.0
    assert found.risk_free[1] == pytest.approx(1.001 * 1.002 * 1.003 - 1.0, rel=1e-12)


def test_a_close_before_an_event_without_a_close_is_restated() -> None:
    days = ["2024-01-05", "2024-01-08", "2024-01-10", "2024-01-19"]
    close = [[100.0, 1.0], [104.0, 1.0], [np.nan, 1.0], [52.0, 1.0]]
    none = [[0.0, 0.0]] * 4
    dividends, splits = [*none[:2], [4.0, 0.0], none[0]], [[1.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, 1.0]]
    found = oo.Dataset.from_arrays(days, ["A", "B"], close, dividends=dividends, splits=splits, periods_per_year=252)
    weeks = found.resample("1w", periods_per_year=52)
    assert weeks.close[1, 0] == 50.0
    assert any("1 close is older" in notice for notice in weeks.notices)


def test_the_open_is_that_of_the_first_bar_that_trades() -> None:
    days = ["2024-01-05", "2024-01-08", "2024-01-09", "2024-01-10"]
    close, open_ = [[10.0], [10.0], [12.0], [13.0]], [[10.0], [10.0], [11.0], [12.0]]
    quiet = oo.Dataset.from_arrays(days, ["A"], close, open_, volume=[[1.0], [0.0], [5.0], [5.0]])
    weeks = quiet.resample("1w", periods_per_year=52)
    assert weeks.open is not None
    assert weeks.open[1, 0] == 11.0
    masked = oo.Dataset.from_arrays(days, ["A"], close, open_, tradable=[[True], [False], [False], [False]])
    halted = masked.resample("1w", periods_per_year=52)
    assert halted.tradable is not None
    assert halted.tradable[:, 0].tolist() == [True, False]


def test_a_volume_is_unknown_if_that_of_a_traded_bar_is() -> None:
    days = ["2024-01-05", "2024-01-08", "2024-01-09", "2024-01-15"]
    table = oo.Dataset.from_arrays(days, ["A"], [[1.0]] * 4, volume=[[1.0], [np.nan], [5.0], [np.nan]])
    volume = table.resample("1w", periods_per_year=52).volume
    assert volume is not None
    np.testing.assert_array_equal(volume[:, 0], [1.0, np.nan, np.nan])


def test_a_symbol_that_starts_and_settles_in_one_period_is_left_out() -> None:
    days = ["2024-01-05", "2024-01-08", "2024-01-09", "2024-01-15"]
    close, settled = np.ones((4, 2)), np.full((4, 2), np.nan)
    close[[0, 2, 3], 1], settled[2, 1] = np.nan, 0.1
    short = oo.Dataset.from_arrays(
        days, ["A", "B"], close, delistings=settled, news=[("B", "2024-01-08", "lists")], periods_per_year=252
    )
    weeks = short.resample("1w", periods_per_year=52)
    assert weeks.symbols == ("A",)
    assert weeks.news == ()
    assert "left out: B, which never closes on these bars" in weeks.notices


@pytest.mark.parametrize(
    ("spelling", "period"),
    {
        "1M": "1mo",
        "ME": "1mo",
        "W": "1w",
        "W-SUN": "1w",
        "D": "1d",
        "4H": "4h",
        "m": "1min",
        "QE": "1q",
        "YE": "1y",
    }.items(),
)
def test_spellings_of_other_libraries_are_read(spelling: str, period: str) -> None:
    assert str(period_of(spelling)) == period


@pytest.mark.parametrize("every", ["", "0d", "W-FRI", "7h", "5mo", "1x", "1.5h", "-1d", "1h", "1d", "W-MON", "QS", 5])
def test_a_period_that_is_unknown_or_too_short_is_refused(every: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`every` must"):
        dataset(market(0)).resample(every)


def test_fewer_than_two_periods_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="at least 2 periods of 1y"):
        dataset(market(0)).resample("1y")


def test_bars_per_year_that_the_new_dates_do_not_show_are_unknown() -> None:
    assert dataset(market(0), 25).resample("1mo").periods_per_year is None


def test_days_of_a_session_with_half_days_show_the_bars_per_year() -> None:
    clocks = [(day, clock) for day in DAYS for clock in (14, 15, 16, 17 if day.day % 7 else 16.5)]
    times = [(day + pd.Timedelta(hours=clock)).isoformat() + "Z" for day, clock in clocks]
    bars = oo.Dataset.from_arrays(times, ["A"], np.ones((len(times), 1)))
    assert bars.resample("1d").periods_per_year == 252.0
    assert bars.resample("1w").periods_per_year == 52.0


def test_the_notice_of_the_bars_per_year_belongs_to_the_shorter_bars() -> None:
    daily = oo.Dataset.from_arrays(DAYS, ["A"], np.ones((45, 1)), periods_per_year=52)
    assert any("was stated" in notice for notice in daily.notices)
    assert not any("was stated" in notice for notice in daily.resample("1w").notices)
