"""Test wide tables of fields of bars: they are read per symbol, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo

FIELDS = ["Open", "High", "Low", "Close", "Volume"]
DAYS = pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=40), name="Date")


def bars(seed: int, scale: float) -> pd.DataFrame:
    """Return bars of a random walk."""
    rng = np.random.default_rng(seed)
    close = scale * np.exp(np.cumsum(rng.normal(0.0, 0.01, len(DAYS))))
    opened = np.r_[scale, close[:-1]] * np.exp(rng.normal(0.0, 0.003, len(DAYS)))
    high, low = np.maximum(opened, close) * 1.004, np.minimum(opened, close) * 0.996
    columns = (opened, high, low, close, rng.integers(10_000, 99_999, len(DAYS)).astype(float))
    return pd.DataFrame(dict(zip(FIELDS, columns, strict=True)), index=DAYS)


MARKET = {name: bars(seed, scale) for seed, (name, scale) in enumerate({"AAPL": 180, "MSFT": 370, "KO": 60}.items())}
MARKET["BRK.B"] = bars(9, 400)


def named(form: str, fields: list[str], symbols: list[str] | None = None) -> pd.DataFrame:
    """Return a wide table with names of symbols and fields in a form such as `{s}_{f}`."""
    parts = [MARKET[name][fields].rename(columns=lambda f: form.format(s=name, f=f)) for name in symbols or MARKET]  # noqa: B023
    return pd.concat(parts, axis=1)


FORMS = [
    "{s}_{f}", "{f}_{s}", "{s} {f}", "{f} {s}", "{s}|{f}", "{s}-{f}", "{s}:{f}", "{s}/{f}", "{s}{f}", "{f}.{s}",
    "{s}.{f}", "('{f}', '{s}')", "('{s}', '{f}')", "{f} ({s})", "{s} {f} price", "{s} US Equity {f}",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", ["csv", "frame"])
def test_columns_of_a_symbol_and_a_field_are_read_per_symbol(form: str, door: str) -> None:
    fields = FIELDS[:4] if "price" in form else FIELDS
    for symbols in (None, ["AAPL"]):
        for chosen in (fields, ["Close", "Open"]):
            frame = named(form, chosen, symbols)
            dataset = oo.Dataset.from_csv(frame.to_csv()) if door == "csv" else oo.Dataset.from_frame(frame)
            wanted = [f"{name} US Equity" if "Equity" in form else name for name in symbols or MARKET]
            assert list(dataset.symbols) == wanted
            np.testing.assert_array_equal(dataset.close, np.column_stack([MARKET[s].Close for s in symbols or MARKET]))
            np.testing.assert_array_equal(dataset.open, np.column_stack([MARKET[s].Open for s in symbols or MARKET]))


def test_fields_of_bloomberg_are_read_per_symbol() -> None:
    names = {"Open": "PX_OPEN", "High": "PX_HIGH", "Low": "PX_LOW", "Close": "PX_LAST", "Volume": "PX_VOLUME"}
    dataset = oo.Dataset.from_frame(named("{s} {f}", FIELDS).rename(columns=lambda n: " ".join(
        names.get(word, word) for word in n.split())))  # fmt: skip
    assert dataset.symbols == tuple(MARKET)
    np.testing.assert_array_equal(dataset.close[:, 0], MARKET["AAPL"].Close)


def test_closes_alone_are_named_by_their_symbols() -> None:
    assert oo.Dataset.from_csv(named("{s}_{f}", ["Close"]).to_csv()).symbols == tuple(MARKET)
    with_indicator = named("{s}_{f}", ["Close"]).assign(AAPL_RSI14=50.0)
    assert oo.Dataset.from_csv(with_indicator.to_csv()).symbols == tuple(MARKET)


REFUSED = {
    "no close": named("{s}_{f}", ["Open", "High", "Low"]),
    "one symbol without a close": named("{s}_{f}", FIELDS).drop(columns="KO_Close"),
    "two separators": pd.concat([named("{s}_{f}", FIELDS, ["KO"]), named("{s}-{f}", FIELDS, ["AAPL"])], axis=1),
    "the field in the middle": named("x.{f}.{s}", FIELDS),
    "a symbol and its open": MARKET["KO"][["Close", "Open"]].set_axis(["KO", "KO_Open"], axis=1),
    "a symbol and its volume": MARKET["KO"][["Close", "Volume"]].set_axis(["KO", "KO_Volume"], axis=1),
    "bid and ask of a pair": named("EURUSD Bid {f}", FIELDS, ["KO"]),
    "bid and ask": pd.concat([named("Bid{f}", FIELDS, ["KO"]), named("Ask{f}", FIELDS, ["KO"])], axis=1),
    "fields of another language, by symbol": named("{s}_{f}", FIELDS).rename(
        columns=lambda name: name.replace("Open", "eins").replace("High", "zwei").replace("Low", "drei")
        .replace("Close", "vier").replace("Volume", "acht")
    ),
    "fields of another language, by field": pd.concat(
        [pd.DataFrame({f"{word}{s}": MARKET[s][f] for s in MARKET}) for f, word in zip(FIELDS, "abcde", strict=True)],
        axis=1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("door", ["csv", "frame"])
def test_fields_of_a_bar_are_no_symbols(name: str, door: str) -> None:
    frame = REFUSED[name]
    with pytest.raises(oo.OpenOutcryError, match="which column is the `close`") as refused:
        oo.Dataset.from_csv(frame.to_csv()) if door == "csv" else oo.Dataset.from_frame(frame)
    assert refused.value.slug == "missing_column"
    stated = oo.Dataset.from_csv(frame.to_csv(), columns={"close": "*"})
    assert stated.n_symbols == frame.shape[1]


@pytest.mark.parametrize(
    "names",
    [
        ["S&P High Beta", "S&P Low Volatility", "S&P"],
        ["LOW US Equity", "OPEN US Equity", "HIGH US Equity", "AAPL US Equity"],
        ["LOW.US", "OPEN.US", "AAPL.US"],
        ["Close Brothers", "Open Text", "Barclays"],
        ["High Beta", "Low Beta"],
        ["LOW", "AAPL", "HIGH", "MSFT"],
    ],
)
def test_symbols_that_hold_the_word_of_a_field_are_symbols(names: list[str]) -> None:
    columns = {name: MARKET[symbol].Close * (1 + place) for place, (name, symbol) in enumerate(zip(names, MARKET))}  # noqa: B905
    columns |= {"OTHER": MARKET["KO"].Open} if names[0] == "LOW" else {}
    stated = {"columns": {"close": "*"}} if names[0] == "LOW" else {}
    dataset = oo.Dataset.from_csv(pd.DataFrame(columns).to_csv(), **stated)
    assert dataset.symbols == tuple(columns)


def test_the_ticker_of_lowes_has_fields_too() -> None:
    for form in ("{s}_{f}", "{f}_{s}"):
        frame = named(form, FIELDS, ["KO"]).rename(columns=lambda name: name.replace("KO", "LOW"))
        assert oo.Dataset.from_frame(frame).symbols == ("LOW",)


def test_many_similar_symbols_are_symbols() -> None:
    rng = np.random.default_rng(4)
    days = pd.bdate_range("2020-01-01", periods=260)
    for n_rows, n_symbols, noise in ((6, 15, 0.01), (20, 60, 0.01), (260, 40, 0.002)):
        moves = rng.normal(0.0, 0.01, (n_rows, 1)) + rng.normal(0.0, noise, (n_rows, n_symbols))
        prices = rng.uniform(95.0, 105.0, n_symbols) * np.exp(np.cumsum(moves, axis=0))
        frame = pd.DataFrame(prices, index=days[:n_rows], columns=[f"S{place}" for place in range(n_symbols)])
        assert oo.Dataset.from_frame(frame).n_symbols == n_symbols


def test_a_row_per_year_with_a_column_per_month_is_refused() -> None:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    closes = np.arange(12) + np.arange(100, 112)[:, None]
    table = pd.DataFrame(closes, range(2010, 2022), columns=months).rename_axis("Year")
    with pytest.raises(oo.OpenOutcryError, match="missing_column: columns must be symbols; received Jan, Feb, Mar and"):
        oo.Dataset.from_csv(table.to_csv())


def test_a_stated_symbol_names_the_only_column_and_is_refused_with_several() -> None:
    rows = "".join(f"2024-03-{day:02},{100 + day}\n" for day in range(4, 9))
    assert oo.Dataset.from_csv(f"DATE,DGS10\n{rows}", symbol="TNX").symbols == ("TNX",)
    rows = rows.replace("\n", ",7\n")
    for header in ("Date,AAPL,MSFT", ",AAPL,MSFT\nDate,Close,Close"):
        with pytest.raises(oo.OpenOutcryError, match="`symbol` must be left out if columns name several symbols"):
            oo.Dataset.from_csv(f"{header}\n{rows}", symbol="A")
