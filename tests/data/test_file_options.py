"""Test the options of a reader: formats of dates, duplicate rows, named forms, and questions in one refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.data.readers.named_forms import FORMS

SAMPLES = Path(__file__).parent / "formats"
DAYS = ["02-Jan-24", "03-Jan-24", "04-Jan-24", "05-Jan-24", "08-Jan-24"]
CLOSES = [101.5, 102.25, 101.75, 103.5, 102.5]


def text(dates: list[str], header: str = "Date,Close") -> str:
    return "\n".join([header, *(f"{date},{CLOSES[k % 5] + k // 5}" for k, date in enumerate(dates))]) + "\n"


def refused(content: object, **options: object) -> str:
    with pytest.raises(oo.OpenOutcryError) as error:
        oo.Dataset.from_csv(content, **{"symbol": "A", **options})  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize(
    ("dates", "date_format"),
    [
        (DAYS, "%d-%b-%y"),
        (["1/2/24", "1/3/24", "1/4/24", "1/5/24", "1/8/24"], "%m/%d/%y"),
        (["2024002", "2024003", "2024004", "2024005", "2024008"], "%Y%j"),
    ],
)
def test_dates_are_read_in_a_stated_format(dates: list[str], date_format: str) -> None:
    dataset = oo.Dataset.from_csv(text(dates), symbol="A", date_format=date_format)
    assert dataset.dates == ("2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-08")
    assert dataset == oo.Dataset.from_csv(text(list(dataset.dates)), symbol="A")


def test_a_format_applies_to_a_file_without_a_header_and_to_times() -> None:
    rows = [f"02-Jan-24 {hour}:30,10,{11 + hour},9,{9.5 + hour / 10}" for hour in range(10, 16)]
    dataset = oo.Dataset.from_csv(
        "\n".join(rows) + "\n", 1500, symbol="A", date_format="%d-%b-%y %H:%M", tz="Asia/Tokyo"
    )
    assert dataset.dates[0] == "2024-01-02T01:30:00Z"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"date_format": "%d-%b-%Y"}, "`Date` on line 2 must be a date of the form %d-%b-%Y; received '02-Jan-24'"),
        ({"date_format": "iso"}, "`date_format` must be a format of strptime"),
        ({"date_format": "%d-%b-%y", "date_order": "dmy"}, "`date_order` or `date_format` is required; received both"),
        ({}, "must have a year of four digits, or `date_format`; received '02-Jan-24'; hint: date_format=\"%d-%b-%y\""),
        ({"duplicates": "first"}, "`duplicates` must be `last` or left out; received 'first'"),
        ({"form": "yhoo"}, "`form` must be one of alpha-vantage, binance-klines,"),
        ({"form": "binance-klines"}, "`form` binance-klines requires a header with opentime open"),
        ({"form": "mt4"}, "`form` mt4 requires no header and the columns date time open high low close volume"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(options: dict[str, str], words: str) -> None:
    assert words in refused(text(DAYS), **options)


@pytest.mark.parametrize(
    ("dates", "first", "last", "periods"),
    [
        (["2024-01", "2024-02", "2024-03", "2024-04", "2024-05"], "2024-01-31", "2024-05-31", 12),
        (["2024-M01", "2024-M02", "2024-M03", "2024-M04", "2024-M05"], "2024-01-31", "2024-05-31", 12),
        (["Jan 2024", "Feb 2024", "Mar 2024", "Apr 2024", "May 2024"], "2024-01-31", "2024-05-31", 12),
        (["202401", "202402", "202403", "202404", "202405"], "2024-01-31", "2024-05-31", 12),
        (["2023Q4", "2024Q1", "2024Q2", "2024Q3", "2024Q4"], "2023-12-31", "2024-12-31", 4),
        (["Q4 2023", "Q1 2024", "Q2 2024", "Q3 2024", "Q4 2024"], "2023-12-31", "2024-12-31", 4),
    ],
)
def test_a_month_and_a_quarter_are_dated_by_their_last_day(
    dates: list[str], first: str, last: str, periods: float
) -> None:
    dataset = oo.Dataset.from_csv(text(dates), symbol="A")
    assert (dataset.dates[0], dataset.dates[-1], dataset.periods_per_year) == (first, last, periods)
    assert f"a date is the last day of its period: {dates[0]} is {first}" in dataset.notices


def test_six_digits_that_can_be_a_day_are_refused() -> None:
    dates = ["200701", "200702", "200703", "200704", "200705"]
    assert 'hint: date_format="%Y%m" for months or date_format="%y%m%d" for days' in refused(text(dates))
    dataset = oo.Dataset.from_csv(text(dates), symbol="A", date_format="%Y%m")
    assert (dataset.dates[0], dataset.periods_per_year) == ("2007-01-31", 12)


def test_of_duplicate_rows_the_last_is_read_if_stated() -> None:
    content = text(["2024-01-02", "2024-01-03", "2024-01-03", "2024-01-04", "2024-01-03"])
    assert 'hint: duplicates="last" for the last row of a date, `--duplicates last`' in refused(content)
    dataset = oo.Dataset.from_csv(content, symbol="A", duplicates="last")
    np.testing.assert_array_equal(dataset.close[:, 0], [CLOSES[0], CLOSES[4], CLOSES[3]])
    assert "left out: 2 rows with a date that occurs again further down" in dataset.notices


@pytest.mark.parametrize(
    "content", ["date,symbol,close\n2024-01-02,A,1\n2024-01-02,A,1\n", "date,A\n2024-01-02,1\n2024-01-02,2\n"]
)
def test_a_plain_file_with_duplicates_names_the_option(content: str) -> None:
    assert 'duplicates="last"' in refused(content, symbol=None)


@pytest.mark.parametrize(
    ("form", "name", "options"),
    [
        ("binance-klines", "binance_klines_ms.csv", {}),
        ("crypto-data-download", "cryptodatadownload.csv", {}),
        ("dukascopy", "dukascopy_hourly.csv", {}),
        ("histdata", "histdata_m1.csv", {"tz": "Etc/GMT+5", "periods_per_year": 98280.0}),
        ("lean-equity", "lean_equity_daily.zip", {"price_scale": 0.0001}),
        ("mt4", "mt4_no_header.csv", {}),
        ("mt5", "mt5_hourly.csv", {}),
        ("nasdaq", "nasdaq_com.csv", {}),
        ("polygon-flat", "polygon_day_aggs.csv.gz", {"tz": "America/New_York"}),
        ("stooq", "stooq_bulk.txt", {}),
        ("yahoo", "yahoo_web_adj_close.csv", {}),
        ("yfinance", "yf_download_several.csv", {"adjusted": "total"}),
    ],
)
def test_a_named_form_states_what_a_person_would(form: str, name: str, options: dict[str, object]) -> None:
    stated = {"periods_per_year": 98280.0} if form == "histdata" else {}
    dataset = oo.Dataset.from_csv(SAMPLES / name, form=form, **stated)  # type: ignore[arg-type]
    assert dataset == oo.Dataset.from_csv(SAMPLES / name, **options)  # type: ignore[arg-type]
    others = [each for each in FORMS if each not in (form, "kraken", "yfinance", "alpha-vantage", "yahoo", "wsj")]
    assert "requires" in refused(SAMPLES / name, form=others[0], symbol=None)


def test_a_headerless_form_in_another_order_is_named_in_the_hint() -> None:
    rows = [[1704067200000 + k * 3600000, 10 + k, 10.5 + k, 11 + k, 9 + k, 5.5] for k in range(200)]
    content = "\n".join(",".join(map(str, row)) for row in rows) + "\n"
    assert "or a form that fits: bitfinex-candles (`form`, `--as`)" in refused(content)
    dataset = oo.Dataset.from_csv(content, symbol="A", form="bitfinex-candles")
    assert (dataset.close[0, 0], dataset.periods_per_year) == (10.5, 8760)


def test_all_that_a_file_does_not_say_is_asked_for_at_once() -> None:
    content = text(["01/02/2024", "01/03/2024", "01/04/2024"], "Date,Last,Settle").replace(",1", ',"1,001",1')
    message = refused(content, symbol=None)
    assert message.startswith(
        "missing_column: it must be clear which column is the `close`, and a `symbol` is required"
    )
    assert "`Date` must show the order of day and month" in message
    hint = 'hint: columns={"close": "Last"}, symbol="NAME", date_order="dmy" or date_order="mdy"'
    assert hint in message
    assert "`--column close=Last --symbol NAME --date-order dmy`" in message
    assert message.count("hint:") == 1


def test_bars_per_year_are_not_asked_for_since_they_may_be_unknown() -> None:
    content = text(["2024-01-02", "2024-01-09", "2024-03-03", "2024-03-04"], "Date,Close")
    message = refused(content, symbol=None)
    assert message.endswith('hint: symbol="NAME", `--symbol NAME`')
    assert oo.Dataset.from_csv(content, symbol="ABC").periods_per_year is None


def test_lean_asks_for_its_scale_and_symbol_at_once() -> None:
    rows = [f"202403{day:02d} 00:00,1{day}0000,1{day}5000,1{day - 1}0000,1{day}1000,900" for day in range(11, 16)]
    message = refused("\n".join(rows) + "\n", symbol=None)
    assert 'price_scale=0.0001 for equities, symbol="NAME", `--price-scale 0.0001 --symbol NAME`' in message


@pytest.mark.parametrize(("zone", "stamp"), [("America/New_York", 1704171600), ("Asia/Tokyo", 1704207600)])
def test_days_at_the_midnights_of_a_market_need_its_zone(zone: str, stamp: int) -> None:
    content = text([str(stamp + k * 86400) for k in range(4)], "time,close")
    assert f'hint: tz="{zone}" for days or tz="UTC" for times, `--tz {zone}`' in refused(content)
    dataset = oo.Dataset.from_csv(content, symbol="A", tz=zone)
    assert (len(dataset.dates[0]), dataset.n_bars) == (10, 4)
    assert oo.Dataset.from_csv(content, 252, symbol="A", tz="UTC").dates[0].endswith("Z")


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (["02.01.2024 00:00:00.000 GMT+0100", "03.01.2024 00:00:00.000 GMT+0100"], "2024-01-02"),
        (["02.01.2024 10:00:00.000 GMT+0100", "02.01.2024 11:00:00.000 GMT+0100"], "2024-01-02T09:00:00Z"),
        (["20240102  09:30:00", "20240102  10:30:00"], "2024-01-02T09:30:00"),
        (["20240102 09:30:00 US/Eastern", "20240102 10:30:00 US/Eastern"], "2024-01-02T14:30:00Z"),
        (["2024-01-02 09:30:00 EST", "2024-01-02 10:30:00 EST"], "2024-01-02T14:30:00Z"),
        (["2024-01-02T23:59:59.999Z", "2024-01-03T23:59:59.999Z"], "2024-01-02"),
        (["1704239999999", "1704326399999"], "2024-01-02"),
    ],
)
def test_times_with_suffixes_and_the_ends_of_days_are_read(dates: list[str], first: str) -> None:
    assert oo.Dataset.from_csv(text(dates), 252, symbol="A").dates[0] == first


@pytest.mark.parametrize(
    ("dates", "options", "words"),
    [
        (["20240102 09:30:00 US/Eastern", "20240102 10:30:00 US/Pacific"], {}, "must have one zone"),
        (["20240102 09:30:00 US/Eastern", "20240102 10:30:00 US/Eastern"], {"tz": "UTC"}, "`tz` must be left out"),
        (["2024-01-02T00:59:59.999Z", "2024-01-02T01:59:59.999Z"], {}, "a time without a fraction"),
        (["2024-01", "2024-02"], {"date_order": "dmy"}, "`date_order` must be left out"),
    ],
)
def test_times_that_are_unclear_are_refused(dates: list[str], options: dict[str, str], words: str) -> None:
    assert words in refused(text(dates), **options)


def test_a_suspended_day_has_no_open_high_and_low() -> None:
    rows = [
        "Date,Open,High,Low,Close,Volume",
        "2024-01-02,10,11,9,10,5",
        "2024-01-03,0,0,0,10,0",
        "2024-01-04,10,11,9,10,5",
    ]
    dataset = oo.Dataset.from_csv("\n".join(rows) + "\n", symbol="A")
    assert dataset.open is not None
    np.testing.assert_array_equal(dataset.open[:, 0], [10, np.nan, 10])
    assert "open, high and low 0 without volume are missing values on 1 bar" in dataset.notices
    for row in ("2024-01-03,0,0,0,10,5", "2024-01-03,0,11,9,10,0", "2024-01-03,0,0,0,0,0"):
        assert "must be a price above 0" in refused("\n".join([*rows[:2], row, rows[3]]) + "\n")


def test_the_codes_of_crsp_for_a_missing_delisting_return_are_missing() -> None:
    rows = [
        f"90011,2024010{day},{10 + day},900,{code}" for day, code in ((2, "A"), (3, "S"), (4, "-66.0"), (5, "-0.3"))
    ]
    dataset = oo.Dataset.from_csv("\n".join(["PERMNO,date,PRC,VOL,DLRET", *rows]) + "\n")
    assert dataset.delistings is not None
    np.testing.assert_array_equal(dataset.delistings[:, 0], [np.nan, np.nan, np.nan, -0.3])
    assert "3 values of DLRET are codes for a missing return: -66.0, A, S" in dataset.notices


def test_a_ticker_called_time_is_a_symbol() -> None:
    content = "AAPL,TIME,DAY,Date\n" + "".join(f"{100 + k},{93.5 + k},{70 + k},2024-01-0{k}\n" for k in range(2, 6))
    assert oo.Dataset.from_csv(content).symbols == ("AAPL", "TIME", "DAY")
