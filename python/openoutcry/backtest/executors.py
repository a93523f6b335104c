"""Who runs work that can be split: threads, processes of one's own, or Ray."""

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
    """A result to come."""

    def result(self) -> Any: ...
    def cancel(self) -> Any: ...


class Executor(Protocol):
    """What runs a function elsewhere.

    Any `concurrent.futures.Executor`, or what has its `submit`.
    """

    def submit(self, work: Callable[..., Any], /, *args: Any) -> Future:
        """Run `work(*args)` some time and return a future of its result."""


@contextmanager
def crew(executor: Any, n_jobs: int) -> Iterator[tuple[Executor, bool]]:
    """Yield what runs the blocks, and whether it does so in this process."""
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
def bar(n_points: int, progress: bool | None) -> Iterator[Callable[[], object]]:
    """Yield what tells a progress bar, if there is to be one, of a run."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("", total=n_points)
        yield partial(drawn.advance, task)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
