"""Attempts on what the machine has: memory, time, descriptors, patience."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Place = dict[str, Any]


def memory(place: Place) -> str:
    """Take 300 MB in steps."""
    taken = [bytes(10**7) for _ in range(30)]
    return f"{sum(map(len, taken)) // 10**6} MB"


def descriptors(place: Place) -> str:
    """Open two hundred files."""
    return f"{len([os.dup(0) for _ in range(200)])} open"


def processor(place: Place) -> str:
    """Ignore all signals and compute on past its second."""
    import signal

    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # Those that the C library keeps for itself cannot be ignored.
        if not 32 <= each < 34:
            signal.signal(each, signal.SIG_IGN)
    while time.process_time() < 1.1:
        pass
    return f"{time.process_time():.1f} s"


def loop(place: Place) -> str:
    """Loop for ever."""
    while True:
        time.sleep(0.01)


def expression(place: Place) -> str:
    """Match an expression that never ends, and hold the interpreter."""
    import re

    return str(re.match(r"(a+)+$", "a" * 64 + "b"))


def flood(place: Place) -> str:
    """Write 16 MiB without a line end."""
    for _ in range(256):
        os.write(1, b"x" * 2**16)
    return ""


def recursion(place: Place) -> str:
    """Nest so deep that the stack ends."""
    nested: list[Any] = []
    for _ in range(500_000):
        nested = [nested]
    sys.setrecursionlimit(10**9)
    return str(len(repr(nested)))


# The harness ends these, or they end themselves; the harness goes on.
ENDED = {"loop", "expression", "flood", "recursion"}
# It takes a second of its own, which takes longer where others compute.
SLOW = {"processor"}
# One limit for both; a second of computing is enough.
WORKER = {"processor"}
