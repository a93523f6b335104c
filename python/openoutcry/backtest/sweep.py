"""Sweeps: many backtests over the points of a grid, in threads or elsewhere."""

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
from openoutcry.arguments import whole
from openoutcry.backtest.executors import Executor, Future, bar, crew, processors
from openoutcry.backtest.parameter_grid import Grid, Item, Params, Point, points_of
from openoutcry.backtest.run import Run, Series, run_backtest
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.weights import table_of_weights
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal, tell
from openoutcry.openoutcry_py import CostModel, Limits

# A block of runs should be long enough to hide what handing it over costs, and short enough to be handed out soon.
_SHORT_BLOCK, _LONG_BLOCK, _MOST_RUNS = 0.02, 0.2, 64


def run_sweep(
    dataset: Dataset,
    weights_or_agents: Callable[..., Item] | Sequence[Item],
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
    """Run a backtest for each point of a grid and return all runs in its order.

    The numbers and their order are the same whatever the executor. Elsewhere than in threads a run is made twice: what
    comes back is its decisions, from which it is made again here, and its NAV must be the same to the bit.

    Args:
        dataset: The market of every run.
        weights_or_agents: Called with the params of a point by name, by one thread at a time, returns what
            `run_backtest` takes: an array of weights, an agent, or the name of a baseline. Without a grid: a list of
            such things.
        grid: Values by name, of which every combination is a point, the last name varying fastest; or the params of
            each point.
        window: As in `run_backtest`, as are the next four.
        costs: What trading costs.
        limits: What a decision may ask for.
        seed: Key of the slippage noise, the same in every run.
        lookback: Closes an observation shows of a symbol at most.
        executor: None: threads here, which suit weights and baselines. "ray": Ray, with `openoutcry[ray]`; a local one
            is started, and stopped again, unless one is connected. Or an executor, such as a `ProcessPoolExecutor`;
            it stays open.
        jobs: Runs at a time; None: one a processor.
        progress: Whether to draw a bar on stderr; None: where that is a terminal.
        on_result: Called here with index, params and run of each point, in the order of the grid.

    Raises:
        OpenOutcryError: an argument, or what a point made, cannot be used.
        Exception: what a point raises passes as it is, with a note of its params, and ends the sweep; `on_result` has
            then been called for every point before it and for none after it.
    """
    settings = settings_of(dataset, window, (costs, limits), seed, lookback)
    make, points = points_of(weights_or_agents, grid)
    n_jobs = processors() if jobs is None else whole("jobs", jobs, 1, 4096)
    runs = []
    with ExitStack() as stack:
        workers, is_here = stack.enter_context(crew(executor, n_jobs))
        job = _Job(dataset, make, settings, is_here)
        advance = stack.enter_context(bar(len(points), progress))
        made = stack.enter_context(closing(_in_order(workers, job, points, n_jobs)))
        for index, run in enumerate(made):
            if on_result is not None:
                on_result(index, dict(points[index].params), run)
            runs.append(run)
            advance()
    return Sweep([point.params for point in points], runs)


class Sweep:
    """The runs of a sweep and the params of each, in the order of the grid."""

    def __init__(self, params: Sequence[Params], runs: Sequence[Run]) -> None:
        self.params = tuple(params)
        self.runs = tuple(runs)

    def best(self, metric: str = "sharpe", *, highest: bool = True) -> tuple[Params, Run]:
        """Return the params and the run with the highest value of a metric, or the lowest.

        The first of equals. A run whose metric is undefined is never the best.

        Raises:
            OpenOutcryError: `argument_invalid`: there is no such metric, or it is undefined in every run.
        """
        known = self.runs[0].metrics
        if metric not in known:
            raise refusal("argument_invalid", f"`metric` must be one of {', '.join(known)}; received {metric!r}")
        values = [(index, value) for index, run in enumerate(self.runs) if (value := run.metrics[metric]) is not None]
        if not values:
            raise refusal("argument_invalid", f"`{metric}` must be defined in a run; received {len(self)} without it")
        index, _ = (max if highest else min)(values, key=lambda pair: pair[1])
        return dict(self.params[index]), self.runs[index]

    def to_frame(self) -> Any:
        """Return a frame of a row a run: its params, then its metrics.

        An undefined metric is NaN. It is a pandas frame, or a polars one where pandas is not installed.
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
        return f"Sweep({len(self)} runs on {self.runs[0].dataset.name!r})"


class _Turn:
    """A lock for the threads of a process.

    A job that is sent to another process has a new one there.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[_Turn], tuple[()]]:
        return _Turn, ()


@dataclass(frozen=True)
class _Job:
    """What all runs of a sweep share, and whether they are made in this process."""

    dataset: Dataset
    make: Callable[..., Item] | None
    settings: native.Settings
    is_here: bool
    turn: _Turn = field(default_factory=_Turn)

    def run(self, points: Sequence[Point], made: list[Run | _Record]) -> None:
        """Append the run of each point to `made`, up to the first fault."""
        tables: list[Any] = []
        try:
            for point in points:
                item, table = self.made_of(point)
                if table is not None:
                    tables.append(table)
                    continue
                before, tables = tables, []
                self.run_tables(before, points, made)
                made.append(self.run_agent(item, point.name))
        finally:
            self.run_tables(tables, points, made)

    def made_of(self, point: Point) -> tuple[Any, npt.NDArray[np.float64] | None]:
        """Return what a point is, and as a table if it is weights."""
        if self.make is None:
            return point.item, self.table_of(point.item)
        # One thread at a time, and a table of its own: each may be written into the array of the last.
        with self.turn:
            item = self.make(**point.params)
            table = self.table_of(item)
            return item, None if table is None else table.copy()

    def table_of(self, item: Any) -> npt.NDArray[np.float64] | None:
        """Return weights as a table, and nothing for agents."""
        return None if callable(item) or isinstance(item, str) else table_of_weights(self.dataset, item)

    def run_tables(self, tables: Sequence[Any], points: Sequence[Point], made: list[Run | _Record]) -> None:
        """Append the runs of tables of weights to `made`.

        Side by side they take a fraction of the time.
        """
        if not tables:
            return
        cores, fault = native.run_tables(self.dataset._core, tables, self.settings)
        for core in cores:
            run = Run(self.dataset, core, self.settings, points[len(made)].name or "weights")
            made.append(run if self.is_here else _Record(run.decisions, run.nav, run.name))
        if fault is not None:
            raise fault

    def run_agent(self, agent: Any, name: str) -> Run | _Record:
        """Return the run of an agent, or what to make it of elsewhere."""
        if self.is_here:
            return self.backtest(agent, name)
        if isinstance(agent, (str, Baseline)):
            run = self.backtest(agent, name)
            return _Record(agent, run.nav, run.name)
        texts: list[str] = []
        name = name or getattr(agent, "__name__", type(agent).__name__)
        run = self.backtest(partial(_told, agent, texts), name)
        return _Record(texts, run.nav, name)

    def backtest(self, item: Any, name: str) -> Run:
        told = self.settings
        return run_backtest(
            self.dataset,
            item,
            told["window"],
            told["costs"],
            told["limits"],
            told["seed"],
            lookback=told["lookback"],
            name=name,
        )

    def again(self, record: _Record) -> Run:
        """Return the run of what was decided elsewhere."""
        if isinstance(record.decided, list):
            texts = iter(record.decided)
            core = native.run_callable(self.dataset._core, lambda _: next(texts), self.settings)
            run = Run(self.dataset, core, self.settings, record.name)
        elif isinstance(record.decided, np.ndarray):
            table = np.full((self.dataset.n_bars, self.dataset.n_symbols), np.nan)
            start, end = self.settings["window"]
            table[start : end - 1] = record.decided
            run = self.backtest(table, record.name)
        else:
            run = self.backtest(record.decided, record.name)
        if run.nav.tobytes() != record.nav.tobytes():
            bar = int(np.flatnonzero(run.nav != record.nav)[0])
            received = f"{record.nav[bar]!r} elsewhere and {run.nav[bar]!r} here on bar {bar} of the window"
            raise refusal("state_mismatch", f"one NAV for the same decisions is required; received {received}")
        return run


@dataclass(frozen=True)
class _Record:
    """What a run elsewhere decided, and the NAV that came of it.

    Decided as weights, as texts or by a baseline.
    """

    decided: Any
    nav: Series
    name: str


def _told(agent: Agent, texts: list[str], observation: Params) -> str:
    """Ask an agent and keep what it says."""
    texts.append(decision_text(agent(observation)))
    return texts[-1]


@dataclass(frozen=True)
class _Block:
    """What became of points that were run in one go.

    Those before a fault, the seconds they took, and the fault.
    """

    made: list[Any]
    seconds: float
    fault: Exception | None = None


def _run_block(job: _Job, points: Sequence[Point]) -> _Block:
    start = time.perf_counter()
    made: list[Any] = []
    fault = None
    try:
        job.run(points, made)
    except Exception as error:  # noqa: BLE001 raised again by `_in_order`, behind the runs before it
        fault = error
    return _Block(made, time.perf_counter() - start, fault)


def _in_order(workers: Executor, job: _Job, points: Sequence[Point], n_jobs: int) -> Generator[Run, None, None]:
    """Yield the runs in order; the fault of a point comes after all before it."""
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
            for index, made in enumerate(done.made, first):
                if not job.is_here:
                    with _noted(points[index], index, len(points)):
                        made = job.again(made)
                yield made
            if done.fault is not None:
                index = first + len(done.made)
                with _noted(points[index], index, len(points)):
                    raise done.fault
            if done.seconds < _SHORT_BLOCK:
                size = min(8 * size, _MOST_RUNS)
            elif done.seconds > _LONG_BLOCK:
                size = max(size // 2, 1)
    finally:
        for _, future in waiting:
            future.cancel()


def _result(future: Future, first: Point) -> _Block:
    try:
        done: _Block = future.result()
    except Exception as error:
        tell(error, f"in the runs from {first.shown} on")
        raise
    return done


@contextmanager
def _noted(point: Point, index: int, n_points: int) -> Iterator[None]:
    """Name the point in what is raised of it."""
    try:
        yield
    except Exception as error:
        tell(error, f"in run {index} of {n_points}, {point.shown}")
        raise
