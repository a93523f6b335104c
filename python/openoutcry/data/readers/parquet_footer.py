"""Footer of a Parquet file, read without a library.

The metadata of a damaged column ends the process in Arrow's C++, where no exception is caught. This module reads them
instead, and refuses what it cannot read.

Source: the Thrift compact protocol, and parquet.thrift of the Apache Parquet format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_MAGIC = b"PAR1"
# The format nests 8 structs and lists. A column of a group of rows has two structs.
_MOST_DEPTH, _MOST_STRUCTS, _MOST_ENCODINGS = 32, 1 << 19, 64
# Kinds of the compact protocol; integers of 16, 32 and 64 bits, lists and sets have one form each.
_BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT, _UUID = 3, (4, 5, 6), 7, 8, (9, 10), 12, 13
_I32, _I64, _LIST = 5, 6, 9
# Bytes of a value in a list, if all have the same. A truth has a byte there, and none in a struct.
_SIZES = {1: 1, 2: 1, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROW_GROUPS, _COLUMNS, _COLUMN, _CRYPTO, _ENCODINGS, _N_VALUES, _N_BYTES = 4, 1, 3, 8, 2, 5, 6


class Chunk(NamedTuple):
    """Metadata of a column of a group of rows.

    Attributes:
        n_values: Number of values.
        n_bytes: Uncompressed bytes of its pages.
        encodings: Numbers of the encodings of its pages.
    """

    n_values: int
    n_bytes: int
    encodings: frozenset[int]


def footer_size(end: bytes) -> int:
    """Return the size of footer, length and magic at the end of a file.

    Raises:
        ValueError: it is the end of another file.
    """
    if len(end) < 8 or end[-4:] != _MAGIC:
        raise ValueError("the end of the file is missing")
    return int.from_bytes(end[-8:-4], "little") + 8


def row_groups(content: bytes) -> list[list[Chunk]]:
    """Return the metadata of the columns of each group of rows.

    Args:
        content: At least the footer of the file, with all bytes after it.

    Raises:
        ValueError: the footer is damaged, or a column is encrypted.
    """
    size = footer_size(content)
    if not 8 < size <= len(content):
        raise ValueError("the footer is incomplete")
    try:
        return _Footer(content[-size:-8]).row_groups()
    except (IndexError, KeyError) as error:
        raise ValueError("the footer ends too early, or lacks a field") from error


def _chunk(found: Mapping[int, Any]) -> Chunk:
    if not all(0 <= found[field] < 1 << 63 for field in (_N_VALUES, _N_BYTES)):
        raise ValueError("a size of a column is out of range")
    return Chunk(found[_N_VALUES], found[_N_BYTES], frozenset(found[_ENCODINGS]))


class _Footer:
    """Reader of a footer from its first byte to its last."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0
        # Limits of time. A footer of a writer has more bytes for each struct and list.
        self._n_structs, self._n_values = max(_MOST_STRUCTS, len(content) // 64), 1024 + len(content) // 4

    def row_groups(self) -> list[list[Chunk]]:
        """Return the metadata of the columns of each group of rows."""
        found: list[list[Chunk]] = self._struct({_ROW_GROUPS: (_LIST, self._groups)}).get(_ROW_GROUPS, [])
        return found

    def _groups(self) -> list[list[Chunk]]:
        wanted = {_COLUMNS: (_LIST, self._chunks)}
        return [self._struct(wanted)[_COLUMNS] for _ in range(self._count(_STRUCT))]

    def _chunks(self) -> list[Chunk]:
        column = {
            _ENCODINGS: (_LIST, self._encodings),
            _N_VALUES: (_I64, self._integer),
            _N_BYTES: (_I64, self._integer),
        }
        wanted = {_COLUMN: (_STRUCT, lambda: _chunk(self._struct(column))), _CRYPTO: (_STRUCT, self._encrypted)}
        return [self._struct(wanted)[_COLUMN] for _ in range(self._count(_STRUCT))]

    def _encodings(self) -> list[int]:
        if (size := self._count(_I32)) > _MOST_ENCODINGS:
            raise ValueError(f"a column has {size} encodings")
        return [self._integer() for _ in range(size)]

    def _encrypted(self) -> None:
        raise ValueError("a column is encrypted")

    def _count(self, wanted: int) -> int:
        """Return the number of values of a list; they are of the kind `wanted`."""
        size, kind = self._list_head()
        if kind != wanted and size:
            raise ValueError(f"a list has values of kind {kind}")
        return size

    def _struct(self, wanted: Mapping[int, tuple[int, Callable[[], Any]]]) -> dict[int, Any]:
        """Return fields of a struct; others are skipped.

        Arrow skips a field of another kind, and takes the last of two. Both are refused here.
        """
        self._n_structs -= 1
        if self._n_structs < 0:
            raise ValueError("it has too many groups of rows, or columns of groups")
        found: dict[int, Any] = {}
        seen: set[int] = set()
        content, field = self._content, 0
        while head := content[self._at]:
            self._at += 1
            field = field + (head >> 4) if head > 15 else self._integer()
            kind = head & 15
            expected, read = wanted.get(field, (kind, None))
            # Arrow counts fields in 16 bits.
            if not 0 < field < 1 << 15 or field in seen or kind != expected:
                raise ValueError(f"field {field} has kind {kind}, or is there twice")
            seen.add(field)
            if read is not None:
                found[field] = read()
            elif kind in _INTEGERS:
                self._skip_integers(1)
            else:
                self._skip(kind, 0)
        self._at += 1
        return found

    def _skip(self, kind: int, depth: int) -> None:
        """Skip a value of a struct."""
        self._n_values -= 1
        if depth > _MOST_DEPTH or self._n_values < 0:
            raise ValueError("it has too many or too deep values")
        if kind == _STRUCT:
            self._skip_struct(depth)
        elif kind in _LISTS:
            self._skip_values(*self._list_head(), depth)
        elif kind in _INTEGERS:
            self._skip_integers(1)
        elif kind == _BINARY:
            self._skip_binaries(1)
        elif kind in _SIZES:
            self._at += _SIZES[kind] if kind > 2 else 0
        else:
            raise ValueError(f"a field has kind {kind}")

    def _skip_struct(self, depth: int) -> None:
        content, at = self._content, self._at
        while head := content[at]:
            at += 1
            if head < 16:
                while content[at] > 127:
                    at += 1
                at += 1
            kind = head & 15
            if kind in _INTEGERS:
                while content[at] > 127:
                    at += 1
                at += 1
            elif kind > 2:
                self._at = at
                self._skip(kind, depth + 1)
                at = self._at
        self._at = at + 1

    def _skip_values(self, size: int, kind: int, depth: int) -> None:
        """Skip the values of a list."""
        if kind in _SIZES:
            self._at += size * _SIZES[kind]
        elif kind in _INTEGERS:
            self._skip_integers(size)
        elif kind == _BINARY:
            self._skip_binaries(size)
        elif kind == _STRUCT:
            for _ in range(size):
                self._skip(kind, depth + 1)
        elif size:
            # No list of the format has lists or maps.
            raise ValueError(f"a list has values of kind {kind}")

    def _skip_integers(self, size: int) -> None:
        content, at = self._content, self._at
        for _ in range(size):
            while content[at] > 127:
                at += 1
            at += 1
        self._at = at

    def _skip_binaries(self, size: int) -> None:
        content, at = self._content, self._at
        for _ in range(size):
            length = content[at]
            at += 1
            if length > 127:
                self._at = at - 1
                length = self._varint()
                at = self._at
            at += length
        self._at = at

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        size = head >> 4
        return self._varint() if size == 15 else size, head & 15

    def _byte(self) -> int:
        value = self._content[self._at]
        self._at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 127:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
