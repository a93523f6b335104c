"""Frames as people have them: read where they are unambiguous, else refused with what to type."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import openoutcry as oo

DAYS = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]
CLOSES = [10.5, 11.0, 12.25, 12.0]
INDEX = pd.DatetimeIndex(DAYS)
LONG = {"date": [day for day in DAYS for _ in "AB"], "symbol": ["A", "B"] * 4,
        "close": np.arange(1.0, 9.0).tolist()}  # fmt: skip
PERMNO = LONG | {"symbol": [10107, 14593] * 4}


def wide(index: Any, name: str = "ABC") -> pd.DataFrame:
    return pd.DataFrame({name: CLOSES}, index=index)


def levels(*names: str | None) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([INDEX, ["A", "B"]], names=names)
    return pd.DataFrame({"close": LONG["close"]}, index=index)


READ = {
    "a series with a name": lambda: pd.Series(CLOSES, INDEX, name="ABC"),
    "dates as integers in the index": lambda: wide([int(day.replace("-", "")) for day in DAYS]),
    "a series with dates as integers": lambda: pd.Series(
        CLOSES, [int(day.replace("-", "")) for day in DAYS], name="ABC"
    ),
    "numbers as text, pandas": lambda: pd.DataFrame({"date": DAYS, "ABC": [*map(str, CLOSES)]}),
    "numbers as text, pandas strings": lambda: wide(INDEX).astype("string"),
    "numbers as text, polars": lambda: pl.DataFrame({"date": DAYS, "ABC": [*map(str, CLOSES)]}),
    "numbers as text, Arrow": lambda: pa.table({"date": DAYS, "ABC": [*map(str, CLOSES)]}),
}


@pytest.mark.parametrize("name", READ)
def test_a_frame_of_one_symbol_is_read(name: str) -> None:
    expected = oo.Dataset.from_arrays(DAYS, ["ABC"], np.array(CLOSES)[:, None])
    assert oo.Dataset.from_frame(READ[name]()) == expected


def test_an_unnamed_series_is_read_with_its_symbol() -> None:
    series = pd.Series(CLOSES, INDEX)
    with pytest.raises(oo.OpenOutcryError, match='hint: symbol="NAME"'):
        oo.Dataset.from_frame(series)
    assert oo.Dataset.from_frame(series, symbol="ABC").symbols == ("ABC",)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_integers_are_symbols(make: Any) -> None:
    expected = oo.Dataset.from_frame(pd.DataFrame(LONG))
    found = oo.Dataset.from_frame(make(PERMNO))
    assert found.symbols == ("10107", "14593")
    np.testing.assert_array_equal(found.close, expected.close)


@pytest.mark.parametrize("names", [(None, None), ("date", None), (None, "symbol"), ("date", "symbol")], ids=str)
def test_levels_without_names_are_known_by_their_values(names: tuple[str | None, str | None]) -> None:
    expected = oo.Dataset.from_frame(pd.DataFrame(LONG))
    assert oo.Dataset.from_frame(levels(*names)) == expected
    assert oo.Dataset.from_frame(levels(*names).swaplevel()) == expected
    assert oo.Dataset.from_frame(levels(*names)["close"]) == expected


def test_a_week_is_dated_by_its_last_day() -> None:
    weeks = pd.period_range("2024-01-01", periods=4, freq="W")
    expected = ("2024-01-07", "2024-01-14", "2024-01-21", "2024-01-28")
    assert oo.Dataset.from_frame(wide(weeks), 52).dates == expected
    assert oo.Dataset.from_frame(wide(weeks).rename_axis("Week"), 52).dates == expected


REFUSED = {
    "a lazy frame": (lambda: pl.LazyFrame(LONG), "hint: pass `frame.collect()`"),
    "an Arrow table with a name twice": (lambda: pa.table([DAYS, CLOSES, CLOSES], ["date", "A", "A"]), "'A' twice"),
    "levels without dates": (
        lambda: pd.DataFrame({"close": CLOSES}, pd.MultiIndex.from_product([["A", "B"], ["C", "D"]])),
        'hint: `frame.index.names = ["date", "symbol"]`',
    ),
    "a series without dates": (lambda: pd.Series(CLOSES), 'hint: a frame with the columns "date"'),
    "an index of epoch seconds": (
        lambda: wide([1_704_153_600 + 86_400 * day for day in range(4)]), "`frame.reset_index()`",
    ),
    "texts that are no numbers": (
        lambda: pd.DataFrame({"date": DAYS, "ABC": ["1", "x", "3", "4"]}), "hint: convert the column first",
    ),
    "truths": (
        lambda: pd.DataFrame({"date": DAYS, "ABC": [True, False, True, None]}), "hint: convert the column first",
    ),
    "symbols that are no integers": (
        lambda: pd.DataFrame(LONG | {"symbol": [10107.0, 14593.0] * 4}), "hint: read symbols as text",
    ),
    "a thousand or a decimal": (
        lambda: pd.DataFrame({"date": DAYS, "ABC": ["1,001", "1,002", "1,003", "1,004"]}), "--decimal",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_frame_is_refused_with_what_to_type(name: str) -> None:
    make, words = REFUSED[name]
    with warnings.catch_warnings():
        # polars warns if the columns of a lazy frame are read.
        warnings.simplefilter("error")
        with pytest.raises(oo.OpenOutcryError, match=re.escape(words)):
            oo.Dataset.from_frame(make())


def test_row_numbers_of_eight_digits_are_no_dates_beside_a_column_of_dates() -> None:
    frame = pd.DataFrame({"date": DAYS, "ABC": CLOSES}, index=range(20240101, 20240105))
    assert oo.Dataset.from_frame(frame).dates == tuple(DAYS)


# Frequency of periods -> the last days of two of them.
ENDS = {"2D": ("2024-01-02", "2024-01-04"), "W": ("2024-01-07", "2024-01-14"), "M": ("2024-01-31", "2024-02-29")} | {
    "2M": ("2024-02-29", "2024-04-30"),
    "2Q": ("2024-06-30", "2024-12-31"),
    "Q-JAN": ("2024-01-31", "2024-04-30"),
    "Y": ("2024-12-31", "2025-12-31"),
}


@pytest.mark.parametrize("frequency", ENDS)
def test_periods_are_dated_by_their_last_day(frequency: str) -> None:
    periods = pd.period_range("2024-01", periods=4, freq=frequency)
    for frame in (pd.DataFrame({"A": range(1, 5)}, periods), pd.DataFrame({"date": periods, "A": range(1, 5)})):
        assert oo.Dataset.from_frame(frame).dates[:2] == ENDS[frequency]


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_a_year_above_9999_is_refused(library: str, tmp_path: Path) -> None:
    days = pl.Series([19_000, 3_000_000], dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame({"date": days, "symbol": ["A", "A"], "close": [1.0, 2.0]})
    path = tmp_path / "prices.parquet"
    frame.write_parquet(path)
    given = frame if library == "polars" else frame.to_arrow()
    for read in (lambda: oo.Dataset.from_frame(given), lambda: oo.Dataset.from_parquet(path)):
        with pytest.raises(oo.OpenOutcryError, match="`date` at row 1 must be ISO 8601"):
            read()


def test_symbols_of_a_long_table_are_never_fields_of_one_bar(tmp_path: Path) -> None:
    moves = np.random.default_rng(2)
    price = 100.0 + moves.normal(0.0, 0.05, 12)
    wide = pd.DataFrame({"BIL": price, "SHV": price + 0.3, "SGOV": price + 0.15 + moves.uniform(-0.1, 0.1, 12)})
    wide.index = pd.bdate_range("2024-01-02", periods=12).astype(str)
    long = (
        wide.round(2).rename_axis("date").melt(ignore_index=False, var_name="symbol", value_name="close").reset_index()
    )
    long.to_parquet(tmp_path / "prices.parquet", index=False)
    long.to_csv(tmp_path / "prices.csv", index=False)
    wanted = oo.Dataset.from_frame(long)
    assert wanted.symbols == ("BIL", "SGOV", "SHV")
    assert (
        wanted == oo.Dataset.from_csv(tmp_path / "prices.csv") == oo.Dataset.from_parquet(tmp_path / "prices.parquet")
    )
