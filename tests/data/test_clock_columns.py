"""Test times of day: AM and PM, lost zeros, columns of their own, and hours that clocks repeat."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

NEW_YORK = ZoneInfo("America/New_York")


def read(times: list[str], separator: str = ",", date: str = "2024-01-02") -> tuple[str, ...]:
    """Return the times of bars with a column of dates and one of times."""
    rows = [separator.join((date, time, f"{10 + row}")) for row, time in enumerate(times)]
    dataset = oo.Dataset.from_csv("\n".join([separator.join(("Date", "Time", "Close")), *rows]), symbol="A")
    # Every row keeps its price, whatever the order of the times.
    assert sorted(dataset.close[:, 0]) == [10 + row for row in range(len(times))]
    return tuple(date.partition("T")[2] for date in dataset.dates)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        (["12:00 AM", "9:30:00 AM", "12:00 PM", "11:59:59 p.m."], "00:00:00 09:30:00 12:00:00 23:59:59"),
        (["9AM", "10 AM", "12PM"], "09:00:00 10:00:00 12:00:00"),
        (["9:30", "9:45", "10:00"], "09:30:00 09:45:00 10:00:00"),
        (["93000", "94500", "100000"], "09:30:00 09:45:00 10:00:00"),
        (["0", "500", "93000", "100000"], "00:00:00 00:05:00 09:30:00 10:00:00"),
        (["0", "5", "30", "930", "1000"], "00:00:00 00:05:00 00:30:00 09:30:00 10:00:00"),
        (["930.0", "1000.0", "1130.0"], "09:30:00 10:00:00 11:30:00"),
        (["09:30:00.000", "09:45:00.000"], "09:30:00 09:45:00"),
    ],
)  # fmt: skip
def test_times_of_day_are_read(times: list[str], wanted: str, separator: str) -> None:
    assert read(times, separator) == tuple(wanted.split())
    assert read(times, separator, "20240102") == tuple(wanted.split())


def test_24_00_is_the_end_of_the_day() -> None:
    text = "Date,Time,Close\n2024-01-02,23:00,1\n2024-01-02,24:00,2\n2024-01-03,01:00,3\n"
    assert oo.Dataset.from_csv(text, symbol="A").dates == (
        "2024-01-02T23:00:00", "2024-01-03T00:00:00", "2024-01-03T01:00:00",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["9:30 AM", "10:00"], "on line 3 must have a time such as 09:30 AM, as others have AM or PM"),
        (["9:30 AM", "13:00 PM"], "on line 3 must have a time such as 09:30 AM"),
        (["9:30", "early"], "on line 3 must have a time such as 09:30; received 'early'"),
        (["9:30", "24:01"], "received '24:01'"),
        # Seconds and fractions of a day are no times of day.
        (["34200", "36000"], "columns not read|which is not read"),
        (["0.395833333", "0.416666667"], "in the column 'Time', which is not read"),
    ],
)
def test_texts_that_are_no_times_are_refused(times: list[str], words: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=words):
        read(times)


@pytest.mark.parametrize("price", [85, 1015])
def test_a_ticker_named_time_is_a_symbol(price: int) -> None:
    text = f"date,TIME,AAPL\n2024-01-02,{price},100\n2024-01-03,{price + 1},101\n2024-01-04,{price + 2},102\n"
    assert oo.Dataset.from_csv(text.replace(",", ";")).symbols == ("TIME", "AAPL")


def test_a_date_at_midnight_and_a_time_are_one_time(tmp_path: Path) -> None:
    days = pd.DatetimeIndex(["2024-01-02"] * 3 + ["2024-01-03"] * 3)
    clocks = [datetime(2024, 1, 2, hour, 30).time() for hour in (9, 10, 11)] * 2
    frame = pd.DataFrame({"Date": days, "Time": clocks, "Close": np.arange(6) + 10.0})
    frame.to_excel(tmp_path / "A.xlsx", index=False)
    wanted = tuple(f"{day.date()}T{clock}" for day, clock in zip(days, clocks, strict=True))
    assert oo.Dataset.from_csv(tmp_path / "A.xlsx").dates == wanted
    assert oo.Dataset.from_frame(frame, symbol="A").dates == wanted
    assert oo.Dataset.from_csv(frame.to_csv(date_format="%Y-%m-%d %H:%M:%S"), symbol="A").dates == wanted


@pytest.mark.parametrize("end", ["", "T00:00:00", "T00:00:00Z", " 00:00:00"])
@pytest.mark.parametrize("names", ["date,symbol,close", "date,A"])
def test_midnights_are_days_in_every_form(end: str, names: str, tmp_path: Path) -> None:
    field = ",A," if "symbol" in names else ","
    rows = [f"2024-01-0{day}{end}{field}{10 + day}" for day in range(2, 6)]
    plain = "\n".join([names, *rows]) + "\n"
    frame = pd.DataFrame([row.split(",") for row in rows], columns=names.split(",")).astype(
        {names[-1:] if names == "date,A" else "close": float}
    )
    frame.to_parquet(tmp_path / "plain.parquet")
    (tmp_path / "plain.csv").write_text(plain)
    read = [oo.Dataset.from_csv(each) for each in (plain, plain.replace(",", ";"), *sorted(tmp_path.iterdir()))]
    wanted = oo.Dataset.from_csv(plain.replace(end, "") if end else plain)
    assert {each.fingerprint for each in (*read, oo.Dataset.from_frame(frame))} == {wanted.fingerprint}
    assert wanted.dates[0] == "2024-01-02"


def hours(minutes: int) -> list[datetime]:
    """Return times in UTC around the end of summer time in New York on 2024-11-03."""
    start = datetime(2024, 11, 3, 2, tzinfo=timezone.utc)
    return [start + timedelta(minutes=minutes * place) for place in range(12 * 60 // minutes)]


@pytest.mark.parametrize("minutes", [60, 30])
@pytest.mark.parametrize("order", ["ascending", "descending", "by time"])
@pytest.mark.parametrize("form", ["one column", "two columns", "one symbol", "wide"])
def test_the_order_of_rows_decides_a_repeated_hour(minutes: int, order: str, form: str) -> None:
    times = hours(minutes)
    rows = [
        (time.astimezone(NEW_YORK).replace(tzinfo=None), symbol, 10.0 * number + place)
        for number, symbol in enumerate(("A", "B"), 1)
        for place, time in enumerate(times)
        if form in ("one column", "two columns") or symbol == "A"
    ]
    rows = rows[::-1] if order == "descending" else rows
    if order == "by time":
        # All symbols of the first 01:00 are before those of the second one.
        rows = [row for place in range(len(times)) for row in rows[place :: len(times)]]
    frame = pd.DataFrame(rows, columns=["Date", "Symbol", "Close"])
    if form == "two columns":
        frame.insert(1, "Time", frame["Date"].dt.strftime("%H:%M"))
        frame["Date"] = frame["Date"].dt.strftime("%Y-%m-%d")
    elif form == "wide":
        frame = frame.rename(columns={"Close": "A"}).drop(columns="Symbol")
    dataset = oo.Dataset.from_csv(frame.to_csv(index=False), tz="America/New_York", periods_per_year=8760)
    assert dataset.dates == tuple(time.strftime("%Y-%m-%dT%H:%M:%SZ") for time in times)
    np.testing.assert_array_equal(dataset.close[:, 0], 10.0 + np.arange(len(times)))
    assert any("hour that clocks repeat" in notice for notice in dataset.notices)


@pytest.mark.parametrize(
    "times",
    [
        ["00:00", "01:00", "02:00", "03:00"],
        ["00:00", "01:00", "02:00", "01:00"],
        ["00:00", "01:00", "01:30", "02:00"],
        ["00:00", "01:00", "01:00", "01:00"],
        ["00:00", "01:30", "01:00", "02:00"],
        ["03:00", "01:00", "01:00", "02:00"],
    ],
)
def test_a_repeated_hour_that_the_order_does_not_decide_is_refused(times: list[str]) -> None:
    text = "\n".join(["Date,Close", *(f"2024-11-03 {time},{10 + row}" for row, time in enumerate(times))])
    with pytest.raises(oo.OpenOutcryError, match="at a change of clocks; hint: write times with an offset"):
        oo.Dataset.from_csv(text, symbol="A", tz="America/New_York", periods_per_year=8760)


def test_a_time_that_clocks_leave_out_is_refused() -> None:
    text = "Date,Close\n2024-03-10 01:00,1\n2024-03-10 02:00,2\n2024-03-10 03:00,3\n"
    with pytest.raises(oo.OpenOutcryError, match="2024-03-10T02:00:00 at a change of clocks"):
        oo.Dataset.from_csv(text, symbol="A", tz="America/New_York")


def test_midnight_in_a_column_of_dates_may_be_twelve_am() -> None:
    rows = "".join(f"03/{day}/2024 12:00:00 AM,16:00,{100 + day}\n" for day in range(14, 29))
    market = oo.Dataset.from_csv(f"Date,Time,Close\n{rows}", symbol="A", date_order="mdy")
    assert market.dates[0] == "2024-03-14T16:00:00"
