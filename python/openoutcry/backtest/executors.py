"""Executors for parallel work: threads, processes or Ray."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from openoutcry.errors import refusal


class Future(Protocol):
    """The pending result of a submitted call."""

    def result(self) -> Any: ...
    def cancel(self) -> Any: ...


class Executor(Protocol):
    """An object that runs functions in other threads or processes.

    Any `concurrent.futures.Executor`, or an object with the same `submit`.
    """

    def submit(self, work: Callable[..., Any], /, *args: Any) -> Future:
        """Schedule `work(*args)` and return a future of its result."""


@contextmanager
def open_executor(executor: Any, n_jobs: int) -> Iterator[tuple[Executor, bool]]:
    """Yield an executor, and whether it runs in this process."""
    if executor is None:
        with ThreadPoolExecutor(n_jobs) as threads:
            yield threads, True
    elif isinstance(executor, str) and executor == "ray":
        from openoutcry.backtest.ray_executor import RayExecutor

        with RayExecutor(n_jobs) as ray:
            yield ray, False
    elif callable(getattr(executor, "submit", None)):
        yield executor, isinstance(executor, ThreadPoolExecutor)
    else:
        wanted = '`executor` must be None, "ray" or an object with `submit`'
        raise refusal("argument_invalid", f"{wanted}; received {executor!r}")


@contextmanager
def progress_bar(n_points: int, progress: bool | None) -> Iterator[Callable[[], object]]:
    """Yield a function that advances the progress bar by one run, if one is shown."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda: None
        return
    from openoutcry.untrusted.rich_console import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as shown:
        task = shown.add_task("", total=n_points)
        yield partial(shown.advance, task)


def available_cpus() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
