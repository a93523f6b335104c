"""Footers of Parquet files: columns as Arrow reads them, and damages that would end the process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from builders import count
from footer_attack import LONG, NESTED, attack
from fuzz_inputs import CORPUS
from pyarrow import parquet

import openoutcry as oo
from openoutcry import openoutcry_py as native

DAMAGED = sorted((CORPUS / "file_parquet").glob("found_*.parquet"))
DELTA = [
    {"use_dictionary": False, "column_encoding": {"symbol": f"DELTA_{name}BYTE_ARRAY"}} for name in ("", "LENGTH_")
]


def footer(body: bytes) -> bytes:
    return body + len(body).to_bytes(4, "little") + b"PAR1"


def columns_of(content: bytes) -> list[list[tuple[int, int, list[int]]]]:
    return native.parquet_columns(np.frombuffer(content, np.uint8))


def varint(value: int, n_bytes: int) -> bytes:
    """Return the bytes of a number in a footer, with leading zeros."""
    digits = [2 * value >> 7 * place & 127 for place in range(n_bytes)]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


@pytest.mark.parametrize("options", [{}, {"row_group_size": 1}, {"data_page_version": "2.0", "compression": "zstd"}])
@pytest.mark.parametrize("writer", ["arrow", "polars"])
def test_columns_are_those_of_arrow(options: dict[str, object], writer: str, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(NESTED, path, **options)
    if writer == "polars":
        pl.read_parquet(path).write_parquet(path)
    metadata = parquet.ParquetFile(path).metadata
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    columns = [[group.column(place) for place in range(metadata.num_columns)] for group in groups]
    expected = [[(column.num_values, column.total_uncompressed_size) for column in group] for group in columns]
    for found in (columns_of(path.read_bytes()), native.parquet_columns(path)):
        assert [[chunk[:2] for chunk in group] for group in found] == expected


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_sizes_are_those_of_the_pages_where_the_footer_states_less(version: str, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    table = pa.table({"text": ["x" * 5_000] * 2_000})
    parquet.write_table(table, path, data_page_version=version, use_dictionary=False, compression="zstd")
    content, n_bytes = (
        path.read_bytes(),
        parquet.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size,
    )
    stated = varint(n_bytes, 4)
    assert content.count(stated) > 0
    # Sizes of pages are below this one.
    forged = content.replace(stated, varint(1_000, 4))
    path.write_bytes(forged)
    assert parquet.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 1_000
    ((((_, measured, _),),)) = columns_of(forged)
    assert 0.99 * n_bytes < measured <= n_bytes


def test_a_page_that_leaves_its_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(LONG, path, use_dictionary=False)
    content, column = path.read_bytes(), parquet.ParquetFile(path).metadata.row_group(0).column(0)
    start, size = column.data_page_offset, column.total_compressed_size
    for wrong in (b"\x00", b"\x15\x00\x15\x02\x15\xfe\xff\x03\x00", b"\xff" * 20):
        damaged = content[:start] + wrong + content[start + len(wrong) :]
        with pytest.raises(ValueError, match="a page"):
            columns_of(damaged)
    assert size > 20


@pytest.mark.parametrize("options", DELTA, ids=["prefixes", "lengths"])
def test_texts_without_a_dictionary_are_read(options: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(LONG, path, **options)
    assert oo.Dataset.from_parquet(path) == oo.Dataset.from_frame(LONG)


def test_a_footer_of_many_columns_and_a_deep_schema_is_read(tmp_path: Path) -> None:
    path, deep = tmp_path / "wide.parquet", pa.array([1, 2, 3])
    for _ in range(40):
        deep = pa.StructArray.from_arrays([deep], ["x"])
    table = pa.table({"date": LONG["date"], **{f"S{place:04}": [1.0, 2.0, 3.0] for place in range(3_000)}})
    parquet.write_table(table, path)
    assert oo.Dataset.from_parquet(path).n_symbols == 3_000
    parquet.write_table(LONG.append_column("deep", deep), path)
    assert oo.Dataset.from_parquet(path) == oo.Dataset.from_frame(LONG)


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.stem)
def test_a_damage_that_ends_the_process_is_refused_in_files_and_in_archives(path: Path) -> None:
    for read in (oo.Dataset.from_parquet, oo.Dataset.from_csv):
        with pytest.raises(oo.OpenOutcryError, match="a complete Parquet file is required"):
            read(path)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "incomplete"),
        (b"\x49\xfc\xff\xff\xff\x7f", "ends too early"),
        (b"\x45\x02\x00", "a field has kind 5, not 9"),
        (b"\x49\x0c\x05\x08\x00\x00", "field 4 is there twice"),
        (b"\x1c" * 100, "too deep"),
        (b"\x19\xfc\x80\x80\x04" + bytes(1 << 16), "ends too early"),
        (b"\x1b\x01\x88", "kind 11"),
        (b"\x19\x19\x05\x00", "kind 9"),
        (b"\x49\x1c\x19\x1c\x8c\x00\x00\x00\x00", "encrypted"),
        (b"\x49\x1c\x19\x1c\x3c\x29\x05\x36\x01\x16\x02\x16\x02\x26\x02\x00\x00\x00\x00", "out of range"),
        (b"\x49\x1c\x19\x1c\x3c\x29\xf5\x41", "65 encodings"),
    ],
)
def test_a_footer_that_cannot_be_read_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        columns_of(footer(body))


def test_no_change_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    found = attack(tmp_path, count(20_000, 800))
    assert (found.aborted, found.escaped) == ([], {})
    assert found.outcomes["read"] > 0 < found.outcomes["field_unparsable"]
