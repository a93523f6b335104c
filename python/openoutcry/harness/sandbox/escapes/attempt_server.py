"""Run attempts, each in a fork of this process: `python attempt_server.py`.

Each line of standard input holds the module, the name, the target and the seconds of an attempt. Each line of standard
output holds its output, its exit code and the reason why it was killed. Both are `marshal` in hexadecimal.
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
    """Return the output of a descriptor, and why it was not read to its end."""
    output, deadline = b"", time.monotonic() + seconds
    while len(output) <= OUTPUT_BYTES:
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return output, f"after {seconds:g} s"
        chunk = os.read(descriptor, OUTPUT_BYTES)
        if not chunk:
            return output, None
        output += chunk
    return output[:OUTPUT_BYTES], "after 64 KiB without an end"


def become(module: str, name: str, target: dict[str, Any], output: int, own: Iterable[int]) -> None:
    """Run an attempt in this process, a fork without the descriptors of the server."""
    # A separate process group, where the sandbox permits it.
    with suppress(OSError):
        os.setpgid(0, 0)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    for descriptor in (output, *own):
        os.close(descriptor)
    __import__("run_attempt").run(module, name, target)


def run(own: Iterable[int], module: str, name: str, target: dict[str, Any], seconds: float) -> tuple[Any, ...]:
    """Run an attempt and return its output, its exit code and why it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        become(module, name, target, writer, (reader, *own))
    os.close(writer)
    output, killed = read(reader, seconds)
    os.close(reader)
    # The process exits shortly after it has closed its output.
    deadline = time.monotonic() + (0.0 if killed else 0.5)
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < deadline:
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        # A sandbox may refuse signals to other processes; the attempt then exits by itself.
        with suppress(OSError):
            kill(child, 9)
    return output, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), killed


def main() -> None:
    """Run attempts until the input ends."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    requests, answers = os.fdopen(os.dup(0), "r"), os.dup(1)
    os.dup2(2, 1)
    while line := requests.readline():
        result = run((requests.fileno(), answers), *marshal.loads(bytes.fromhex(line)))
        os.write(answers, marshal.dumps(result).hex().encode() + b"\n")


if __name__ == "__main__":
    main()
