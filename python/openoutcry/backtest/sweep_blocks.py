"""Blocks of points, submitted to an executor and returned in grid order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from openoutcry.backtest.executors import Executor, Future
from openoutcry.backtest.parameter_grid import Point
from openoutcry.backtest.run import Run
from openoutcry.backtest.sweep_jobs import TABLES_TOGETHER, MetricValue, RemoteRun, Result, SweepJob
from openoutcry.errors import add_note

# A block of runs should be long enough to hide the cost of submitting it, and short enough to report results early.
_SHORT_BLOCK, _LONG_BLOCK, _MOST_RUNS = 0.02, 0.2, 64


@dataclass(frozen=True)
class _Block:
    """Results of a block of points before an error, time, and the error.

    `are_tables` says that all points are weights.
    """

    results: list[Result]
    seconds: float
    are_tables: bool
    error: Exception | None = None


def _run_block(job: SweepJob, points: Sequence[Point]) -> _Block:
    start = time.perf_counter()
    results: list[Result] = []
    are_tables, raised = False, None
    try:
        are_tables = job.run(points, results)
    except Exception as error:  # noqa: BLE001 raised by `results_in_order`, after the results before it
        raised = error
    return _Block(results, time.perf_counter() - start, are_tables, raised)


def results_in_order(
    workers: Executor, job: SweepJob, points: Sequence[Point], n_jobs: int
) -> Generator[Run | MetricValue, None, None]:
    """Yield the results in grid order; raise an error after all results before it."""
    waiting: deque[tuple[int, Future]] = deque()
    taken, size = 0, 1
    try:
        while waiting or taken < len(points):
            while taken < len(points) and len(waiting) < 2 * n_jobs:
                block = points[taken : taken + size]
                waiting.append((taken, workers.submit(_run_block, job, block)))
                taken += len(block)
            first, future = waiting.popleft()
            done = _result(future, points[first])
            for index, result in enumerate(done.results, first):
                if isinstance(result, RemoteRun):
                    with note_point(points[index], index, len(points)):
                        result = job.recompute(result)
                yield result
            if done.error is not None:
                index = first + len(done.results)
                with note_point(points[index], index, len(points)):
                    raise done.error
            if done.seconds < _SHORT_BLOCK:
                size = min(8 * size, _MOST_RUNS)
            elif done.seconds > _LONG_BLOCK:
                size = size // 2
            size = max(size, TABLES_TOGETHER if done.are_tables else 1)
    finally:
        for _, future in waiting:
            future.cancel()


def _result(future: Future, first: Point) -> _Block:
    try:
        done: _Block = future.result()
    except Exception as error:
        add_note(error, f"in the runs from {first.label} on")
        raise
    return done


@contextmanager
def note_point(point: Point, index: int, n_points: int) -> Iterator[None]:
    """Add a note with the params of the point to an exception."""
    try:
        yield
    except Exception as error:
        add_note(error, f"in run {index} of {n_points}, {point.label}")
        raise
