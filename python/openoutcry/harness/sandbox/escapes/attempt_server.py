"""Make attempts, each in a fork of this process: `python serve.py`.

A line of standard input is the module, the name, the place and the seconds of an attempt; one of standard output is
what it wrote, its exit code and why it was killed. Both are `marshal` in hexadecimal.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import select
import struct
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

OUTPUT_BYTES = 2**16
SHARED = (ctypes, mmap, struct)
"""Imported once for all attempts."""


def read(descriptor: int, seconds: float) -> tuple[bytes, str | None]:
    """Return what is written, and why it was not read to its end."""
    output, until = b"", time.monotonic() + seconds
    while len(output) <= OUTPUT_BYTES:
        if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
            return output, f"after {seconds:g} s"
        chunk = os.read(descriptor, OUTPUT_BYTES)
        if not chunk:
            return output, None
        output += chunk
    return output[:OUTPUT_BYTES], "after 64 KiB without an end"


def become(module: str, name: str, place: dict[str, Any], output: int, own: Iterable[int]) -> None:
    """Make an attempt in this process, which has nothing of the server's."""
    # A group of its own, where the sandbox lets it.
    with suppress(OSError):
        os.setpgid(0, 0)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    for descriptor in (output, *own):
        os.close(descriptor)
    __import__("attempt").make(module, name, place)


def made(own: Iterable[int], module: str, name: str, place: dict[str, Any], seconds: float) -> tuple[Any, ...]:
    """Make an attempt, and return what it wrote, its exit code and why it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        become(module, name, place, writer, (reader, *own))
    os.close(writer)
    output, killed = read(reader, seconds)
    os.close(reader)
    # Who has written all has yet to end.
    until = time.monotonic() + (0.0 if killed else 0.5)
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < until:
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        # Where a sandbox lets nobody signal another, it ends by itself.
        with suppress(OSError):
            kill(child, 9)
    return output, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), killed


def main() -> None:
    """Answer until the input ends."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    requests, answers = os.fdopen(os.dup(0), "r"), os.dup(1)
    os.dup2(2, 1)
    while line := requests.readline():
        told = made((requests.fileno(), answers), *marshal.loads(bytes.fromhex(line)))
        os.write(answers, marshal.dumps(told).hex().encode() + b"\n")


if __name__ == "__main__":
    main()
