"""Agents without skill: as invested and as busy as a run, and deciding by lot.

What they reach is what luck reaches under the costs and limits of that run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run

__all__ = ["LEVELS", "N_AGENTS", "fan_label", "fan_of", "weights_by_lot"]

Floats = npt.NDArray[np.float64]

N_AGENTS = 200
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of a fan."""

# Portfolios that are drawn once, of which every agent takes its own at random.
_POOL = 4096


def fan_of(run: Run, n_agents: int = N_AGENTS, seed: int = 0) -> Mapping[float, Floats]:
    """Return quantiles of the NAV of agents that choose by lot, level to `(n_bars,)`.

    Each is a backtest on the window, costs and limits of the run. Empty for a run that never held anything.
    """
    tables = weights_by_lot(run, n_agents, seed)
    navs = [native.run_weights(run.dataset._core, table, run._settings).nav for table in tables]
    if not navs:
        return {}
    drawn = np.quantile(np.stack(navs), LEVELS, axis=0)
    return {level: np.ascontiguousarray(row) for level, row in zip(LEVELS, drawn, strict=True)}


def fan_label(n_agents: int = N_AGENTS) -> str:
    """Return who the agents of a fan are."""
    return f"{n_agents} agents by lot, as invested and as busy as the run"


def weights_by_lot(run: Run, n_agents: int = N_AGENTS, seed: int = 0) -> list[Floats]:
    """Return the target weights of agents that choose by lot, a table an agent.

    Each has shape `(n_bars of the dataset, n_symbols)`; NaN holds. What an agent holds is as large, as short and as
    spread out as what the run held at the close of a bar that is drawn, and on average it trades as much as the run.
    Which symbols it holds, which way and when are drawn, too.
    """
    held = run.weights[1:]
    if not held.any():
        return []
    rng = np.random.default_rng(seed)
    pool = _portfolios(held[rng.integers(len(held), size=_POOL)], rng)
    start, end = run._settings["window"]
    # A symbol that trades later may not be chosen before.
    seen = np.logical_or.accumulate(np.isfinite(run.dataset.close[:end]), axis=0)[start : end - 1]
    change = float(np.abs(np.diff(pool, axis=0)).sum(axis=1).mean())
    # What the first purchase takes is not a change.
    traded = max(float(run.turnover.sum()) - float(np.abs(pool).sum(axis=1).mean()), 0.0) / len(seen)
    busy = min(traded / change, 1.0) if change > 0.0 else 0.0
    return [_agent(run, pool, seen, busy, rng) for _ in range(n_agents)]


def _portfolios(held: Floats, rng: np.random.Generator) -> Floats:
    """Return for each row of weights one that is as large, as short and as spread out.

    Weights uniform on the simplex of m symbols are as spread out as (m + 1) / 2 equal ones.
    """
    absolute = np.abs(held)
    gross = absolute.sum(axis=1, keepdims=True)
    some = np.where(gross > 0.0, gross, 1.0)
    n_held = gross**2 / np.maximum((absolute**2).sum(axis=1, keepdims=True), 1e-300)
    n_drawn = np.clip(np.rint(2.0 * n_held - 1.0), 1, held.shape[1])
    draws = rng.standard_exponential(held.shape)
    draws[rng.random(held.shape).argsort(axis=1) >= n_drawn] = 0.0
    draws *= gross / draws.sum(axis=1, keepdims=True)
    short = np.maximum(-held, 0.0).sum(axis=1, keepdims=True) / some
    return np.where(rng.random(held.shape) < short, -draws, draws)


def _agent(run: Run, pool: Floats, seen: npt.NDArray[np.bool_], busy: float, rng: np.random.Generator) -> Floats:
    start = run._settings["window"][0]
    changes = rng.random(len(seen)) < busy
    changes[0] = True
    bars = np.flatnonzero(changes)
    chosen = pool[rng.integers(len(pool), size=len(bars))]
    known = np.where(seen[bars], chosen, 0.0)
    # What falls to a symbol that is not listed goes to the others; where all does, the agent holds cash.
    found, wanted = (np.abs(each).sum(axis=1, keepdims=True) for each in (known, chosen))
    table = np.full(run.dataset.close.shape, np.nan)
    table[start + bars] = known * np.divide(wanted, found, out=np.zeros_like(found), where=found > 0.0)
    return table
