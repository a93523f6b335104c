"""Speed of the tests of a field beside `arch`, which the extra `oracle` brings."""

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
# How many times faster than the peer, which makes one of the tests, all of them should be.
GOAL = 10.0


def measure() -> list[Row]:
    """Return the row of the tests of a field; takes about ten seconds.

    Raises:
        ModuleNotFoundError: the extra `oracle` is not installed.
    """
    try:
        from arch.bootstrap import SPA
    except ModuleNotFoundError as error:
        message = "openoutcry.benchmarks.scoring_speed needs `pip install openoutcry[oracle]`"
        raise ModuleNotFoundError(message, name=error.name) from error
    returns = field_of_noise(N_DAYS, N_AGENTS)
    block = max(1, round(block_length(returns)))

    def theirs() -> object:
        # `arch` takes losses; a benchmark that earns 0 a day is what ours are over.
        test = SPA(np.zeros(len(returns)), -returns, block_size=block, reps=N_DRAWS, seed=1)
        test.compute()
        return test.pvalues

    here, there = best_of(lambda: judge(returns, N_DRAWS), theirs)
    what = f"DSR, bootstrap, SPA, Romano-Wolf, {N_AGENTS} x {N_DAYS:,} days, {N_DRAWS:,} draws"
    bound = there / GOAL * 1e3
    return [Row(what, here * 1e3, bound, " ms", f"{there * 1e3:,.0f} ms", there / here, "arch, SPA alone")]


def field_of_noise(n_days: int, n_agents: int, seed: int = 7) -> Table:
    """Return days without skill, half of whose variance is common.

    Their shape is `(n_days, n_agents)`.
    """
    random = np.random.default_rng(seed)
    own, shared = random.standard_normal((n_days, n_agents)), random.standard_normal((n_days, 1))
    return np.asarray(0.01 * (own + shared) / np.sqrt(2.0))


def judge(returns: Table, n_draws: int) -> tuple[list[Deflated], FieldTests]:
    """Return the deflated ratio of each agent, and all tests of the field.

    Among these is the bootstrap of each agent's mean alone. Blocks are as long as the days suggest and stay in windows.
    """
    ledger = Trials.of(returns.T)
    deflated = [deflate(Moments.of(track), ledger) for track in returns.T]
    edges = np.linspace(0, len(returns), N_WINDOWS + 1).astype(int)
    return deflated, field_tests(returns, seed=1, n_draws=n_draws, windows=np.diff(edges).tolist())


def best_of(*works: Callable[[], object]) -> list[float]:
    """Return the CPU seconds of the fastest call of each; they take turns."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            start = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - start)
    return best
