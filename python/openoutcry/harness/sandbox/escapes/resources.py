"""Attempts on resources: memory, processor time, descriptors, wall-clock time."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Target = dict[str, Any]


def memory(target: Target) -> str:
    """Allocate 300 MB in steps."""
    taken = [bytes(10**7) for _ in range(30)]
    return f"{sum(map(len, taken)) // 10**6} MB"


def descriptors(target: Target) -> str:
    """Open 200 descriptors."""
    return f"{len([os.dup(0) for _ in range(200)])} open"


def processor(target: Target) -> str:
    """Ignore all signals and compute beyond the limit of one second."""
    import signal

    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # The signals reserved by the C library cannot be ignored.
        if not 32 <= each < 34:
            signal.signal(each, signal.SIG_IGN)
    while time.process_time() < 1.1:
        pass
    return f"{time.process_time():.1f} s"


def loop(target: Target) -> str:
    """Loop forever."""
    while True:
        time.sleep(0.01)


def expression(target: Target) -> str:
    """Match a regular expression in exponential time, which blocks the interpreter."""
    import re

    return str(re.match(r"(a+)+$", "a" * 64 + "b"))


def flood(target: Target) -> str:
    """Write 16 MiB without a line end."""
    for _ in range(256):
        os.write(1, b"x" * 2**16)
    return ""


def recursion(target: Target) -> str:
    """Overflow the stack by deep nesting."""
    nested: list[Any] = []
    for _ in range(500_000):
        nested = [nested]
    sys.setrecursionlimit(10**9)
    return str(len(repr(nested)))


# The harness ends these, or they crash; the harness continues.
ENDED = {"loop", "expression", "flood", "recursion"}
# Takes one second of processor time, which is longer in wall-clock time on a busy machine.
SLOW = {"processor"}
# The limit is the same for worker and command, so the worker alone is tested.
WORKER = {"processor"}
