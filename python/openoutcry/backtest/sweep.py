"""Sweeps: one backtest per point of a parameter grid, on an executor."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, Baseline
from openoutcry.agents.decision_codec import decision_text
from openoutcry.arguments import checked_integer
from openoutcry.backtest.decision_makers import is_weights
from openoutcry.backtest.executors import Executor, Future, available_cpus, open_executor, progress_bar
from openoutcry.backtest.parameter_grid import Grid, Item, Params, Point, grid_points
from openoutcry.backtest.run import Run, Series, run_backtest
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.weights import weight_table
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window, as_window, weights_window
from openoutcry.errors import add_note, refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.untrusted.counted_nouns import counted

# A block of runs should be long enough to hide the cost of submitting it, and short enough to report results early.
# Eight tables of weights are stepped together, at about twice the cost of one.
_SHORT_BLOCK, _LONG_BLOCK, _MOST_RUNS, _TABLES_TOGETHER = 0.02, 0.2, 64, 8


def run_sweep(
    dataset: Dataset,
    weights_or_agents: Callable[..., Item] | Sequence[Item] | str,
    grid: Grid | None = None,
    *,
    window: Window | tuple[Edge, Edge] | str | None = None,
    costs: CostModel | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    lookback: int = native.DEFAULT_LOOKBACK,
    executor: Executor | Literal["ray"] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    on_result: Callable[[int, Params, Run], object] | None = None,
) -> Sweep:
    """Run a backtest for each point of a grid and return the runs in grid order.

    Numbers and order do not depend on the executor. Another process returns the decisions of a run; the run is then
    recomputed in this process and its NAV must be identical to the bit.

    Args:
        dataset: The market of every run.
        weights_or_agents: A function that takes the params of a point as keyword arguments and returns an array of
            weights, an agent, a strategy or a name, as `run_backtest` takes them. One thread calls it at a time. Or the
            name of a library strategy. Without a grid: a list of such items.
        grid: A dict of values by name, whose combinations are the points, the last name varying fastest; or a list of
            the params of each point.
        window: As in `run_backtest`, like the next four; by default all bars for arrays, not for agents. A sweep of
            both needs one.
        costs: Cost model.
        limits: Limits on decisions.
        seed: Key of the slippage noise, the same in every run.
        lookback: Maximum number of closes per symbol in an observation.
        executor: None for threads, which suit weights and baselines. "ray" for Ray, which needs `openoutcry[ray]`; a
            local cluster is started and stopped unless one is connected. Or an executor such as a
            `ProcessPoolExecutor`, which stays open.
        jobs: Number of parallel runs; None for one per CPU.
        progress: Whether to draw a progress bar on stderr; None draws it if stderr is a terminal.
        on_result: Called in this thread with index, params and run of each point, in grid order.

    Raises:
        OpenOutcryError: an argument, or the item of a point, is invalid.
        Exception: an exception of a point passes unchanged, with a note of its params, and ends the sweep. `on_result`
            has then been called for every point before it and for none after it.
    """
    settings = settings_of(dataset, weights_window(window), (costs, limits), seed, lookback)
    make, points = grid_points(weights_or_agents, grid)
    if make is None and len({is_weights(point.item) for point in points}) == 2:
        _check_window(settings["window"], as_window(window).resolve(dataset, settings["lookback"]))
    n_jobs = available_cpus() if jobs is None else checked_integer("jobs", jobs, 1, 4096)
    runs: list[Run] = []
    with ExitStack() as stack:
        workers, in_process = stack.enter_context(open_executor(executor, n_jobs))
        job = _Job(dataset, make, settings, as_window(window), in_process)
        advance = stack.enter_context(progress_bar(len(points), progress))
        results = stack.enter_context(closing(_runs_in_order(workers, job, points, n_jobs)))
        for index, run in enumerate(results):
            with _note_point(points[index], index, len(points)):
                _check_window(*(each._settings["window"] for each in (*runs[:1], run)))
            if on_result is not None:
                on_result(index, dict(points[index].params), run)
            runs.append(run)
            advance()
    return Sweep([point.params for point in points], runs)


def _check_window(first: tuple[int, int], other: tuple[int, int] | None = None) -> None:
    """Check that two runs have one window: their metrics are ranked in one table."""
    if other is not None and other != first:
        starts = sorted((first[0], other[0]))
        message = "one window is required for arrays of weights and agents in a sweep; received arrays from bar"
        hint = f"hint: window=({starts[0]}, {first[1]}) or window=({starts[1]}, {first[1]}) for all of them"
        raise refusal("window_invalid", f"{message} {starts[0]} and agents from bar {starts[1]}; {hint}")


class Sweep:
    """The runs of a sweep and the params of each, in the order of the grid."""

    def __init__(self, params: Sequence[Params], runs: Sequence[Run]) -> None:
        self.params = tuple(params)
        self.runs = tuple(runs)

    def best(self, metric: str = "sharpe", *, highest: bool = True) -> tuple[Params, Run]:
        """Return the params and the run with the highest, or lowest, value of a metric.

        Ties go to the first run. A run with an undefined metric is never the best.

        Raises:
            OpenOutcryError: `argument_invalid`: the metric does not exist, or is undefined in every run.
        """
        values = [(index, value) for index, run in enumerate(self.runs) if (value := run.metric(metric)) is not None]
        if not values:
            raise refusal(
                "argument_invalid",
                f"`{metric}` must be defined in at least one run; received {counted(len(self), 'run')} without it",
            )
        index, _ = (max if highest else min)(values, key=lambda pair: pair[1])
        return dict(self.params[index]), self.runs[index]

    def to_frame(self) -> Any:
        """Return a frame with one row per run: its params, then its metrics.

        An undefined metric is NaN. The frame is a pandas one, or a polars one if pandas is not installed.
        """
        from openoutcry.data import dataframes

        names = dict.fromkeys(name for params in self.params for name in params)
        columns: dict[str, Any] = {name: [params.get(name) for params in self.params] for name in names}
        for metric in self.runs[0].metrics:
            values = [run.metrics[metric] for run in self.runs]
            columns[metric] = np.array([np.nan if value is None else value for value in values])
        return dataframes.table_of(columns)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[tuple[Params, Run]]:
        return zip(self.params, self.runs, strict=True)

    def __repr__(self) -> str:
        return native.readable_text(f"Sweep({counted(len(self), 'run')} on {self.runs[0].dataset.name!r})")


class _ProcessLock:
    """A lock for the threads of one process.

    Pickling a job creates a new lock in the other process.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[_ProcessLock], tuple[()]]:
        return _ProcessLock, ()


@dataclass(frozen=True)
class _Job:
    """What all runs of a sweep share.

    Attributes:
        dataset: The market.
        make: As `weights_or_agents` of `run_sweep`; None for a list.
        settings: Settings of arrays of weights.
        window: Window of the sweep, whose default start is another bar for agents.
        in_process: Whether the runs are in this process.
        lock: Held while `make` is called.
    """

    dataset: Dataset
    make: Callable[..., Item] | None
    settings: native.Settings
    window: Window
    in_process: bool
    lock: _ProcessLock = field(default_factory=_ProcessLock)

    def run(self, points: Sequence[Point], results: list[Run | _RemoteRun]) -> bool:
        """Append the run of each point to `results`, up to the first error.

        Return whether all points are weights.
        """
        tables: list[Any] = []
        has_agents = False
        try:
            for point in points:
                item, table = self.build(point)
                if table is not None:
                    tables.append(table)
                    continue
                has_agents = True
                before, tables = tables, []
                self.run_tables(before, points, results)
                results.append(self.run_agent(item, point.name))
        finally:
            self.run_tables(tables, points, results)
        return not has_agents

    def build(self, point: Point) -> tuple[Any, npt.NDArray[np.float64] | None]:
        """Return the item of a point, and its weights as a table unless it is an agent."""
        if self.make is None:
            return point.item, self.as_table(point.item)
        # The lock and the copy allow `make` to reuse one output array for all points.
        with self.lock:
            item = self.make(**point.params)
            table = self.as_table(item)
            return item, None if table is None else table.copy()

    def as_table(self, item: Any) -> npt.NDArray[np.float64] | None:
        """Return weights as a table; None for an agent."""
        return weight_table(self.dataset, item) if is_weights(item) else None

    def run_tables(self, tables: Sequence[Any], points: Sequence[Point], results: list[Run | _RemoteRun]) -> None:
        """Append the runs of tables of weights to `results`.

        The native module steps the tables together, which takes a fraction of the time.
        """
        if not tables:
            return
        cores, error = native.run_tables(self.dataset._core, tables, self.settings)
        for core in cores:
            run = Run(self.dataset, core, self.settings, points[len(results)].name or "weights")
            results.append(run if self.in_process else _RemoteRun(run.decisions, run.nav, run.name))
        if error is not None:
            raise error

    def run_agent(self, agent: Any, name: str) -> Run | _RemoteRun:
        """Return the run of an agent, or its picklable form in another process."""
        if self.in_process:
            return self.backtest(agent, name)
        if isinstance(agent, (str, Baseline, Strategy)):
            run = self.backtest(agent, name)
            return _RemoteRun(agent, run.nav, run.name)
        texts: list[str] = []
        name = name or getattr(agent, "__name__", type(agent).__name__)
        run = self.backtest(partial(_record_decision, agent, texts), name)
        return _RemoteRun(texts, run.nav, name)

    def backtest(self, item: Any, name: str) -> Run:
        settings = self.settings
        return run_backtest(
            self.dataset,
            item,
            self.window,
            settings["costs"],
            settings["limits"],
            settings["seed"],
            lookback=settings["lookback"],
            name=name,
        )

    def recompute(self, remote: _RemoteRun) -> Run:
        """Return the run of another process, recomputed here from its decisions."""
        if isinstance(remote.decisions, list):
            texts = iter(remote.decisions)
            settings = self.settings.copy()
            settings["window"] = self.window.resolve(self.dataset, settings["lookback"])
            core = native.run_callable(self.dataset._core, lambda _: next(texts), settings)
            run = Run(self.dataset, core, settings, remote.name)
        elif isinstance(remote.decisions, np.ndarray):
            table = np.full((self.dataset.n_bars, self.dataset.n_symbols), np.nan)
            start, end = self.settings["window"]
            table[start : end - 1] = remote.decisions
            run = self.backtest(table, remote.name)
        else:
            run = self.backtest(remote.decisions, remote.name)
        if run.nav.tobytes() != remote.nav.tobytes():
            bar = int(np.flatnonzero(run.nav != remote.nav)[0])
            received = f"{remote.nav[bar]!r} from the executor and {run.nav[bar]!r} here on bar {bar} of the window"
            raise refusal("state_mismatch", f"the same NAV for the same decisions is required; received {received}")
        return run


@dataclass(frozen=True)
class _RemoteRun:
    """Decisions and NAV of a run in another process.

    The decisions are an array of weights, a list of texts, or a baseline to rerun.
    """

    decisions: Any
    nav: Series
    name: str


def _record_decision(agent: Agent, texts: list[str], observation: Params) -> str:
    """Call an agent, append its decision to `texts` and return it."""
    texts.append(decision_text(agent(observation)))
    return texts[-1]


@dataclass(frozen=True)
class _Block:
    """Results of a block of points: runs before an error, time, and the error.

    `are_tables` says that all points are weights.
    """

    results: list[Any]
    seconds: float
    are_tables: bool
    error: Exception | None = None


def _run_block(job: _Job, points: Sequence[Point]) -> _Block:
    start = time.perf_counter()
    results: list[Any] = []
    are_tables, raised = False, None
    try:
        are_tables = job.run(points, results)
    except Exception as error:  # noqa: BLE001 raised by `_runs_in_order`, after the runs before it
        raised = error
    return _Block(results, time.perf_counter() - start, are_tables, raised)


def _runs_in_order(workers: Executor, job: _Job, points: Sequence[Point], n_jobs: int) -> Generator[Run, None, None]:
    """Yield the runs in grid order; raise an error after all runs before it."""
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
            for index, run in enumerate(done.results, first):
                if not job.in_process:
                    with _note_point(points[index], index, len(points)):
                        run = job.recompute(run)
                yield run
            if done.error is not None:
                index = first + len(done.results)
                with _note_point(points[index], index, len(points)):
                    raise done.error
            if done.seconds < _SHORT_BLOCK:
                size = min(8 * size, _MOST_RUNS)
            elif done.seconds > _LONG_BLOCK:
                size = size // 2
            size = max(size, _TABLES_TOGETHER if done.are_tables else 1)
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
def _note_point(point: Point, index: int, n_points: int) -> Iterator[None]:
    """Add a note with the params of the point to an exception."""
    try:
        yield
    except Exception as error:
        add_note(error, f"in run {index} of {n_points}, {point.label}")
        raise
