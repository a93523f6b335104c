"""Ctrl-C in a research session."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from openoutcry.untrusted.terminal import echo


@contextmanager
def stopping_after_round(cancelled: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C stop after the round, and the second abort."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        cancelled.set()
        signal.signal(signal.SIGINT, before)
        echo("stopping after this round; press Ctrl-C again to abort", err=True)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
