"""Test that days of sessions are cut where the sessions start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.data.market_source import open_market

NEW_YORK = "America/New_York"
COLUMNS = ("open", "high", "low", "close", "volume")


def market(index: pd.DatetimeIndex, seed: int = 0) -> pd.DataFrame:
    """Return bars at local times, with the zone of the index."""
    rng = np.random.default_rng(seed)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.002, len(index))))
    open_ = close * np.exp(rng.normal(0.0, 0.001, len(index)))
    high, low = np.maximum(open_, close) * 1.001, np.minimum(open_, close) * 0.999
    volume = rng.integers(1, 1000, len(index)).astype(float)
    tables = {"open": open_, "high": high, "low": low, "close": close, "volume": volume}
    return pd.DataFrame(tables, index)


def dataset(frame: pd.DataFrame) -> oo.Dataset:
    index = frame.index.tz_convert("UTC")
    dates = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in index]
    return oo.Dataset.from_arrays(dates, ["ES"], **{name: frame[[name]].to_numpy() for name in COLUMNS})


def sessions(first: str, last: str, freq: str = "1h", *, opens: int = 18, closes: int = 17) -> pd.DatetimeIndex:
    """Return the bars of a market in New York, Sunday to Friday, with a break before it opens."""
    index = pd.date_range(first, last, freq=freq, tz=NEW_YORK)
    hour, day = index.hour, index.day_of_week
    is_evening = (hour >= opens) & (day != 4) & (day != 5)
    is_day = (hour < closes) & (day != 5) & (day != 6)
    return index[is_evening | is_day]


def test_a_session_from_evening_to_afternoon_is_one_bar_of_the_day_on_which_it_ends() -> None:
    # Sunday at 18:00 in New York is 23:00 in UTC, and Monday at 16:00 is 21:00.
    times = ["2024-01-07T23:00:00Z", "2024-01-08T00:00:00Z", "2024-01-08T21:00:00Z", "2024-01-08T23:00:00Z",
             "2024-01-09T15:00:00Z", "2024-01-09T21:00:00Z"]  # fmt: skip
    open_, close = [[10.0], [11.0], [12.0], [13.0], [14.0], [15.0]], [[11.0], [12.0], [12.5], [14.0], [15.0], [14.5]]
    high, low = [[11.5], [12.5], [12.6], [14.5], [15.5], [15.0]], [[9.5], [10.5], [11.5], [12.9], [13.5], [14.0]]
    volume = [[1.0], [2.0], [4.0], [8.0], [16.0], [32.0]]
    hours = oo.Dataset.from_arrays(times, ["ES"], close, open_, high, low, volume, periods_per_year=1000)
    days = hours.resample("1d", tz=NEW_YORK, day_starts="17:00", periods_per_year=252)
    assert days.dates == ("2024-01-08", "2024-01-09")
    found = {name: np.asarray(getattr(days, name))[:, 0].tolist() for name in COLUMNS}
    assert found == {
        "open": [10.0, 13.0],
        "high": [12.6, 15.5],
        "low": [9.5, 12.9],
        "close": [12.5, 14.5],
        "volume": [7.0, 56.0],
    }
    assert any("days start at 17:00 in America/New_York" in notice for notice in days.notices)
    assert any("each dated by the day on which it ends" in notice for notice in days.notices)
    weeks = oo.Dataset.from_arrays(times, ["ES"], close, periods_per_year=1000)
    with pytest.raises(oo.OpenOutcryError, match="at least 2 periods of 1w"):
        weeks.resample("1w", tz=NEW_YORK, day_starts="17:00")


@pytest.mark.parametrize(
    ("first", "last", "n_hours"),
    [("2024-03-04", "2024-03-16", [23] * 10), ("2024-10-28", "2024-11-09", [23] * 10)],
)
def test_days_at_a_change_of_clocks_start_at_the_same_clock_time(first: str, last: str, n_hours: list[int]) -> None:
    # Clocks changed on the Sundays 2024-03-10 and 2024-11-03: sessions start at 23:00 and 22:00 in UTC.
    index = sessions(f"{first} 18:00", f"{last} 00:00")
    index = index[index >= pd.Timestamp(f"{first} 18:00", tz=NEW_YORK)]
    frame = market(index)
    frame["volume"] = 1.0
    days = dataset(frame).resample("1d", tz=NEW_YORK, day_starts="17:00")
    assert days.volume is not None
    assert days.volume[:, 0].tolist() == n_hours[: days.n_bars]
    assert [pd.Timestamp(date).day_of_week for date in days.dates] == [1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert days.periods_per_year == 252.0


def test_a_day_around_the_clock_has_23_or_25_hours_at_a_change_of_clocks() -> None:
    index = pd.date_range("2024-03-09 00:00", "2024-03-11 23:00", freq="1h", tz=NEW_YORK)
    frame = market(index)
    frame["volume"] = 1.0
    days = dataset(frame).resample("1d", tz=NEW_YORK)
    assert days.dates == ("2024-03-09", "2024-03-10", "2024-03-11")
    assert days.volume is not None
    assert days.volume[:, 0].tolist() == [24.0, 23.0, 24.0]
    autumn = market(pd.date_range("2024-11-02 00:00", "2024-11-04 23:00", freq="1h", tz=NEW_YORK))
    autumn["volume"] = 1.0
    # The clock time 01:00 occurs twice, and the first one starts the day.
    for start, counts in ((None, [24.0, 25.0, 24.0]), ("01:00", [1.0, 24.0, 25.0, 23.0])):
        volume = dataset(autumn).resample("1d", tz=NEW_YORK, day_starts=start).volume
        assert volume is not None
        assert volume[:, 0].tolist() == counts


def test_shorter_periods_are_counted_from_the_start_of_the_day() -> None:
    index = sessions("2024-01-07 18:00", "2024-01-10 00:00", opens=17)
    bars = dataset(market(index)).resample("4h", tz=NEW_YORK, day_starts="17:00", periods_per_year=1500)
    starts = pd.DatetimeIndex(index).tz_convert(NEW_YORK)
    wanted = pd.Series(index.tz_convert("UTC"), starts).groupby(
        [(starts + pd.Timedelta(hours=7)).date, (starts + pd.Timedelta(hours=7)).hour // 4]
    )
    assert list(bars.dates) == [f"{last:%Y-%m-%dT%H:%M:%SZ}" for last in wanted.last()]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([NEW_YORK, "Asia/Tokyo", "Australia/Sydney", "UTC", "Asia/Kolkata"]),
    st.sampled_from([None, "00:00", "02:30", "09:00", "17:00", "23:59"]),
    st.sampled_from(["1d", "1w", "8h"]),
)
@settings(max_examples=40)
def test_days_keep_volume_and_extremes_and_know_nothing_later(
    seed: int, tz: str, start: str | None, every: str
) -> None:
    rng = np.random.default_rng(seed)
    first = pd.Timestamp("2024-03-28T00:00Z") if seed % 2 else pd.Timestamp("2024-10-24T00:00Z")
    index = pd.date_range(first, periods=24 * 18, freq="1h")
    frame = market(index[(rng.random(len(index)) < 0.8) | (np.arange(len(index)) == 0)], seed)
    bars = dataset(frame)
    found = bars.resample(every, tz=tz, day_starts=start, periods_per_year=365)
    assert found.volume is not None
    assert found.high is not None
    assert found.low is not None
    assert found.volume.sum() == frame["volume"].sum()
    assert found.high.max() == frame["high"].max()
    assert found.low.min() == frame["low"].min()
    assert found.close[-1, 0] == frame["close"].iloc[-1]
    assert found.open is not None
    assert found.open[0, 0] == frame["open"].iloc[0]
    cut = int(rng.integers(200, len(frame)))
    earlier = dataset(frame.iloc[:cut]).resample(every, tz=tz, day_starts=start, periods_per_year=365)
    n_known = earlier.n_bars - 1
    assert earlier.dates[:n_known] == found.dates[:n_known]
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(earlier, name)[:n_known], getattr(found, name)[:n_known])
    if every == "1d":
        hour, minute = map(int, (start or "00:00").split(":"))
        local = frame.index.tz_convert(tz).tz_localize(None)
        shifted = local + (pd.Timedelta(days=1) if start not in (None, "00:00") else pd.Timedelta(0))
        theirs = shifted - pd.Timedelta(hours=hour, minutes=minute)
        # No zone of these changes its clocks within an hour of these times, except at 02:30.
        if start != "02:30":
            assert list(found.dates) == sorted({str(day) for day in theirs.date})


def test_values_of_a_feed_are_known_at_the_end_of_their_day() -> None:
    index = pd.date_range("2024-01-08 09:00", periods=72, freq="1h", tz="Asia/Tokyo")
    frame = market(index)
    dates = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in index.tz_convert("UTC")]
    # The day of the 9th ends at 08:00 in Tokyo, which is 23:00 in UTC on the 8th.
    facts = [("A", "2024-01-08T22:00:00Z", "eps", 1.0), ("A", "2024-01-08T22:30:00Z", "eps", 2.0),
             ("A", "2024-01-08T23:30:00Z", "eps", 3.0)]  # fmt: skip
    news = [("A", "2024-01-08T23:30:00Z", "later")]
    hours = oo.Dataset.from_arrays(dates, ["A"], frame[["close"]].to_numpy(), fundamentals=facts, news=news)
    days = hours.resample("1d", tz="Asia/Tokyo", day_starts="08:00")
    assert days.dates == ("2024-01-09", "2024-01-10", "2024-01-11", "2024-01-12")[: days.n_bars]
    assert days.fundamentals == (("A", "2024-01-09", "eps", 2.0), ("A", "2024-01-10", "eps", 3.0))
    assert days.news == (("A", "2024-01-10", "later"),)


def cut_notices(data: oo.Dataset) -> list[str]:
    return [notice for notice in data.notices if "are cut at midnight" in notice]


def test_a_notice_says_that_midnight_is_inside_of_a_session() -> None:
    futures = dataset(market(sessions("2024-01-07 18:00", "2024-01-20 00:00")))
    said = cut_notices(futures.resample("1d"))
    assert len(said) == 1
    assert "ES" in said[0]
    assert 'resample("1d", tz="America/New_York", day_starts="17:00")' in said[0]
    assert cut_notices(futures.resample("1w", periods_per_year=52))
    assert not cut_notices(futures.resample("4h"))
    assert not cut_notices(futures.resample("1d", tz="UTC"))
    assert not cut_notices(futures.resample("1d", tz=NEW_YORK, day_starts="17:00"))
    short = dataset(market(sessions("2024-01-08 18:00", "2024-01-12 00:00")))
    assert cut_notices(short.resample("1d"))
    sydney = pd.date_range("2024-01-08", "2024-01-20", freq="30min", tz="Australia/Sydney")
    sydney = sydney[(sydney.hour >= 10) & (sydney.hour < 16) & (sydney.day_of_week < 5)]
    assert cut_notices(dataset(market(sydney)).resample("1d"))
    assert not cut_notices(dataset(market(sydney)).resample("1d", tz="Australia/Sydney"))


def test_no_notice_of_markets_that_midnight_does_not_cut() -> None:
    stocks = pd.date_range("2024-01-08", "2024-01-20", freq="15min", tz=NEW_YORK)
    stocks = stocks[(stocks.hour >= 10) & (stocks.hour < 16) & (stocks.day_of_week < 5)]
    coins = pd.date_range("2024-01-08", "2024-01-20", freq="1h", tz="UTC")
    few_coins = pd.date_range("2024-01-08", periods=60, freq="1h", tz="UTC")
    for index in (stocks, coins, few_coins):
        assert not cut_notices(dataset(market(index)).resample("1d", periods_per_year=252))


def test_times_without_a_zone_have_days_of_their_own_clock() -> None:
    index = sessions("2024-01-07 18:00", "2024-01-13 00:00").tz_localize(None)
    bars = oo.Dataset.from_arrays(
        [time.isoformat() for time in index], ["ES"], np.linspace(1.0, 2.0, len(index))[:, None]
    )
    assert 'resample("1d", day_starts="17:00")' in cut_notices(bars.resample("1d"))[0]
    days = bars.resample("1d", day_starts="17:00")
    assert days.dates == ("2024-01-08", "2024-01-09", "2024-01-10", "2024-01-11", "2024-01-12")
    with pytest.raises(oo.OpenOutcryError, match="`tz` must be left out for times without a zone"):
        bars.resample("1d", tz=NEW_YORK, day_starts="17:00")


def test_bars_across_the_start_of_a_day_are_a_notice() -> None:
    index = pd.date_range("2024-01-08 00:00", periods=60, freq="4h", tz="UTC")
    days = dataset(market(index)).resample("1d", tz=NEW_YORK, day_starts="17:00")
    assert any("bars of 14,400 seconds start before 17:00" in notice for notice in days.notices)
    stocks = pd.date_range("2024-01-08", "2024-01-20", freq="30min", tz=NEW_YORK)
    stocks = stocks[(stocks.hour >= 10) & (stocks.hour < 16) & (stocks.day_of_week < 5)]
    early = dataset(market(stocks)).resample("1d", tz=NEW_YORK, day_starts="09:30", periods_per_year=252)
    assert any("dated by the date after its session" in notice for notice in early.notices)


def test_a_start_of_days_that_has_no_effect_is_refused() -> None:
    hours = dataset(market(sessions("2024-01-07 18:00", "2024-01-13 00:00")))
    days = hours.resample("1d", tz=NEW_YORK, day_starts="17:00")
    for tz, start in ((NEW_YORK, None), (None, "17:00")):
        with pytest.raises(oo.OpenOutcryError, match="must be left out if the dates are days"):
            days.resample("1w", tz=tz, day_starts=start)
    with pytest.raises(oo.OpenOutcryError, match="`tz` is required for `day_starts`"):
        hours.resample("1d", day_starts="17:00")
    with pytest.raises(oo.OpenOutcryError, match="`tz` must be an IANA zone"):
        hours.resample("1d", tz="New York")
    with pytest.raises(oo.OpenOutcryError, match="`day_starts` must be a time such as 17:00"):
        hours.resample("1d", tz=NEW_YORK, day_starts="5pm")


def test_import_makes_days_of_sessions(tmp_path: Path) -> None:
    frame = market(sessions("2024-01-07 18:00", "2024-01-13 00:00"))
    wanted = dataset(frame).resample("1d", tz=NEW_YORK, day_starts="17:00")
    local = frame.set_index(frame.index.tz_localize(None))
    local.to_csv(tmp_path / "ES.csv", index_label="time")
    words = ["data", "import", str(tmp_path / "ES.csv"), "--tz", NEW_YORK, "--every", "1d", "--out"]
    result = CliRunner().invoke(app, [*words, str(tmp_path / "es"), "--day-starts", "17:00"])
    assert result.exit_code == 0, result.output
    found = open_market(tmp_path / "es")
    assert found.dates == wanted.dates
    np.testing.assert_allclose(found.close, wanted.close)
