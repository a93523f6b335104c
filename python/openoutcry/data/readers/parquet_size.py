"""Size of the content of Parquet files, so that no small file fills the memory.

A value may stand for any number of rows: in a dictionary, of a fixed length, or as the prefix that it shares with the
one before. The metadata bounds each of them; only texts with shared prefixes are measured, in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

# Encodings of texts: all lengths before all texts, and texts without the prefix that they share with the one before.
_DELTA_TEXTS = {6, 7}
# Encodings that store texts once: dictionaries, and shared prefixes.
_REPEATING = {2, 7, 8}
_TEXT, _FIXED, _PART = "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", 64 << 20
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


class Chunk(NamedTuple):
    """Sizes of a column of a group of rows.

    Attributes:
        n_values: Number of values.
        n_bytes: Uncompressed bytes of its pages, as footer or pages state them.
        encodings: Numbers of the encodings of its pages.
    """

    n_values: int
    n_bytes: int
    encodings: frozenset[int]


class Column(NamedTuple):
    """A column of a group of rows.

    Attributes:
        path: Names from the top to the column, between dots.
        kind: Physical type.
        length: Bytes of a value, 0 if they differ.
        chunk: Its sizes.
    """

    path: str
    kind: str
    length: int
    chunk: Chunk

    @property
    def most_bytes(self) -> int:
        """Bytes if every value had all bytes of the column."""
        return self.chunk.n_values * self.chunk.n_bytes

    @property
    def least_bytes(self) -> int:
        """Bytes that the metadata states."""
        return max(self.chunk.n_bytes, self.chunk.n_values * self.length)

    @property
    def is_delta(self) -> bool:
        """Whether texts are stored by their lengths: no dictionary can be read."""
        return not self.chunk.encodings.isdisjoint(_DELTA_TEXTS)

    @property
    def is_expanded(self) -> bool:
        """Whether texts that are stored once are read again and again."""
        return self.kind == _TEXT and self.is_delta and not self.chunk.encodings.isdisjoint(_REPEATING)


def parquet_table(source: Any, columns: Sequence[Column], limit: Limit) -> Any:
    """Return the Arrow table of a Parquet file or folder with checked columns.

    Long texts that are stored once and repeated on many rows stay stored once.

    Args:
        source: What pyarrow reads.
        columns: The result of `checked_columns`.
        limit: Its limit.
    """
    from pyarrow import parquet

    texts = [column for column in columns if column.kind == _TEXT and not column.is_delta]
    is_long = sum(column.most_bytes for column in texts) > limit.most
    repeated = sorted({column.path for column in texts}) if is_long else None
    return parquet.read_table(source, read_dictionary=repeated)


def checked_columns(parts: Sequence[Any], limit: Limit) -> list[Column]:
    """Return the columns of all groups of rows; refuse files that hold too much.

    Args:
        parts: What pyarrow reads of each file.
        limit: Limit of all files together.

    Raises:
        OpenOutcryError: `dataset_too_large`: the files have more values or bytes than their size can hold.
        OSError: the metadata of a file is damaged.
    """
    from pyarrow import parquet

    n_rows = n_values = n_bytes = n_prefixed = 0
    found: list[Column] = []
    for part in parts:
        with parquet.ParquetFile(part) as file:
            n_columns = file.metadata.num_columns
            n_rows += file.metadata.num_rows
            n_values += file.metadata.num_rows * n_columns
            _check_values(n_values, f"{counted(n_rows, 'row')} of {counted(n_columns, 'column')}", limit)
            columns = _columns(_groups(part), file.metadata)
            found += columns
            n_bytes += sum(column.least_bytes for column in columns)
            _check_bytes(n_bytes, limit)
            n_prefixed += _prefixed_bytes(file, columns, n_prefixed, limit)
            # A row of a nested column has any number of values.
            n_nested = sum(column.chunk.n_values for column in found)
            _check_values(
                n_nested,
                f"{counted(n_rows, 'row')} of {counted(n_columns, 'column')} with {counted(n_nested, 'value')}",
                limit,
            )
    return found


def _groups(part: Any) -> list[list[Chunk]]:
    """Return the sizes of the columns of each group of rows of a file."""
    source = part
    if not isinstance(part, Path):
        part.seek(0)
        source = np.frombuffer(part.read_buffer(), np.uint8)
    try:
        groups = native.parquet_columns(source)
    except ValueError as error:
        raise OSError(f"the metadata of its columns are damaged or encrypted: {error}") from error
    return [[Chunk(n_values, n_bytes, frozenset(found)) for n_values, n_bytes, found in group] for group in groups]


def _columns(groups: list[list[Chunk]], metadata: Any) -> list[Column]:
    """Return the columns of all groups, with their names and types."""
    n_columns = metadata.num_columns
    # Arrow reads the same footer.
    if len(groups) != metadata.num_row_groups or any(len(chunks) != n_columns for chunks in groups):
        raise OSError("its groups of rows have other columns than its schema")
    schema = [metadata.schema.column(place) for place in range(n_columns)]
    kinds = [(each.path, each.physical_type, each.length if each.physical_type == _FIXED else 0) for each in schema]
    return [Column(*kind, chunk) for chunks in groups for kind, chunk in zip(kinds, chunks, strict=True)]


def _prefixed_bytes(file: Any, columns: Sequence[Column], n_before: int, limit: Limit) -> int:
    """Return the bytes of the texts with shared prefixes.

    Those that cannot be long are not measured.
    """
    prefixed = [column for column in columns if column.is_expanded]
    most = sum(column.most_bytes for column in prefixed)
    if n_before + most <= limit.most:
        return most
    names, n_bytes = sorted({column.path for column in prefixed}), n_before
    if nested := next((each for each in names if "." in each), None):
        wanted = "texts with shared prefixes must not be nested"
        raise refusal("dataset_too_large", f"{wanted}; received {nested!r} in {limit.name!r}; {_HINT}")
    # A value has at most the bytes of its column.
    n_rows = max(1, _PART // max(1, *(column.chunk.n_bytes for column in prefixed)))
    for batch in file.iter_batches(batch_size=n_rows, columns=names, use_threads=False):
        n_bytes += batch.nbytes
        _check_bytes(n_bytes, limit)
    return n_bytes - n_before


def _check_values(n_values: int, received: str, limit: Limit) -> None:
    if n_values > limit.most // 8:
        message = f"a Parquet file of {limit.size} bytes must hold at most {limit.most // 8} values of prices"
        raise refusal("dataset_too_large", f"{message}; received {received} in {limit.name!r}; {_HINT}")


def _check_bytes(n_bytes: int, limit: Limit) -> None:
    if n_bytes > limit.most:
        message = f"a Parquet file of {limit.size} bytes must hold at most {limit.most} bytes of prices"
        raise refusal("dataset_too_large", f"{message}; received {n_bytes} or more in {limit.name!r}; {_HINT}")
