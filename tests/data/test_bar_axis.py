"""Test which dates become bars: unions, intersections, sessions of exchanges and trading days."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import exchange_calendars
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.data.exchange_sessions import sessions, sessions_per_year
from openoutcry.data.snapshots.snapshot_files import freeze

FREE, UNLIMITED = oo.CostModel.zero(), oo.Limits.off()
N_BARS = 40
# One closing price per day on every day of two months, and on weekdays but a holiday of the exchange.
EVERY_DAY = pd.date_range("2024-01-02", "2024-02-29")
OLD_DAYS = pd.date_range("1990-01-02", periods=len(EVERY_DAY)).strftime("%Y-%m-%d")
SESSIONS = [
    str(day.date()) for day in EVERY_DAY if day.weekday() < 5 and str(day.date()) not in ("2024-01-15", "2024-02-19")
]


def mixed() -> pd.DataFrame:
    """Return coins of every day and a stock of the sessions in New York, in wide form."""
    coin = 100.0 * 1.01 ** np.arange(len(EVERY_DAY))
    stock = [50.0 + row if str(day.date()) in SESSIONS else np.nan for row, day in enumerate(EVERY_DAY)]
    return pd.DataFrame({"date": EVERY_DAY.strftime("%Y-%m-%d"), "BTC": coin, "SPY": stock})


def refused(match: str, frame: Any, **options: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match=match):
        oo.Dataset.from_frame(frame, **options)


def with_events(seed: int, axis: str) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Return a long frame of four symbols, and the bars of an axis; B may settle, after which no bar is common."""
    rng = np.random.default_rng(seed)
    splits = np.where(rng.random((N_BARS, 4)) < 0.15, rng.choice([0.25, 0.5, 2.0, 3.0], (N_BARS, 4)), 1.0)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.03, (N_BARS, 4)), axis=0)) / np.cumprod(splits, axis=0)
    dividends = np.where(rng.random((N_BARS, 4)) < 0.2, 0.02 * close * rng.random((N_BARS, 4)), 0.0)
    delistings = np.full((N_BARS, 4), np.nan)
    dates = pd.date_range("2024-01-02", periods=N_BARS).strftime("%Y-%m-%d")
    is_kept = np.isin(dates, SESSIONS) if axis == "XNYS" else rng.random(N_BARS) < 0.5
    is_kept[[0, 2]] = True
    close[~is_kept, 3] = np.nan
    if rng.random() < 0.7:
        end = int(rng.integers(5, N_BARS - 2))
        close[end:, 1], delistings[end, 1] = np.nan, rng.choice([-1.0, 0.0, rng.uniform(-0.9, 0.5)])
        is_kept[end:] &= axis == "XNYS"
    columns = {"close": close, "dividend": dividends, "split": splits, "delisting_return": delistings}
    labels = {"date": np.repeat(dates, 4), "symbol": ["A", "B", "C", "Z"] * N_BARS}
    return pd.DataFrame(labels | {name: cells.ravel() for name, cells in columns.items()}), np.flatnonzero(is_kept)


@pytest.mark.parametrize("axis", ["intersection", "XNYS"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_orders_on_the_dates_of_an_axis_earn_the_same_with_and_without_the_others(axis: str, seed: int) -> None:
    frame, kept = with_events(seed, axis)
    union = oo.Dataset.from_frame(frame, 252.0)
    common = oo.Dataset.from_frame(frame, 252.0, axis=axis)
    assert common.dates == tuple(union.dates[bar] for bar in kept)
    rng = np.random.default_rng(seed)
    orders = np.where(rng.random((len(kept), 4)) < 0.7, rng.uniform(-0.3, 0.4, (len(kept), 4)), np.nan)
    orders[:, 3] = np.nan
    settled = [] if union.delistings is None else np.flatnonzero(np.isfinite(union.delistings[:, 1]))
    # An order of the last bar before a settlement fills on the bars between, and not on the common ones.
    orders[int(np.searchsorted(kept, settled[0])) - 1 if len(settled) else len(kept) :, 1] = np.nan
    on_all = np.full((N_BARS, 4), np.nan)
    on_all[kept] = orders
    navs = [
        oo.run_backtest(data, weights, window=(0, data.n_bars), costs=FREE, limits=UNLIMITED).nav
        for data, weights in ((union, on_all), (common, orders))
    ]
    np.testing.assert_allclose(navs[1], navs[0][kept], rtol=1e-9)


def test_the_intersection_has_only_dates_on_which_every_symbol_closes() -> None:
    dates = [f"2024-01-{day:02d}" for day in range(2, 9)]
    close = np.arange(1.0, 22.0).reshape(7, 3)
    close[:2, 1], close[5:, 2], close[3, 0] = np.nan, np.nan, np.nan
    delistings = np.full((7, 3), np.nan)
    delistings[5, 2] = -1.0
    columns = {"close": close, "delisting_return": delistings}
    labels = {"date": np.repeat(dates, 3), "symbol": ["ALL", "NEW", "OLD"] * 7}
    frame = pd.DataFrame(labels | {name: cells.ravel() for name, cells in columns.items()})
    found = oo.Dataset.from_frame(frame, 252.0, axis="intersection")
    assert found.dates == ("2024-01-04", "2024-01-06")
    assert np.isfinite(found.close).all()
    assert found.notices[:3] == (
        "axis intersection: 5 of 7 dates are left out, with 10 closes; 1 event after the last date dropped",
        "axis intersection: the bars start with the first close of NEW on 2024-01-04 and end with the last close of OLD"
        " on 2024-01-06",
        "axis intersection: returns do not include the settlement of OLD after the last date",
    )


@pytest.mark.parametrize("axis", ["intersection", "XNYS"])
def test_the_days_of_a_stock_exchange_are_left_in_a_market_with_coins(axis: str) -> None:
    union = oo.Dataset.from_frame(mixed(), axis="union")
    assert union == oo.Dataset.from_frame(mixed())
    assert union.periods_per_year == 365.0
    found = oo.Dataset.from_frame(mixed(), axis=axis)
    assert list(found.dates) == SESSIONS
    assert found.periods_per_year == 252.0
    n_left = len(EVERY_DAY) - len(SESSIONS)
    wanted = f"axis {axis}: {n_left} of {len(EVERY_DAY)} dates are left out, with {n_left} closes"
    assert wanted in found.notices


def test_every_door_takes_the_axis(tmp_path: Path) -> None:
    text = mixed().to_csv(index=False)
    (tmp_path / "plain.csv").write_text(text)
    (tmp_path / "other.csv").write_text(text.replace(",", ";"))
    mixed().to_parquet(tmp_path / "plain.parquet")
    wanted = oo.Dataset.from_frame(mixed(), axis="XNYS", calendar="XNYS")
    for name in ("plain.csv", "other.csv"):
        assert oo.Dataset.from_csv(tmp_path / name, axis="XNYS", calendar="XNYS") == wanted
    assert oo.Dataset.from_csv(text, axis="XNYS", calendar="XNYS") == wanted
    assert oo.Dataset.from_parquet(tmp_path / "plain.parquet", axis="XNYS", calendar="XNYS") == wanted


def test_the_commands_take_the_axis_and_longer_bars(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text(mixed().to_csv(index=False))
    words = ["data", "import", str(path), "--axis", "XNYS", "--every", "1w", "--out", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    wanted = oo.Dataset.from_csv(path, axis="XNYS").resample("1w")
    assert wanted.fingerprint in done.output
    checked = CliRunner().invoke(app, ["data", "check", str(path), "--axis", "intersection", "--json"])
    assert oo.Dataset.from_csv(path, axis="intersection").fingerprint in checked.output


def test_the_check_of_a_file_names_the_option_that_keeps_the_common_dates(tmp_path: Path) -> None:
    (tmp_path / "mixed.csv").write_text(mixed().to_csv(index=False))
    checked = CliRunner().invoke(app, ["data", "check", str(tmp_path / "mixed.csv")]).output
    assert '; hint: `axis="intersection"` (`--axis intersection`) keeps the dates on which all symbols' in checked
    snapshot = freeze(oo.Dataset.from_frame(mixed()), tmp_path / "snapshot", "mixed.csv")
    checked = CliRunner().invoke(app, ["data", "check", str(snapshot)]).output
    assert "SPY fills on only" in checked
    assert "intersection" not in checked
    checked = CliRunner().invoke(app, ["data", "check", str(tmp_path / "mixed.csv"), "--axis", "intersection"]).output
    assert "fills on only" not in checked


def test_sessions_without_a_bar_are_a_notice() -> None:
    holes = mixed().set_index("date").drop(["2024-01-03", "2024-02-01", "2024-02-02", "2024-02-05", "2024-02-10"])
    found = oo.Dataset.from_frame(holes.reset_index(), axis="XNYS")
    assert "4 sessions of XNYS without a bar: 2024-01-03, 2024-02-01, 2024-02-02, ..." in found.notices


def test_bars_within_the_hours_of_the_exchange_are_kept() -> None:
    # New York opens at 14:30 UTC, and at 13:30 from 2024-03-10 on.
    times = pd.date_range("2024-03-07", "2024-03-13", freq="30min", inclusive="left")
    frame = pd.DataFrame({"date": times.strftime("%Y-%m-%dT%H:%M:%SZ"), "A": np.arange(1.0, len(times) + 1)})
    found = oo.Dataset.from_frame(frame, axis="XNYS")
    assert found.n_bars == 4 * 13
    assert (found.dates[0], found.dates[12]) == ("2024-03-07T14:30:00Z", "2024-03-07T20:30:00Z")
    assert (found.dates[-13], found.dates[-1]) == ("2024-03-12T13:30:00Z", "2024-03-12T19:30:00Z")
    assert found.periods_per_year == 252.0 * 13


def test_bars_stamped_at_their_end_are_kept_at_the_close() -> None:
    ends = [f"2024-03-{day:02d}T{hour}:30:00Z" for day in (11, 12, 13) for hour in range(14, 20)]
    ends = sorted([*ends, *(f"2024-03-{day:02d}T20:00:00Z" for day in (11, 12, 13))])
    frame = pd.DataFrame({"date": ends, "A": np.arange(1.0, len(ends) + 1)})
    assert oo.Dataset.from_frame(frame, axis="XNYS").dates == tuple(ends)
    # Hours around the clock lie at the close of New York too, but not at its open.
    hours = pd.date_range("2024-03-11", "2024-03-13", freq="h", inclusive="left").strftime("%Y-%m-%dT%H:%M:%SZ")
    around = oo.Dataset.from_frame(pd.DataFrame({"date": hours, "A": 1.0}), axis="XNYS")
    assert [date[11:13] for date in around.dates[:6]] == ["14", "15", "16", "17", "18", "19"]
    assert around.n_bars == 12


def test_the_break_of_an_exchange_has_no_bars() -> None:
    # Hong Kong breaks from 12:00 to 13:00, which is 04:00 to 05:00 UTC.
    times = [f"2024-03-12T{hour:02d}:{minute}:00Z" for hour in range(24) for minute in ("00", "30")]
    kept = sessions("XHKG", times[0], times[-1]).places(times) >= 0
    assert [time[11:16] for time, is_kept in zip(times, kept, strict=True) if is_kept] == [
        "01:30", "02:00", "02:30", "03:00", "03:30", "05:00", "05:30", "06:00", "06:30", "07:00", "07:30",
    ]  # fmt: skip


def test_times_without_a_zone_are_in_no_session() -> None:
    frame = pd.DataFrame({"date": ["2024-03-11T10:00:00", "2024-03-11T11:00:00"], "A": [1.0, 2.0]})
    refused("times in a known zone .* hint: tz=", frame, axis="XNYS")


def test_a_calendar_states_the_bars_per_year() -> None:
    stock = mixed().dropna()
    found = oo.Dataset.from_frame(stock, calendar="XLON", axis="XLON")
    assert found.periods_per_year == sessions_per_year("XLON") == 253
    assert sessions_per_year("XNYS") == 252
    half_hours = pd.date_range("2024-03-07", "2024-03-13", freq="30min", inclusive="left")
    frame = pd.DataFrame({"date": half_hours.strftime("%Y-%m-%dT%H:%M:%SZ"), "A": 1.0})
    assert oo.Dataset.from_frame(frame, calendar="XNYS", axis="XNYS").periods_per_year == 252 * 13
    stated = oo.Dataset.from_frame(stock, 52.0, calendar="XNYS")
    assert stated.periods_per_year == 52.0
    assert "`periods_per_year` 52 was stated; the calendar XNYS implies 252" in stated.notices


def test_a_date_that_is_no_session_of_the_calendar_is_refused() -> None:
    refused(r'received 2024-01-06 and 17 others; hint: axis="XNYS"', mixed(), calendar="XNYS")


def test_a_calendar_of_days_is_refused_for_weeks() -> None:
    weeks = mixed().dropna().iloc[2::5]
    refused("a bar of most sessions of XNYS is required", weeks, calendar="XNYS")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"axis": "unoin"}, "`axis` must be union, intersection or an exchange code such as XNYS; received 'unoin'"),
        ({"axis": "xnys"}, "received 'xnys'; hint: axis=\"XNYS\""),
        ({"axis": ""}, "received ''"),
        ({"axis": 3}, "received 3"),
        ({"axis": "XXXX"}, "an exchange code such as XNYS is required; received 'XXXX'"),
        ({"calendar": "union"}, "`calendar` must be an exchange code"),
        ({"axis": "XNYS", "calendar": "XLON"}, "must name one exchange; received XNYS and XLON"),
        ({"day_starts": "17:00"}, "`day_starts` must be left out if the dates are days"),
        ({"day_starts": "24:00"}, "`day_starts` must be a time"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], match: str) -> None:
    refused(match, mixed(), **options)


def test_an_axis_with_fewer_than_two_dates_is_refused() -> None:
    apart = pd.DataFrame({"date": ["2024-01-02", "2024-01-03", "2024-01-04"], "A": [1.0, np.nan, 1.0]})
    apart["B"] = [np.nan, 1.0, np.nan]
    weekend = pd.DataFrame({"date": ["2024-01-05", "2024-01-06", "2024-01-07"], "A": [1.0, 2.0, 3.0]})
    wanted = "a close of every symbol are required; received 0 of 3; hint: .*, such as without B, which has 1"
    refused(wanted, apart, axis="intersection")
    refused("at least 2 dates with a session of XNYS are required; received 1 of 3", weekend, axis="XNYS")


def test_a_symbol_without_a_close_on_the_axis_is_left_out() -> None:
    frame = mixed()
    frame["WEEKEND"] = [1.0 if str(day.date()) == "2024-01-06" else np.nan for day in EVERY_DAY]
    found = oo.Dataset.from_frame(frame, axis="XNYS")
    assert found.symbols == ("BTC", "SPY")
    assert "left out: WEEKEND, which never closes on these bars" in found.notices


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "exchange_calendars", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs `pip install openoutcry\[calendars\]`"):
        oo.Dataset.from_frame(mixed(), axis="XNYS")
    (tmp_path / "mixed.csv").write_text(mixed().to_csv(index=False))
    done = CliRunner().invoke(app, ["data", "check", str(tmp_path / "mixed.csv"), "--calendar", "XNYS"])
    assert "`XNYS` needs `pip install openoutcry[calendars]`" in f"{done.output}{done.exception}"


def test_a_failure_within_the_package_of_calendars_is_reported_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise NotImplementedError("implemented by subclasses")

    # The package knows the holidays of Mumbai from 1997 on.
    refused("the calendar of XBOM must cover the dates; received 1990", mixed().assign(date=OLD_DAYS), axis="XBOM")
    monkeypatch.setattr(exchange_calendars, "get_calendar", fail)
    packages = f"exchange_calendars {exchange_calendars.__version__} with pandas {pd.__version__}"
    wanted = f"{packages}: NotImplementedError: implemented by subclasses; hint: install another version"
    refused(re.escape(wanted), mixed(), axis="XNYS")
    monkeypatch.setattr(exchange_calendars, "get_calendar", lambda *_, **__: int("x" * 1000))
    refused(r"received an error of .*: ValueError: .{20,160}(\.\.\.|…); hint", mixed(), calendar="XNYS")


def test_bars_of_foreign_exchange_are_the_day_on_which_they_end() -> None:
    # 17:00 in New York, before and after the change of clocks on 2024-03-10, from Sunday to Thursday.
    days = pd.date_range("2024-03-03 17:00", "2024-03-14 17:00", tz="America/New_York")
    days = days[days.day_of_week.isin([6, 0, 1, 2, 3])]
    frame = pd.DataFrame({"date": days.tz_convert("UTC").strftime("%Y-%m-%dT%H:%M:%SZ"), "EUR": 1.1})
    found = oo.Dataset.from_frame(frame, tz="America/New_York", day_starts="17:00")
    assert found.dates == tuple(str(day.date()) for day in pd.bdate_range("2024-03-04", "2024-03-15"))
    assert found.periods_per_year == 252.0
    refused("24-hour bars that start at 17:00", frame, tz="America/Chicago", day_starts="17:00")
    refused("`tz` is required for `day_starts`", frame, day_starts="17:00")
    local = pd.DataFrame({"date": days.strftime("%Y-%m-%dT%H:%M:%S"), "EUR": 1.1})
    assert oo.Dataset.from_frame(local, day_starts="17:00") == found
