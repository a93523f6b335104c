"""Paths that no agent may read: under every name, and before they exist."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_LINKS = 40
"""Longest chain of symbolic links, as in the kernel."""


class HiddenPaths:
    """Hidden paths, compared by device and inode.

    Hard links, mounts and case-insensitive file systems give a file several names. A path that does not exist yet is
    compared by name.
    """

    def __init__(self, hidden: Iterable[str]) -> None:
        self._names = {name for each in hidden for name in names_of(each)}
        self._found = _identities(self._names)
        self._above = _identities(str(parent) for each in self._names for parent in Path(each).parents)

    def hides(self, path: str) -> bool:
        """Return whether a path itself is hidden."""
        return path in self._names or bool(_identities([path]) & self._found)

    def covers(self, path: str) -> bool:
        """Return whether a path is hidden or below a hidden one."""
        return any(self.hides(str(each)) for each in (path, *Path(path).parents))

    def is_within(self, path: str) -> bool:
        """Return whether a hidden path is below a path."""
        return bool(_identities([path]) & self._above)


def names_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the absolute names of a path: of each symbolic link and of its target.

    A program may replace a link by a file: its own name must be hidden, too.
    """
    names, at = [], os.fspath(path)
    for _ in range(_LINKS):
        folder, name = os.path.split(at)
        if name in ("", ".", ".."):
            break
        found = os.path.join(os.path.realpath(folder or "."), name)
        names.append(found)
        if not os.path.islink(found):
            break
        at = os.path.join(os.path.dirname(found), os.readlink(found))
    return list(dict.fromkeys([*names, os.path.realpath(path)]))


def hard_links(hidden: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Return the other names that hidden files have in some folders.

    The folders are searched only if a hidden file has several names.
    """
    linked = {
        (status.st_dev, status.st_ino)
        for path in hidden
        for each in _files(path)
        if (status := _status(each)) is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    }
    return [path for folder in folders for path in _files(folder) if _identities([path]) & linked] if linked else []


def _files(path: str) -> Iterator[str]:
    """Yield a file, or all files below a folder."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, _, names in os.walk(path):
        for name in names:
            yield os.path.join(folder, name)


def _status(path: str) -> os.stat_result | None:
    with suppress(OSError):
        return os.lstat(path)
    return None


def _identities(paths: Iterable[str]) -> set[tuple[int, int]]:
    found = set()
    for each in paths:
        with suppress(OSError):
            status = os.stat(each)
            found.add((status.st_dev, status.st_ino))
    return found
