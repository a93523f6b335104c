"""Content of a market file: decompression, text encoding, and tables of rows."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal

# A file of 100 MB of prices decompresses to less than this.
MAX_BYTES = 4 << 30
_BINARY = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather", b"\xd0\xcf\x11\xe0": "Excel 97"}
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_ZIP = b"PK\x03\x04"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def file_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed: gzip, bzip2, xz or zip.

    Raises:
        OpenOutcryError: `field_unparsable`: the archive is damaged, holds several files or is too large.
    """
    with path.open("rb") as file:
        start = file.read(8)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    try:
        if opener is not None:
            with opener(path, "rb") as file:
                return _limited(file.read(MAX_BYTES + 1), path)
        if start.startswith(_ZIP) and not _is_workbook(path):
            return _unzipped(path)
    except (EOFError, OSError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error) as error:
        message = f"a complete archive is required; received {path.name!r}: {error}"
        raise refusal("field_unparsable", message) from error
    return path.read_bytes()


def text_of(content: bytes, name: str) -> tuple[str, str]:
    """Return the text of bytes and its encoding: UTF-8, UTF-16 or Windows-1252.

    Raises:
        OpenOutcryError: `field_unparsable`: the content is binary.
    """
    kind = next((kind for magic, kind in _BINARY.items() if content.startswith(magic)), None)
    if kind is not None:
        raise refusal("field_unparsable", f"a text file is required; received {name!r}, which is {kind}")
    if content.startswith(_UTF_16):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    if b"\0" in content[:4096]:
        raise refusal("field_unparsable", f"a text file is required; received {name!r}, which is binary")
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "Windows-1252"


def json_rows(text: str) -> tuple[list[str], list[list[Any]]] | None:
    """Return column names and rows of a JSON text, or None if the text is not JSON.

    Accepts a list of objects, a list of rows without names (names are then empty), and an object of columns.

    Raises:
        OpenOutcryError: `field_unparsable`: the JSON has another shape.
    """
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        # Numbers stay texts, so that no digit is lost before the columns are known.
        value = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise refusal("field_unparsable", f"valid JSON is required; received an error: {error}") from error
    if isinstance(value, dict):
        lists = {name: column for name, column in value.items() if isinstance(column, list)}
        if len(lists) == len(value) and len({len(column) for column in lists.values()}) == 1:
            return list(lists), [list(row) for row in zip(*lists.values(), strict=True)]
    elif value and all(isinstance(row, dict) for row in value):
        names = list(dict.fromkeys(name for row in value for name in row))
        if len(names) * len(value) > 4 * sum(map(len, value)) + 10_000:
            message = f"objects with the same keys are required; received {len(names)} keys in {len(value)} objects"
            raise refusal("field_unparsable", message)
        return names, [[row.get(name) for name in names] for row in value]
    elif value and all(isinstance(row, list) and len(row) == len(value[0]) > 1 for row in value):
        return [], value
    raise refusal("field_unparsable", "a JSON list of objects or of equal rows is required; received another shape")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise refusal("field_unparsable", f"keys of an object must be unique; received {twice!r} twice")
    return found


def frame_rows(content: bytes, path: Path) -> tuple[list[str], list[list[Any]]] | None:
    """Return names and rows of a Parquet, Feather or Excel file, else None.

    Raises:
        ModuleNotFoundError: the extra that reads the format is not installed.
        OpenOutcryError: `field_unparsable`: the file is damaged.
    """
    kind = next((kind for magic, kind in _BINARY.items() if content.startswith(magic)), None)
    if kind in ("Parquet", "Feather"):
        return _arrow_rows(content, kind, path.name)
    if content.startswith(_ZIP):
        return _workbook_rows(content, path.name)
    return None


def _arrow_rows(content: bytes, kind: str, name: str) -> tuple[list[str], list[list[Any]]]:
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[parquet]`", name=error.name) from error
    read = parquet.read_table if kind == "Parquet" else feather.read_table
    try:
        table = read(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise refusal("field_unparsable", f"a complete {kind} file is required; received {name!r}: {error}") from error
    columns = [_arrow_texts(table.column(place)) for place in range(table.num_columns)]
    return list(table.column_names), [list(row) for row in zip(*columns, strict=True)]


def _arrow_texts(column: Any) -> list[str | None]:
    """Return values as texts: floats in full, times in ISO 8601."""
    zone = getattr(column.type, "tz", None)
    if zone is not None:
        from openoutcry.data.readers.date_text import zone_of

        home = zone_of(zone)
        return [None if value is None else value.astimezone(home).isoformat() for value in column.to_pylist()]
    values = column.to_pylist()
    return [
        None if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values
    ]


def _workbook_rows(content: bytes, name: str) -> tuple[list[str], list[list[Any]]]:
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[excel]`", name=error.name) from error
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    if len(book.sheetnames) != 1:
        message = f"a workbook of one sheet is required; received {', '.join(book.sheetnames)} in {name!r}"
        raise refusal("field_unparsable", message)
    rows = [["" if cell is None else cell for cell in row] for row in book.active.iter_rows(values_only=True)]
    texts = [[cell.isoformat() if hasattr(cell, "isoformat") else str(cell) for cell in row] for row in rows]
    texts = [row for row in texts if any(row)]
    return (texts[0], [list(row) for row in texts[1:]]) if texts else ([], [])


def _limited(content: bytes, path: Path) -> bytes:
    if len(content) > MAX_BYTES:
        raise refusal("dataset_too_large", f"at most {MAX_BYTES} bytes are required; received more in {path.name!r}")
    return content


def _is_workbook(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "[Content_Types].xml" in archive.namelist()


def _unzipped(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir() and "__MACOSX" not in entry.filename]
        if len(files) != 1:
            listed = ", ".join(entry.filename for entry in files[:5]) or "no file"
            message = f"a zip of one file is required; received {listed} in {path.name!r}"
            raise refusal("field_unparsable", f"{message}; hint: unpack it and name one of its files")
        with archive.open(files[0]) as file:
            return _limited(io.BytesIO(file.read(MAX_BYTES + 1)).getvalue(), path)
