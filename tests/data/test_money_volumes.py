"""Test volumes in money, shares next to money, and names of vendors for the fields of a bar."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import openoutcry as oo

# As downloaded from CoinMarketCap and CoinGecko, and from a German exchange.
COINMARKETCAP = """timeOpen;timeClose;timeHigh;timeLow;name;open;high;low;close;volume;marketCap;timestamp
"2024-01-03T00:00:00.000Z";"2024-01-03T23:59:59.999Z";"2024-01-03T01:02:00.000Z";"2024-01-03T12:07:00.000Z";"2781";44961.6;45503.2;40813.5;42848.2;46342323118.2;839318374215.5;"2024-01-03T23:59:59.999Z"
"2024-01-02T00:00:00.000Z";"2024-01-02T23:59:59.999Z";"2024-01-02T12:02:00.000Z";"2024-01-02T01:02:00.000Z";"2781";44187.1;45899.7;44176.9;44957.9;39335274535.7;880565512345.1;"2024-01-02T23:59:59.999Z"
"""
COINGECKO = """snapped_at,price,market_cap,total_volume
2024-01-02 00:00:00 UTC,44957.9,865565512345.1,39335274535.7
2024-01-03 00:00:00 UTC,42848.2,839318374215.5,46342323118.2
"""
KAGGLE = """SNo,Name,Symbol,Date,High,Low,Open,Close,Volume,Marketcap
1,Bitcoin,BTC,2024-01-02 23:59:59,45899.7,44176.9,44187.1,44957.9,39335274535.7,880565512345.1
2,Bitcoin,BTC,2024-01-03 23:59:59,45503.2,40813.5,44961.6,42848.2,46342323118.2,839318374215.5
"""
GERMAN = """Datum;Erster;Hoch;Tief;Schlusskurs;{shares};Volumen
2024-01-03;34,52;35,02;34,11;34,95;1.234.567;43.086.388
2024-01-02;34,51;35,01;34,12;34,92;1.134.567;39.619.080
"""
ECB = """KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,UNIT_MULT,DECIMALS
EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2024-01-02,1.0956,A,0,4
EXR.D.USD.EUR.SP00.A,D,USD,EUR,SP00,A,2024-01-03,1.0919,A,0,4
EXR.D.GBP.EUR.SP00.A,D,GBP,EUR,SP00,A,2024-01-02,0.8665,A,0,5
EXR.D.GBP.EUR.SP00.A,D,GBP,EUR,SP00,A,2024-01-03,0.8644,A,0,5
"""


@pytest.mark.parametrize("text", [COINMARKETCAP, COINGECKO, KAGGLE], ids=["CoinMarketCap", "CoinGecko", "Kaggle"])
def test_a_volume_in_money_is_divided_by_the_close(text: str, tmp_path: Path) -> None:
    (tmp_path / "BTC.csv").write_text(text)
    dataset = oo.Dataset.from_csv(tmp_path / "BTC.csv", periods_per_year=365)
    assert (dataset.symbols, dataset.dates) == (("BTC",), ("2024-01-02", "2024-01-03"))
    assert dataset.volume is not None
    np.testing.assert_array_equal(dataset.volume[:, 0], [39335274535.7 / 44957.9, 46342323118.2 / 42848.2])
    assert any("is in money, and is divided by the close" in notice for notice in dataset.notices)


def test_a_volume_next_to_the_value_of_all_coins_has_a_notice() -> None:
    text = "Date,Close,Volume,Market Cap\n2024-01-02,10,5,1e9\n2024-01-03,11,6,1e9\n"
    dataset = oo.Dataset.from_csv(text, symbol="A")
    assert dataset.volume is not None
    np.testing.assert_array_equal(dataset.volume[:, 0], [5, 6])
    assert any("divide it by the close if it is money" in notice for notice in dataset.notices)


@pytest.mark.parametrize("shares", ["Stuecke", "Stücke"])
def test_shares_are_preferred_to_euros(shares: str) -> None:
    dataset = oo.Dataset.from_csv(GERMAN.format(shares=shares), symbol="DTE")
    assert dataset.volume is not None
    np.testing.assert_array_equal(dataset.volume[:, 0], [1134567, 1234567])
    assert "columns not read: 'Volumen'" in dataset.notices


def test_series_of_sdmx_have_their_keys_as_symbols() -> None:
    dataset = oo.Dataset.from_csv(ECB)
    assert dataset.symbols == ("EXR.D.GBP.EUR.SP00.A", "EXR.D.USD.EUR.SP00.A")
    np.testing.assert_array_equal(dataset.close, [[0.8665, 1.0956], [0.8644, 1.0919]])


def test_a_series_of_sdmx_without_a_key_has_a_symbol_as_stated() -> None:
    text = "TIME_PERIOD,OBS_VALUE,DECIMALS\n2024-01,1.09,4\n2024-02,1.1,4\n2024-03,1.2,4\n"
    assert oo.Dataset.from_csv(text, symbol="A").dates == ("2024-01-31", "2024-02-29", "2024-03-31")


def test_prices_may_be_called_opening_and_closing() -> None:
    text = "date,openingPrice,highPrice,lowPrice,closingPrice\n2024-01-02,5,7,4,6\n2024-01-03,6,8,5,7\n"
    dataset = oo.Dataset.from_csv(text, symbol="A")
    for table, values in (
        (dataset.open, [5, 6]),
        (dataset.high, [7, 8]),
        (dataset.low, [4, 5]),
        (dataset.close, [6, 7]),
    ):
        assert table is not None
        np.testing.assert_array_equal(table[:, 0], values)
