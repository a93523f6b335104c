"""Sweeps: one backtest per point of a parameter grid, on an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, Literal, overload

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, checked_text
from openoutcry.backtest.decision_makers import is_weights
from openoutcry.backtest.executors import Executor, available_cpus, open_executor, progress_bar
from openoutcry.backtest.parameter_grid import Grid, Item, Params, Point, grid_points
from openoutcry.backtest.run import Run
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.sweep_blocks import note_point, results_in_order
from openoutcry.backtest.sweep_jobs import SweepJob
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window, as_window, weights_window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.untrusted.counted_nouns import counted


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
    metric: str | None = None,
    executor: Executor | Literal["ray"] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    on_result: Callable[[int, Params, Any], object] | None = None,
) -> Sweep:
    """Run a backtest for each point of a grid and return the runs in grid order.

    Numbers and order do not depend on the executor. Another process returns the decisions of a run; the run is then
    recomputed in this process and its NAV must be identical to the bit. With `metric`, it returns the value alone.

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
        metric: The one metric that is computed and kept of each run, which takes less time and little memory. A run is
            then computed again when it is read. None keeps all runs.
        executor: None for threads, which suit weights and baselines. "ray" for Ray, which needs `openoutcry[ray]`; a
            local cluster is started and stopped unless one is connected. Or an executor such as a
            `ProcessPoolExecutor`, which stays open.
        jobs: Number of parallel runs; None for one per CPU.
        progress: Whether to draw a progress bar on stderr; None draws it if stderr is a terminal.
        on_result: Called in this thread with index, params and run of each point, in grid order; with its value in
            place of the run if one metric is kept.

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
    if metric is not None:
        checked_text("metric", metric)
        # Refuses a name that does not exist, before anything runs.
        native.TableRuns(dataset._core, settings, metric)
    kept: list[Any] = []
    windows: list[tuple[int, int]] = []
    with ExitStack() as stack:
        workers, in_process = stack.enter_context(open_executor(executor, n_jobs))
        job = SweepJob(dataset, make, settings, as_window(window), in_process, metric)
        advance = stack.enter_context(progress_bar(len(points), progress))
        results = stack.enter_context(closing(results_in_order(workers, job, points, n_jobs)))
        for index, result in enumerate(results):
            one, used = (result, result._settings["window"]) if isinstance(result, Run) else result
            windows = [*windows[:1], used]
            with note_point(points[index], index, len(points)):
                _check_window(*windows)
            if on_result is not None:
                on_result(index, dict(points[index].params), one)
            kept.append(one)
            advance()
    params = [point.params for point in points]
    return Sweep(params, kept) if metric is None else Sweep(params, _RunsAgain(job, points, kept), metric, kept)


def _check_window(first: tuple[int, int], other: tuple[int, int] | None = None) -> None:
    """Check that two runs have one window: their metrics are ranked in one table."""
    if other is not None and other != first:
        starts = sorted((first[0], other[0]))
        message = "one window is required for arrays of weights and agents in a sweep; received arrays from bar"
        hint = f"hint: window=({starts[0]}, {first[1]}) or window=({starts[1]}, {first[1]}) for all of them"
        raise refusal("window_invalid", f"{message} {starts[0]} and agents from bar {starts[1]}; {hint}")


class _RunsAgain(Sequence[Run]):
    """The runs of a sweep that kept one metric of each.

    A run is computed again each time it is read.
    """

    def __init__(self, job: SweepJob, points: Sequence[Point], values: Sequence[float | None]) -> None:
        self._job, self._points, self._values = job, points, values
        self.dataset = job.dataset

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        if isinstance(index, slice):
            return _RunsAgain(self._job, self._points[index], self._values[index])
        return self._job.run_again(self._points[index], self._values[index])

    def __len__(self) -> int:
        return len(self._points)

    def __repr__(self) -> str:
        return f"{counted(len(self), 'run')}, computed again when read"


class Sweep:
    """The runs of a sweep and the params of each, in the order of the grid.

    Attributes:
        params: The params of each point.
        runs: The run of each point. If the sweep kept one metric, it is computed again each time it is read.
        metric: The metric that the sweep kept; None if it kept the runs.
    """

    def __init__(
        self,
        params: Sequence[Params],
        runs: Sequence[Run],
        metric: str | None = None,
        values: Sequence[float | None] = (),
    ) -> None:
        self.params = tuple(params)
        self.runs: Sequence[Run] = tuple(runs) if metric is None else runs
        self.metric, self._values = metric, list(values)
        self._dataset: Dataset = runs.dataset if isinstance(runs, _RunsAgain) else runs[0].dataset

    def values(self, metric: str | None = None) -> list[float | None]:
        """Return a metric of each run, None where it is undefined.

        Args:
            metric: The metric; by default the one that the sweep kept, else the Sharpe ratio.

        Raises:
            OpenOutcryError: `argument_invalid`: the metric does not exist, or the sweep kept another one.
        """
        if self.metric is None:
            name = "sharpe" if metric is None else metric
            return [run.metric(name) for run in self.runs]
        if metric not in (None, self.metric):
            hint = "hint: `run_sweep` with that metric, or without `metric=` to keep all"
            raise refusal("argument_invalid", f"`metric` must be {self.metric!r}; received {metric!r}; {hint}")
        return list(self._values)

    def best(self, metric: str | None = None, *, highest: bool = True) -> tuple[Params, Run]:
        """Return the params and the run with the highest, or lowest, value of a metric.

        Ties go to the first run. A run with an undefined metric is never the best.

        Args:
            metric: As in `values`.
            highest: Whether the highest value is the best.

        Raises:
            OpenOutcryError: `argument_invalid`: as `values`, or the metric is undefined in every run.
        """
        values = [(index, value) for index, value in enumerate(self.values(metric)) if value is not None]
        if not values:
            name = self.metric or ("sharpe" if metric is None else metric)
            wanted = f"`{name}` must be defined in at least one run"
            raise refusal("argument_invalid", f"{wanted}; received {counted(len(self), 'run')} without it")
        index, _ = (max if highest else min)(values, key=lambda pair: pair[1])
        return dict(self.params[index]), self.runs[index]

    def to_frame(self) -> Any:
        """Return a frame with one row per run: its params, then its metrics.

        A sweep that kept one metric has that one alone. An undefined metric is NaN. The frame is a pandas one, or a
        polars one if pandas is not installed.
        """
        from openoutcry.data import dataframes

        names = dict.fromkeys(name for params in self.params for name in params)
        columns: dict[str, Any] = {name: [params.get(name) for params in self.params] for name in names}
        for metric in self.runs[0].metrics if self.metric is None else [self.metric]:
            values = self._values if self.metric else [run.metrics[metric] for run in self.runs]
            columns[metric] = np.array([np.nan if value is None else value for value in values])
        return dataframes.table_of(columns)

    def __len__(self) -> int:
        return len(self.params)

    def __iter__(self) -> Iterator[tuple[Params, Run]]:
        return zip(self.params, self.runs, strict=True)

    def __repr__(self) -> str:
        return native.readable_text(f"Sweep({counted(len(self), 'run')} on {self._dataset.name!r})")
