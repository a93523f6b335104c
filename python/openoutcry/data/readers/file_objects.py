"""File objects: their content is read once, and then like that of a file."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from openoutcry.arguments import is_file_object, path_of
from openoutcry.errors import OpenOutcryError, refusal

if TYPE_CHECKING:
    _Path = Path
else:
    # The class of this system, of which alone there are objects.
    _Path = type(Path())

MAX_BYTES = 4 << 30
_PART = 1 << 20
_DAMAGES = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


class Readable(Protocol):
    """A file object: text or bytes from its position on."""

    def read(self, size: int, /) -> str | bytes:
        """Return at most so many characters or bytes, none at the end."""


FileSource = str | os.PathLike[str] | Readable


class HeldFile(_Path):
    """Content of a file object, in the place of the path of a file.

    Attributes:
        content: The bytes. A text is in UTF-8.
    """

    content: bytes

    @property
    def stem(self) -> str:
        """The name up to its first dot."""
        return self.name.partition(".")[0]

    def open(self, *_: Any, **__: Any) -> Any:
        """Return a new file object of the content."""
        return io.BytesIO(self.content)

    def stat(self, **_: Any) -> os.stat_result:
        """Return the kind and size of a file."""
        return os.stat_result((stat.S_IFREG | 0o400, 0, 0, 0, 0, 0, len(self.content), 0, 0, 0))

    def is_file(self, **_: Any) -> bool:
        """Return that it is a file."""
        return True

    def is_dir(self, **_: Any) -> bool:
        """Return that it is no folder."""
        return False

    def __fspath__(self) -> str:
        # A file of this name is another one, or there is none.
        raise TypeError("a file object has no path")


def source_of(name: str, source: Any) -> Path:
    """Return a path; that of a file object holds its content.

    The object is read from its position to its end, and is not closed. Without a name, the name of the path begins with
    a dot, so that it has no stem.

    Raises:
        OpenOutcryError: `argument_invalid`: the argument is neither a path nor readable. `dataset_too_large`: there are
            more than 4 GiB. `field_unparsable`: it is an archive that is damaged.
    """
    if not is_file_object(source):
        return path_of(name, source)
    held = HeldFile(_name(source))
    held.content = _content(name, source, held.name)
    return held


def check_named(paths: Sequence[Path]) -> None:
    """Refuse file objects without names, which are those of their symbols.

    Raises:
        OpenOutcryError: `argument_invalid`: an object has no name.
    """
    for path in paths:
        if isinstance(path, HeldFile) and not path.stem:
            message = "file objects in a list must have a `name`, which names their symbol"
            raise refusal("argument_invalid", f"{message}; received a {path.name[1:]} without one")


def _name(source: Any) -> str:
    name = getattr(source, "name", None)
    try:
        found = Path(os.fsdecode(name)).name if isinstance(name, (str, bytes, os.PathLike)) else ""
    except UnicodeError:
        found = ""
    # Standard input is named <stdin>.
    return found if found and not found.startswith("<") else f".{type(source).__name__}"


def _content(name: str, source: Any, shown: str) -> bytes:
    content = io.BytesIO()
    received = f"received a {type(source).__name__}"
    try:
        while part := source.read(_PART):
            if not isinstance(part, (str, bytes, bytearray, memoryview)):
                message = f"`{name}.read` must return text or bytes; received {type(part).__name__}"
                raise refusal("argument_invalid", message)
            content.write(part.encode() if isinstance(part, str) else part)
            if content.tell() > MAX_BYTES:
                raise refusal("dataset_too_large", f"a file of prices must have at most 4 GiB; {received} with more")
    except OpenOutcryError:
        raise
    except UnicodeError as error:
        message = f"`{name}` must be a file of UTF-8 if it is opened as text; {received}: {error}"
        raise refusal("argument_invalid", f'{message}; hint: open it in bytes, `open(PATH, "rb")`') from error
    except io.UnsupportedOperation as error:
        message = f"`{name}` must be open for reading; {received}: {error}"
        raise refusal("argument_invalid", f'{message}; hint: `open(PATH, "rb")`') from error
    except _DAMAGES as error:
        message = f"a complete archive is required; received {shown!r}: {error}"
        raise refusal("field_unparsable", f"{message}; hint: download it again") from error
    except ValueError as error:
        if not getattr(source, "closed", False):
            raise
        raise refusal("argument_invalid", f"`{name}` must be an open file; {received} that is closed") from error
    if not content.tell():
        hint = "hint: `.seek(0)` if it was written or read before"
        raise refusal(
            "dataset_too_small", f"`{name}` must have content after its position; {received} at its end; {hint}"
        )
    return content.getvalue()
