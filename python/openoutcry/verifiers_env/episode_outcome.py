"""What an episode came to: its answers run again, beside the benchmark.

Rewards read nothing else, so that what is paid is what the records of the episode replay to.
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
from openoutcry.verifiers_env.rollout_state import HOLD, Desk, Window, settings
from openoutcry.verifiers_env.task_rows import Row

Series = npt.NDArray[np.float64]

# The volatility of a bar below which a market hardly moves, so that no excess is measured in less.
LEAST_VOLATILITY = 1e-4
# Of a NAV that is gone no logarithm is finite.
RUIN = 1e-8


@dataclass(frozen=True)
class Played:
    """A window that is over.

    Args:
        run: The run of the answers, holds where none was given.
        market: The run of `buy-and-hold` on the same market: an equal part of each symbol, bought at once.
        benchmark: The run that the mandate measures against.
        mandate: What could be held.
    """

    run: Run
    market: Run
    benchmark: Run
    mandate: Mandate

    @cached_property
    def log_returns(self) -> Series:
        """Log return of the account per bar, shape `(horizon,)`."""
        return _log_returns(self.run)

    @cached_property
    def excess(self) -> Series:
        """Log return over that of the benchmark per bar, shape `(horizon,)`."""
        return self.log_returns - _log_returns(self.benchmark)

    @cached_property
    def scale(self) -> float:
        """Volatility of the market over the whole window, by which results are divided."""
        each = float(np.sqrt(np.mean(_log_returns(self.market) ** 2)))
        return float(max(each, LEAST_VOLATILITY) * len(self.excess) ** 0.5)

    @cached_property
    def breaches(self) -> npt.NDArray[np.bool_]:
        """At which closes after the first the mandate is broken, shape `(horizon,)`."""
        return self.mandate.breaches(self.run.weights, self.run.nav)[1:]


@dataclass(frozen=True)
class Outcome:
    """An episode that is over.

    Args:
        row: What it was about.
        played: Its windows; those that were never begun are held in cash from the first bar to the last.
        n_answers: Answers given.
        n_malformed: Answers that were no decision.
        n_refused: Orders that were refused.
        n_reads: Questions about the market.
        has_finished: Whether the model left the rest to what was held.
    """

    row: Row
    played: tuple[Played, ...]
    n_answers: int
    n_malformed: int
    n_refused: int
    n_reads: int
    has_finished: bool


def outcome_of(desk: Desk, name: str = "", *, capture: bool = False) -> Outcome:
    """Return what an episode came to, over or not: what was not answered is held.

    Args:
        desk: The episode.
        name: What its records call whoever traded.
        capture: Whether runs have records.

    Raises:
        RuntimeError: the windows run otherwise than they were played, which no answer can bring about.
    """
    row = desk.row
    windows = list(desk.windows)
    while len(windows) < row.n_windows:
        windows.append(Window(desk.draw(row, len(windows))))
    played = tuple(_played(row, window, name, capture=capture) for window in windows)
    return Outcome(row, played, desk.n_answers, desk.n_malformed, desk.n_refused, desk.n_reads, desk.has_finished)


class _Told(TextAgent):
    """An agent that has made its decisions, and holds after them."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._left = iter(answers)

    def answer(self, observation: str) -> Answer:
        return next(self._left, Answer(HOLD))


def _played(row: Row, window: Window, name: str, *, capture: bool) -> Played:
    mandate = MANDATES[row.mandate]
    given = settings(row)

    def run(agent: TextAgent | str, capture: bool = False) -> Run:
        return run_backtest(window.dataset, agent, **given, name=name, capture=capture)

    market = run("buy-and-hold")
    benchmark = market if mandate.benchmark == "buy-and-hold" else run(mandate.benchmark)
    return Played(run(_Told(window.answers), capture), market, benchmark, mandate)


def _log_returns(run: Run) -> Series:
    nav = np.maximum(run.nav, RUIN)
    return np.diff(np.log(nav))
