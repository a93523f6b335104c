"""The runs of all arms, each by an agent that was begun for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from openoutcry.agents import Agent, TextAgent
from openoutcry.audits.contamination.arms import ARMS, Job, Place, Tracks, jobs_of
from openoutcry.audits.contamination.experiment_design import Design
from openoutcry.backtest.run import run_backtest
from openoutcry.errors import tell
from openoutcry.harness import AgentError, Launcher, Supervised
from openoutcry.harness.cancellation import Stop
from openoutcry.harness.lockstep import Stopped
from openoutcry.harness.process_privacy import closed_to_others
from openoutcry.openoutcry_py import CostModel, Limits, gross_exposure

Row = tuple[npt.NDArray[np.float64], float]
"""What a run earned, a bar each, and its mean gross exposure."""

Rules = tuple[CostModel | None, Limits | None]


@dataclass(frozen=True, eq=False)
class Trial:
    """All runs of an agent on windows, in an order that the seed fixes.

    Args:
        places: The windows.
        design: How it is tried.
        rules: Costs and limits.
        n_jobs: Runs at the same time, of a launcher.
        on_run: Called after each run, from any thread.
    """

    places: Sequence[Place]
    design: Design
    rules: Rules
    n_jobs: int = 1
    on_run: Callable[[], object] = lambda: None
    _faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    _stop: Stop = field(default_factory=Stop)

    def tracks(self, agent: Agent | Launcher | str) -> list[Tracks]:
        """Return what an agent earns in each arm of each window."""
        jobs = jobs_of(self.places, self.design)
        if isinstance(agent, Launcher):
            with closed_to_others():
                rows = self._by_launcher(agent, jobs)
        else:
            rows = [self._run(agent, job) for job in jobs]
        made = list(zip(jobs, rows, strict=True))
        windows = range(len(self.places))
        return [self._gathered(window, [each for each in made if each[0].window == window]) for window in windows]

    def faults_of(self, arm: str) -> dict[str, int]:
        """Return how many answers of the runs made so far were held for a fault, by slug."""
        return {slug: count for (of, slug), count in sorted(self._faults.items()) if of == arm}

    def _by_launcher(self, launcher: Launcher, jobs: Sequence[Job]) -> list[Row]:
        with ThreadPoolExecutor(self.n_jobs) as threads:
            made = [threads.submit(self._begun, launcher, job) for job in jobs]
            try:
                wait(made)
            except BaseException:
                # Ctrl-C comes to this thread alone.
                self._stop.set()
                raise
        errors = [error for each in made if (error := each.exception()) is not None]
        for error in errors:
            # What stopped the others is what has happened.
            if not isinstance(error, Stopped):
                raise error
        return [each.result() for each in made]

    def _begun(self, launcher: Launcher, job: Job) -> Row:
        if self._stop.is_set:
            raise Stopped
        try:
            with Supervised(launcher) as session, self._stop.calling(session.kill):
                return self._run(session, job)
        except BaseException as error:
            self._end(error)
            raise

    def _end(self, error: BaseException) -> None:
        """End all runs for the error of one; of one that was ended, it is no error."""
        if self._stop.is_set and isinstance(error, AgentError):
            raise Stopped from error
        self._stop.set()

    def _run(self, agent: Agent | TextAgent | str, job: Job) -> Row:
        place = self.places[job.window]
        lookback, window = self.design.lookback, (place.start, place.end)
        is_asked = isinstance(agent, TextAgent)
        try:
            done = run_backtest(job.market(), agent, window, *self.rules, job.seed, lookback=lookback, capture=is_asked)
        except Exception as error:
            tell(error, f"in run {job.number} of the arm `{job.arm}`, window from {place.market.dates[place.start]}")
            raise
        if is_asked:
            self._faults.update((job.arm, slug) for slug in done.record.faults[0].values())
        self.on_run()
        # Nothing can be held at the first close.
        return np.asarray(done.returns), float(np.mean(gross_exposure(done.weights)[1:]))

    def _gathered(self, window: int, made: Sequence[tuple[Job, Row]]) -> Tracks:
        place = self.places[window]
        earned = {arm: np.stack([row for job, (row, _) in made if job.arm == arm]) for arm in ARMS}
        gross = {arm: float(np.mean([held for job, (_, held) in made if job.arm == arm])) for arm in ARMS}
        sources = np.stack([job.sources for job, _ in made if job.sources is not None]) - place.start - 1
        dates = place.market.dates
        return Tracks(dates[place.start], dates[place.start + 1 : place.end], **earned, sources=sources, gross=gross)
