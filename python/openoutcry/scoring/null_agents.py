"""Random agents matched to a run's gross exposure and turnover.

They trade the window of the run under its costs and limits, and give the null distribution of its NAV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run

__all__ = ["LEVELS", "MOST_WHOLE", "N_AGENTS", "fan_label", "n_agents_of", "nav_quantiles", "nav_quantiles_at"]
__all__ += ["outside_share", "random_weights"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

N_AGENTS = 200
"""Random agents of a run of at most 100,000 bars; longer ones have fewer, and at least 24."""
_LEAST = 24
MOST_WHOLE = 100_000
"""Bars up to which the quantiles are those of every bar."""
# The engine runs eight accounts at once.
_TOGETHER = 8
_BLOCK = 16_384
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the null distribution."""

# Random portfolios are drawn once and shared: each agent samples from this pool.
_POOL = 4096


def n_agents_of(run: Run) -> int:
    """Return the number of random agents of a run, which falls with its length."""
    n_bars = len(run.nav)
    if n_bars <= MOST_WHOLE:
        return N_AGENTS
    return max(N_AGENTS * MOST_WHOLE // n_bars // _TOGETHER * _TOGETHER, _LEAST)


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
    # In parts: the quantiles of a whole table need several copies of it.
    parts = [
        np.quantile(np.stack([nav[first : first + _BLOCK] for nav in navs]), LEVELS, axis=0)
        for first in range(0, len(run.nav), _BLOCK)
    ]
    return {level: np.concatenate([part[place] for part in parts]) for place, level in enumerate(LEVELS)}


def nav_quantiles_at(run: Run, bars: Places, n_agents: int | None = None, seed: int = 0) -> Mapping[float, Floats]:
    """Return NAV quantiles of random agents at some bars of a long run.

    The agents are as in `nav_quantiles`, with other draws. No table of their decisions is made, so that the memory does
    not grow with the bars.

    Args:
        run: The run that the agents are matched to.
        bars: Places in the window, rising.
        n_agents: Number of random agents, a multiple of 8; by default `n_agents_of(run)`.
        seed: Seed of their decisions.

    Returns:
        Quantile level to NAV, shape `(len(bars),)`, float64. Empty if the run never held a position.
    """
    rng = np.random.default_rng(seed)
    plan = _plan_of(run, rng)
    if plan is None:
        return {}
    navs: list[Floats] = []
    for _ in range(0, n_agents_of(run) if n_agents is None else n_agents, _TOGETHER):
        blocks = _blocks(plan, rng)
        navs += native.nav_of_blocks(run.dataset._core, blocks, run._settings, bars.tolist())
    return dict(zip(LEVELS, np.quantile(np.stack(navs), LEVELS, axis=0), strict=True))


def fan_label(n_agents: int = N_AGENTS) -> str:
    """Return the label of the random agents."""
    label = f"{n_agents} random agents with the run's gross exposure and turnover"
    if n_agents >= N_AGENTS:
        return label
    return f"{label} (about {outside_share(n_agents):.0%} of runs without skill end outside)"


def outside_share(n_agents: int) -> float:
    """Return about the share of unskilled runs that end outside the outer quantiles.

    It is 10 % for many agents. The quantiles of few are nearer to each other than those of all agents.
    """
    # The quantile is between order statistics; each of the n + 1 gaps between agents is as likely for the run.
    return 2.0 * (LEVELS[0] * (n_agents - 1) + 1.0) / (n_agents + 1)


def random_weights(run: Run, n_agents: int = N_AGENTS, seed: int = 0) -> Iterator[Floats]:
    """Yield the target weights of random agents matched to a run.

    Each portfolio has the gross exposure, the short share and the concentration that the run had at the close of a
    randomly drawn bar. The mean turnover equals the run's. Symbols, directions and trading bars are random.

    Yields:
        One table per agent: shape `(n_bars of the dataset, n_symbols)`, float64, signed fraction of NAV. NaN holds.
        None if the run never held a position.
    """
    rng = np.random.default_rng(seed)
    plan = _plan_of(run, rng)
    if plan is None:
        return
    start = run._settings["window"][0]
    for _ in range(n_agents):
        table = np.full(run.dataset.close.shape, np.nan)
        plan.write(table[start : start + plan.n_rows], 0, rng)
        yield table


@dataclass(frozen=True)
class _Plan:
    """What the random agents of a run draw from.

    Attributes:
        pool: Portfolios, shape `(_POOL, n_symbols)`.
        first: Row of the first close of each symbol; a symbol cannot be chosen before it.
        n_rows: Number of decisions.
        trade_rate: Share of the bars that an agent trades on.
    """

    pool: Floats
    first: Places
    n_rows: int
    trade_rate: float

    def write(self, rows: Floats, place: int, rng: np.random.Generator) -> Places:
        """Write the trades of an agent to rows of NaN, the first of them `place`.

        Return the rows with trades.
        """
        bars = native.places_below(rng.random(len(rows)), self.trade_rate)
        if place == 0 and not (len(bars) and bars[0] == 0):
            bars = np.concatenate([[0], bars])
        chosen = self.pool[rng.integers(len(self.pool), size=len(bars))]
        if place >= self.first.max():
            rows[bars] = chosen
            return bars
        known = np.where(place + bars[:, None] >= self.first, chosen, 0.0)
        # Weight of an unlisted symbol is spread over the listed ones; if none is listed, the agent holds cash.
        listed_gross, target_gross = (np.abs(weights).sum(axis=1, keepdims=True) for weights in (known, chosen))
        scale = np.divide(target_gross, listed_gross, out=np.zeros_like(listed_gross), where=listed_gross > 0.0)
        rows[bars] = known * scale
        return bars


def _plan_of(run: Run, rng: np.random.Generator) -> _Plan | None:
    """Return what random agents draw from; None if the run never held a position."""
    held = run.weights[1:]
    if not held.any():
        return None
    pool = _portfolios(held[rng.integers(len(held), size=_POOL)], rng)
    start, end = run._settings["window"]
    # The market would keep a copy of `dataset.close`.
    closes = run.dataset._core.column("close")
    assert closes is not None, "every market has closes"
    is_closed = np.isfinite(closes[: end - 1])
    del closes
    first = np.where(is_closed.any(axis=0), is_closed.argmax(axis=0), end) - start
    change = float(np.abs(np.diff(pool, axis=0)).sum(axis=1).mean())
    n_rows = end - 1 - start
    # The initial purchase is not a rebalance.
    traded = max(float(run.turnover.sum()) - float(np.abs(pool).sum(axis=1).mean()), 0.0) / n_rows
    return _Plan(pool, first, n_rows, min(traded / change, 1.0) if change > 0.0 else 0.0)


def _blocks(plan: _Plan, rng: np.random.Generator) -> Iterator[list[Floats]]:
    """Yield the decisions of eight agents, a block of rows after the other.

    The next block is written over the one before it.
    """
    tables = [np.full((min(_BLOCK, plan.n_rows), plan.pool.shape[1]), np.nan) for _ in range(_TOGETHER)]
    for place in range(0, plan.n_rows, _BLOCK):
        block = [table[: plan.n_rows - place] for table in tables]
        written = [plan.write(rows, place, rng) for rows in block]
        yield block
        for rows, bars in zip(block, written, strict=True):
            rows[bars] = np.nan


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
