"""Runs of all arms, with a new agent for each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from openoutcry.agents import Agent, TextAgent
from openoutcry.audits.contamination.arms import ARMS, ArmReturns, Job, WindowMarket, jobs_of
from openoutcry.audits.contamination.experiment_design import Design
from openoutcry.backtest.run import run_backtest
from openoutcry.errors import add_note
from openoutcry.harness import AgentError, Launcher, SupervisedAgent
from openoutcry.harness.cancellation import Stop
from openoutcry.harness.lockstep import Stopped
from openoutcry.harness.process_privacy import private_process
from openoutcry.openoutcry_py import CostModel, Limits, gross_exposure

Row = tuple[npt.NDArray[np.float64], float]
"""Returns of a run by bar, and its mean gross exposure."""

Rules = tuple[CostModel | None, Limits | None]


@dataclass(frozen=True, eq=False)
class Trial:
    """All runs of an agent, in a random order that the seed determines.

    Args:
        windows: The windows.
        design: Design of the experiment.
        rules: Costs and limits.
        n_jobs: Number of parallel runs of a launcher.
        on_run: Called after each run, from any thread.
    """

    windows: Sequence[WindowMarket]
    design: Design
    rules: Rules
    n_jobs: int = 1
    on_run: Callable[[], object] = lambda: None
    _faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    _stop: Stop = field(default_factory=Stop)

    def run(self, agent: Agent | Launcher | str) -> list[ArmReturns]:
        """Return the returns of an agent in each arm of each window."""
        jobs = jobs_of(self.windows, self.design)
        if isinstance(agent, Launcher):
            with private_process():
                rows = self._by_launcher(agent, jobs)
        else:
            rows = [self._run(agent, job) for job in jobs]
        results = list(zip(jobs, rows, strict=True))
        windows = range(len(self.windows))
        return [self._collected(window, [each for each in results if each[0].window == window]) for window in windows]

    def faults_of(self, arm: str) -> dict[str, int]:
        """Count decisions that defaulted to hold, by slug of the fault."""
        return {slug: count for (of, slug), count in sorted(self._faults.items()) if of == arm}

    def _by_launcher(self, launcher: Launcher, jobs: Sequence[Job]) -> list[Row]:
        with ThreadPoolExecutor(self.n_jobs) as threads:
            futures = [threads.submit(self._launch, launcher, job) for job in jobs]
            try:
                wait(futures)
            except BaseException:
                # Only this thread receives Ctrl-C.
                self._stop.set()
                raise
        errors = [error for future in futures if (error := future.exception()) is not None]
        for error in errors:
            # `Stopped` is a consequence of the first error.
            if not isinstance(error, Stopped):
                raise error
        return [future.result() for future in futures]

    def _launch(self, launcher: Launcher, job: Job) -> Row:
        if self._stop.is_set:
            raise Stopped
        try:
            with SupervisedAgent(launcher) as session, self._stop.on_stop(session.kill):
                return self._run(session, job)
        except BaseException as error:
            self._end(error)
            raise

    def _end(self, error: BaseException) -> None:
        """Stop all runs after an error; the error of a stopped run becomes `Stopped`."""
        if self._stop.is_set and isinstance(error, AgentError):
            raise Stopped from error
        self._stop.set()

    def _run(self, agent: Agent | TextAgent | str, job: Job) -> Row:
        source = self.windows[job.window]
        lookback, window = self.design.lookback, (source.start, source.end)
        is_text = isinstance(agent, TextAgent)
        try:
            done = run_backtest(job.market(), agent, window, *self.rules, job.seed, lookback=lookback, capture=is_text)
        except Exception as error:
            date = source.market.dates[source.start]
            add_note(error, f"in run {job.number} of the arm `{job.arm}`, window from {date}")
            raise
        if is_text:
            self._faults.update((job.arm, slug) for slug in done.record.faults[0].values())
        self.on_run()
        # There is no position at the first close.
        return np.asarray(done.returns), float(np.mean(gross_exposure(done.weights)[1:]))

    def _collected(self, window: int, results: Sequence[tuple[Job, Row]]) -> ArmReturns:
        cut = self.windows[window]
        returns = {arm: np.stack([row for job, (row, _) in results if job.arm == arm]) for arm in ARMS}
        gross = {arm: float(np.mean([held for job, (_, held) in results if job.arm == arm])) for arm in ARMS}
        sources = np.stack([job.sources for job, _ in results if job.sources is not None]) - cut.start - 1
        dates = cut.market.dates
        return ArmReturns(dates[cut.start], dates[cut.start + 1 : cut.end], **returns, sources=sources, gross=gross)
