"""Content of a market file: decompression, encoding and binary formats."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from openoutcry.data.readers import arrow_size, parquet_size, text_encoding, workbook
from openoutcry.data.readers.file_objects import MAX_BYTES, HeldFile
from openoutcry.data.readers.frame_table import table_of
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.untrusted.bounded_file import read_bytes

# Prices compress by 10 to 30; minutes of one constant price by 30 with gzip and 150 with xz.
SMALL_BYTES, LARGE_BYTES = 64 << 20, 1 << 30
_MOST_RATIO, _LARGE_RATIO = 200, 30
_PART = 1 << 20
_BINARY = {b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather", b"\xd0\xcf\x11\xe0": "Excel 97"}
_FEATHER_1 = b"FEA1"
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
# The names within a damaged zip may be empty or no text.
_DAMAGES = (
    EOFError, IndexError, OSError, RuntimeError, UnicodeDecodeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_ZIP, _WORKBOOK = b"PK\x03\x04", "[Content_Types].xml"
_OTHER_ENCODINGS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32"}


def file_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed: gzip, bzip2, xz or zip.

    Raises:
        OpenOutcryError: `field_unparsable`: the archive is damaged, holds several files or is too large.
    """
    check_regular(path)
    with path.open("rb") as file:
        start = file.read(8)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    try:
        if opener is not None:
            return decompressed(path, opener)
        if start.startswith(_ZIP):
            with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
                if _WORKBOOK not in archive.namelist():
                    return _unzipped(archive, raw, path)
    except _DAMAGES as error:
        message = f"a complete archive is required; received {path.name!r}: {error}"
        raise refusal("field_unparsable", f"{message}; hint: download it again, or decompress it yourself") from error
    return plain_bytes(path)


def plain_bytes(path: Path) -> bytes:
    """Return the content of a file as it is.

    Raises:
        OpenOutcryError: `dataset_too_large`: the file has more than 4 GiB.
    """
    if isinstance(path, HeldFile):
        return path.content
    return read_bytes(path, MAX_BYTES, "a file of prices", "dataset_too_large")


def decompressed(path: Path, opener: Callable[..., Any] = gzip.open) -> bytes:
    """Return the content of a compressed file, up to a plausible size of prices.

    Raises:
        OpenOutcryError: `dataset_too_large`: there is more than a file of that size can hold.
    """
    with path.open("rb") as raw, opener(raw, "rb") as file:
        return _limited(file, raw, path)


def check_regular(path: Path) -> None:
    """Refuse a pipe or a device, which may never end and cannot be read again.

    Raises:
        OpenOutcryError: `field_unparsable`: the path is neither a file nor a folder.
        OSError: there is no such path.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
        message = f"a file of prices is required; received '{path}', which is {kind}"
        raise refusal("field_unparsable", f"{message}; hint: write it to a file first: `COMMAND > prices.csv`")


def text_of(content: bytes, name: str) -> tuple[str, str]:
    """Return the text of bytes and its encoding; see `text_encoding.decoded`.

    Raises:
        OpenOutcryError: `field_unparsable`: the content is binary, or its encoding is unknown.
    """
    kind = next((kind for magic, kind in (_BINARY | _OTHER_ENCODINGS).items() if content.startswith(magic)), None)
    if kind is not None:
        raise _no_text(name, kind)
    zeros = (
        [] if content.startswith(text_encoding.UTF_16) else [i % 2 for i, byte in enumerate(content[:4096]) if not byte]
    )
    if zeros:
        is_utf_16 = len(set(zeros)) == 1 and 3 * len(zeros) > len(content[:4096])
        little = "UTF-16LE" if zeros[0] else "UTF-16BE"
        raise _no_text(name, f"{little} without a byte order mark" if is_utf_16 else "binary")
    return text_encoding.decoded(content, name)


def _no_text(name: str, kind: str) -> OpenOutcryError:
    message = f"a text file is required; received {name!r}, which is {kind}"
    hint = "save it as CSV in UTF-8"
    if kind.startswith("UTF-"):
        hint = f"convert it: `iconv -f {kind.partition(' ')[0]} -t UTF-8 {name} > utf8.csv`"
    return refusal("field_unparsable", f"{message}; hint: {hint}")


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
        _check_workbook(content, path)
        return workbook.table_of(content, path.name)
    return None


def parquet_table_of(content: bytes, name: str) -> Any:
    """Return the Arrow table of the content of a Parquet file.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
        OpenOutcryError: `field_unparsable`: the content is damaged, or of another form.
    """
    return _arrow_table(content, "Parquet", name)


def _check_workbook(content: bytes, path: Path) -> None:
    """Refuse a workbook that is too large, and an archive within an archive."""
    with suppress(zipfile.BadZipFile, UnicodeDecodeError), zipfile.ZipFile(io.BytesIO(content)) as archive:
        if _WORKBOOK not in archive.namelist():
            message = f"one archive around a file is required; received a zip in {path.name!r}"
            raise refusal("field_unparsable", f"{message}; hint: unpack it and name its file")
        check_entries(archive, len(content), path)


def _arrow_table(content: bytes, kind: str, name: str) -> Any:
    try:
        import pyarrow
        from pyarrow import feather
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[parquet]`", name=error.name) from error
    try:
        if kind == "Parquet":
            limit = limit_of(len(content), name)
            columns = parquet_size.checked_columns([pyarrow.BufferReader(content)], limit)
            table = parquet_size.parquet_table(pyarrow.BufferReader(content), columns, limit)
        else:
            if not content.startswith(_FEATHER_1):
                _check_arrow(content, name)
            table = feather.read_table(pyarrow.BufferReader(content))
        # Codes and offsets of a damaged file lead to any place in memory.
        table.validate(full=True)
        return table
    except (pyarrow.ArrowException, OSError) as error:
        message = f"a complete {kind} file is required; received {name!r}: {str(error).splitlines()[0]}"
        raise refusal("field_unparsable", f"{message}; hint: download or write it again") from error


def check_entries(archive: zipfile.ZipFile, size: int, path: Path) -> None:
    """Refuse a zip that is much larger when it is decompressed.

    Raises:
        OpenOutcryError: `dataset_too_large`: it holds more than a file of that size can hold.
    """
    # No entry yields more bytes than it states.
    if sum(entry.file_size for entry in archive.infolist()) > (most := _most_bytes(size)):
        raise _too_large(most, path)


def _limited(file: IO[bytes], raw: IO[bytes], path: Path) -> bytes:
    """Return the content of an open archive; `raw` is the file that it is in."""
    most, content, is_counted = _most_bytes(path.stat().st_size), io.BytesIO(), False
    while part := file.read(_PART):
        content.write(part)
        n_bytes = content.tell()
        if n_bytes > most:
            raise _too_large(most, path)
        if not is_counted and n_bytes > max(SMALL_BYTES, _LARGE_RATIO * raw.tell()):
            # Prices compress less: count the rest before memory is taken for it.
            content = io.BytesIO()
            while part := file.read(_PART):
                if (n_bytes := n_bytes + len(part)) > most:
                    raise _too_large(most, path)
            is_counted = True
            file.seek(0)
    # Without a copy.
    return content.getvalue()


def parquet_parts(path: Path) -> tuple[list[Path], parquet_size.Limit]:
    """Return the files of a Parquet file or folder, and their limit.

    Files that pyarrow does not read, such as hidden ones, are left out.
    """
    from pyarrow import parquet

    check_regular(path)
    parts = [path] if path.is_file() else sorted(map(Path, parquet.ParquetDataset(path).files))
    for part in parts:
        check_regular(part)
    return parts, limit_of(sum(part.stat().st_size for part in parts), path.name)


def limit_of(size: int, name: str) -> parquet_size.Limit:
    """Return the limit of the content of Parquet files of `size` bytes."""
    return parquet_size.Limit(name, size, _most_bytes(size))


def _check_arrow(content: bytes, name: str) -> None:
    """Refuse an Arrow file that is much larger when it is decompressed.

    Raises:
        OpenOutcryError: `dataset_too_large`: the file holds more than a file of that size can hold.
            `field_unparsable`: its metadata is damaged.
    """
    most = _most_bytes(len(content))
    try:
        n_values, n_bytes = arrow_size.size_of(content, most)
    except ValueError as error:
        message = f"a complete Feather file is required; received {name!r}: {error}"
        raise refusal("field_unparsable", f"{message}; hint: download or write it again") from error
    if max(8 * n_values, n_bytes) > most:
        message = f"a Feather file of {len(content)} bytes must hold at most {most} bytes of prices"
        message += f"; received more in {name!r}"
        raise refusal("dataset_too_large", f"{message}; hint: leave out the columns that are not prices, or split it")


def _most_bytes(size: int) -> int:
    return min(max(SMALL_BYTES, min(_MOST_RATIO * size, LARGE_BYTES), _LARGE_RATIO * size), MAX_BYTES)


def _too_large(most: int, path: Path) -> OpenOutcryError:
    received = f"more in {path.name!r}, which has {path.stat().st_size} bytes"
    message = f"an archive of that size must hold at most {most} bytes of prices; received {received}"
    return refusal("dataset_too_large", f"{message}; hint: decompress it, and name the file that comes out")


def _unzipped(archive: zipfile.ZipFile, raw: IO[bytes], path: Path) -> bytes:
    files = [entry for entry in archive.infolist() if not entry.is_dir() and "__MACOSX" not in entry.filename]
    if len(files) != 1:
        listed = ", ".join(entry.filename for entry in files[:5]) or "no file"
        message = f"a zip of one file is required; received {listed} in {path.name!r}"
        raise refusal("field_unparsable", f"{message}; hint: unpack it and name one of its files")
    with archive.open(files[0]) as file:
        return _limited(file, raw, path)
