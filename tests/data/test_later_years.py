"""Times beyond the years of Python are refused in files and frames, in columns of prices and beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import openoutcry as oo
from openoutcry import openoutcry_py as native

LARGE = 2**63 - 1
COLUMNS = {
    "date32": pa.array([18_262, 18_263, 10_000_000], pa.int32()).cast(pa.date32()),
    "early date32": pa.array([18_262, 18_263, -1_979_693_067], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, 86_400_000, 864_000_000_000_000], pa.int64()).view(pa.date64()),
    "ms": pa.array([0, 1, LARGE], pa.int64()).view(pa.timestamp("ms")),
    "us, zoned": pa.array([0, 1, LARGE], pa.int64()).view(pa.timestamp("us", "America/New_York")),
    "early ms": pa.array([0, 1, -LARGE], pa.int64()).view(pa.timestamp("ms", "UTC")),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("extra", [{}, {"note": ["x"] * 3}], ids=["plain", "with a note"])
def test_a_later_year_is_refused_by_every_door(kind: str, extra: dict[str, Any], tmp_path: Path) -> None:
    table = pa.table({"date": COLUMNS[kind], "symbol": ["A"] * 3, "close": [1.0, 2.0, 3.0], **extra})
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path)
    feather.write_feather(table, tmp_path / "a.feather")
    for source in (path, tmp_path / "a.feather"):
        with pytest.raises(oo.OpenOutcryError):
            oo.Dataset.from_csv(source)
    frame = pl.from_arrow(table)
    for each in (table, frame):
        with pytest.raises(oo.OpenOutcryError):
            oo.Dataset.from_frame(each)


def test_the_last_year_in_another_column_is_read() -> None:
    last = pa.array([2_932_896] * 2, pa.int32()).cast(pa.date32())
    table = pa.table({"date": ["2024-01-02", "2024-01-03"], "symbol": ["A"] * 2, "close": [1.0, 2.0], "note": last})
    for frame in (table, pl.from_arrow(table)):
        assert oo.Dataset.from_frame(frame).n_bars == 2


@pytest.mark.parametrize("columns", ["date,symbol,close", "symbol,date,close", "date,symbol,close,open"])
def test_a_csv_reader_reads_another_text_after_its_market(columns: str) -> None:
    def text(names: str, symbol: str) -> bytes:
        cells = {"close": "1", "open": "2"}
        rows = [cells | {"date": f"2020-01-0{day}", "symbol": f"{symbol}{n}"} for n in range(24_000) for day in (1, 2)]
        return "\n".join([names, *(",".join(row[name] for name in names.split(",")) for row in rows)]).encode()

    reader = native.CsvReader()
    first, second = text("date,symbol,close", "S"), text(columns, "T")
    for content in (first, second):
        reader.push(content[:100])
        reader.push(content[100:])
        assert reader.dataset().fingerprint == native.Dataset.from_csv(content.decode()).fingerprint
    reader.push(b"date,A\n2020-01-01,1\n\xc3")
    with pytest.raises(UnicodeDecodeError):
        reader.dataset()
    reader.push(first)
    assert len(reader.dataset().symbols) == 24_000
