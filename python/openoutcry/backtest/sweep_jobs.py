"""The work of a sweep: the runs of a few points, in this process or another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, Baseline
from openoutcry.agents.decision_codec import decision_text
from openoutcry.backtest.decision_makers import decision_maker_of, definition_of, is_weights, name_of
from openoutcry.backtest.parameter_grid import Item, Params, Point, StrategyOfName
from openoutcry.backtest.run import Run, Series, run_backtest
from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.weights import weight_table
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Window
from openoutcry.errors import refusal

TABLES_TOGETHER = 8
"""Tables of weights that are stepped together, at about twice the cost of one."""


class MetricValue(NamedTuple):
    """The metric of a run that was not kept, None if undefined, and its window."""

    value: float | None
    window: tuple[int, int]


@dataclass(frozen=True)
class RemoteRun:
    """Decisions and NAV of a run in another process.

    The decisions are an array of weights, a list of texts, or a baseline to rerun.
    """

    decisions: Any
    nav: Series
    name: str


Result: TypeAlias = "Run | RemoteRun | MetricValue"


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


class _ThreadTables(threading.local):
    """The tables of each thread; their memory serves all its blocks of points."""

    tables: native.TableRuns | None = None
    window: tuple[int, int] = (0, 0)

    def __reduce__(self) -> tuple[type[_ThreadTables], tuple[()]]:
        return _ThreadTables, ()


@dataclass(frozen=True)
class SweepJob:
    """What all runs of a sweep share.

    Attributes:
        dataset: The market.
        make: As `weights_or_agents` of `run_sweep`; None for a list.
        settings: Settings of arrays of weights.
        window: Window of the sweep; its default start is another bar for agents.
        in_process: Whether the runs are in this process.
        metric: The metric that is kept of each run; None keeps the runs.
        lock: Held while `make` is called.
    """

    dataset: Dataset
    make: Callable[..., Item] | None
    settings: native.Settings
    window: Window
    in_process: bool
    metric: str | None = None
    lock: _ProcessLock = field(default_factory=_ProcessLock)
    threads: _ThreadTables = field(default_factory=_ThreadTables)

    def run(self, points: Sequence[Point], results: list[Result]) -> bool:
        """Append the result of each point to `results`, up to the first error.

        Return whether all points are weights.
        """
        are_tables = True
        try:
            for point in points:
                agent = self.agent_or_table(point)
                if agent is not None:
                    are_tables = False
                    self.run_tables(points, results)
                    results.append(self.run_agent(agent, point.name))
                elif len(self.tables_of(self.threads.window)) == TABLES_TOGETHER:
                    self.run_tables(points, results)
        finally:
            self.run_tables(points, results)
        return are_tables

    def tables_of(self, window: tuple[int, int]) -> native.TableRuns:
        """Return the tables of this thread, for runs over a window."""
        threads = self.threads
        if threads.tables is None or threads.window != window:
            settings = self.settings.copy()
            settings["window"] = window
            threads.tables = native.TableRuns(self.dataset._core, settings, self.metric)
            threads.window = window
        return threads.tables

    def agent_or_table(self, point: Point) -> Any:
        """Return the agent of a point, or None after adding its weights to the tables."""
        if self.make is None:
            return self.add(point.item)
        # The lock and the copy that `add` takes allow `make` to reuse one output array for all points.
        with self.lock:
            item = self.make(**point.params)
            if isinstance(self.make, StrategyOfName):
                return None if self.add_strategy(item) else item
            return self.add(item)

    def add(self, item: Any) -> Any:
        """Return an agent, or None after adding weights to the tables."""
        if not is_weights(item):
            return item
        self.tables_of(self.settings["window"]).add(weight_table(self.dataset, item))
        return None

    def add_strategy(self, strategy: Any) -> bool:
        """Add the weights of a library strategy, if the native module computes them.

        They have the bits of `Strategy.table`. The run of another process is recomputed from the strategy.
        """
        if self.metric is None and not self.in_process:
            return False
        window = self.strategy_settings(strategy)["window"]
        has_other_window = self.threads.tables is not None and self.threads.window != window
        if has_other_window and len(self.tables_of(self.threads.window)):
            return False
        return self.tables_of(window).add_strategy(strategy.name, dict(strategy.params))

    def strategy_settings(self, strategy: Any) -> native.Settings:
        """Return the settings of a run of a strategy, as `run_backtest` takes them."""
        settings = self.settings.copy()
        settings["lookback"] = decision_maker_of(strategy, settings["seed"], settings["lookback"]).lookback
        settings["window"] = self.window.resolve(self.dataset, settings["lookback"])
        return settings

    def run_tables(self, points: Sequence[Point], results: list[Result]) -> None:
        """Append the results of tables of weights to `results`.

        The native module steps the tables together, which takes a fraction of the time.
        """
        tables = self.threads.tables
        if tables is None or not len(tables):
            return
        made, error = tables.finish()
        for one in made:
            results.append(self.result_of(one, points[len(results)]))
        if error is not None:
            raise error

    def result_of(self, made: Any, point: Point) -> Result:
        """Return the result of a table: of its native run, or of its metric."""
        if self.metric is not None:
            return MetricValue(made, self.threads.window)
        if isinstance(self.make, StrategyOfName):
            strategy = self.make(**point.params)
            settings = self.strategy_settings(strategy)
            run = Run(self.dataset, made, settings, point.name or name_of(strategy))
            run._strategy = definition_of(strategy)
            return run
        run = Run(self.dataset, made, self.settings, point.name or "weights")
        return run if self.in_process else RemoteRun(run.decisions, run.nav, run.name)

    def run_agent(self, agent: Any, name: str) -> Result:
        """Return the result of an agent, in its picklable form in another process."""
        if self.metric is not None:
            run = self.backtest(agent, name)
            return MetricValue(run.metric(self.metric), run._settings["window"])
        if self.in_process:
            return self.backtest(agent, name)
        if isinstance(agent, (str, Baseline, Strategy)):
            run = self.backtest(agent, name)
            return RemoteRun(agent, run.nav, run.name)
        texts: list[str] = []
        name = name or getattr(agent, "__name__", type(agent).__name__)
        run = self.backtest(partial(_record_decision, agent, texts), name)
        return RemoteRun(texts, run.nav, name)

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

    def recompute(self, remote: RemoteRun) -> Run:
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

    def run_again(self, point: Point, value: float | None) -> Run:
        """Return the run of a point, computed again after only its metric was kept.

        Raises:
            OpenOutcryError: `state_mismatch`: its metric is another one now.
        """
        results: list[Any] = []
        replace(self, metric=None, in_process=True, threads=_ThreadTables()).run([point], results)
        run: Run = results[0]
        again = run.metric(str(self.metric))
        if again != value:
            wanted = f"the same decisions for the same params are required to run a point again: {point.label}"
            hint = "hint: a function that returns new weights, or a new agent, in every call; or no `metric=`"
            raise refusal("state_mismatch", f"{wanted}; received `{self.metric}` {again} after {value}; {hint}")
        return run


def _record_decision(agent: Agent, texts: list[str], observation: Params) -> str:
    """Call an agent, append its decision to `texts` and return it."""
    texts.append(decision_text(agent(observation)))
    return texts[-1]
