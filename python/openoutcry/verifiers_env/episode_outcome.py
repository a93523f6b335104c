"""Outcome of an episode: its decisions replayed, and its benchmark.

Rewards read nothing else, so they can be recomputed from the records of the episode.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from openoutcry.agents import Answer, TextAgent
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.verifiers_env.mandates import MANDATES, Mandate
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState, Window, settings
from openoutcry.verifiers_env.task_rows import Row

Series = npt.NDArray[np.float64]

# Minimum volatility per bar of the scale: a nearly constant market must not inflate the excess.
LEAST_VOLATILITY = 1e-4
# Floor of the NAV, so that its logarithm is finite.
RUIN = 1e-8


@dataclass(frozen=True)
class WindowOutcome:
    """A completed window.

    Args:
        run: Run of the decisions, with holds where none was made.
        market: Run of `buy-and-hold` on the same market: equal weights bought on the first bar.
        benchmark: Benchmark run of the mandate.
        mandate: The mandate.
    """

    run: Run
    market: Run
    benchmark: Run
    mandate: Mandate

    @cached_property
    def log_returns(self) -> Series:
        """Log returns of the account. Shape `(horizon,)`, float64, per bar."""
        return _log_returns(self.run)

    @cached_property
    def excess(self) -> Series:
        """Log returns in excess of the benchmark. Shape `(horizon,)`, float64, per bar."""
        return self.log_returns - _log_returns(self.benchmark)

    @cached_property
    def scale(self) -> float:
        """Volatility of the market over the window, the unit of results."""
        each = float(np.sqrt(np.mean(_log_returns(self.market) ** 2)))
        return float(max(each, LEAST_VOLATILITY) * len(self.excess) ** 0.5)

    @cached_property
    def breaches(self) -> npt.NDArray[np.bool_]:
        """Closes after the first at which the mandate is breached.

        Shape `(horizon,)`, bool.
        """
        return self.mandate.breaches(self.run.weights, self.run.nav)[1:]


@dataclass(frozen=True)
class Outcome:
    """A completed episode.

    Args:
        row: Its task row.
        windows: Its windows; windows that were not reached hold cash from the first bar to the last.
        n_answers: Answers of the model.
        n_malformed: Answers that were not a valid decision.
        n_refused: Refused orders.
        n_reads: Calls of `observe` and `history`.
        has_finished: Whether the model called `finish`.
    """

    row: Row
    windows: tuple[WindowOutcome, ...]
    n_answers: int
    n_malformed: int
    n_refused: int
    n_reads: int
    has_finished: bool


def outcome_of(rollout: RolloutState, name: str = "", *, capture: bool = False) -> Outcome:
    """Return the outcome of an episode, complete or not: missing decisions are holds.

    Args:
        rollout: State of the rollout.
        name: Name of the agent in records.
        capture: Whether runs have records.

    Raises:
        RuntimeError: the replay differs from the rollout, which no answer can cause.
    """
    row = rollout.row
    windows = list(rollout.windows)
    while len(windows) < row.n_windows:
        windows.append(Window(rollout.draw(row, len(windows))))
    outcomes = tuple(_window_outcome(row, window, name, capture=capture) for window in windows)
    return Outcome(
        row, outcomes, rollout.n_answers, rollout.n_malformed, rollout.n_refused, rollout.n_reads, rollout.has_finished
    )


class _RecordedAgent(TextAgent):
    """An agent that replays its decisions, and then holds."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._left = iter(answers)

    def answer(self, observation: str) -> Answer:
        return next(self._left, Answer(HOLD))


def _window_outcome(row: Row, window: Window, name: str, *, capture: bool) -> WindowOutcome:
    mandate = MANDATES[row.mandate]
    given = settings(row)

    def run(agent: TextAgent | str, capture: bool = False) -> Run:
        return run_backtest(window.dataset, agent, **given, name=name, capture=capture)

    market = run("buy-and-hold")
    benchmark = market if mandate.benchmark == "buy-and-hold" else run(mandate.benchmark)
    return WindowOutcome(run(_RecordedAgent(window.answers), capture), market, benchmark, mandate)


def _log_returns(run: Run) -> Series:
    nav = np.maximum(run.nav, RUIN)
    return np.diff(np.log(nav))
