"""Speed of multiple testing compared with `arch` (extra `oracle`)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from openoutcry.benchmarks.engine_speed import Row
from openoutcry.scoring.multiple_testing import FieldTests, block_length, field_tests
from openoutcry.scoring.skill import Deflated, Moments, Trials, deflate

Table = npt.NDArray[np.float64]

N_DAYS, N_AGENTS, N_DRAWS, N_WINDOWS = 2_520, 100, 2_000, 10
ROUNDS = 3
# Goal: speed of all tests relative to the one test of `arch`.
GOAL = 10.0


def measure() -> list[Row]:
    """Return the row of the multiple tests; takes about ten seconds.

    Raises:
        ModuleNotFoundError: the extra `oracle` is not installed.
    """
    try:
        from arch.bootstrap import SPA
    except ModuleNotFoundError as error:
        message = "openoutcry.benchmarks.scoring_speed needs `pip install openoutcry[oracle]`"
        raise ModuleNotFoundError(message, name=error.name) from error
    returns = noise_returns(N_DAYS, N_AGENTS)
    block = max(1, round(block_length(returns)))

    def arch_spa() -> object:
        # `arch` takes losses; the benchmark earns 0 per day.
        test = SPA(np.zeros(len(returns)), -returns, block_size=block, reps=N_DRAWS, seed=1)
        test.compute()
        return test.pvalues

    here, there = best_of(lambda: run_tests(returns, N_DRAWS), arch_spa)
    what = f"DSR, bootstrap, SPA, Romano-Wolf, {N_AGENTS} x {N_DAYS:,} days, {N_DRAWS:,} draws"
    bound = there / GOAL * 1e3
    return [Row(what, here * 1e3, bound, " ms", f"{there * 1e3:,.0f} ms", there / here, "arch, SPA only")]


def noise_returns(n_days: int, n_agents: int, seed: int = 7) -> Table:
    """Return daily returns of agents without skill, shape `(n_days, n_agents)`.

    Half of their variance is common.
    """
    random = np.random.default_rng(seed)
    own, shared = random.standard_normal((n_days, n_agents)), random.standard_normal((n_days, 1))
    return np.asarray(0.01 * (own + shared) / np.sqrt(2.0))


def run_tests(returns: Table, n_draws: int) -> tuple[list[Deflated], FieldTests]:
    """Return the deflated Sharpe ratio of each agent, and all tests of the field.

    Bootstrap blocks have the length estimated from the returns, and stay within windows.
    """
    ledger = Trials.of(returns.T)
    deflated = [deflate(Moments.of(series), ledger) for series in returns.T]
    edges = np.linspace(0, len(returns), N_WINDOWS + 1).astype(int)
    return deflated, field_tests(returns, seed=1, n_draws=n_draws, windows=np.diff(edges).tolist())


def best_of(*works: Callable[[], object]) -> list[float]:
    """Return the CPU seconds of the fastest call of each function, measured in turns."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            start = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - start)
    return best
