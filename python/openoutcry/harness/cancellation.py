"""Cancellation of work in other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """A cancellation signal: runs registered callbacks when any thread sets it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Callable[[], object]] = []
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Whether the signal has been set."""
        return self._is_set

    @contextmanager
    def on_stop(self, call: Callable[[], object]) -> Iterator[None]:
        """Run a callback when the signal is set during the block, or already is."""
        with self._lock:
            self._calls.append(call)
            is_set = self._is_set
        if is_set:
            call()
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)

    def set(self) -> None:
        """Set the signal and run all registered callbacks."""
        with self._lock:
            self._is_set = True
            calls = list(self._calls)
        for call in calls:
            call()
