"""Random agents matched to a run's gross exposure and turnover.

They trade the window of the run under its costs and limits, and give the null distribution of its NAV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run

__all__ = ["LEVELS", "N_AGENTS", "fan_label", "n_agents_of", "nav_quantiles", "random_weights"]

Floats = npt.NDArray[np.float64]

N_AGENTS = 200
"""Random agents of a run of at most 100,000 bars; longer ones have fewer, and at least 20."""
_MOST_BARS = N_AGENTS * 100_000
_LEAST_AGENTS = 20
# The engine runs eight accounts at once.
_TOGETHER = 8
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the null distribution."""

# Random portfolios are drawn once and shared: each agent samples from this pool.
_POOL = 4096


def n_agents_of(run: Run) -> int:
    """Return the number of random agents of a run, which falls with its length."""
    return min(max(_MOST_BARS // len(run.nav), _LEAST_AGENTS), N_AGENTS)


def nav_quantiles(run: Run, n_agents: int | None = None, seed: int = 0) -> Mapping[float, Floats]:
    """Return NAV quantiles of random agents at each bar.

    Each agent is a backtest on the window, costs and limits of the run.

    Args:
        run: The run that the agents are matched to.
        n_agents: Number of random agents; by default `n_agents_of(run)`.
        seed: Seed of their decisions.

    Returns:
        Quantile level to NAV, shape `(n_bars,)`, float64. Empty if the run never held a position.
    """
    tables = random_weights(run, n_agents_of(run) if n_agents is None else n_agents, seed)
    navs = []
    while together := list(islice(tables, _TOGETHER)):
        runs, fault = native.run_tables(run.dataset._core, together, run._settings)
        if fault is not None:
            raise fault
        navs += [each.nav for each in runs]
    if not navs:
        return {}
    drawn = np.quantile(np.stack(navs), LEVELS, axis=0)
    return {level: np.ascontiguousarray(row) for level, row in zip(LEVELS, drawn, strict=True)}


def fan_label(n_agents: int = N_AGENTS) -> str:
    """Return the label of the random agents."""
    return f"{n_agents} random agents with the run's gross exposure and turnover"


def random_weights(run: Run, n_agents: int = N_AGENTS, seed: int = 0) -> Iterator[Floats]:
    """Yield the target weights of random agents matched to a run.

    Each portfolio has the gross exposure, the short share and the concentration that the run had at the close of a
    randomly drawn bar. The mean turnover equals the run's. Symbols, directions and trading bars are random.

    Yields:
        One table per agent: shape `(n_bars of the dataset, n_symbols)`, float64, signed fraction of NAV. NaN holds.
        None if the run never held a position.
    """
    held = run.weights[1:]
    if not held.any():
        return
    rng = np.random.default_rng(seed)
    pool = _portfolios(held[rng.integers(len(held), size=_POOL)], rng)
    start, end = run._settings["window"]
    # A symbol cannot be chosen before its first close.
    seen = np.logical_or.accumulate(np.isfinite(run.dataset.close[:end]), axis=0)[start : end - 1]
    change = float(np.abs(np.diff(pool, axis=0)).sum(axis=1).mean())
    # The initial purchase is not a rebalance.
    traded = max(float(run.turnover.sum()) - float(np.abs(pool).sum(axis=1).mean()), 0.0) / len(seen)
    trade_rate = min(traded / change, 1.0) if change > 0.0 else 0.0
    for _ in range(n_agents):
        yield _agent_weights(run, pool, seen, trade_rate, rng)


def _portfolios(held: Floats, rng: np.random.Generator) -> Floats:
    """Return random portfolios matched to the rows of `held`.

    Each has the gross exposure, short share and concentration of its row. Weights uniform on the simplex of m symbols
    have the concentration (Herfindahl) of (m + 1) / 2 equal weights.
    """
    absolute = np.abs(held)
    gross = absolute.sum(axis=1, keepdims=True)
    divisor = np.where(gross > 0.0, gross, 1.0)
    n_held = gross**2 / np.maximum((absolute**2).sum(axis=1, keepdims=True), 1e-300)
    n_drawn = np.clip(np.rint(2.0 * n_held - 1.0), 1, held.shape[1])
    draws = rng.standard_exponential(held.shape)
    draws[rng.random(held.shape).argsort(axis=1) >= n_drawn] = 0.0
    draws *= gross / draws.sum(axis=1, keepdims=True)
    short = np.maximum(-held, 0.0).sum(axis=1, keepdims=True) / divisor
    return np.where(rng.random(held.shape) < short, -draws, draws)


def _agent_weights(
    run: Run, pool: Floats, seen: npt.NDArray[np.bool_], trade_rate: float, rng: np.random.Generator
) -> Floats:
    start = run._settings["window"][0]
    changes = rng.random(len(seen)) < trade_rate
    changes[0] = True
    bars = np.flatnonzero(changes)
    chosen = pool[rng.integers(len(pool), size=len(bars))]
    known = np.where(seen[bars], chosen, 0.0)
    # Weight of an unlisted symbol is spread over the listed ones; if none is listed, the agent holds cash.
    listed_gross, target_gross = (np.abs(weights).sum(axis=1, keepdims=True) for weights in (known, chosen))
    table = np.full(run.dataset.close.shape, np.nan)
    scale = np.divide(target_gross, listed_gross, out=np.zeros_like(listed_gross), where=listed_gross > 0.0)
    table[start + bars] = known * scale
    return table
