"""Agents run over a suite: in which order, and what at the same time."""

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
from openoutcry.errors import tell
from openoutcry.harness import AgentError, Launcher, Supervised
from openoutcry.harness.cancellation import Stop
from openoutcry.harness.concurrent_runs import run_together
from openoutcry.harness.lockstep import Stopped
from openoutcry.openoutcry_py import CostModel, Limits, OpenOutcryError
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.evaluation_journal import Journal, Part


@dataclass(frozen=True)
class Place:
    """One window of a suite on a market.

    Attributes:
        market: Name of the market in the suite.
        dataset: The market.
        start: First bar of the window.
        end: Bar after its last.
        sealed: Whether the market is drawn from a secret key, so that nobody could know its prices.
    """

    market: str
    dataset: Dataset
    start: int
    end: int
    sealed: bool = False

    @property
    def bars(self) -> str:
        """The window in words."""
        return f"[{self.start}, {self.end})"


@dataclass(frozen=True)
class Fault:
    """A fault of an agent: everything was held instead.

    Attributes:
        place: The window.
        seed: Key of the slippage noise of the run.
        bar: The bar that it was asked about.
        error: What it did.
        is_again: Whether the bar was only shown again: it was answered before the run was cut, and that stands.
    """

    place: Place
    seed: int
    bar: int
    error: AgentError
    is_again: bool = False

    def __str__(self) -> str:
        date = self.place.dataset.dates[self.bar]
        where = f"at the close of bar {self.bar} ({date}), window {self.place.bars} of `{self.place.market}`"
        what = "shown again, and the answer of before stands" if self.is_again else "held"
        return f"{what}: {self.error}; {where} under seed {self.seed}"


OnFault: TypeAlias = Callable[[Fault], object]


@dataclass(frozen=True)
class Order:
    """What is to be run, and how.

    Args:
        places: The windows, market by market.
        seeds: Keys of the slippage noise under which each is run.
        rules: Costs and limits.
        lookback: Closes that an observation shows of a symbol at most.
        name: What the agent is called.
        journal: Keeps the runs while they are made.
        jobs: Markets that are run at the same time.
        on_run: Called after each run, from any thread.
        on_fault: Called at each fault, from any thread.
    """

    places: Sequence[Place]
    seeds: Sequence[int]
    rules: tuple[CostModel, Limits]
    lookback: int
    name: str
    journal: Journal | None = None
    jobs: int = 1
    on_run: Callable[[], object] = lambda: None
    on_fault: OnFault = lambda fault: None
    stop: Stop = field(default_factory=Stop)

    def one_by_one(self, agent: Agent | str) -> list[RunRecord]:
        """Return the runs of a baseline or a callable, made one after the other."""
        made = []
        for index, place in enumerate(self.places):
            for task in self._tasks(index, place):
                if task.done is None:
                    made.append(self._run(task, agent))
                    self.on_run()
                else:
                    made.append(task.done)
        return made

    def side_by_side(self, launcher: Launcher) -> list[RunRecord]:
        """Return the runs of an agent that is begun anew for each.

        The seeds of a window are run at the same time, bar by bar. The windows of a market follow each other, since one
        that is later tells of one before; so do all real markets, whose days are the same. Markets drawn from keys of
        their own tell nothing of each other: those are run at the same time, as many as there are `jobs`.
        """
        chains: dict[str | None, list[int]] = {}
        for index, place in enumerate(self.places):
            chains.setdefault(place.market if place.sealed else None, []).append(index)
        with ThreadPoolExecutor(self.jobs) as threads:
            made = [threads.submit(self._chain, launcher, chain) for chain in chains.values()]
            try:
                wait(made)
            except BaseException:
                # Ctrl-C comes to this thread alone.
                self.stop.set()
                raise
        runs = _all_of(made)
        return [record for index in range(len(self.places)) for record in runs[index]]

    def _chain(self, launcher: Launcher, chain: Sequence[int]) -> dict[int, list[RunRecord]]:
        try:
            return {index: self._window(launcher, index, self.places[index]) for index in chain}
        except BaseException:
            self.stop.set()
            raise

    def _window(self, launcher: Launcher, index: int, place: Place) -> list[RunRecord]:
        if self.stop.is_set:
            raise Stopped
        tasks = self._tasks(index, place)
        left = [task for task in tasks if task.done is None]
        if left:
            begins = [partial(Supervised, launcher, partial(self._tell, task), task.before) for task in left]
            made = run_together(begins, [partial(self._asked, task) for task in left], self.stop)
            for task, record in zip(left, made, strict=True):
                task.done = record
        return [task.done for task in tasks if task.done is not None]

    def _tasks(self, index: int, place: Place) -> list[_Task]:
        first = index * len(self.seeds)
        tasks = []
        for at, seed in enumerate(self.seeds):
            part = None if self.journal is None else self.journal.part(first + at)
            tasks.append(_Task(place, seed, part, None if part is None else part.record))
        for task in tasks:
            if task.done is not None:
                self.on_run()
        return tasks

    def _tell(self, task: _Task, error: AgentError, step: int) -> None:
        self.on_fault(Fault(task.place, task.seed, task.place.start + step, error, step < len(task.before)))

    def _asked(self, task: _Task, agent: TextAgent) -> RunRecord:
        try:
            record = self._run(task, agent)
        except OpenOutcryError as error:
            tell(error, f"in the window {task.place.bars} of `{task.place.market}` under seed {task.seed}")
            raise
        self.on_run()
        return record

    def _run(self, task: _Task, agent: Agent | TextAgent | str) -> RunRecord:
        place = task.place
        with ExitStack() as ends:
            if task.part is not None:
                ends.callback(task.part.close)
            done = run_backtest(
                place.dataset,
                agent,
                (place.start, place.end),
                *self.rules,
                task.seed,
                lookback=self.lookback,
                name=self.name,
                capture=task.part or True,
            )
        return done.record


@dataclass
class _Task:
    """One run: where it is written, and what it came to, if it has ended."""

    place: Place
    seed: int
    part: Part | None
    done: RunRecord | None

    @property
    def before(self) -> list[Answer]:
        """What was answered before the run was cut."""
        return self.part.answers if self.part else []


def _all_of(made: Sequence[Future[dict[int, list[RunRecord]]]]) -> dict[int, list[RunRecord]]:
    errors = [error for each in made if (error := each.exception()) is not None]
    for error in errors:
        # What stopped the others is what has happened.
        if not isinstance(error, Stopped):
            raise error
    return {index: runs for each in made for index, runs in each.result().items()}
