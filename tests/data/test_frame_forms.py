"""Frames as people have them: read where they are unambiguous, else refused with what to type."""

from __future__ import annotations

import re
import warnings
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
        lambda: pd.DataFrame(LONG | {"symbol": [10107.0, 14593.0] * 4}), "hint: convert them first",
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
