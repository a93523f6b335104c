"""Parquet files have one reader: by every door, a file is the same market or the same refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app

FORMATS = Path(__file__).resolve().parent / "formats"
DAYS = pd.bdate_range("2024-01-02", periods=30)
LONG = pd.DataFrame({"date": DAYS.repeat(2), "symbol": ["A", "B"] * 30, "close": range(100, 160)})


def check(path: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["data", "check", str(path), "--json", *words])
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("dates", ["times", "texts"])
@pytest.mark.parametrize("volume", [None, 0.0, 5.0])
def test_a_plain_file_is_read_in_parts_by_every_door(dates: str, volume: float | None, tmp_path: Path) -> None:
    table = LONG if volume is None else LONG.assign(volume=volume)
    path = tmp_path / "prices.parquet"
    table.assign(date=table["date"].astype(str) if dates == "texts" else table["date"]).to_parquet(path)
    text = tmp_path / "prices.csv"
    table.to_csv(text, index=False)
    wanted = oo.Dataset.from_csv(text)
    found = check(path)
    assert found["read_as"] == [pair for pair in check(text)["read_as"] if pair[0] != "encoding"]
    assert ["column 'date'", "date: year first, days"] in found["read_as"]
    assert {found["fingerprint"], oo.Dataset.from_parquet(path).fingerprint} == {wanted.fingerprint}
    assert (oo.Dataset.from_csv(path), oo.Dataset.from_csv(path).notices) == (wanted, wanted.notices)


@pytest.mark.parametrize("order", ["sorted", "reversed", "shuffled"])
@pytest.mark.parametrize("missing", [None, "last"])
def test_days_of_many_decades_in_many_parts_are_one_market(order: str, missing: str | None, tmp_path: Path) -> None:
    days = pd.date_range("1871-01-31", "2023-12-31", freq="ME")
    table = pd.DataFrame({"date": days.date.repeat(2), "symbol": ["A", "B"] * len(days)})
    table["close"] = [100 + place % 7 for place in range(len(table))]
    rows = {"sorted": table, "reversed": table[::-1], "shuffled": table.sample(frac=1.0, random_state=0)}[order]
    kept = rows if missing is None else pd.concat([rows, table[:1].assign(date=None)])
    path = tmp_path / "prices.parquet"
    schema = pa.schema([("date", pa.date32()), ("symbol", pa.string()), ("close", pa.int64())])
    parquet.write_table(pa.Table.from_pandas(kept, schema, preserve_index=False), path, row_group_size=50)
    if missing is None:
        found = oo.Dataset.from_parquet(path)
        assert found == oo.Dataset.from_frame(table)
        assert (found.dates[0], found.dates[-1], found.n_bars) == ("1871-01-31", "2023-12-31", len(days))
    else:
        with pytest.raises(oo.OpenOutcryError, match="`date`"):
            oo.Dataset.from_parquet(path)


@pytest.mark.parametrize("zone", [None, "America/New_York", "UTC"])
def test_a_file_of_one_symbol_has_the_name_of_the_file(zone: str | None, tmp_path: Path) -> None:
    path = tmp_path / "ABC.parquet"
    pd.DataFrame({"Close": range(100, 130), "Volume": 7.0}, index=DAYS.tz_localize(zone).rename("Date")).to_parquet(
        path
    )
    found = oo.Dataset.from_parquet(path)
    assert (found.symbols, found.dates[0]) == (("ABC",), "2024-01-02")
    assert check(path)["fingerprint"] == oo.Dataset.from_csv(path).fingerprint == found.fingerprint


@pytest.mark.parametrize("n_bytes", [4, 200, 3_000])
def test_a_damaged_file_is_refused(n_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "ABC.parquet"
    path.write_bytes((FORMATS / "frame_index.parquet").read_bytes()[:n_bytes])
    for read in (oo.Dataset.from_csv, oo.Dataset.from_parquet):
        with pytest.raises(oo.OpenOutcryError, match=r"a complete Parquet file is required; received 'ABC\.parquet'"):
            read(path)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    arrays = [["2024-01-02", "2024-01-03"], ["A", "A"], [1.0, 2.0], [3.0, 4.0]]
    table = pa.Table.from_arrays([pa.array(values) for values in arrays], names=["date", "symbol", "close", "close"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(oo.OpenOutcryError, match="duplicate_symbol: columns must be unique; received 'close' twice"):
        oo.Dataset.from_parquet(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["date=2024/x.parquet", "a b%#?.parquet", "é/ü=1.parquet"])
def test_a_path_may_have_any_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    frame = pd.DataFrame({"date": ["2024-01-02", "2024-01-03"], "symbol": "A", "close": [1.0, 2.0]})
    frame.to_parquet(path)
    assert oo.Dataset.from_parquet(path) == oo.Dataset.from_frame(frame)
