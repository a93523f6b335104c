"""Size of the content of an Arrow file, from its metadata.

Nothing is decompressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_MAGIC = b"ARROW1"
# Numbers of fields in the tables of Arrow's flatbuffers.
_DICTIONARIES, _BATCHES = 2, 3
_HEADER_TYPE, _HEADER = 1, 2
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3
_DICTIONARY_BATCH = 2
# Bytes of a block of the footer, and of the place of a buffer.
_BLOCK, _BUFFER = 24, 16


class ArrowSize(NamedTuple):
    """Values and uncompressed bytes of an Arrow file."""

    n_values: int
    n_bytes: int


def size_of(content: bytes, most_bytes: int) -> ArrowSize:
    """Return the size of an Arrow file; the count stops above `most_bytes`.

    Raises:
        ValueError: the metadata is damaged.
    """
    n_values = n_bytes = n_buffers = 0
    try:
        for offset, metadata in _blocks(content):
            length, buffers = _batch(content, offset)
            n_values += length
            for place, size, is_compressed in buffers:
                n_bytes += _uncompressed(content, offset + metadata + place, size) if is_compressed else size
                n_buffers += 1
            # Many blocks may name the same buffers.
            if max(8 * n_values, n_bytes) > most_bytes or n_buffers * _BUFFER > len(content):
                return ArrowSize(n_values, max(n_bytes, most_bytes + 1))
    except (struct.error, IndexError) as error:
        raise ValueError(f"the metadata is damaged: {error}") from error
    return ArrowSize(n_values, n_bytes)


def _blocks(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the offset of each message, and the size of its metadata."""
    if not content.endswith(_MAGIC):
        raise ValueError("the end of the file is missing")
    (size,) = struct.unpack_from("<i", content, len(content) - len(_MAGIC) - 4)
    start = len(content) - len(_MAGIC) - 4 - size
    if size <= 0 or start < 0:
        raise ValueError("the size of the footer is invalid")
    footer = _pointed(content, start)
    for field in (_DICTIONARIES, _BATCHES):
        place, count = _vector(content, footer, field)
        for block in range(count):
            offset, metadata = struct.unpack_from("<qi", content, place + block * _BLOCK)
            yield offset, metadata


def _batch(content: bytes, offset: int) -> tuple[int, Iterator[tuple[int, int, bool]]]:
    """Return the values of a record batch, and its buffers.

    A buffer has a place, a size, and whether it is compressed.
    """
    (mark,) = struct.unpack_from("<i", content, offset)
    message = _pointed(content, offset + (8 if mark == -1 else 4))
    kind, batch = content[_field(content, message, _HEADER_TYPE)], _pointed(content, _field(content, message, _HEADER))
    batch = _pointed(content, _field(content, batch, 1)) if kind == _DICTIONARY_BATCH else batch
    at_length, (_, n_nodes) = _field(content, batch, _LENGTH), _vector(content, batch, _NODES)
    length = struct.unpack_from("<q", content, at_length)[0] if at_length else 0
    is_compressed = _field(content, batch, _COMPRESSION) != 0
    place, count = _vector(content, batch, _BUFFERS)
    found = (struct.unpack_from("<qq", content, place + number * _BUFFER) for number in range(count))
    return max(length, 0) * n_nodes, ((start, size, is_compressed) for start, size in found)


def _uncompressed(content: bytes, place: int, size: int) -> int:
    if size <= 0:
        return 0
    (found,) = struct.unpack_from("<q", content, place)
    return size if found < 0 else int(found)


def _field(content: bytes, table: int, number: int) -> int:
    """Return the place of a field of a table, 0 if it has none."""
    vtable = table - struct.unpack_from("<i", content, table)[0]
    (size,) = struct.unpack_from("<H", content, vtable)
    entry = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", content, vtable + entry) if entry < size else (0,)
    return table + offset if offset else 0


def _pointed(content: bytes, place: int) -> int:
    return place + int(struct.unpack_from("<I", content, place)[0])


def _vector(content: bytes, table: int, number: int) -> tuple[int, int]:
    """Return the place of the first element of a vector, and the number of elements."""
    field = _field(content, table, number)
    if not field:
        return 0, 0
    place = _pointed(content, field)
    return place + 4, struct.unpack_from("<I", content, place)[0]
