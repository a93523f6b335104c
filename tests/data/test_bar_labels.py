"""Test that bars dated by their start are noticed, moved to their end, and never show later prices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app

MONTHS = [f"{2019 + month // 12}-{month % 12 + 1:02}-01" for month in range(24)]
MONTHLY = "Date,Open,High,Low,Close,Volume\n" + "".join(
    f"{date},{100 + k},{104 + k},{98 + k},{102 + k},5\n" for k, date in enumerate(MONTHS)
)
DAYS = [str(day) for day in np.arange("2019-01-01", "2020-12-31", dtype="datetime64[D]") if np.is_busday(day)]
DAILY = "Date,Open,High,Low,Close,Volume\n" + "".join(
    f"{date},{50 + k % 5},{56 + k % 5},{48},{51 + k % 5},5\n" for k, date in enumerate(DAYS)
)


def test_monthly_bars_dated_at_the_start_of_their_month_are_a_notice(tmp_path: Path) -> None:
    data = oo.Dataset.from_csv(MONTHLY, symbol="X")
    wanted = (
        "bars are dated at the start of their month, as 2019-01-01, and known at its end;"
        ' hint: label="start", `--label start`, dates them by its last day, as 2019-01-31'
    )
    assert wanted in data.notices
    assert data.dates == tuple(MONTHS)
    (tmp_path / "X.csv").write_text(MONTHLY, "utf-8")
    assert wanted in CliRunner().invoke(app, ["data", "check", str(tmp_path / "X.csv")]).output
    moved = oo.Dataset.from_csv(MONTHLY, symbol="X", label="start")
    assert moved.dates == tuple(str(day.date()) for day in pd.date_range("2019-01-31", periods=24, freq="ME"))
    np.testing.assert_array_equal(moved.close, data.close)
    assert moved.periods_per_year == 12.0
    assert "bars are dated by their end: 2019-01-01 is 2019-01-31" in moved.notices
    kept = oo.Dataset.from_csv(MONTHLY, symbol="X", label="end")
    assert kept.fingerprint == data.fingerprint
    assert not [notice for notice in kept.notices if "dated" in notice]
    result = CliRunner().invoke(app, ["data", "check", str(tmp_path / "X.csv"), "--label", "start"])
    assert "--label start" in result.output.splitlines()[-1]


@pytest.mark.parametrize("last", ["2021-01-15", "2020-12-18"])
def test_an_unfinished_last_month_keeps_its_date(last: str) -> None:
    # Yahoo ends a file of months with the last day, besides the month.
    text = f"{MONTHLY}{last},1,2,1,2,3\n"
    assert any(
        "start of their month, as 2019-01-01" in notice for notice in oo.Dataset.from_csv(text, symbol="X").notices
    )
    dates = oo.Dataset.from_csv(text, symbol="X", label="start").dates
    assert dates[0] == "2019-01-31"
    assert dates[-2:] == (("2020-12-31", last) if last > "2020-12-31" else ("2020-12-17", last))


@pytest.mark.parametrize(
    ("freq", "last", "name"),
    [("QS", "2019-03-31", "quarter"), ("YS", "2019-12-31", "year"), ("MS", "2019-01-31", "month")],
)
def test_quarters_and_years_end_on_their_last_day(freq: str, last: str, name: str) -> None:
    dates = pd.date_range("2019-01-01", periods=8, freq=freq)
    frame = pd.DataFrame({"GDP": np.linspace(1.0, 2.0, 8)}, dates)
    assert any(f"start of their {name}, as 2019-01-01" in notice for notice in oo.Dataset.from_frame(frame).notices)
    assert oo.Dataset.from_frame(frame, label="start").dates[0] == last


def test_weekly_bars_dated_on_mondays_may_start_then() -> None:
    mondays = pd.date_range("2024-01-01", periods=30, freq="W-MON")
    frame = pd.DataFrame({"X": np.linspace(1.0, 2.0, 30)}, mondays)
    assert any("weekly bars are dated on Mondays" in notice for notice in oo.Dataset.from_frame(frame).notices)
    assert oo.Dataset.from_frame(frame, label="start").dates[0] == "2024-01-07"
    fridays = frame.set_index(pd.date_range("2024-01-05", periods=30, freq="W-FRI"))
    assert not any("dated" in notice for notice in oo.Dataset.from_frame(fridays).notices)


def test_monthly_bars_next_to_daily_ones_must_not_show_later_prices(tmp_path: Path) -> None:
    (tmp_path / "MON.csv").write_text(MONTHLY, "utf-8")
    (tmp_path / "DAY.csv").write_text(DAILY, "utf-8")
    paths = [tmp_path / "MON.csv", tmp_path / "DAY.csv"]
    with pytest.raises(
        oo.OpenOutcryError, match=r"date_invalid: the end of each bar is required .* a bar of MON per month"
    ):
        oo.Dataset.from_csv(paths)
    found = oo.Dataset.from_csv(paths, label="start")
    monthly = found.close[:, found.symbols.index("MON")]
    known = [date for date, close in zip(found.dates, monthly, strict=True) if np.isfinite(close)]
    assert known == [str(day.date()) for day in pd.date_range("2019-01-31", periods=24, freq="ME")]
    daily = found.close[:, found.symbols.index("DAY")]
    assert [date for date, close in zip(found.dates, daily, strict=True) if np.isfinite(close)] == DAYS
    # An order of a day of January cannot fill at the open of January.
    assert found.open is not None
    assert not np.isfinite(found.open[:, found.symbols.index("MON")]).any()
    assert any("opens of MON are left out" in notice for notice in found.notices)
    assert any("MON can never fill" in notice for notice in found.notices)
    result = CliRunner().invoke(app, ["data", "check", *map(str, paths)])
    assert "--label start" in str(result.exception)
    wide = "date,CPI,SPY\n" + "".join(
        f"{day},{1 + k / 9 if day[8:] == '01' else ''},{100 + k % 7 if np.is_busday(day) else ''}\n"
        for k, day in enumerate(sorted({*DAYS, *MONTHS}))
    )
    with pytest.raises(oo.OpenOutcryError, match="a bar of CPI per month dated 2019-01-01"):
        oo.Dataset.from_csv(wide)
    assert oo.Dataset.from_csv(wide, label="end").n_bars == len({*DAYS, *MONTHS})


def test_months_dated_by_their_end_have_no_open_next_to_days() -> None:
    ends = pd.date_range("2019-01-31", periods=23, freq="BME")
    rows = [f"{day},DAY,5,5" for day in DAYS] + [f"{day:%Y-%m-%d},MON,9,{9 + k}" for k, day in enumerate(ends)]
    found = oo.Dataset.from_csv("date,symbol,open,close\n" + "\n".join(sorted(rows)))
    assert found.open is not None
    assert not np.isfinite(found.open[:, 1]).any()
    assert np.isfinite(found.close[:, 1]).sum() == 23
    assert found.periods_per_year == 252.0
    assert any("opens of MON are left out" in notice for notice in found.notices)


def test_months_by_their_start_next_to_months_by_their_end_are_refused() -> None:
    ends = [str(day.date()) for day in pd.date_range("2019-01-31", periods=24, freq="ME")]
    rows = sorted(
        [f"{day},A,{5 + k}" for k, day in enumerate(MONTHS)] + [f"{day},B,{7 + k}" for k, day in enumerate(ends)]
    )
    with pytest.raises(oo.OpenOutcryError, match="a bar of A per month"):
        oo.Dataset.from_csv("date,symbol,close\n" + "\n".join(rows))


def test_longer_bars_of_a_day_next_to_shorter_ones_must_say_what_their_times_are() -> None:
    hours = pd.date_range("2024-01-01", periods=48, freq="1h")
    rows = [f"{hour:%Y-%m-%dT%H:%M:%SZ},A,{5 + k % 3}" for k, hour in enumerate(hours)]
    rows += [f"{hour:%Y-%m-%dT%H:%M:%SZ},B,{5 + k % 3}" for k, hour in enumerate(hours[::4])]
    text = "date,symbol,close\n" + "\n".join(sorted(rows))
    with pytest.raises(oo.OpenOutcryError, match="a bar of B per 14,400 seconds"):
        oo.Dataset.from_csv(text)
    found = oo.Dataset.from_csv(text, label="start")
    of_b = np.flatnonzero(np.isfinite(found.close[:, 1]))
    assert [found.dates[bar] for bar in of_b[:2]] == ["2024-01-01T04:00:00Z", "2024-01-01T08:00:00Z"]
    assert found.dates[0] == "2024-01-01T01:00:00Z"
    assert oo.Dataset.from_csv(text, label="end").dates[0] == "2024-01-01T00:00:00Z"


def test_missing_bars_are_not_longer_bars() -> None:
    rng = np.random.default_rng(3)
    minutes = pd.date_range("2024-01-01", periods=2000, freq="1min")
    rows = [f"{minute:%Y-%m-%dT%H:%M:%SZ},A,{5 + k % 3}" for k, minute in enumerate(minutes)]
    rows += [f"{minute:%Y-%m-%dT%H:%M:%SZ},B,5" for minute in minutes[rng.random(2000) < 0.05]]
    oo.Dataset.from_csv("date,symbol,close\n" + "\n".join(sorted(rows)))
    days = [f"{day},A,5" for day in DAYS] + [f"{day},B,5" for day in DAYS if rng.random() < 0.1]
    oo.Dataset.from_csv("date,symbol,close\n" + "\n".join(sorted(days)))


def test_a_label_without_effect_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`label` must be left out for bars of days"):
        oo.Dataset.from_csv(DAILY, symbol="X", label="start")
    with pytest.raises(oo.OpenOutcryError, match="`label` must be one of start, end"):
        oo.Dataset.from_csv(DAILY, symbol="X", label="left")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("open_time", "starts, as 'open_time' says"),
        ("close_time", "ends, as 'close_time' says"),
        ("time", "taken for starts; the file does not say"),
    ],
)
def test_a_check_says_what_the_times_of_bars_are(name: str, said: str, tmp_path: Path) -> None:
    rows = "".join(f"2024-01-01 {hour:02}:00:00,1,2,1,2\n" for hour in range(24))
    (tmp_path / "X.csv").write_text(f"{name},open,high,low,close\n{rows}", "utf-8")
    words = ["--periods-per-year", "8760", "--column", f"date={name}"]
    output = CliRunner().invoke(app, ["data", "check", str(tmp_path / "X.csv"), *words]).output
    assert said in output, output


def test_times_of_binance_klines_are_starts() -> None:
    path = Path(__file__).parent / "formats" / "binance_klines_ms.csv"
    output = CliRunner().invoke(app, ["data", "check", str(path)]).output
    assert "starts, as Binance writes them" in output


def bars_of(symbol: str, times: pd.DatetimeIndex, form: str = "%Y-%m-%dT%H:%M:%S") -> pd.DataFrame:
    close = 100.0 + np.arange(len(times)) % 7
    table = {"date": times.strftime(form), "symbol": symbol, "close": close, "open": close}
    return pd.DataFrame(table)


def read_all(*frames: pd.DataFrame, label: str | None = None) -> oo.Dataset:
    return oo.Dataset.from_csv(pd.concat(frames).to_csv(index=False), label=label)


def test_a_new_listing_is_dated_as_the_other_symbols_are() -> None:
    hours = pd.date_range("2024-01-02", periods=200, freq="h")
    moved = read_all(bars_of("A", hours), bars_of("B", hours[-9:]), label="start")
    assert moved.dates[-1] == "2024-01-10T08:00:00"
    known = np.isfinite(moved.close)
    assert known[-9:].all()
    assert known.sum(axis=0).tolist() == [200, 9]
    months = pd.date_range("2019-01-01", periods=24, freq="MS")
    late = read_all(bars_of("A", months, "%Y-%m-%d"), bars_of("B", months[-2:], "%Y-%m-%d"), label="start")
    assert late.dates == tuple(f"{day:%Y-%m-%d}" for day in pd.date_range("2019-01-31", periods=24, freq="ME"))


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_a_symbol_without_a_trade_in_most_bars_is_no_longer_bar(share: float) -> None:
    minutes = pd.date_range("2024-01-02T14:30", periods=3_000, freq="min")
    thin = minutes[np.random.default_rng(1).random(len(minutes)) < share]
    market = read_all(bars_of("A", minutes), bars_of("T", thin))
    assert int(np.isfinite(market.close[:, 1]).sum()) == len(thin)
    assert np.isfinite(market.open[:, 1]).sum() == len(thin) if market.open is not None else False
    moved = read_all(bars_of("A", minutes), bars_of("T", thin), label="start")
    assert moved.dates[0] == "2024-01-02T14:31:00"
    assert len(moved.dates) == len(minutes)
    longer = pd.date_range("2024-01-02T14:30", periods=50, freq="h")
    with pytest.raises(oo.OpenOutcryError, match="date_invalid"):
        read_all(bars_of("A", minutes), bars_of("H", longer))


@pytest.mark.parametrize("period", ["W", "M"])
def test_longer_bars_dated_by_their_first_session_are_asked_about(period: str) -> None:
    # Sessions without some Mondays and first days of months.
    days = pd.DatetimeIndex(
        [day for day in pd.DatetimeIndex(DAYS) if day.day_of_year not in (1, 21, 49, 147, 189, 246)]
    )
    first = pd.DatetimeIndex(days.to_series().groupby(days.to_period(period)).first().to_numpy())
    daily, longer = (bars_of(name, each, "%Y-%m-%d") for name, each in (("D", days), ("L", first)))
    with pytest.raises(oo.OpenOutcryError, match=r"date_invalid: .*label="):
        read_all(daily, longer)
    moved = read_all(longer, label="start")
    assert all(
        pd.Timestamp(end) == start.to_period(period).end_time.normalize()
        for start, end in zip(first, moved.dates, strict=True)
    )


def test_a_bar_that_ends_after_the_last_year_is_refused() -> None:
    hours = [f"9999-12-31T{hour:02}:00:00" for hour in range(12, 24)]
    frame = pd.DataFrame({"date": hours, "close": np.arange(1.0, 13.0)})
    with pytest.raises(oo.OpenOutcryError, match="date_invalid: ends of bars up to the year 9999 are required"):
        oo.Dataset.from_frame(frame, symbol="A", label="start")
