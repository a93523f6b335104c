"""Attacks on the reader of files: each is refused with a reason, before memory or time is used."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.data.market_source import open_market
from openoutcry.data.readers import file_content, parquet_size, workbook

ZEROS = b"0" * (16 << 20)


def zipped(content: bytes, name: str = "prices.csv") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.zip", "a.xlsx", "a.market.gz"])
def test_a_decompression_bomb_is_refused_before_memory_is_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_content, "SMALL_BYTES", 1 << 20)
    monkeypatch.setattr(file_content, "MAX_BYTES", 1 << 20)
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lambda each: lzma.compress(each, preset=0), "zip": zipped}
    suffix = name.rpartition(".")[2]
    path = tmp_path / name
    path.write_bytes(zipped(ZEROS, "[Content_Types].xml") if suffix == "xlsx" else pack[suffix](ZEROS))
    tracemalloc.start()
    try:
        with pytest.raises(
            oo.OpenOutcryError, match=r"at most 1048576 bytes of prices.*; hint: decompress it"
        ) as error:
            open_market(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert error.value.slug == "dataset_too_large"


@pytest.mark.parametrize("names", [("date", "symbol", "close"), ("Date", "Close")], ids=str)
def test_a_parquet_file_of_one_value_on_many_rows_is_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    path, n_rows = tmp_path / "a.parquet", 5_000_000
    values = {"date": "2024-01-02", "symbol": "A", "close": 1.0}
    columns = [pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int8), [values[name.lower()]]) for name in names]
    parquet.write_table(pa.table(columns, list(names)), path)
    assert path.stat().st_size < 1 << 20
    for read in (oo.Dataset.from_parquet, oo.Dataset.from_csv):
        with pytest.raises(oo.OpenOutcryError, match="received 5,000,000 rows of") as error:
            read(path)
        assert error.value.slug == "dataset_too_large"


@pytest.mark.parametrize("read", [oo.Dataset.from_parquet, oo.Dataset.from_csv], ids=lambda read: read.__name__)
def test_a_long_text_of_a_parquet_file_takes_no_memory(read: Any, tmp_path: Path) -> None:
    path, text = tmp_path / "a.parquet", "B" * 20_000
    repeated = pa.table({"date": pa.array([text]).take(np.zeros(20_000, int)), "close": np.zeros(20_000)})
    # Without the schema of Arrow, the column is read as texts.
    parquet.write_table(repeated, path, store_schema=False)
    assert path.stat().st_size < 1 << 20
    pool = pa.system_memory_pool()
    before, used = pa.default_memory_pool(), pool.max_memory()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(oo.OpenOutcryError):
            read(path)
    finally:
        pa.set_memory_pool(before)
    # All rows have 400 MB.
    assert pool.max_memory() - used < 64 << 20
    single = pa.table({"date": ["B" * (70 << 20), "2024-01-02"], "close": [1.0, 2.0]})
    parquet.write_table(single, path, use_dictionary=False, compression="zstd")
    with pytest.raises(oo.OpenOutcryError, match="at most 67108864 bytes of prices; received 734004") as error:
        read(path)
    assert error.value.slug == "dataset_too_large"


def test_a_nested_column_of_a_parquet_file_is_counted_by_its_values(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    nested = pa.ListArray.from_arrays([0, 9_000_000], np.zeros(9_000_000))
    parquet.write_table(pa.table({"date": ["2024-01-02"], "close": nested}), path)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(oo.OpenOutcryError, match="received 1 row of 2 columns") as error:
        oo.Dataset.from_parquet(path)
    assert error.value.slug == "dataset_too_large"


def shared_prefixes(path: Path, n_rows: int, text: str) -> Path:
    """Write a Parquet file with a text of many rows that is stored once, since each shares it with the one before."""
    texts = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), [text]).cast(pa.string())
    days = np.datetime_as_string(np.datetime64("2000-01-01") + np.arange(n_rows))
    table = pa.table({"date": days, "close": np.arange(1.0, n_rows + 1.0), "note": texts})
    encodings = {"date": "DELTA_BYTE_ARRAY", "note": "DELTA_BYTE_ARRAY"}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings, compression="zstd")
    return path


def fixed_lengths(path: Path, n_rows: int, text: str) -> Path:
    """Write a Parquet file with a value of a fixed length that is stored once in a dictionary."""
    values = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array([text.encode()], pa.binary(len(text))))
    days = np.datetime_as_string(np.datetime64("2000-01-01") + np.arange(n_rows))
    table = pa.table({"date": days, "close": np.ones(n_rows), "note": values.cast(pa.binary(len(text)))})
    parquet.write_table(table, path, compression="zstd")
    return path


@pytest.mark.parametrize("written", [shared_prefixes, fixed_lengths])
@pytest.mark.parametrize("door", ["from_parquet", "from_csv", "a folder"])
def test_a_long_value_that_is_stored_once_is_refused_before_memory_is_used(
    written: Callable[..., Path], door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.parquet", 100, "A" * 250_000)
    assert path.stat().st_size < 1 << 16
    monkeypatch.setattr(file_content, "SMALL_BYTES", 4 << 20)
    monkeypatch.setattr(parquet_size, "_PART", 1 << 20)
    before = pa.total_allocated_bytes()
    read, source = (oo.Dataset.from_csv, path) if door == "from_csv" else (oo.Dataset.from_parquet, path)
    with pytest.raises(oo.OpenOutcryError, match=r"bytes of prices; received [0-9]+ or more in") as error:
        read(tmp_path if door == "a folder" else source)
    assert error.value.slug == "dataset_too_large"
    assert pa.total_allocated_bytes() - before < 1 << 20


def test_texts_that_share_prefixes_are_read_if_they_are_short(tmp_path: Path) -> None:
    path = shared_prefixes(tmp_path / "a.parquet", 20_000, "2000-01-01")
    table = parquet.read_table(path).drop(["note"])
    encodings = {"date": "DELTA_BYTE_ARRAY"}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings, row_group_size=8_000)
    assert oo.Dataset.from_parquet(path).n_bars == 20_000
    long = table.append_column("symbol", pa.array(["A"] * 20_000))
    parquet.write_table(long, path, use_dictionary=False, column_encoding=encodings | {"symbol": "DELTA_BYTE_ARRAY"})
    assert oo.Dataset.from_parquet(path).n_bars == 20_000


def test_files_of_a_folder_are_limited_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file has a limit that does not depend on its size, so many of them would have many."""
    monkeypatch.setattr(file_content, "SMALL_BYTES", 1 << 17)
    monkeypatch.setattr(file_content, "_MOST_RATIO", 1)
    monkeypatch.setattr(file_content, "_LARGE_RATIO", 1)
    for number in range(4):
        table = pa.table({"date": [f"20{number:02}-01-01"] * 5_000, "close": np.ones(5_000)})
        parquet.write_table(table, tmp_path / f"{number}.parquet")
    with pytest.raises(oo.OpenOutcryError, match="received 10,000 rows of 2 columns") as error:
        oo.Dataset.from_parquet(tmp_path)
    assert error.value.slug == "dataset_too_large"


def test_the_limit_of_an_archive_follows_its_size() -> None:
    megabyte, limit = 1 << 20, file_content._most_bytes
    assert limit(100) == 64 * megabyte
    assert limit(megabyte) == 200 * megabyte
    # A large archive of prices is read, since its ratio is plausible.
    assert limit(8 * megabyte) == 1024 * megabyte
    assert limit(100 * megabyte) == 3000 * megabyte


def test_an_archive_within_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "outer.zip"
    path.write_bytes(zipped(zipped(b"date,close\n"), "inner.zip"))
    with pytest.raises(oo.OpenOutcryError, match=r"received a zip in 'outer\.zip'; hint: unpack it"):
        oo.Dataset.from_csv(path)


def sheet_of(rows: str) -> bytes:
    """Return a workbook of one sheet with the given rows in XML."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    of = "http://schemas.openxmlformats.org"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{of}/package/2006/content-types"><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kind}.sheet.main+xml"/><Override PartName="/xl/s.xml" ContentType="{kind}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{of}/package/2006/relationships"><Relationship Id="r" '
        f'Type="{of}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{of}/spreadsheetml/2006/main" '
        f'xmlns:r="{of}/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{of}/package/2006/relationships"><Relationship Id="r" '
        f'Type="{of}/officeDocument/2006/relationships/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": f'<worksheet xmlns="{of}/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


SPARSE = {
    "a cell in the last column of each row": "".join(
        f'<row r="{row}"><c r="XFD{row}"><v>1</v></c></row>' for row in range(1, 20_001)
    ),
    "a row far below": '<row r="1"><c r="A1"><v>1</v></c></row><row r="999999999"><c r="A999999999"><v>1</v></c></row>',
}


@pytest.mark.parametrize("name", SPARSE)
def test_a_sparse_sheet_is_refused_at_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "_MOST_ROWS", 1 << 16)
    path = tmp_path / "sparse.xlsx"
    path.write_bytes(sheet_of(SPARSE[name]))
    start = time.process_time()
    with pytest.raises(oo.OpenOutcryError, match=r"without wide gaps.*hint: delete what stands apart"):
        oo.Dataset.from_csv(path)
    assert time.process_time() - start < 5.0


def test_a_text_on_many_rows_of_a_sheet_is_counted_on_each(tmp_path: Path) -> None:
    path, row = tmp_path / "texts.xlsx", "<row>" + '<c t="s"><v>0</v></c>' * 50 + "</row>"
    with zipfile.ZipFile(io.BytesIO(sheet_of(row * 2000))) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    relations = "xl/_rels/workbook.xml.rels"
    shared = parts[relations].replace("worksheet", "sharedStrings").replace("s.xml", "t.xml").replace('"r"', '"t"')
    added = shared[shared.index("<Relationship ") : shared.index("</Relationships>")]
    parts[relations] = parts[relations].replace("</Relationships>", f"{added}</Relationships>")
    parts["xl/t.xml"] = f"<sst><si><t>{'A' * 30_000}</t></si></sst>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    start = time.process_time()
    with pytest.raises(oo.OpenOutcryError, match="at most 134217728 characters is required; received 3000000000"):
        oo.Dataset.from_csv(path)
    assert time.process_time() - start < 5.0


def test_an_empty_cell_in_the_last_column_does_not_widen_a_row(tmp_path: Path) -> None:
    rows = "".join(f'<row r="{row}"><c r="A{row}" t="str"><v>2024-01-0{row}</v></c><c r="B{row}"><v>{row}</v></c>'
                   f'<c r="XFD{row}"/></row>' for row in range(2, 10))  # fmt: skip
    header = '<row r="1"><c r="A1" t="str"><v>Date</v></c><c r="B1" t="str"><v>Close</v></c></row>'
    path = tmp_path / "ABC.xlsx"
    path.write_bytes(sheet_of(header + rows))
    assert oo.Dataset.from_csv(path).close[:, 0].tolist() == list(range(2, 10))


def test_a_path_that_is_too_long_is_refused() -> None:
    for words in (
        ["data", "check", "a" * 300],
        ["data", "import", "a" * 300, "--out", "b"],
        ["run", "--data", "a" * 5000],
    ):
        done = CliRunner().invoke(app, words)
        assert isinstance(done.exception, oo.OpenOutcryError)
        assert "aaaa…" in str(done.exception)
    with pytest.raises(oo.OpenOutcryError, match="a path without NUL"):
        oo.Dataset.from_csv("a\0b")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("name", ["prices.csv", "prices.json", "prices.parquet", "prices.market.gz"])
def test_a_pipe_is_refused_without_waiting(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    for words in (["data", "check", tmp_path / name], ["data", "import", tmp_path / name, "--out", tmp_path / "out"]):
        done = CliRunner().invoke(app, [*map(str, words)])
        assert "which is a pipe; hint: write it to a file first" in str(done.exception)


def test_a_long_value_is_shown_by_its_start(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(f'[{{"date": "2024-01-01", "close": {"9" * 6000}}}, {{"date": "2024-01-02", "close": 1}}]', "utf-8")
    texts = [
        path,
        f"Date,Close\n2024-01-01,{'x y ' * 5000}\n2024-01-02,1\n",
        f"Date,{'S' * 90000},Open,High\n1,2,3,4\n",
    ]
    for text in texts:
        with pytest.raises(oo.OpenOutcryError) as refused:
            oo.Dataset.from_csv(text, symbol="A")
        assert len(str(refused.value)) < 700


TEXT = "date,symbol,close\n2024-01-01,Ä,1\n2024-01-02,Ä,2\n"
ENCODINGS = {
    "utf-32": "which is UTF-32; hint: convert it: `iconv -f UTF-32 -t UTF-8 prices.csv",
    "utf-16-le": "which is UTF-16LE without a byte order mark; hint: convert it: `iconv -f UTF-16LE",
    "utf-16-be": "which is UTF-16BE without a byte order mark",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_another_encoding_is_named(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(TEXT.encode(encoding))
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_csv(path)
    assert ENCODINGS[encoding] in str(refused.value)
    assert "\0" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("form", ["plain", "a vendor's", "wide"])
def test_an_encoding_has_one_rule_in_every_form(form: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    wide = "date,Ä\n2024-01-01,1\n2024-01-02,2\n"
    text = {"plain": TEXT, "a vendor's": TEXT.replace(",", ";").title(), "wide": wide}[form]
    path.write_bytes(text.encode(encoding))
    assert oo.Dataset.from_csv(path) == oo.Dataset.from_csv(TEXT)
    # A byte that no text has is not replaced.
    path.write_bytes(text.encode("cp1252") + b"2024-01-03,\x81,1\n")
    with pytest.raises(oo.OpenOutcryError, match=r"the bytes 81 on line 4 .*; hint: save it as CSV in UTF-8"):
        oo.Dataset.from_csv(path)


def test_a_table_of_fields_by_ticker_is_read_from_a_file_as_from_a_frame(tmp_path: Path) -> None:
    rows = [
        [f"2024-01-{day:02d}", *(each + day / 9 for each in (10, 12, 9, 11 - day % 3, 20, 23, 18, 21))]
        for day in range(2, 12)
    ]
    names = [
        "date",
        *(f"{symbol}_{field}" for symbol in ("AAPL", "MSFT") for field in ("Open", "High", "Low", "Close")),
    ]
    frame = pd.DataFrame(rows, columns=names)
    path = tmp_path / "prices.csv"
    frame.to_csv(path, index=False)
    expected = oo.Dataset.from_frame(frame)
    assert expected.symbols == ("AAPL", "MSFT")
    assert expected.has_opens
    assert oo.Dataset.from_csv(path) == oo.Dataset.from_csv(path.read_text("utf-8")) == expected
