"""Sequential and parallel runs of an agent over the windows of a suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from openoutcry.agents import Agent, Answer, TextAgent
from openoutcry.backtest.run import run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.errors import add_note
from openoutcry.harness import AgentError, Launcher, SupervisedAgent
from openoutcry.harness.cancellation import Stop
from openoutcry.harness.concurrent_runs import run_concurrently
from openoutcry.harness.lockstep import Stopped
from openoutcry.openoutcry_py import CostModel, Limits, OpenOutcryError
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.evaluation_journal import Journal, Part


@dataclass(frozen=True)
class SuiteWindow:
    """One window of a suite on a market.

    Attributes:
        market: Name of the market in the suite.
        dataset: The market.
        start: First bar of the window.
        end: One past the last bar.
        sealed: Whether the market is drawn from a secret key.
    """

    market: str
    dataset: Dataset
    start: int
    end: int
    sealed: bool = False

    @property
    def bars(self) -> str:
        """The window as an interval, for messages."""
        return f"[{self.start}, {self.end})"


@dataclass(frozen=True)
class Fault:
    """A fault of an agent. The decision defaults to hold.

    Attributes:
        window: The window.
        seed: Slippage-noise seed of the run.
        bar: The bar of the decision.
        error: The error of the agent.
        is_replayed: Whether a resumed run repeats the bar for the agent; the logged decision stands.
    """

    window: SuiteWindow
    seed: int
    bar: int
    error: AgentError
    is_replayed: bool = False

    def __str__(self) -> str:
        date = self.window.dataset.dates[self.bar]
        where = f"at the close of bar {self.bar} ({date}), window {self.window.bars} of `{self.window.market}`"
        outcome = "repeated, the logged decision stands" if self.is_replayed else "held"
        return f"{outcome}: {self.error}; {where} under seed {self.seed}"


OnFault: TypeAlias = Callable[[Fault], object]


@dataclass(frozen=True)
class SuiteRunner:
    """Runs an agent over the windows and seeds of a suite.

    Args:
        windows: The windows, market by market.
        seeds: Slippage-noise seeds; each window runs once per seed.
        rules: Costs and limits.
        lookback: Maximum number of closes per symbol in an observation.
        name: Name of the agent.
        journal: Journal of the evaluation; None keeps the runs in memory only.
        jobs: Number of markets that run in parallel.
        on_run: Called after each run, from any thread.
        on_fault: Called at each fault, from any thread.
        stop: Set to stop all runs.
    """

    windows: Sequence[SuiteWindow]
    seeds: Sequence[int]
    rules: tuple[CostModel, Limits]
    lookback: int
    name: str
    journal: Journal | None = None
    jobs: int = 1
    on_run: Callable[[], object] = lambda: None
    on_fault: OnFault = lambda fault: None
    stop: Stop = field(default_factory=Stop)

    def run_sequentially(self, agent: Agent | str) -> list[RunRecord]:
        """Run a baseline or a callable, one run after the other."""
        records = []
        for index, window in enumerate(self.windows):
            for task in self._tasks(index, window):
                if task.done is None:
                    records.append(self._run(task, agent))
                    self.on_run()
                else:
                    records.append(task.done)
        return records

    def run_in_parallel(self, launcher: Launcher) -> list[RunRecord]:
        """Run an agent in a new process or connection per run.

        The seeds of a window run in lockstep, bar by bar. The windows of one market run in chronological order,
        because a later window reveals the prices of an earlier one; so do all real markets, which share dates.
        Scenarios with separate keys are independent: up to `jobs` of them run in parallel.
        """
        chains: dict[str | None, list[int]] = {}
        for index, window in enumerate(self.windows):
            chains.setdefault(window.market if window.sealed else None, []).append(index)
        with ThreadPoolExecutor(self.jobs) as threads:
            futures = [threads.submit(self._chain, launcher, chain) for chain in chains.values()]
            try:
                wait(futures)
            except BaseException:
                # Only this thread receives Ctrl-C.
                self.stop.set()
                raise
        runs = _results(futures)
        return [record for index in range(len(self.windows)) for record in runs[index]]

    def _chain(self, launcher: Launcher, chain: Sequence[int]) -> dict[int, list[RunRecord]]:
        try:
            return {index: self._window(launcher, index, self.windows[index]) for index in chain}
        except BaseException:
            self.stop.set()
            raise

    def _window(self, launcher: Launcher, index: int, window: SuiteWindow) -> list[RunRecord]:
        if self.stop.is_set:
            raise Stopped
        tasks = self._tasks(index, window)
        pending = [task for task in tasks if task.done is None]
        if pending:
            starts = [
                partial(SupervisedAgent, launcher, partial(self._report_fault, task), task.logged) for task in pending
            ]
            records = run_concurrently(starts, [partial(self._run_task, task) for task in pending], self.stop)
            for task, record in zip(pending, records, strict=True):
                task.done = record
        return [task.done for task in tasks if task.done is not None]

    def _tasks(self, index: int, window: SuiteWindow) -> list[_Task]:
        first = index * len(self.seeds)
        tasks = []
        for at, seed in enumerate(self.seeds):
            part = None if self.journal is None else self.journal.part(first + at)
            tasks.append(_Task(window, seed, part, None if part is None else part.record))
        for task in tasks:
            if task.done is not None:
                self.on_run()
        return tasks

    def _report_fault(self, task: _Task, error: AgentError, step: int) -> None:
        self.on_fault(Fault(task.window, task.seed, task.window.start + step, error, step < len(task.logged)))

    def _run_task(self, task: _Task, agent: TextAgent) -> RunRecord:
        try:
            record = self._run(task, agent)
        except OpenOutcryError as error:
            add_note(error, f"in the window {task.window.bars} of `{task.window.market}` under seed {task.seed}")
            raise
        self.on_run()
        return record

    def _run(self, task: _Task, agent: Agent | TextAgent | str) -> RunRecord:
        window = task.window
        with ExitStack() as cleanup:
            if task.part is not None:
                cleanup.callback(task.part.close)
            done = run_backtest(
                window.dataset,
                agent,
                (window.start, window.end),
                *self.rules,
                task.seed,
                lookback=self.lookback,
                name=self.name,
                capture=task.part or True,
            )
        return done.record


@dataclass
class _Task:
    """One run: its journal file, and its record once it is completed."""

    window: SuiteWindow
    seed: int
    part: Part | None
    done: RunRecord | None

    @property
    def logged(self) -> list[Answer]:
        """Decisions logged before the run was interrupted."""
        return self.part.answers if self.part else []


def _results(futures: Sequence[Future[dict[int, list[RunRecord]]]]) -> dict[int, list[RunRecord]]:
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in errors:
        # `Stopped` is a consequence of the first error.
        if not isinstance(error, Stopped):
            raise error
    return {index: runs for future in futures for index, runs in future.result().items()}
