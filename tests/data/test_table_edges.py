"""Test rows at the edges of a table, and dates of years."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

BARS = "2024-01-02,1.5,1.75,1.25,1.5,900\n2024-01-03,1.5,2.0,1.25,1.75,800\n2024-01-04,1.75,2.0,1.5,1.75,700\n"
HEADER = "Date,Open,High,Low,Close,Volume\n"
PLAIN = oo.Dataset.from_csv(HEADER + BARS, symbol="A")


@pytest.mark.parametrize(
    "units", [",USD,USD,USD,USD,shares", "Unit,[EUR],[EUR],[EUR],[EUR],", ",USD/oz,$,usd/oz,%,lots"]
)
def test_a_row_of_units_is_left_out_with_a_notice(units: str) -> None:
    dataset = oo.Dataset.from_csv(f"{HEADER}{units}\n{BARS}", symbol="A")
    assert dataset.fingerprint == PLAIN.fingerprint
    assert any(notice.startswith("line 2 holds units and is not read: ") for notice in dataset.notices)


def test_currencies_below_fields_of_several_tickers_are_tickers() -> None:
    rows = "Ticker,USD,EUR\nDate,,\n2024-01-02,1.5,9.5\n2024-01-03,1.25,9.75\n"
    assert oo.Dataset.from_csv("Price,Close,Close\n" + rows).symbols == ("USD", "EUR")


@pytest.mark.parametrize("row", [",first,second,third,fourth,fifth", ",USD,USD,USD,USD,9"])
def test_a_row_of_other_words_is_refused(row: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="on line 2"):
        oo.Dataset.from_csv(f"{HEADER}{row}\n{BARS}", symbol="A")


@pytest.mark.parametrize(
    "footer", ['"Source: X 2024, no warranty",,,,,', "Total,,,,,", "Total,-,-,n/a,,", ",,see notes,,,"]
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_footer_with_separators_is_left_out_with_a_notice(footer: str, count: int) -> None:
    dataset = oo.Dataset.from_csv(HEADER + BARS + (footer + "\n") * count, symbol="A")
    assert dataset.fingerprint == PLAIN.fingerprint
    assert any(notice.startswith("line 5 begins a footer: ") for notice in dataset.notices)
    wide = "date,QXA,QXB\n2024-01-02,1.5,2.5\n2024-01-03,1.25,2.75\n"
    assert oo.Dataset.from_csv(wide + "Total,,\n").close.tolist() == oo.Dataset.from_csv(wide).close.tolist()


@pytest.mark.parametrize("row", ["Total,,,,,123", "2024-01-0x,1,1,1,1,1"])
def test_a_last_row_of_numbers_is_no_footer(row: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="on line 5 must be a date"):
        oo.Dataset.from_csv(f"{HEADER}{BARS}{row}\n", symbol="A")


@pytest.mark.parametrize("name", ["year", "Year", "date", "Date", "Jahr", ""])
@pytest.mark.parametrize("first", [1800, 1968, 2198])
def test_years_are_dated_by_their_last_day(name: str, first: int) -> None:
    rows = "".join(f"{first + k},{100.5 + k}\n" for k in range(3))
    dataset = oo.Dataset.from_csv(f"{name},SPX\n{rows}")
    assert dataset.symbols == ("SPX",)
    assert dataset.dates == tuple(f"{first + k}-12-31" for k in range(3))
    assert dataset.periods_per_year == 1.0
    assert f"a date is the last day of its period: {first} is {first}-12-31" in dataset.notices


def test_years_of_frames_are_dated_by_their_last_day() -> None:
    periods = pd.period_range("1990", periods=4, freq="Y")
    closes = np.arange(1.0, 5.0)
    for frame in (
        pd.DataFrame({"SPX": closes}, index=periods),
        pd.DataFrame({"year": periods.year, "SPX": closes}),
        pd.DataFrame({"year": periods.year.astype(float), "SPX": closes}),
        pd.DataFrame({"year": [*periods.year] * 2, "symbol": ["SPX"] * 4 + ["QXA"] * 4, "close": [*closes] * 2}),
    ):
        dataset = oo.Dataset.from_frame(frame)
        assert dataset.dates[0] == "1990-12-31"
        assert "SPX" in dataset.symbols
        assert oo.Dataset.from_csv(frame.to_csv(index=frame.columns[0] == "SPX")) == dataset


@pytest.mark.parametrize("header", ["year,month,SPX", "amount,SPX"])
def test_numbers_of_four_digits_that_are_no_years_are_refused(header: str) -> None:
    fill = ",1" * (header.count(",") - 1)
    with pytest.raises(oo.OpenOutcryError, match="a column of dates such as `date` is required"):
        oo.Dataset.from_csv(f"{header}\n1990{fill},5\n1991{fill},6\n")


def test_a_year_beside_a_date_is_no_date() -> None:
    dataset = oo.Dataset.from_csv("year,date,close\n2024,2024-01-02,5\n2024,2024-01-03,6\n", symbol="A")
    assert dataset.dates == ("2024-01-02", "2024-01-03")


def test_a_year_twice_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="a date must occur once"):
        oo.Dataset.from_csv("year,SPX\n1990,5\n1990,6\n")


def test_two_headers_of_bloomberg_are_read_by_ticker() -> None:
    rows = "".join(f"01/{day}/2024,{day + 0.5},900,{3 * day},800\n" for day in (16, 17, 18))
    dataset = oo.Dataset.from_csv(f",SPX Index,,NDX Index,\nDates,PX_LAST,PX_VOLUME,PX_LAST,PX_VOLUME\n{rows}")
    assert dataset.symbols == ("SPX Index", "NDX Index")
    assert dataset.close.tolist() == [[16.5, 48.0], [17.5, 51.0], [18.5, 54.0]]
    assert dataset.volume is not None
    assert dataset.volume.tolist() == [[900.0, 800.0]] * 3


def test_a_column_of_dates_for_each_ticker_is_refused_with_a_hint() -> None:
    rows = "".join(f"01/{day}/2024,{day},01/{day}/2024,{3 * day}\n" for day in (16, 17, 18))
    with pytest.raises(oo.OpenOutcryError, match="one column of dates is required") as refused:
        oo.Dataset.from_csv(f"SPX Index,,NDX Index,\nDate,PX_LAST,Date,PX_LAST\n{rows}")
    assert "hint: save the columns of each ticker as a file of its own" in str(refused.value)
