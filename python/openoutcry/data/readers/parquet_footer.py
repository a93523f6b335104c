"""Footer of a Parquet file, read without a library.

The metadata of a damaged column ends the process in Arrow's C++, where no exception is caught. This module finds the
damages that do.

Source: the Thrift compact protocol, and parquet.thrift of the Apache Parquet format.
"""

from __future__ import annotations

import struct
from typing import Any

_MAGIC, _MOST_DEPTH = b"PAR1", 16
# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and SizeStatistics.
_SCHEMA, _ROW_GROUPS, _COLUMNS, _COLUMN, _SIZES = 2, 4, 1, 3, 16
_ENCRYPTION, _REPETITION_LEVELS, _DEFINITION_LEVELS = 8, 2, 3
# Fields of SchemaElement, and values of its repetition.
_REPETITION, _N_CHILDREN = 3, 5
_OPTIONAL, _REPEATED = 1, 2


def column_damage(content: bytes) -> str:
    """Return why Arrow cannot make the metadata of some column, or an empty text.

    A footer that is damaged otherwise has no reason here: Arrow refuses it.

    Args:
        content: At least the footer of the file, with all bytes after it.
    """
    try:
        footer = _footer(content)
        levels = _levels(footer[_SCHEMA])
        for group in footer.get(_ROW_GROUPS, []):
            for chunk, (repetition, definition) in zip(group[_COLUMNS], levels, strict=False):
                if _ENCRYPTION in chunk:
                    return "a column is encrypted"
                sizes = chunk.get(_COLUMN, {}).get(_SIZES, {})
                for name, field, level in (
                    ("repetition", _REPETITION_LEVELS, repetition),
                    ("definition", _DEFINITION_LEVELS, definition),
                ):
                    if (found := len(sizes.get(field, []))) not in {0, level + 1}:
                        return f"a column has {found} sizes of {name} levels instead of {level + 1}"
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error):
        return ""
    return ""


def footer_size(end: bytes) -> int:
    """Return the size of footer, length and magic at the end of a file.

    It is 0 for another file.
    """
    if len(end) < 8 or end[-4:] != _MAGIC:
        return 0
    return int.from_bytes(end[-8:-4], "little") + 8


def _footer(content: bytes) -> dict[int, Any]:
    size = footer_size(content)
    if not 8 < size <= len(content):
        raise ValueError(size)
    return _Compact(content[-size:-8]).struct(0)


def _levels(schema: list[dict[int, Any]]) -> list[tuple[int, int]]:
    """Return the highest repetition and definition level of each column."""
    found, place = [], 0

    def visit(repetition: int, definition: int, depth: int) -> None:
        nonlocal place
        element = schema[place]
        place += 1
        if depth > 0:
            kind = element.get(_REPETITION, 0)
            repetition, definition = repetition + (kind == _REPEATED), definition + (kind in {_OPTIONAL, _REPEATED})
        if depth > _MOST_DEPTH:
            raise ValueError(depth)
        if n_children := element.get(_N_CHILDREN, 0):
            for _ in range(n_children):
                visit(repetition, definition, depth + 1)
        else:
            found.append((repetition, definition))

    visit(0, 0, 0)
    return found


class _Compact:
    """Reader of the Thrift compact protocol: structs as dicts by field number."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Return the fields of a struct."""
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            found[field] = self._value(head & 15, depth + 1)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MOST_DEPTH:
            raise ValueError(depth)
        if kind in {1, 2}:
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in {4, 5, 6}:
            return self._integer()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in {9, 10}:
            return self._list(depth)
        if kind == 12:
            return self.struct(depth)
        raise ValueError(kind)

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4
        if size == 15:
            size = self._varint()
        if size > len(self._content):
            raise ValueError(size)
        kind = head & 15
        # A truth in a list is a byte of its own.
        return [self._byte() == 1 if kind in {1, 2} else self._value(kind, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        value = self._content[self._at]
        self._at += 1
        return value

    def _bytes(self, size: int) -> bytes:
        if size > len(self._content) - self._at:
            raise ValueError(size)
        self._at += size
        return self._content[self._at - size : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError(shift)

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
