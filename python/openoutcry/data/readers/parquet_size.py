"""Size of the content of Parquet files, so that no small file fills the memory.

A value may stand for any number of rows: in a dictionary, of a fixed length, or as the prefix that it shares with the
one before. The metadata bounds each of them; only texts with shared prefixes are measured, in parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from openoutcry.data.readers.parquet_footer import column_damage, footer_size
from openoutcry.errors import refusal

# A longer footer, such as that of 2,000 columns, takes longer to check than to read.
_LONGEST_FOOTER = 1 << 18
_PREFIXED, _PART = "DELTA_BYTE_ARRAY", 64 << 20
_HINT = "hint: leave out the columns that are not prices, or split it"


class Limit(NamedTuple):
    """Limit of the content of files.

    Attributes:
        name: Name of the file or folder, for messages.
        size: Size of the files in bytes.
        most: Maximum number of bytes of their content.
    """

    name: str
    size: int
    most: int


def parquet_table(source: Any, chunks: Sequence[Any], limit: Limit) -> Any:
    """Return the Arrow table of a Parquet file or folder with checked columns.

    Long texts that are stored once and repeated on many rows stay stored once.

    Args:
        source: What pyarrow reads.
        chunks: The result of `checked_chunks`.
        limit: Its limit.
    """
    from pyarrow import parquet

    texts = [chunk for chunk in chunks if chunk.physical_type == "BYTE_ARRAY" and not is_prefixed(chunk)]
    is_long = sum(map(_longest, texts)) > limit.most
    repeated = sorted({chunk.path_in_schema for chunk in texts}) if is_long else None
    return parquet.read_table(source, read_dictionary=repeated)


def checked_chunks(parts: Sequence[Any], limit: Limit) -> list[Any]:
    """Return the metadata of all columns; refuse files that hold too much.

    Every group of rows has metadata of its own.

    Args:
        parts: What pyarrow reads of each file.
        limit: Limit of all files together.

    Raises:
        OpenOutcryError: `dataset_too_large`: the files have more values or bytes than their size can hold.
        OSError: the metadata of a column are damaged.
    """
    from pyarrow import parquet

    n_rows = n_values = n_bytes = n_prefixed = 0
    found: list[Any] = []
    for part in parts:
        if damage := _damage(part):
            raise OSError(damage)
        with parquet.ParquetFile(part) as file:
            n_columns = file.metadata.num_columns
            n_rows += file.metadata.num_rows
            n_values += file.metadata.num_rows * n_columns
            _check_values(n_values, f"{n_rows} rows of {n_columns} columns", limit)
            chunks = list(_chunks(file.metadata))
            found += (chunk for chunk, _ in chunks)
            n_bytes += sum(_least(chunk, length) for chunk, length in chunks)
            _check_bytes(n_bytes, limit)
            n_prefixed += _prefixed_bytes(file, [chunk for chunk, _ in chunks], n_prefixed, limit)
            # A row of a nested column has any number of values.
            n_nested = sum(chunk.num_values for chunk in found)
            _check_values(n_nested, f"{n_rows} rows of {n_columns} columns with {n_nested} values", limit)
    return found


def _damage(part: Any) -> str:
    """Return why Arrow cannot make the metadata of some column, or an empty text."""
    with part.open("rb") if isinstance(part, Path) else nullcontext(part) as file:
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(n_bytes - 8, 0))
        size = footer_size(file.read(8))
        if not 0 < size <= min(n_bytes, _LONGEST_FOOTER):
            return ""
        file.seek(n_bytes - size)
        return column_damage(file.read(size))


def is_prefixed(chunk: Any) -> bool:
    """Return whether texts of a column share prefixes.

    pyarrow cannot read them as a dictionary.
    """
    return _PREFIXED in chunk.encodings


def _least(chunk: Any, length: int) -> int:
    """Return the bytes of a column that its metadata states."""
    fixed = chunk.num_values * length if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0
    return max(int(chunk.total_uncompressed_size), fixed)


def _longest(chunk: Any) -> int:
    """Return the bytes of a column if every value had all of its bytes."""
    return int(chunk.num_values * chunk.total_uncompressed_size)


def _prefixed_bytes(file: Any, chunks: Sequence[Any], n_before: int, limit: Limit) -> int:
    """Return the bytes of the texts with shared prefixes.

    Those that cannot be long are not measured.
    """
    prefixed = [chunk for chunk in chunks if chunk.physical_type == "BYTE_ARRAY" and is_prefixed(chunk)]
    if n_before + sum(map(_longest, prefixed)) <= limit.most:
        return sum(map(_longest, prefixed))
    names, n_bytes = sorted({chunk.path_in_schema for chunk in prefixed}), n_before
    if nested := next((each for each in names if "." in each), None):
        wanted = "texts with shared prefixes must not be nested"
        raise refusal("dataset_too_large", f"{wanted}; received {nested!r} in {limit.name!r}; {_HINT}")
    # A value has at most the bytes of its column.
    n_rows = max(1, _PART // max(1, *(chunk.total_uncompressed_size for chunk in prefixed)))
    for batch in file.iter_batches(batch_size=n_rows, columns=names, use_threads=False):
        n_bytes += batch.nbytes
        _check_bytes(n_bytes, limit)
    return n_bytes - n_before


def _chunks(metadata: Any) -> Iterator[tuple[Any, int]]:
    """Yield the metadata of all columns with the fixed length of their values."""
    lengths = [max(0, metadata.schema.column(place).length) for place in range(metadata.num_columns)]
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        yield from ((group.column(place), length) for place, length in enumerate(lengths))


def _check_values(n_values: int, received: str, limit: Limit) -> None:
    if n_values > limit.most // 8:
        message = f"a Parquet file of {limit.size} bytes must hold at most {limit.most // 8} values of prices"
        raise refusal("dataset_too_large", f"{message}; received {received} in {limit.name!r}; {_HINT}")


def _check_bytes(n_bytes: int, limit: Limit) -> None:
    if n_bytes > limit.most:
        message = f"a Parquet file of {limit.size} bytes must hold at most {limit.most} bytes of prices"
        raise refusal("dataset_too_large", f"{message}; received {n_bytes} or more in {limit.name!r}; {_HINT}")
