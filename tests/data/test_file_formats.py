"""Test that files of vendors and libraries are read as `expected.json` of their folder says, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo
from openoutcry.data.readers import market_file
from openoutcry.data.readers.market_columns import MarketColumns, ReadOptions

DATA = Path(__file__).parent
FORMATS = DATA / "formats"
FILES: dict[str, Any] = {
    f"{folder}/{name}": each
    for folder in ("formats", "vendor_forms")
    for name, each in json.loads((DATA / folder / "expected.json").read_text(encoding="utf-8"))["files"].items()
}
FIELDS = ("close", "open", "high", "low", "volume")
READ = {name: (each["arguments"], each["reading"]) for name, each in FILES.items() if "reading" in each}
READ |= {
    f"{name} with arguments": (each["with_arguments"]["arguments"], each["with_arguments"]["reading"])
    for name, each in FILES.items()
    if "with_arguments" in each and "reading" in each["with_arguments"]
}
REFUSED = {name: (each["arguments"], each["refusal"]) for name, each in FILES.items() if "refusal" in each}


def keywords(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a sample under the names of this package."""
    named = dict(arguments)
    close = named.pop("close", None)
    return named | ({} if close is None else {"columns": {"close": close}})


def read(name: str, arguments: Mapping[str, Any]) -> tuple[oo.Dataset, MarketColumns]:
    path, named = DATA / name.removesuffix(" with arguments"), keywords(arguments)
    stated = named.pop("periods_per_year", 8760.0 if READ[name][1]["periods_per_year"] is None else None)
    return oo.Dataset.from_csv(path, stated, **named), market_file.read(path, ReadOptions(**named))


def rows(dates: list[str], dataset: oo.Dataset, *, z_optional: bool) -> list[int | None]:
    """Return the bar of each expected date; None where the date may be left out."""
    place = {date: bar for bar, date in enumerate(dataset.dates)}
    return [place.get(date, place.get(date.rstrip("Z")) if z_optional else None) for date in dates]


def cells(table: Any, column: int, bars: list[int | None]) -> list[float]:
    return [nan if table is None or bar is None else float(table[bar, column]) for bar in bars]


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_expected(name: str) -> None:
    arguments, reading = READ[name]
    dataset, columns = read(name, arguments)
    assert set(dataset.symbols) == set(reading["symbols"])
    bars = rows(reading["dates"], dataset, z_optional=reading.get("z_optional", False))
    assert {bar for bar in bars if bar is not None} == set(range(dataset.n_bars))
    for field in FIELDS:
        if field == "volume" and reading.get("volume_optional"):
            continue
        for column, symbol in enumerate(dataset.symbols):
            # A volume that is null means 0 on every bar, which is unknown.
            of = (reading.get(field) or {}).get(symbol) if field in reading else ...
            if of is not ...:
                wanted = [nan if value is None else value for value in of or [None] * len(bars)]
                received = cells(getattr(dataset, field), column, bars)
                assert received == pytest.approx(wanted, rel=1e-12, nan_ok=True), (field, symbol)
    assert columns.adjusted == reading["adjusted"]
    accepted = reading.get("periods_per_year_accept")
    if accepted is not None:
        assert accepted[0] <= dataset.periods_per_year <= accepted[1]
    for words in reading.get("warnings", []):
        assert any(word.lower() in " ".join(dataset.notices).lower() for word in words), dataset.notices


@pytest.mark.parametrize("name", [name for name, (_, reading) in READ.items() if "splits" in reading])
def test_events_are_applied_only_if_the_prices_do_not_hold_them(name: str) -> None:
    arguments, reading = READ[name]
    dataset, _ = read(name, arguments)
    for events, neutral in (("splits", 1.0), ("dividends", 0.0)):
        table, stated = getattr(dataset, events), reading.get(events, {})
        expected = {} if reading.get(f"{events}_in_prices") else {k: v for k, v in stated.items() if v}
        found = {
            symbol: {
                dataset.dates[bar]: float(table[bar, column])
                for bar in range(dataset.n_bars)
                if table[bar, column] != neutral
            }
            for column, symbol in enumerate(dataset.symbols if table is not None else ())
        }
        assert {symbol: of for symbol, of in found.items() if of} == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_with_what_it_does_not_say(name: str) -> None:
    arguments, refusal = REFUSED[name]
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_csv(DATA / name, **keywords(arguments))
    text = str(refused.value).lower()
    assert [words for words in refusal["mentions"] if not any(word.lower() in text for word in words)] == [], text


def test_bars_per_year_that_the_dates_do_not_show_are_unknown() -> None:
    dataset = oo.Dataset.from_csv(FORMATS / "histdata_m1.csv", symbol="GBPUSD")
    assert dataset.periods_per_year is None
    assert any("hint: state `periods_per_year`" in notice for notice in dataset.notices)


def test_a_symbol_is_the_file_name_unless_stated() -> None:
    assert oo.Dataset.from_csv(FORMATS / "stooq_web.csv").symbols == ("stooq_web",)
    text = (FORMATS / "stooq_web.csv").read_text(encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match='hint: symbol="NAME", `--symbol NAME`'):
        oo.Dataset.from_csv(text)
    assert oo.Dataset.from_csv(text, symbol="Q").symbols == ("Q",)


def long_text(order: np.ndarray[Any, Any], separator: str, end: str, header: str) -> str:
    """Return a file of two symbols with rows in an order, in a form of delimiters and names."""
    days = pd.bdate_range("2024-01-01", periods=30)
    lines = [f"{day:%Y-%m-%d} 00:00:00,{name},{100 + k}.5,{10 * k + 10}" for k, day in enumerate(days) for name in "AB"]
    return end.join([header, *(lines[place] for place in order)]).replace(",", separator) + end


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "header", ["Date,Ticker,Close,Volume", "<DATE>,<TICKER>,<CLOSE>,<VOL>", "timestamp,sym,close,v"]
)
def test_separators_line_ends_names_and_the_order_of_rows_change_nothing(separator: str, end: str, header: str) -> None:
    straight = oo.Dataset.from_csv(long_text(np.arange(60), ",", "\n", "Date,Ticker,Close,Volume"))
    order = np.random.default_rng(0).permutation(60)
    dataset = oo.Dataset.from_csv(long_text(order, separator, end, header))
    assert (dataset.close == straight.close).all()
    assert (dataset.dates, dataset.symbols) == (straight.dates, straight.symbols)
    if header != "timestamp,sym,close,v":
        assert dataset == straight


def yfinance_frame(tickers: list[str]) -> pd.DataFrame:
    """Return a frame of the shape that `yf.download` returns."""
    days = pd.DatetimeIndex(pd.bdate_range("2024-01-02", periods=25), name="Date")
    columns = pd.MultiIndex.from_product(
        [["Close", "High", "Low", "Open", "Volume"], tickers], names=["Price", "Ticker"]
    )
    walk = 100 * np.exp(np.cumsum(np.random.default_rng(1).normal(0, 0.01, (25, len(tickers))), axis=0))
    return pd.DataFrame(np.hstack([walk, walk * 1.01, walk * 0.99, walk, 1e6 + walk]), index=days, columns=columns)


@pytest.mark.parametrize("tickers", [["QXA"], ["QXB", "QXA", "BRK.B"]])
def test_a_frame_of_yfinance_is_the_file_it_writes(tickers: list[str], tmp_path: Path) -> None:
    frame = yfinance_frame(tickers)
    frame.to_csv(tmp_path / "download.csv")
    dataset = oo.Dataset.from_frame(frame, adjusted="total")
    assert dataset == oo.Dataset.from_csv(tmp_path / "download.csv", adjusted="total")
    assert dataset.symbols == tuple(tickers)
    np.testing.assert_array_equal(dataset.close, frame["Close"][tickers].to_numpy())


def test_rows_of_ccxt_are_bars() -> None:
    start, hour = 1_704_067_200_000, 3_600_000
    bars = [[start + k * hour, 10.0 + k, 11.0 + k, 9.0 + k, 10.5 + k, 5.0] for k in range(200)]
    dataset = oo.Dataset.from_frame(bars, symbol="BTC/USDT")
    assert (dataset.symbols, dataset.dates[0], dataset.periods_per_year) == (
        ("BTC/USDT",),
        "2024-01-01T00:00:00Z",
        8760,
    )
    np.testing.assert_array_equal(dataset.close[:, 0], [bar[4] for bar in bars])
