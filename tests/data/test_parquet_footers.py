"""Footers of Parquet files: levels as Arrow counts them, and damages that would end the process."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from fuzz_inputs import CORPUS
from pyarrow import parquet

import openoutcry as oo
from openoutcry.data.readers.parquet_footer import _footer, _levels, column_damage

DAMAGED = CORPUS / "file_parquet" / "found_levels.parquet"
TABLE = pa.table(
    {
        "plain": pa.array([1, 2, 3]),
        "whole": pa.array([1, 2, 3], pa.int64()),
        "lists": pa.array([[1.0], [], None]),
        "nested": pa.array([[{"a": [1]}], [{"a": None}], None]),
        "text": ["a", None, "c"],
    },
    schema=pa.schema(
        [
            ("plain", pa.int64()),
            pa.field("whole", pa.int64(), nullable=False),
            ("lists", pa.list_(pa.float64())),
            ("nested", pa.list_(pa.struct([("a", pa.list_(pa.int64()))]))),
            ("text", pa.string()),
        ]
    ),
)


@pytest.mark.parametrize("options", [{}, {"row_group_size": 1}, {"data_page_version": "2.0", "compression": "zstd"}])
def test_levels_are_those_of_arrow_and_whole_files_have_no_damage(options: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(TABLE, path, **options)
    schema, content = parquet.ParquetFile(path).schema, path.read_bytes()
    columns = [schema.column(place) for place in range(len(schema))]
    expected = [(column.max_repetition_level, column.max_definition_level) for column in columns]
    assert _levels(_footer(content)[2]) == expected
    assert column_damage(content) == ""
    pl.read_parquet(path).write_parquet(path)
    assert column_damage(path.read_bytes()) == ""


def test_a_damage_that_ends_the_process_is_refused_in_files_and_in_archives(tmp_path: Path) -> None:
    reason = "a column has 2 sizes of definition levels instead of 1"
    assert column_damage(DAMAGED.read_bytes()) == reason
    for read in (oo.Dataset.from_parquet, oo.Dataset.from_csv):
        with pytest.raises(oo.OpenOutcryError, match=reason):
            read(DAMAGED)


def test_other_damages_are_left_to_arrow() -> None:
    content = DAMAGED.read_bytes()
    for damaged in (b"", b"PAR1", content[:-4], content[:40], content[:-12] + bytes(12), content[:-40] + content[-30:]):
        assert column_damage(damaged) == ""
