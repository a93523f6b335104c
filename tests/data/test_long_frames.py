"""Long frames and Parquet files, which are read in parts: the market is that of the CSV text."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.data import file_import, long_frames, long_parquet
from openoutcry.data.readers import distinct

FIRST = datetime.date(2024, 1, 1)
# Seven symbols on 40 days with holes, in no order. Volumes have holes too.
ROWS: list[tuple[datetime.date, str, float, int | None]] = [
    (FIRST + datetime.timedelta(day), f"S{place}", 10.0 + day + place / 8, (day * 7 + place) % 11 or None)
    for day in range(40)
    for place in range(7)
    if (day + place) % 9
]
random.Random(1).shuffle(ROWS)
COLUMNS = dict(zip(("date", "symbol", "close", "volume"), map(list, zip(*ROWS, strict=True)), strict=True))
TEXT = "\n".join(["date,symbol,close,volume", *(f"{d},{s},{c},{'' if v is None else v}" for d, s, c, v in ROWS), ""])
TABLE = pa.table(COLUMNS)
SYMBOLS = pa.array(["unused", *sorted(set(COLUMNS["symbol"])), "unused too"])


def with_column(name: str, values: Any) -> pa.Table:
    return TABLE.set_column(TABLE.column_names.index(name), name, values)


def dictionary() -> pa.Table:
    places = pa.array([SYMBOLS.to_pylist().index(symbol) for symbol in COLUMNS["symbol"]], pa.int8())
    return with_column("symbol", pa.DictionaryArray.from_arrays(places, SYMBOLS))


TABLES: dict[str, Callable[[], pa.Table]] = {
    "date32": lambda: TABLE,
    "date64": lambda: with_column("date", TABLE["date"].cast(pa.date64())),
    "texts": lambda: with_column("date", TABLE["date"].cast(pa.string())),
    "large texts": lambda: with_column("symbol", TABLE["symbol"].cast(pa.large_string())),
    "text views": lambda: with_column("symbol", TABLE["symbol"].cast(pa.string_view())),
    "dictionary with unused symbols": dictionary,
    "dictionary of dates": lambda: with_column("date", TABLE["date"].cast(pa.string()).dictionary_encode()),
    "floats": lambda: with_column("volume", TABLE["volume"].cast(pa.float64())),
    "decimals": lambda: with_column("volume", TABLE["volume"].cast(pa.decimal128(20, 0))),
    "seconds": lambda: with_column("date", TABLE["date"].cast(pa.timestamp("s"))),
    "nanoseconds": lambda: with_column("date", TABLE["date"].cast(pa.timestamp("ns"))),
}


@pytest.fixture(scope="module")
def expected() -> oo.Dataset:
    return oo.Dataset.from_csv(TEXT)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("n_rows", [1, 17, 1000])
def test_a_parquet_file_in_parts_is_the_market_of_its_csv(
    kind: str, n_rows: int, expected: oo.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_parquet, "_ROWS", n_rows)
    path, table = tmp_path / "prices.parquet", TABLES[kind]()
    # Parquet has no text views.
    stored = table.set_column(1, "symbol", table["symbol"].cast(pa.string())) if kind == "text views" else table
    parquet.write_table(stored, path, row_group_size=50)
    assert long_frames.is_plain(table.schema, {name: name for name in COLUMNS})
    assert oo.Dataset.from_parquet(path) == expected
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=n_rows))
    assert oo.Dataset.from_frame(batches) == expected


def test_a_file_in_parts_of_any_size_is_the_market_of_its_text(
    expected: oo.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prices.csv"
    for text in (TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT.replace("S1", '"S1"')):
        path.write_bytes(text.encode())
        for size in (1, 7, 1000, 1 << 20):
            monkeypatch.setattr(file_import, "_PART", size)
            assert oo.Dataset.from_csv(path) == expected


@pytest.mark.parametrize("order", ["sorted", "by symbol", "shuffled"])
def test_a_file_that_threads_share_is_the_market_of_its_text(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [(FIRST + datetime.timedelta(day)).isoformat() for day in range(1000)]
    rows = [f"{day},S{place},{10 + place},{place + 1}" for day in days for place in range(40)]
    rows.sort(key=(lambda row: row.split(",")[1]) if order == "by symbol" else None)
    if order == "shuffled":
        random.Random(1).shuffle(rows)
    # Only the grammar reads quotes, rare forms of numbers and blank lines.
    rows[20_000], rows[33_000], rows[39_000] = f'"{rows[20_000][:10]}"{rows[20_000][10:]}', f"{rows[33_000]}e0", "\n"
    text = "\n".join(["date,symbol,close,volume", *rows])
    path = tmp_path / "prices.csv"
    path.write_text(text, encoding="utf-8")
    whole = native.Dataset.from_csv(text)
    for size in (1 << 19, 3 << 18, 1 << 30):
        monkeypatch.setattr(file_import, "_PART", size)
        assert oo.Dataset.from_csv(path).fingerprint == whole.fingerprint
    # A fault keeps its line.
    path.write_text(text.replace(rows[35_000], f"{rows[35_000]}x"), encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match=r"line 35002"):
        oo.Dataset.from_csv(path)


def test_letters_over_the_end_of_a_part_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "date,symbol,close\n" + "".join(
        f"2024-01-0{day},{name},{day}\n" for day in (2, 3) for name in ("É", "株", "𝄞")
    )
    path = tmp_path / "prices.csv"
    path.write_text(text, encoding="utf-8")
    for size in range(1, 40):
        monkeypatch.setattr(file_import, "_PART", size)
        assert oo.Dataset.from_csv(path) == oo.Dataset.from_csv(text)
    path.write_bytes(text.encode()[:-5])
    with pytest.raises(oo.OpenOutcryError, match=r"must be UTF-8|required; received"):
        oo.Dataset.from_csv(path)


def test_values_with_the_text_of_another_are_the_same_date_and_symbol() -> None:
    symbols = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), pa.array(["A", "B", "A", "B"]))
    dates = [datetime.date(2024, 1, 2)] * 2 + [datetime.date(2024, 1, 3)] * 2
    table = pa.table({"date": dates, "symbol": symbols, "close": [1.0, 2.0, 3.0, 4.0]})
    plain = pd.DataFrame(
        {"date": [*dates[:2], "2024-01-03", "2024-01-03"], "symbol": [*"ABAB"], "close": [1.0, 2, 3, 4]}
    )
    found = oo.Dataset.from_frame(table)
    assert (found.symbols, found.dates) == (("A", "B"), ("2024-01-02", "2024-01-03"))
    assert oo.Dataset.from_frame(plain) == found == oo.Dataset.from_frame(plain.sample(frac=1.0, random_state=3))


@pytest.mark.parametrize("form", ["plain", "a date of another form", "no number", "a negative price", "not UTF-8"])
def test_a_file_is_refused_like_its_text(form: str, tmp_path: Path) -> None:
    change = {
        "plain": ("S3,", "S3,1,"),
        "a date of another form": ("2024-01-09", "2024-01-99"),
        "no number": (",13.", ",13.x"),
        "a negative price": (",13.", ",-13."),
        "not UTF-8": ("S5", "\udc81"),
    }[form]
    path = tmp_path / "prices.csv"
    content = TEXT.replace(*change).encode("utf-8", "surrogateescape")
    path.write_bytes(content)
    with pytest.raises(oo.OpenOutcryError) as of_file:
        oo.Dataset.from_csv(path)
    if form == "not UTF-8":
        assert "the bytes 81 on line" in str(of_file.value)
        return
    with pytest.raises(oo.OpenOutcryError) as of_text:
        oo.Dataset.from_csv(content.decode())
    assert (of_file.value.slug, str(of_file.value)) == (of_text.value.slug, str(of_text.value))


FAULTS: dict[str, tuple[str, Any, str, str]] = {
    "no symbol": ("symbol", None, "symbol_invalid", "`symbol` at row 30 must be a text"),
    "no date": ("date", None, "date_invalid", "date"),
    "a negative price": ("close", -1.0, "price_invalid", "`close` at row 30"),
    "a negative volume": ("volume", -1, "value_invalid", "`volume` at row 30"),
    "a row twice": ("", None, "duplicate_row", "at rows 29 and 30"),
}


@pytest.mark.parametrize("n_rows", [7, 1000])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_by_its_row_in_the_frame(
    fault: str, n_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_parquet, "_ROWS", n_rows)
    name, value, slug, words = FAULTS[fault]
    rows = {key: [*values] for key, values in COLUMNS.items()}
    for key, values in rows.items():
        values[30] = value if key == name else values[29 if fault == "a row twice" else 30]
    path = tmp_path / "prices.parquet"
    parquet.write_table(pa.table(rows), path)
    reads = (
        lambda: oo.Dataset.from_parquet(path),
        lambda: oo.Dataset.from_frame(pa.table(rows)),
        lambda: oo.Dataset.from_frame(pl.DataFrame(rows)),
        lambda: oo.Dataset.from_frame(pd.DataFrame(rows)),
    )
    for read in reads:
        with pytest.raises(oo.OpenOutcryError) as refused:
            read()
        assert (refused.value.slug, words in str(refused.value)) == (slug, True), str(refused.value)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_distinct_times_are_those_of_the_column(unit: str) -> None:
    base = np.datetime64("2024-01-01", unit)
    hours = np.array([3, 1, 1, 900, 3]) * {"D": 1, "s": 3600, "ns": 3600 * 10**9}[unit]
    for times in (base + hours, np.append(base + hours, np.datetime64("NaT")), (base + hours)[:0], base + 0 * hours):
        found = distinct.of_times(times)
        np.testing.assert_array_equal(np.asarray(found.values)[found.places], times)


@pytest.mark.parametrize("n_rows", [0, 1, 1 << 18, (1 << 20) + 7, 1 << 60])
def test_a_column_holds_its_values_whatever_room_was_expected(n_rows: int) -> None:
    n_dates, symbols = 40_000, [f"S{place}" for place in range(8)]
    values = np.arange(1.0, n_dates * len(symbols) + 1)
    dates = np.datetime_as_string(np.datetime64("1900-01-01") + np.arange(n_dates)).tolist()
    rows, column = native.LongRows(["close"]), native.NumberColumn(n_rows)
    for part in np.array_split(values, 7):
        column.push(part)
    places = [np.repeat(np.arange(n_dates), len(symbols)), np.tile(np.arange(len(symbols)), n_dates)]
    unknown = [np.full(count, 2**32 - 1, np.uint32) for count in (n_dates, len(symbols))]
    days, names = ((place.astype(np.uint32), numbers) for place, numbers in zip(places, unknown, strict=True))
    assert rows.push_keys(days, names) == (list(range(n_dates)), list(range(len(symbols))))
    market = rows.dataset(dates, symbols, [column])
    np.testing.assert_array_equal(market.column("close").ravel(), values)
