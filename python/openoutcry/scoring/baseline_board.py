"""Boards of baselines: agents ranked over several windows of one market."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from openoutcry import agents
from openoutcry.arguments import checked_integer
from openoutcry.backtest.decision_makers import decision_maker_of, warn_of_holdout
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Window
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK, CostModel, Limits


@dataclass(frozen=True)
class Entry:
    """One agent of a board: its run over the full period, and one per window."""

    full_run: Run
    windows: tuple[Run, ...]

    @property
    def agent(self) -> str:
        """Name of the agent."""
        return self.full_run.name

    @property
    def unranked(self) -> str:
        """Why the agent is unranked; empty if it has a rank."""
        return self.full_run.undefined.get("sharpe") or self.full_run.caveats.get("sharpe", "")


@dataclass(frozen=True)
class Board:
    """Agents of one market, best Sharpe ratio first, unranked agents last."""

    dataset: Dataset
    entries: tuple[Entry, ...]

    @property
    def benchmark(self) -> Run:
        """Buy-and-hold over the full period."""
        return next(entry.full_run for entry in self.entries if entry.agent == "buy-and-hold")


def run_board(
    dataset: Dataset,
    *,
    n_windows: int = 5,
    costs: CostModel | None = None,
    limits: Limits | None = None,
    names: Sequence[str] = agents.NAMES,
    seed: int = 0,
    on_run: Callable[[str], None] = lambda _: None,
) -> Board:
    """Run the baselines over the full market and over `n_windows` equal parts of it.

    Args:
        dataset: The market.
        n_windows: Number of consecutive windows; each starts on the last bar of the one before.
        costs: Trading costs.
        limits: Limits on weights.
        names: Names of baselines, strategies and candidates; buy-and-hold is always included. All agents start at the
            first bar where each has its lookback.
        seed: Seed of the random agent and of the slippage noise.
        on_run: Called with the agent's name after each of its runs.

    Raises:
        OpenOutcryError: `window_invalid`: the market has fewer bars than windows.
    """
    makers = {name: decision_maker_of(name, seed, DEFAULT_LOOKBACK) for name in dict.fromkeys([*names, "buy-and-hold"])}
    start, end = Window().resolve(dataset, max(maker.lookback for maker in makers.values()))
    for maker in makers.values():
        # Here once, and not for each window.
        warn_of_holdout(maker.candidate, maker.name, [(dataset, (start, end))], stacklevel=3)
    n_windows = checked_integer("n_windows", n_windows, 1, end - 1 - start, "window_invalid")
    edges = [start + (end - 1 - start) * k // n_windows for k in range(n_windows + 1)]
    windows = [(first, last + 1) for first, last in pairwise(edges)]

    def run(name: str, window: tuple[int, int]) -> Run:
        done = run_backtest(dataset, makers[name].agent, window, costs, limits, seed, name=makers[name].name)
        on_run(name)
        return done

    entries = [Entry(run(name, (start, end)), tuple(run(name, window) for window in windows)) for name in makers]
    return Board(dataset, tuple(sorted(entries, key=_rank)))


def _rank(entry: Entry) -> tuple[bool, float]:
    sharpe = entry.full_run.metrics["sharpe"]
    return (bool(entry.unranked), 0.0 if sharpe is None else -sharpe)
