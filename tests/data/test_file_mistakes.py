"""Test files that a reader could mistake: they are read right, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

DAYS = [f"2024-01-{day:02d}" for day in (2, 3, 4, 5, 8, 9, 10, 11)]


def text(header: str, *columns: object, separator: str = ",") -> str:
    """Return a file with the days in the first column; a column is a list, or one value on every row."""
    rows = [
        separator.join([day, *(str(each[row] if isinstance(each, list) else each) for each in columns)])
        for row, day in enumerate(DAYS)
    ]
    return "\n".join([header, *rows]) + "\n"


CLOSE = [101.5, 102.25, 101.75, 103.5, 102.5, 104.25, 103.75, 105.5]
OPEN = [101.25, 101.75, 102.5, 102.25, 103.25, 102.75, 104.5, 104.25]
HIGH = [price + 1.25 for price in map(max, OPEN, CLOSE)]
LOW = [price - 1.25 for price in map(min, OPEN, CLOSE)]
PREVIOUS = [101.0, *CLOSE[:-1]]
# File -> the columns that must come out; the symbol is A unless the file names it.
READ = {
    "Kaggle NIFTY-50": (
        text(
            "Date,Symbol,Prev Close,Open,High,Low,Last,Close,VWAP",
            "TCS",
            PREVIOUS,
            OPEN,
            HIGH,
            LOW,
            CLOSE,
            CLOSE,
            CLOSE,
        ),
        {},
    ),
    "NSE site": (text("Date ,PREV. CLOSE ,OPEN ,HIGH ,LOW ,ltp ,close ", PREVIOUS, OPEN, HIGH, LOW, OPEN, CLOSE), {}),
    "unadjusted close": (text("Date,Open,High,Low,Unadjusted Close,Close", OPEN, HIGH, LOW, PREVIOUS, CLOSE), {}),
    "last close": (text("Date,Open,High,Low,Close,Last Close", OPEN, HIGH, LOW, CLOSE, PREVIOUS), {}),
    "a trailing comma in rows": (text("Date,Close,High,Low,Open", CLOSE, HIGH, LOW, OPEN, ""), {}),
    "an index of R": (
        "\n".join(["Close,High,Low,Open", *text("x", CLOSE, HIGH, LOW, OPEN).splitlines()[1:]]) + "\n",
        {},
    ),
    "German": (
        text(
            "Datum;Eröffnung;Hoch;Tief;Schlusskurs;Volumen",
            *([f"{x:.2f}".replace(".", ",") for x in each] for each in (OPEN, HIGH, LOW, CLOSE)),
            "1.000",
            separator=";",
        ),
        {},
    ),
    "akshare": (text("日期,开盘,收盘,最高,最低,成交量", OPEN, CLOSE, HIGH, LOW, 900), {}),
    "volatility before volume": (
        text("Date,Open,High,Low,Close,Volatility,Volume_MA20,Volume", OPEN, HIGH, LOW, CLOSE, 0.2, 55, 900),
        {"volume": [900.0] * 8},
    ),
    "money before units": (
        text("Date,Open,High,Low,Close,Volume USD,Volume BTC", OPEN, HIGH, LOW, CLOSE, 9e6, 900),
        {"volume": [900.0] * 8},
    ),
    "a stated close": (
        text("Date,Bid Open,Bid Close,Ask Close", OPEN, PREVIOUS, CLOSE),
        {"columns": {"close": "Ask Close"}},
    ),
    "TradingView": (text("time,open,high,low,close,Volume,SMA 20,RSI", OPEN, HIGH, LOW, CLOSE, 900, 101, 55), {}),
    "Sharadar": (
        text(
            "date,ticker,open,high,low,close,volume,closeadj,closeunadj,lastupdated",
            "A",
            OPEN,
            HIGH,
            LOW,
            CLOSE,
            900,
            CLOSE,
            CLOSE,
            "2024-02-01",
        ),
        {},
    ),
    "lakh": (text("Date,Open,High,Low,Close,Turnover", OPEN, HIGH, LOW, CLOSE, '"12,34,567.50"'), {}),
}
# File -> words of the refusal.
REFUSED = {
    "two kinds of close": (
        text("Date,Bid Close,Ask Close,Volume", PREVIOUS, CLOSE, 900),
        "which column is the `close`",
    ),
    "prices without names": (text("Date,eins,zwei,drei,vier", OPEN, HIGH, LOW, CLOSE), "which column is the `close`"),
    "a volume beside symbols": (text("date,AA,BB,Volume", CLOSE, OPEN, 900), "which column is the `close`"),
    "settle and open interest": (text("date,Settle,Last,Open Interest", CLOSE, OPEN, 900), "Settle or Last"),
    "a net asset value": (text("date,ticker,nav,aum,shares", "A", CLOSE, 9e6, 900), "which column is the `close`"),
    "rows before the header's width": (
        "2024-01-02,1,2\n" + text("Date,Open,High,Low,Close", OPEN, HIGH, LOW, CLOSE),
        "must have",
    ),
    "futures in 32nds": (text("Date,Open,High,Low,Close", "112'16", "112'20", "112'10", "112'18"), "must be a number"),
    "dots between thousands": (
        text("Date,Close,Open", [998, "1.004", "1.010", 999, 998, 997, "1.001", 996], 998),
        "decimal mark",
    ),
    "a spreadsheet's date": (
        "Date,Close\n45292,1.5\n45293,1.6\n",
        "a number of five digits is a date of a spreadsheet",
    ),
    "a date and an hour": ("Date,Close\n2024010209,1.5\n2024010210,1.6\n", "an epoch before 2031"),
    "an offset in words": ("# All times GMT-5\n" + text("Date,Open,High,Low,Close", OPEN, HIGH, LOW, CLOSE), "GMT-5"),
    "a volume in thousands": (
        text("Date,Open,High,Low,Close,Volume (000s)", OPEN, HIGH, LOW, CLOSE, 5),
        "a volume must be in units",
    ),
    "a split in the price of an adjusted form": (
        text("Date,Open,Close,Stock Splits", 50, [400, 400, 400, 400, 100, 100, 100, 100], [0, 0, 0, 0, 4, 0, 0, 0]),
        "a split must not show",
    ),
    "a close with a split beside an adjusted one": (
        text(
            "Date,Open,Close,Adjusted_close",
            50,
            [404, 400, 402, 404, 101, 100, 102, 101],
            [101, 100, 100.5, 101, 101, 100, 102, 101],
        ),
        "a split must be in a column",
    ),
    "highs that are lows": (text("Date,Open,High,Low,Close", OPEN, LOW, HIGH, CLOSE), "highs must be above lows"),
    "a month of another language": ("Date,Close\n2 marraskuu 2024,1.5\n3 marraskuu 2024,1.6\n", "a date that exists"),
    "a JSON key twice": (
        '[{"date": "2024-01-02", "close": 1, "close": 2}, {"date": "2024-01-03", "close": 1}]\n',
        "'close' twice",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_file_with_more_columns_is_read_right(name: str) -> None:
    content, extra = READ[name]
    volume = extra.pop("volume", None) if "volume" in extra else None
    is_named = any(word in content for word in (",TCS,", ",ticker,"))
    dataset = oo.Dataset.from_csv(content, 252, **({} if is_named else {"symbol": "A"}), **extra)
    assert dataset.n_symbols == 1
    np.testing.assert_array_equal(dataset.close[:, 0], CLOSE)
    assert dataset.dates == tuple(DAYS)
    if volume is not None:
        assert dataset.volume is not None
        np.testing.assert_array_equal(dataset.volume[:, 0], volume)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_could_be_mistaken_is_refused(name: str) -> None:
    content, words = REFUSED[name]
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_csv(content, 252, symbol=None if ",ticker," in content else "A")
    assert words in str(refused.value)


def test_tickers_that_are_words_are_symbols_if_stated() -> None:
    content = text("date,LOW,OPEN,RF,C", CLOSE, [each / 9 for each in OPEN], HIGH, LOW)
    with pytest.raises(oo.OpenOutcryError, match="which column is the `close`"):
        oo.Dataset.from_csv(content)
    assert oo.Dataset.from_csv(content, columns={"close": "*"}).symbols == ("LOW", "OPEN", "RF", "C")


@pytest.mark.parametrize("ticker", ["STOCK", "SYMBOL", "NAME", "TICKER", "PAIR", "CODE", "ASSET"])
@pytest.mark.parametrize("scale", [1, 400])
def test_a_column_of_prices_is_no_column_of_symbols(ticker: str, scale: int) -> None:
    closes = [scale * price for price in CLOSE]
    columns = (closes, [9 * price for price in OPEN], [3 * price for price in LOW])
    content = text(f"date,{ticker},AAPL,SPY", *columns)
    dataset = oo.Dataset.from_csv(content)
    assert dataset.symbols == (ticker, "AAPL", "SPY")
    np.testing.assert_array_equal(dataset.close[:, 0], closes)
    assert oo.Dataset.from_csv(content.replace(",", ";")) == dataset
    frame = pd.DataFrame(dict(zip(dataset.symbols, columns, strict=True)), index=pd.DatetimeIndex(DAYS))
    assert oo.Dataset.from_frame(frame) == dataset
    assert oo.Dataset.from_csv(frame.to_csv()) == dataset
    assert oo.Dataset.from_csv(text(f"date,{ticker}", closes)).symbols == (ticker,)


@pytest.mark.parametrize("header", ["date,code,close", "caldt,PERMNO,PRC", "日期,股票代码,收盘"])
def test_codes_of_digits_are_symbols_beside_a_close(header: str) -> None:
    assert oo.Dataset.from_csv(text(header, 600001, CLOSE)).symbols == ("600001",)
    # A code has no fraction.
    dataset = oo.Dataset.from_csv(text(header, PREVIOUS, CLOSE).replace(".0,", ".5,"), symbol="A")
    assert dataset.symbols == ("A",)
    assert any("columns not read" in notice for notice in dataset.notices)


def test_a_ticker_beside_the_dates_with_their_name_is_a_symbol() -> None:
    assert oo.Dataset.from_csv(text(",DATE,AAPL", CLOSE, [9 * x for x in OPEN])).symbols == ("DATE", "AAPL")


def test_indices_that_bound_each_other_are_symbols() -> None:
    moves = np.random.default_rng(2).normal(0.0, 0.01, (300, 1)) + np.random.default_rng(3).normal(
        0.0, 0.0005, (300, 3)
    )
    prices = np.array([100.0, 104.0, 92.0]) * np.exp(np.cumsum(moves, axis=0))
    days = pd.bdate_range("2020-01-01", periods=300)
    assert oo.Dataset.from_frame(pd.DataFrame(prices, index=days, columns=["SPY", "IVV", "VOO"])).n_symbols == 3


def test_single_letters_are_tickers_beside_other_tickers() -> None:
    dataset = oo.Dataset.from_csv(
        text("date,A,AAPL,C,H,L,O", CLOSE, [9 * x for x in OPEN], [3 * x for x in LOW], 7, 5, 2)
    )
    assert dataset.symbols == ("A", "AAPL", "C", "H", "L", "O")


def test_a_clock_without_its_leading_zero_is_the_time() -> None:
    rows = [f"01/{day}/2024,{clock},{100 + k},9" for k, day in enumerate((16, 17, 18)) for clock in (930, 1000)]
    dataset = oo.Dataset.from_csv("Date,Time,Close,Volume\n" + "\n".join(rows) + "\n", 504, symbol="A")
    assert dataset.dates[:2] == ("2024-01-16T09:30:00", "2024-01-16T10:00:00")


def test_a_name_that_contains_utc_is_no_zone() -> None:
    bars = "\n".join(f"2024-01-0{day} 09:30:00,{100 + day},9" for day in (2, 3, 4))
    dataset = oo.Dataset.from_csv(f"# exported by OpenOutcry\nDate,Close,Volume\n{bars}\n", 252, symbol="A")
    assert dataset.dates[0] == "2024-01-02T09:30:00"


@pytest.mark.parametrize("by_ticker", [False, True])
def test_the_adjusted_close_of_yfinance_is_no_symbol(by_ticker: bool) -> None:
    fields = ["Adj Close", "Close", "High", "Low", "Open", "Volume", "Dividends", "Stock Splits"]
    columns = pd.MultiIndex.from_product([fields, ["AAPL", "BRK.B"]], names=["Price", "Ticker"])
    values = np.column_stack([np.tile(np.array(CLOSE)[:, None], (1, 12)), np.zeros((8, 4))])
    frame = pd.DataFrame(values, index=pd.DatetimeIndex(DAYS, name="Date"), columns=columns)
    frame = frame.swaplevel(axis=1).sort_index(axis=1) if by_ticker else frame
    dataset = oo.Dataset.from_frame(frame)
    assert dataset.symbols == ("AAPL", "BRK.B")
    assert not [notice for notice in dataset.notices if "not read" in notice]
    assert oo.Dataset.from_csv(frame.to_csv()) == dataset


def test_an_index_that_is_not_the_dates_is_refused() -> None:
    closes = pd.DataFrame({"A": CLOSE}, index=pd.to_datetime(DAYS))
    assert oo.Dataset.from_arrays(DAYS, ["A"], closes).close[0, 0] == CLOSE[0]
    for wrong in (closes.iloc[::-1], closes.set_index(pd.Index(range(8, 0, -1)))):
        with pytest.raises(oo.OpenOutcryError, match="the index of `close` must be `dates`") as refused:
            oo.Dataset.from_arrays(DAYS, ["A"], wrong)
        assert refused.value.slug == "shape_mismatch"
    with pytest.raises(oo.OpenOutcryError, match="the index of `open` must be `dates`"):
        oo.Dataset.from_arrays(DAYS, ["A"], closes, open=closes.shift(1, freq="D"))


def wide(header: str) -> str:
    """Return a table of unrelated walks, one per column."""
    count = header.count(",")
    walks = 100.0 * np.exp(np.cumsum(np.random.default_rng(3).normal(0.0, 0.05, (8, count)), axis=0))
    prices = np.round(walks * 3.0 ** np.arange(count), 2)
    return text(header, *(prices[:, place].tolist() for place in range(count)))


@pytest.mark.parametrize(
    "header",
    [
        "date,RF,KEY,AAPL,MSFT,XOM,CVX,T,V,COST,HD", "date,CHGG,AAPL", "date,NAVI,MSFT", "date,SMB,AAPL,MSFT,XOM",
        "date,VOL,AAPL,MSFT,XOM", "date,SPREAD,AAPL,MSFT,XOM", "date,COUNT,AAPL,MSFT,XOM", "date,HIGH,AAPL,MSFT,XOM",
        "date,OPEN,LOW,AAPL,MSFT,XOM,T", "date,AAPL,MSFT,XOM,LAST,HD", "date,VALUE,MTUM,QUAL,SIZE,USMV",
        "date,BID,AAPL,MSFT,XOM", "date,BID,ASK,AAPL,MSFT,XOM,T",
    ],
)  # fmt: skip
def test_a_ticker_that_is_a_word_is_a_symbol_among_tickers(header: str) -> None:
    dataset = oo.Dataset.from_csv(wide(header))
    assert dataset.symbols == tuple(header.split(",")[1:])
    assert oo.Dataset.from_csv(wide(header).replace(",", ";")) == dataset


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("Date,SP500,Dividend,Earnings,Consumer Price Index,Long Interest Rate,Real Price,PE10", "SP500"),
        ("Date,SP500,Earnings,Consumer Price Index,Long Interest Rate,P/E", "SP500"),
        ("Date,SPX,Dividend Yield,CAPE", "SPX"),
        ("Date,P,D,E,CPI", "P"),
        ("date,Value,Momentum,Quality,Size", "Value"),
        ("date,AAPL,MSFT,XOM,Last,HD", "Last"),
        ("DATE,VOL,OI,SETT,TURN", "NAME"),
        ("DATE,OPEN,HIGH,LOW,VWAP,SETT,NET", "NAME"),
    ],
)
def test_a_table_of_an_index_and_other_numbers_is_asked_for_its_close(header: str, hint: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="which column is the `close`") as refused:
        oo.Dataset.from_csv(wide(header), symbol="A")
    assert f'columns={{"close": "{hint}"}}' in str(refused.value)


@pytest.mark.parametrize("header", ["date,bid,ask", "date,BidClose,AskClose", "date,Bid,Offer", "date,EUR_bid,EUR_ask"])
@pytest.mark.parametrize("middle", ["", ",mid"])
def test_quotes_are_no_symbols(header: str, middle: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="are quotes, not prices of trades") as refused:
        oo.Dataset.from_csv(wide(header + middle), symbol="A")
    side = middle[1:] or header.split(",")[1]
    assert refused.value.slug == "missing_column"
    assert f'columns={{"close": "{side}"}}' in str(refused.value)
    assert oo.Dataset.from_csv(wide(header + middle), symbol="A", columns={"close": side}).symbols == ("A",)


@pytest.mark.parametrize("header", ["date,Price,Change %", "date,NAV", "date,Last,RSI14,Turnover", "date,bid,ask,last"])
def test_a_close_beside_other_numbers_is_the_close(header: str) -> None:
    assert oo.Dataset.from_csv(wide(header), symbol="A").symbols == ("A",)


@pytest.mark.parametrize(
    "header",
    [
        "Datum;Zuletzt;Eröffn.;Hoch;Tief;Vol.;+/- %",
        "Date;Dernier;Ouv.; Plus Haut;Plus Bas;Vol.;Variation %",
        "Data;Ultimo;Apertura;Massimo;Minimo;Vol.;Var. %",
        "Data;Último;Abertura;Máxima;Mínima;Vol.;Var%",
        "Fecha;Último;Apertura;Máximo;Mínimo;Vol.;% var.",
    ],
)
def test_investing_com_in_other_languages_is_read(header: str) -> None:
    columns = [[f"{price:.2f}".replace(".", ",") for price in each] for each in (CLOSE, OPEN, HIGH, LOW)]
    content = text(header, *columns, "1,10M", "0,12%", separator=";")
    for file in (content, content.replace(";", "\t")):
        dataset = oo.Dataset.from_csv(file, symbol="A")
        bar = (dataset.close, dataset.open, dataset.high, dataset.low)
        for table, prices in zip(bar, (CLOSE, OPEN, HIGH, LOW), strict=True):
            assert table is not None
            np.testing.assert_array_equal(table[:, 0], prices)
        assert dataset.volume is not None
        assert dataset.volume[0, 0] == 1.1e6


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%Y-%m-%d 10:00", "%d %b %Y 10:00"])
@pytest.mark.parametrize("row", [0, 4, 8])
@pytest.mark.parametrize("is_stated", [False, True], ids=["known", "stated"])
def test_a_row_without_a_date_is_refused(tmp_path: Path, form: str, row: int, is_stated: bool) -> None:
    dates = [f"{pd.Timestamp(day):{form}}" for day in DAYS]
    dates.insert(row, "")
    path = tmp_path / "A.csv"
    path.write_text("Date,Close\n" + "".join(f"{date},10{place}\n" for place, date in enumerate(dates)))
    options = {"date_format": form.replace("10:00", "%H:%M")} if is_stated else {}
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_csv(path, columns={"date": "Date", "close": "Close"}, **options)
    assert refused.value.slug == "date_invalid"
    assert "received ''" in str(refused.value)


@pytest.mark.parametrize("header", ["Date,Close", "Day,Close", "Date,Close,Volume", "when,Close", "time,A,B"])
def test_a_decimal_comma_that_splits_numbers_is_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "A.csv"
    names = header.split(",")[1:]
    # The last number has the decimals: the others are whole.
    cells = ",".join("100" for _ in names[1:])
    rows = [f"{day},{cells + ',' if cells else ''}10{row},{5 + 9 * row:02}" for row, day in enumerate(DAYS)]
    path.write_text("\n".join([header, *rows]) + "\n")
    with pytest.raises(oo.OpenOutcryError, match="hint: write numbers with a decimal comma in quotes") as refused:
        oo.Dataset.from_csv(path)
    assert refused.value.slug == "field_unparsable"


def test_an_index_without_a_name_is_no_split_number(tmp_path: Path) -> None:
    path = tmp_path / "A.csv"
    path.write_text("AAA,BBB\n" + "".join(f"{day},10{row},2{row}\n" for row, day in enumerate(DAYS)))
    assert oo.Dataset.from_csv(path).close.tolist() == [[100.0 + row, 20.0 + row] for row in range(len(DAYS))]
    rows = "".join(f"{row + 1},{day},10{row}\n" for row, day in enumerate(DAYS))
    path.write_text(f"Date,Close\n{rows}")
    assert oo.Dataset.from_csv(path).close.ravel().tolist() == [100.0 + row for row in range(len(DAYS))]
