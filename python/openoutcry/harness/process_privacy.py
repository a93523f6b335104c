"""What agents may read of this process: nothing, where the system can say so."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_GET_DUMPABLE, _SET_DUMPABLE = 3, 4
_lock = threading.Lock()


class _Blocks:
    """The blocks that this process is in, and how it was before the first."""

    n_open = 0
    before = 1


@contextmanager
def closed_to_others() -> Iterator[bool]:
    """Close memory, descriptors and environment of this process to others of its user.

    While the block runs, `/proc/PID/mem`, `fd`, `maps` and `environ` belong to the superuser, and no process of the
    same user may trace this one; there are no core dumps either. The command line stays readable. Only Linux can do it,
    and nothing stops a process of the superuser.

    Yields:
        Whether it is closed.
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
            # Of several blocks at a time the last one opens it again, if it was open.
            if _Blocks.n_open == 0 and _Blocks.before == 1:
                prctl(_SET_DUMPABLE, 1)


def _prctl() -> Callable[[int, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    call = ctypes.CDLL(None, use_errno=True).prctl
    # The other three arguments of the call must be 0 where they are looked at.
    return lambda option, value: int(call(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3))
