"""Ending what goes on in other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """What is to be called when all is to end, from whichever thread says so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Callable[[], object]] = []
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Whether all is to end."""
        return self._is_set

    @contextmanager
    def calling(self, call: Callable[[], object]) -> Iterator[None]:
        """Have something called when all is to end while a block lasts, or has to."""
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
        """End all."""
        with self._lock:
            self._is_set = True
            calls = list(self._calls)
        for call in calls:
            call()
