"""Test reading and writing frames: pandas, polars, pyarrow, the Arrow PyCapsule interface and Parquet."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
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
from openoutcry.data.readers.frame_table import names_of

DAYS = ["2024-01-02", "2024-01-03", "2024-01-04"]
LONG = {
    "date": [DAYS[0], DAYS[0], DAYS[1], DAYS[2], DAYS[2]],
    "symbol": ["A", "B", "A", "A", "B"],
    "close": [10.0, 20.0, 11.0, 12.25, None],
    "open": [9.5, 20.0, 10.0, 11.0, None],
    "high": [10.5, 20.0, 11.0, 13.0, None],
    "low": [9.0, 20.0, 10.0, 11.0, None],
    "volume": [1000.0, None, 0.0, 500.0, None],
    "dividend": [None, None, 0.5, None, None],
    "split": [None, None, 0.9, None, None],
    "delisting_return": [None, None, None, None, -0.25],
}
WIDE = {"date": DAYS, "Z": [1.0, None, 3.0], "a, b": [4.0, 5.0, 6.0]}


def csv_of(columns: dict[str, Any]) -> str:
    quoted = [f'"{name}"' for name in columns]
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(quoted), *(",".join("" if v is None else str(v) for v in row) for row in rows)]) + "\n"


EXPECTED = {"long": oo.Dataset.from_csv(csv_of(LONG)), "wide": oo.Dataset.from_csv(csv_of(WIDE))}
COLUMNS = {"long": LONG, "wide": WIDE}


class Capsule:
    """An object with only the Arrow stream interface."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def as_arrow(columns: dict[str, Any]) -> Any:
    return pa.table(columns)


def chunked(columns: dict[str, Any]) -> Any:
    table = pa.table(columns)
    return pa.concat_tables([table.slice(0, 1), table.slice(1)])


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas of Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"date": "category"}),
    "pandas shuffled": lambda columns: pd.DataFrame(columns).sample(frac=1.0, random_state=3),
    "polars": pl.DataFrame,
    "pyarrow": as_arrow,
    "pyarrow chunks": chunked,
    "capsule of pyarrow": lambda columns: Capsule(pa.table(columns)),
    "capsule of polars": lambda columns: Capsule(pl.DataFrame(columns)),
    "record batch": lambda columns: pa.RecordBatch.from_pydict(columns),
}


KINDS = (pd.DataFrame, pl.DataFrame, as_arrow)


@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_frame_gives_the_same_market_as_its_csv(maker: str, shape: str) -> None:
    dataset = oo.Dataset.from_frame(MAKERS[maker](COLUMNS[shape]), name="frame", notices=["a notice"])
    assert dataset == EXPECTED[shape]
    assert (dataset.name, dataset.notices[0]) == ("frame", "a notice")


def dated(values: list[Any]) -> dict[str, Any]:
    return LONG | {"date": [values[DAYS.index(day)] for day in LONG["date"]]}


DATES = [datetime.date.fromisoformat(day) for day in DAYS]
DATED: dict[str, Callable[[], Any]] = {
    "pandas datetime64[ns]": lambda: pd.DataFrame(LONG).astype({"date": "datetime64[ns]"}),
    "pandas datetime64[s]": lambda: pd.DataFrame(LONG).astype({"date": "datetime64[s]"}),
    "pandas dates": lambda: pd.DataFrame(dated(DATES)),
    "pandas date32": lambda: pa.table(dated(DATES)).to_pandas(types_mapper=pd.ArrowDtype),
    "polars Date": lambda: pl.DataFrame(dated(DATES)),
    "polars Datetime": lambda: pl.DataFrame(dated(DATES)).with_columns(pl.col("date").cast(pl.Datetime("ns"))),
    "pyarrow date32": lambda: pa.table(dated(DATES)),
    "pyarrow timestamp": lambda: pa.table(dated([datetime.datetime.fromisoformat(day) for day in DAYS])),
    "polars Categorical": lambda: pl.DataFrame(LONG).with_columns(pl.col("symbol").cast(pl.Categorical)),
    "pyarrow dictionary": lambda: pa.table(LONG | {"symbol": pa.array(LONG["symbol"]).dictionary_encode()}),
    "pandas categories": lambda: pd.DataFrame(LONG).astype({"symbol": "category"}),
    "header case": lambda: pd.DataFrame(LONG).rename(columns={"date": "Date", "close": " CLOSE"}),
    "index of dates": lambda: pd.DataFrame(LONG).set_index("date"),
    "index of dates and symbols": lambda: pd.DataFrame(LONG).set_index(["date", "symbol"]),
    "columns in any order": lambda: pd.DataFrame(LONG)[sorted(LONG)],
}


@pytest.mark.parametrize("how", DATED)
def test_dates_and_symbols_may_have_any_suitable_type(how: str) -> None:
    assert oo.Dataset.from_frame(DATED[how]()) == EXPECTED["long"]


def test_a_wide_pandas_frame_may_be_indexed_by_dates() -> None:
    frame = pd.DataFrame(WIDE).set_index("date")
    for index in (frame.index, pd.DatetimeIndex(frame.index), pd.DatetimeIndex(frame.index, name="Day")):
        assert oo.Dataset.from_frame(frame.set_axis(index, axis=0)) == EXPECTED["wide"]
    assert oo.Dataset.from_frame(frame.iloc[::-1]) == EXPECTED["wide"]


def test_numbers_may_have_any_numeric_type() -> None:
    columns = {"date": DAYS, "A": [1, 2, 3], "B": [4, None, 6]}
    expected = oo.Dataset.from_csv(csv_of(columns))
    decimals = columns | {"A": [decimal.Decimal(value) for value in (1, 2, 3)]}
    frames = [make(columns) for make in MAKERS.values()] + [
        pd.DataFrame(decimals),
        pa.table(decimals),
        pl.DataFrame(decimals),
    ]
    frames += [pl.DataFrame(columns).cast({"A": kind}) for kind in (pl.Int8, pl.UInt64, pl.Float32)]
    assert {oo.Dataset.from_frame(frame).fingerprint for frame in frames} == {expected.fingerprint}


def test_intraday_times_are_preserved() -> None:
    times = [f"{day}T16:00:00" for day in DAYS]
    expected = oo.Dataset.from_arrays(times, ["A"], [[1.0], [2.0], [3.0]])
    stamped = [datetime.datetime.fromisoformat(time) for time in times]
    for make in KINDS:
        for dates in (times, stamped):
            assert oo.Dataset.from_frame(make({"date": dates, "A": [1.0, 2.0, 3.0]})) == expected


def test_a_parquet_file_round_trips(tmp_path: Path) -> None:
    for shape, columns in COLUMNS.items():
        path = tmp_path / f"{shape}.parquet"
        parquet.write_table(pa.table(columns), path)
        for source in (path, str(path)):
            dataset = oo.Dataset.from_parquet(source, 12.0)
            assert (dataset.fingerprint, dataset.name) == (relabelled(EXPECTED[shape], 12.0).fingerprint, shape)
    with pytest.raises(FileNotFoundError):
        oo.Dataset.from_parquet(tmp_path / "none.parquet")


def relabelled(dataset: oo.Dataset, periods_per_year: float) -> oo.Dataset:
    return oo.Dataset.from_arrays(**(dataset._columns() | {"periods_per_year": periods_per_year}))


REFUSALS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "no date": ({"symbol": ["A"], "close": [1.0]}, "missing_column", ["`date`"]),
    "no close": ({"date": DAYS[:1], "symbol": ["A"], "open": [1.0]}, "missing_column", ["close"]),
    "no symbol": ({"date": DAYS[:1], "close": [1.0], "open": [1.0]}, "missing_column", ["`symbol`"]),
    "duplicate row": (dated([DAYS[0], DAYS[0], DAYS[2]]), "duplicate_row", [DAYS[0], "A"]),
    "text for a number": (WIDE | {"Z": ["1", "x", "3"]}, "field_unparsable", ["Z"]),
    "truth for a number": (WIDE | {"Z": [True, False, True]}, "field_unparsable", ["Z"]),
    "no such day": (dated(["2024-01-02", "2024-02-30", "2024-03-01"]), "date_invalid", ["2024-02-30"]),
    "American date": (dated(["01/02/2024", "01/03/2024", "01/04/2024"]), "date_invalid", ["01/02/2024"]),
    "a number for a date": (WIDE | {"date": [1, 2, 3]}, "date_invalid", ["received 1"]),
    "no date in a row": (dated([DAYS[0], None, DAYS[2]]), "date_invalid", []),
    "no symbol in a row": ({"date": DAYS, "symbol": ["A", None, "A"], "close": [1.0] * 3}, "symbol_invalid", []),
    "negative price": (WIDE | {"Z": [1.0, -2.0, 3.0]}, "price_invalid", ["`close`", "row 1", '"Z"', DAYS[1]]),
    "infinite price": (WIDE | {"Z": [1.0, float("inf"), 3.0]}, "price_invalid", ["`close`", "row 1", '"Z"']),
    "one bar": ({"date": DAYS[:1], "A": [1.0]}, "dataset_too_small", []),
    "no symbols": ({"date": DAYS}, "missing_column", ["a column of prices"]),
}


@pytest.mark.parametrize("make", KINDS, ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", REFUSALS)
def test_an_invalid_frame_raises_like_its_csv(name: str, make: Callable[[Any], Any]) -> None:
    columns, slug, words = REFUSALS[name]
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_frame(make(columns))
    assert refused.value.slug == slug
    assert [word for word in words if word not in str(refused.value)] == [], str(refused.value)
    assert "np." not in str(refused.value)


def test_a_duplicate_date_in_a_wide_frame_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_frame(pd.DataFrame(WIDE | {"date": [DAYS[0], DAYS[1], DAYS[1]]}))
    assert refused.value.slug in {"duplicate_row", "date_order"}
    assert DAYS[1] in str(refused.value)


def test_columns_that_differ_only_in_case_are_two_symbols_but_not_two_dates() -> None:
    columns = {"date": DAYS, "A": [1.0, 2.0, 3.0], "a": [4.0, 5.0, 6.0]}
    assert oo.Dataset.from_frame(pl.DataFrame(columns)) == oo.Dataset.from_csv(csv_of(columns))
    with pytest.raises(oo.OpenOutcryError, match="unique"):
        oo.Dataset.from_frame(pl.DataFrame(columns | {"Date": DAYS}))


ZONED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas index": lambda frame: frame.set_index("date"),
    "pandas of Arrow": lambda frame: pa.table(frame).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_pandas,
    "pyarrow": pa.table,
    "capsule": lambda frame: Capsule(pa.table(frame)),
}


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "UTC"])
@pytest.mark.parametrize("make", ZONED)
def test_midnights_of_a_time_zone_are_days_and_other_times_are_utc(make: str, zone: str) -> None:
    frame = pd.DataFrame({"date": pd.DatetimeIndex(DAYS, tz=zone), "A": [1.0, 2.0, 3.0]})
    assert oo.Dataset.from_frame(ZONED[make](frame)).dates == tuple(DAYS)
    frame["date"] += pd.Timedelta("9h30min")
    utc = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in frame["date"].dt.tz_convert("UTC")]
    assert oo.Dataset.from_frame(ZONED[make](frame)).dates == tuple(utc)


NO_FRAMES = [3, "prices", [[1.0]], {"date": DAYS}, np.ones((2, 2)), pd.Series([1.0]), pl.Series("A", [1.0])]


@pytest.mark.parametrize("thing", NO_FRAMES, ids=lambda thing: type(thing).__name__)
def test_an_object_that_is_not_a_frame_is_refused(thing: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`frame` must be") as refused:
        oo.Dataset.from_frame(thing)
    assert refused.value.slug == "argument_invalid"


@pytest.mark.parametrize("kind", [pl.List(pl.Float64), pl.Array(pl.Float64, 1)], ids=str)
def test_a_column_of_lists_is_refused(kind: Any) -> None:
    frame = pl.DataFrame({"date": DAYS, "A": pl.Series([[1.0], [2.0], [3.0]], dtype=kind)})
    for each in (frame, frame.to_arrow()):
        with pytest.raises(oo.OpenOutcryError, match="`A`") as refused:
            oo.Dataset.from_frame(each)
        assert refused.value.slug == "field_unparsable"


@pytest.mark.parametrize("source", [b"date,A\n2024-01-02,1\n", 5, None], ids=repr)
def test_a_file_is_given_by_a_string_or_a_path(source: Any) -> None:
    for read in (oo.Dataset.from_csv, oo.Dataset.from_parquet):
        with pytest.raises(oo.OpenOutcryError, match="must be a text or a path") as refused:
            read(source)
        assert refused.value.slug == "argument_invalid"


def weekly() -> oo.Run:
    dataset = oo.Dataset.from_csv(csv_of(WIDE))
    return oo.run_backtest(dataset, np.full((3, 2), 0.25), (0, 3))


def test_a_run_converts_to_a_pandas_frame_by_date() -> None:
    run, frame = weekly(), weekly().to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.equals(pd.DatetimeIndex(DAYS, name="date"))
    assert frame["nav"].tolist() == run.nav.tolist()
    assert frame["return"].tolist()[1:] == run.returns.tolist()
    assert np.isnan(frame["return"].iloc[0])
    np.testing.assert_array_equal(frame[["weight_Z", "weight_a, b"]], run.weights)
    for kind, values in {**run.costs, "turnover": run.turnover}.items():
        assert frame[kind].tolist() == [0.0, *values]


def test_a_run_converts_to_a_polars_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = weekly().to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    frame = weekly().to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame["date"].to_list() == DATES
    assert frame.columns == ["date", *expected.columns]
    for name in expected.columns:
        np.testing.assert_array_equal(frame[name].to_numpy(), expected[name].to_numpy())
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        weekly().to_frame()


@pytest.mark.parametrize("make", ["pandas", "polars", "pyarrow"])
def test_a_frame_imports_no_other_frame_library(make: str) -> None:
    frame = {"pandas": "pandas.DataFrame(c)", "polars": "polars.DataFrame(c)", "pyarrow": "pyarrow.table(c)"}[make]
    code = f"""
import sys, {make}
c = {WIDE!r}
frame = {frame}
before = set(sys.modules)
import openoutcry
openoutcry.Dataset.from_frame(frame)
print({{"pandas", "polars", "pyarrow"}} & (set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_names_of_a_frame_include_its_index_of_dates_and_no_second_level() -> None:
    frame = pd.DataFrame(WIDE).set_index("date")
    assert names_of(frame) == ["date", "Z", "a, b"]
    assert names_of(frame.reset_index()) == ["date", "Z", "a, b"]
    assert names_of(pa.table(WIDE)) == ["date", "Z", "a, b"]
    assert names_of(pd.DataFrame(LONG).set_index(["date", "symbol"]))[:3] == ["date", "symbol", "close"]
    assert names_of(pd.concat({"Close": frame}, axis=1)) == []
