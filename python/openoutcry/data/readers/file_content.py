"""Content of a market file: decompression, encoding and binary formats."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openoutcry.data.readers import text_encoding, workbook
from openoutcry.data.readers.frame_table import table_of
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

# A file of 100 MB of prices decompresses to less than this.
MAX_BYTES = 4 << 30
_BINARY = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather", b"\xd0\xcf\x11\xe0": "Excel 97"}
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_ZIP = b"PK\x03\x04"


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
    """Return the text of bytes and its encoding; see `text_encoding.decoded`.

    Raises:
        OpenOutcryError: `field_unparsable`: the content is binary, or its encoding is unknown.
    """
    kind = next((kind for magic, kind in _BINARY.items() if content.startswith(magic)), None)
    if kind is not None:
        raise refusal("field_unparsable", f"a text file is required; received {name!r}, which is {kind}")
    if b"\0" in content[:4096] and not content.startswith(text_encoding.UTF_16):
        raise refusal("field_unparsable", f"a text file is required; received {name!r}, which is binary")
    return text_encoding.decoded(content, name)


def frame_table(content: bytes, path: Path) -> TextTable | None:
    """Return the table of a Parquet, Feather or Excel file, else None.

    Raises:
        ModuleNotFoundError: the extra that reads the format is not installed.
        OpenOutcryError: `field_unparsable`: the file is damaged.
    """
    kind = next((kind for magic, kind in _BINARY.items() if content.startswith(magic)), None)
    if kind in ("Parquet", "Feather"):
        return table_of(_arrow_table(content, kind, path.name))
    if content.startswith(_ZIP):
        return workbook.table_of(content, path.name)
    return None


def _arrow_table(content: bytes, kind: str, name: str) -> Any:
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[parquet]`", name=error.name) from error
    read = parquet.read_table if kind == "Parquet" else feather.read_table
    try:
        return read(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise refusal("field_unparsable", f"a complete {kind} file is required; received {name!r}: {error}") from error


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
