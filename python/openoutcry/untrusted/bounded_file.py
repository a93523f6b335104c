"""Read a file up to a limit of its size, and refuse named pipes and devices.

A named pipe may never have a writer, and a device such as `/dev/zero` never ends. Standard input and the pipes of the
shell, `/dev/stdin` and `<(command)`, are read: this process has them open already.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from openoutcry.errors import OpenOutcryError, refusal

KEY_BYTES = 4096
"""Largest file of a key or a secret."""
DOCUMENT_BYTES = 64 << 20
"""Largest JSON file of settings: a suite, keys of markets, a scenario, decisions, proposals or a report."""
RECORD_BYTES = 1 << 30
"""Largest record of a run."""
_PART = 1 << 20


def open_file(path: str | os.PathLike[str], what: str, slug: str = "argument_invalid") -> BinaryIO:
    """Open a file for reading bytes.

    Args:
        path: The file.
        what: What must be a file, for the error message.
        slug: Slug of the error.

    Raises:
        OpenOutcryError: the path is a named pipe, a device or a socket.
        OSError: the file cannot be opened.
    """
    before = check_kind(path, what, slug)
    # Without O_NONBLOCK, a pipe that takes the place of the file now would block.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, "Is a directory", os.fspath(path))
        if not stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) != (before.st_dev, before.st_ino):
            raise _refused(found, path, what, slug)
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_kind(path: str | os.PathLike[str], what: str, slug: str = "argument_invalid") -> os.stat_result:
    """Return the status of a path, which is not opened; see `open_file`.

    Raises:
        OpenOutcryError: the path is a named pipe, a device or a socket.
        OSError: there is no such path.
    """
    try:
        found = Path(path).stat()
    except UnicodeEncodeError as error:
        raise refusal(slug, f"{what} must be a file; received {os.fspath(path)!r}, which is no file name") from error
    if not _is_allowed(found):
        raise _refused(found, path, what, slug)
    return found


def read_bytes(path: str | os.PathLike[str], most: int, what: str, slug: str = "argument_invalid") -> bytes:
    """Return the content of a file of at most `most` bytes; see `open_file`.

    Raises:
        OpenOutcryError: the file is larger, or is a named pipe, a device or a socket.
        OSError: the file cannot be read.
    """
    with open_file(path, what, slug) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(f"'{path}'", most, what, slug)
        return read_stream(file, most, f"'{path}'", what, slug)


def read_text(path: str | os.PathLike[str], most: int, what: str, slug: str = "argument_invalid") -> str:
    """Return the UTF-8 text of a file of at most `most` bytes; see `read_bytes`.

    Raises:
        UnicodeDecodeError: the content is not UTF-8.
    """
    return read_bytes(path, most, what, slug).decode("utf-8")


def read_input(path: str | os.PathLike[str], most: int, what: str) -> bytes:
    """Return the content of a file, or of standard input for `-`; see `read_bytes`."""
    if os.fspath(path) == "-":
        return read_stream(sys.stdin.buffer, most, "standard input", what)
    return read_bytes(path, most, what)


def check_folder(folder: str | os.PathLike[str], what: str) -> None:
    """Refuse a folder that contains a pipe or a device.

    Raises:
        OpenOutcryError: `argument_invalid`: the folder, or one below it, contains another thing than a file or folder.
    """
    for each in Path(folder).rglob("*"):
        if each.exists() and not _is_plain(found := each.stat()):
            raise _refused(found, each, f"an entry of {what}", "argument_invalid")


def sha256_of(path: str | os.PathLike[str], what: str) -> str:
    """Return the SHA-256 of a file in hexadecimal; see `open_file`."""
    digest = hashlib.sha256()
    with open_file(path, what) as file:
        while part := file.read(_PART):
            digest.update(part)
    return digest.hexdigest()


def lines_of(file: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield the lines of an open file; a line of more than `longest` bytes in parts."""
    while line := file.readline(longest):
        yield line


def read_stream(file: BinaryIO, most: int, name: str, what: str, slug: str = "argument_invalid") -> bytes:
    """Return the rest of an open file of at most `most` bytes.

    Raises:
        OpenOutcryError: there is more.
    """
    content = io.BytesIO()
    while part := file.read(min(_PART, most + 1 - content.tell())):
        content.write(part)
        if content.tell() > most:
            raise _too_large(name, most, what, slug)
    # Without a copy.
    return content.getvalue()


def is_inherited(found: os.stat_result) -> bool:
    """Return whether this process has a file open, such as standard input."""
    try:
        descriptors = [each.name for each in Path("/dev/fd").iterdir()]
    except OSError:
        return False
    for name in descriptors:
        # The descriptor of the listing is closed by now.
        with suppress(OSError, ValueError):
            other = os.fstat(int(name))
            if (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino):
                return True
    return False


def _is_plain(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)


def _is_allowed(found: os.stat_result) -> bool:
    return _is_plain(found) or is_inherited(found)


def _refused(found: os.stat_result, path: str | os.PathLike[str], what: str, slug: str) -> OpenOutcryError:
    kind = "a named pipe" if stat.S_ISFIFO(found.st_mode) else "a device or a socket"
    received = f"'{os.fspath(path)}', which is {kind}"
    return refusal(slug, f"{what} must be a file; received {received}; hint: write it to a file first")


def _too_large(name: str, most: int, what: str, slug: str) -> OpenOutcryError:
    return refusal(slug, f"{what} must have at most {most:,} bytes; received more in {name}")
