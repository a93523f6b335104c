"""Protection of this process from other processes of the same user."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_GET_DUMPABLE, _SET_DUMPABLE = 3, 4
_lock = threading.Lock()


class _Blocks:
    """The number of open `private_process` blocks, and the previous dumpable flag."""

    n_open = 0
    before = 1


@contextmanager
def private_process() -> Iterator[bool]:
    """Hide memory, descriptors and environment from processes of the same user.

    While the block runs, `/proc/PID/mem`, `fd`, `maps` and `environ` belong to root, no process of the same user may
    trace this one, and it writes no core dumps. The command line stays readable. Works on Linux only, and not against
    processes of root.

    Yields:
        Whether the process is protected.
    """
    prctl = _prctl()
    if prctl is None:
        yield False
        return
    with _lock:
        if _Blocks.n_open == 0:
            _Blocks.before = prctl(_GET_DUMPABLE, 0)
            prctl(_SET_DUMPABLE, 0)
        _Blocks.n_open += 1
    try:
        yield prctl(_GET_DUMPABLE, 0) == 0
    finally:
        with _lock:
            _Blocks.n_open -= 1
            # The last of several concurrent blocks restores the previous state.
            if _Blocks.n_open == 0 and _Blocks.before == 1:
                prctl(_SET_DUMPABLE, 1)


def _prctl() -> Callable[[int, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    call = ctypes.CDLL(None, use_errno=True).prctl
    # The kernel requires the unused three arguments to be 0 for some options.
    return lambda option, value: int(call(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3))
