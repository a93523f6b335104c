"""Markets of files that a command has read, for the next command.

An entry is found by the content of the file, its name, the options and the code of the readers. It states its own
digest: a damaged entry is read from the file again. `OPENOUTCRY_CACHE` names another folder, or is `off`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from openoutcry import openoutcry_py as native

VARIABLE = "OPENOUTCRY_CACHE"
# Smaller files are parsed at once.
SMALLEST = 1 << 18
MOST_ENTRIES, MOST_BYTES = 32, 1 << 30
_SUFFIX = ".entry"
_PART = 1 << 20


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
    if place is None or before.st_size < SMALLEST or not path.is_file():
        return read()
    entry = place / f"{_key(path, options)}{_SUFFIX}"
    found = _load(entry)
    if found is not None:
        return found
    market = read()
    after = path.stat()
    # A file that has changed since its digest was taken is not the one that was read.
    if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
        with contextlib.suppress(OSError):
            _store(entry, market)
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


def _load(entry: Path) -> Imported | None:
    """Return the market of an entry, or None if it is absent or damaged."""
    try:
        content = entry.read_bytes()
        os.utime(entry)
    except OSError:
        return None
    stated, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != stated:
        return None
    head, _, market = body.partition(b"\n")
    try:
        notices, described = json.loads(head)
        core = native.Dataset.from_bytes(market)
    except (ValueError, native.OpenOutcryError):
        return None
    return Imported(core, tuple(notices), tuple((what, taken) for what, taken in described))


def _store(entry: Path, found: Imported) -> None:
    body = json.dumps([found.notices, found.described]).encode() + b"\n" + found.core.to_bytes()
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
