"""Markets of files that a command has read, for the next command.

An entry is found by the content of the file, its name, the options and the code of the readers. It states this key and
its own digest: a damaged entry, or one of another file, is not used. `OPENOUTCRY_CACHE` names another folder, or is
`off`. A folder or entry that another user can write is not used; a program with the rights of the user can write them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from openoutcry import openoutcry_py as native
from openoutcry.untrusted.terminal import echo

VARIABLE = "OPENOUTCRY_CACHE"
# Smaller files are parsed at once.
SMALLEST = 1 << 18
MOST_ENTRIES, MOST_BYTES = 32, 1 << 30
_SUFFIX = ".entry"
_PART = 1 << 20
# An entry is a file: a link leads elsewhere, and a pipe would wait for a writer.
_OPENED = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


class Imported(NamedTuple):
    """A market of a file.

    Attributes:
        core: The market.
        notices: Caveats found while reading.
        described: Pairs of what was read and what it was taken for.
    """

    core: native.Dataset
    notices: tuple[str, ...]
    described: tuple[tuple[str, str], ...] = ()


def cached(path: Path, options: str, read: Callable[[], Imported]) -> Imported:
    """Return what `read` returns for a file, from the cache if it is there.

    Args:
        path: The file.
        options: Everything else that the market depends on.
        read: Reader of the file, which is called if no entry is valid.

    Raises:
        OSError: the file cannot be read. A folder that cannot be written is not used.
    """
    place = folder()
    before = path.stat()
    if place is None or before.st_size < SMALLEST or not path.is_file() or not _is_safe(place):
        return read()
    key = _key(path, options)
    entry = place / f"{key}{_SUFFIX}"
    found = _load(entry, key)
    if found is not None:
        return found
    market = read()
    after = path.stat()
    # A file that has changed since its digest was taken is not the one that was read.
    if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
        with contextlib.suppress(OSError):
            _store(entry, key, market)
    return market


def folder() -> Path | None:
    """Return the folder of the cache, or None if it is off."""
    stated = os.environ.get(VARIABLE, "")
    if stated:
        return None if stated.lower() == "off" else Path(stated)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (base if base.is_absolute() else Path.home() / ".cache") / "openoutcry"
    except RuntimeError:
        # The user has no home.
        return None


def _key(path: Path, options: str) -> str:
    digest = hashlib.sha256(json.dumps([path.name, options, _readers()]).encode())
    with path.open("rb") as file:
        while part := file.read(_PART):
            digest.update(part)
    return digest.hexdigest()


@cache
def _readers() -> list[list[object]]:
    """Return the versions of the readers, and the state of their files."""
    files = [*Path(__file__).parent.rglob("*.py"), Path(native.__file__)]
    stats = [(file, file.stat()) for file in sorted(files)]
    versions: list[object] = [native.ENGINE_VERSION, native.CONTRACT_VERSION]
    return [versions, *([file.name, stat.st_size, stat.st_mtime_ns] for file, stat in stats)]


def _is_safe(place: Path) -> bool:
    """Return whether only the user can write into a folder; say so if others can."""
    try:
        is_private = _is_private(place.stat())
    except OSError:
        # It does not exist yet, or cannot be used.
        return True
    if not is_private:
        _say_unsafe(place)
    return is_private


@cache
def _say_unsafe(place: Path) -> None:
    hint = f"hint: `chmod go-w {place}`, or set {VARIABLE} to a folder of your own, or to `off`"
    echo(f"the cache is not used: other users can write '{place}'; {hint}", err=True)


def _is_private(found: os.stat_result) -> bool:
    # Windows has no such rights; a home is that of its user there.
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def _content(entry: Path) -> bytes:
    """Return the content of an entry; none if it is no file of the user."""
    with os.fdopen(os.open(entry, _OPENED), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not _is_private(found) or found.st_size > MOST_BYTES:
            return b""
        os.utime(entry)
        return file.read()


def _load(entry: Path, key: str) -> Imported | None:
    """Return the market of an entry; None if it is absent, damaged or another's."""
    try:
        content = _content(entry)
    except OSError:
        return None
    stated, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != stated:
        return None
    head, _, market = body.partition(b"\n")
    try:
        of, notices, described = _checked_head(json.loads(head))
        core = native.Dataset.from_bytes(market)
    except (ValueError, RecursionError):
        return None
    return Imported(core, notices, described) if of == key else None


def _checked_head(head: Any) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return key, notices and pairs of an entry; ValueError for another form."""
    of, notices, described = head if isinstance(head, list) and len(head) == 3 else ("", None, None)
    if not isinstance(notices, list) or not isinstance(described, list):
        raise ValueError("no head of an entry")
    pairs = [tuple(pair) if isinstance(pair, list) and len(pair) == 2 else (None, None) for pair in described]
    if not all(isinstance(text, str) for text in (of, *notices, *(text for pair in pairs for text in pair))):
        raise ValueError("no texts in the head of an entry")
    return of, tuple(notices), tuple((what, taken) for what, taken in pairs)


def _store(entry: Path, key: str, found: Imported) -> None:
    body = json.dumps([key, found.notices, found.described]).encode() + b"\n" + found.core.to_bytes()
    stated = hashlib.sha256(body).hexdigest().encode() + b"\n"
    size = len(stated) + len(body)
    if size > MOST_BYTES:
        return
    entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _make_room(entry.parent, size)
    handle, name = tempfile.mkstemp(dir=entry.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(stated)
            file.write(body)
        # Readers see the whole entry or none.
        Path(name).replace(entry)
    except OSError:
        Path(name).unlink()
        raise


def _make_room(place: Path, size: int) -> None:
    """Delete the least recently used entries until another one fits."""
    entries = [(file.stat().st_mtime_ns, file.stat().st_size, file) for file in place.glob(f"*{_SUFFIX}")]
    entries.sort(reverse=True)
    for number, (_, length, file) in enumerate(entries, 1):
        size += length
        if number >= MOST_ENTRIES or size > MOST_BYTES:
            file.unlink(missing_ok=True)
