"""Locks of files between processes, with time limits and named holders."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from time import monotonic, sleep

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

VARIABLE = "OPENOUTCRY_LOCK_SECONDS"
LOCK_SECONDS = 60.0
"""Longest wait for a lock, unless the environment variable states another one."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_NOTE_BYTES = 300
_NOTE = re.compile(rb"([1-9]\d{0,9}) ([A-Za-z0-9._-]{1,253})\n")
# Fields of a held lock; a waiting process has `->` after the number.
_HELD = re.compile(r"^\d+: \S+ +\S+ +\S+ (-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ", re.MULTILINE)


def lock_seconds() -> float:
    """Return the longest wait for a lock.

    Raises:
        OpenOutcryError: `argument_invalid`: the environment variable is not a number from 0 on.
    """
    stated = os.environ.get(VARIABLE, "")
    if not stated:
        return LOCK_SECONDS
    with suppress(ValueError):
        seconds = float(stated)
        if isfinite(seconds) and seconds >= 0.0:
            return seconds
    raise refusal("argument_invalid", f"`{VARIABLE}` must be a number of seconds from 0 on; received {stated!r}")


def lock_descriptor(descriptor: int, path: Path, wanted: str = "", seconds: float | None = None) -> None:
    """Lock an open file against all other processes, until it is unlocked or closed.

    Windows has no such locks: nothing is locked there.

    Args:
        descriptor: The open file.
        path: Its path, for the error.
        wanted: What is required, for the error.
        seconds: Longest wait; by default `lock_seconds`.

    Raises:
        OpenOutcryError: `argument_invalid`: another process holds the lock for the whole time.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        return
    seconds = lock_seconds() if seconds is None else seconds
    deadline, pause = monotonic() + seconds, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            left = deadline - monotonic()
            if left <= 0.0:
                raise _held(path, wanted, seconds) from error
        sleep(min(pause, left))
        pause = min(2.0 * pause, _LONGEST_PAUSE)


def unlock_descriptor(descriptor: int) -> None:
    """Release the lock of an open file."""
    with suppress(ModuleNotFoundError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def lock_file(path: Path, wanted: str = "", seconds: float | None = None) -> Iterator[None]:
    """Hold the lock of a file that has no other purpose; it is created if missing.

    The file names its holder, for other machines and for systems that do not tell who holds a lock. A file with other
    content keeps it.

    Raises:
        OpenOutcryError: `argument_invalid`: another process holds the lock for the whole time, or the path is no file
            that can be written.
    """
    descriptor = _opened(path)
    try:
        lock_descriptor(descriptor, path, wanted, seconds)
        _write_note(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())
        try:
            yield
        finally:
            _write_note(descriptor, b"")
    finally:
        os.close(descriptor)


def holder_of(*paths: Path) -> str:
    """Return who holds a lock of one of some files, as text."""
    for path in paths:
        found = _local_holder(path) or _noted_holder(path)
        if found:
            return found
    return "a process that the system does not name"


def _opened(path: Path) -> int:
    """Open the file of a lock: no link, which may lead to a file with content."""
    flags = os.O_RDWR | os.O_CREAT | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
    kind = "no regular file"
    try:
        descriptor = os.open(path, flags, 0o644)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    except OSError as error:
        if path.is_symlink():
            kind = "a symbolic link"
        elif isinstance(error, (IsADirectoryError, PermissionError)):
            kind = str(error.strerror)
        else:
            raise
    wanted = "a lock must be a file that can be written, and no link"
    raise refusal("argument_invalid", f"{wanted}; received '{path}': {kind}; hint: remove it, or choose another folder")


def _held(path: Path, wanted: str, seconds: float) -> OpenOutcryError:
    hint = "hint: wait for that process, or end it"
    if not wanted:
        wanted = f"a lock must be free within {seconds:g} s"
        hint += f"; `{VARIABLE}` states another time"
    return refusal("argument_invalid", f"{wanted}; received '{path}', which {holder_of(path)} holds; {hint}")


def _write_note(descriptor: int, note: bytes) -> None:
    # A full disk must not prevent a lock.
    with suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        content = os.read(descriptor, _NOTE_BYTES)
        if content and not _NOTE.fullmatch(content):
            # A file of the user with the name of a lock.
            return
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, note)


def _local_holder(path: Path) -> str:
    """Return the process of this machine that holds a lock, as Linux lists it."""
    try:
        status = path.stat()
        listed = Path("/proc/locks").read_text("ascii")
    except OSError:
        return ""
    file = os.major(status.st_dev), os.minor(status.st_dev), status.st_ino
    for process, major, minor, inode in _HELD.findall(listed):
        # A process of an outer namespace has the number 0, and a lock without a process -1.
        if (int(major, 16), int(minor, 16), int(inode)) == file and int(process) > 0:
            return f"process {process}{_name_of(process)} on this machine"
    return ""


def _name_of(process: str) -> str:
    try:
        name = Path(f"/proc/{process}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        # It passed the lock on to a child.
        return ", which has ended,"
    return f" ({name})" if name.isprintable() else ""


def _noted_holder(path: Path) -> str:
    try:
        # A pipe would wait for a writer.
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            note = _NOTE.fullmatch(file.read(_NOTE_BYTES))
    except OSError:
        return ""
    return f"process {note[1].decode()} on {note[2].decode()}" if note else ""
