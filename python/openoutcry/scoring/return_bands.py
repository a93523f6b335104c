"""Monte Carlo bands of a run: its returns, resampled in blocks.

They show what the same returns in another order, with repetition, would have given. They assume that the returns are a
fair sample, and say nothing about skill: random agents without skill are in `null_agents`.

A long series is resampled in cells of consecutive bars. The cell keeps its extremes, so the drawdown of a path is that
over all of its bars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer
from openoutcry.errors import OpenOutcryError

__all__ = ["DEPTHS", "LEVELS", "Bands", "bands_of"]

Floats = npt.NDArray[np.float64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DEPTHS = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Depths of the drawdowns that a probability is stated for."""

N_PATHS = 1000
MIN_RETURNS = 20

_LEAST_PATHS, _MOST_RETURNS, _CHUNK = 200, 5_000_000, 500_000
_MOST_CELLS = _MOST_RETURNS // _LEAST_PATHS
_POINTS = 160


@dataclass(frozen=True)
class Bands:
    """The distribution of resampled paths.

    Attributes:
        n_paths: Number of paths.
        seed: Seed of the draws.
        block_length: Mean length of a block, in bars.
        cell: Mean bars of a cell; blocks consist of whole cells. 1 for a series of at most 25,000 returns.
        bars: Indices of the bars of `nav`, rising, at most 160.
        nav: Quantile level to NAV at `bars`.
        cagr: Quantile level to compound annual growth rate; None if it is undefined.
        no_cagr: Why it is undefined, else empty.
        final: Quantile level to final NAV.
        drawdown: Quantile level to maximum drawdown, below 0; 0.05 is the deeper end.
        deeper: Depth to the share of paths with a maximum drawdown at least as deep.
        loss: Share of paths that end below 1.
    """

    n_paths: int
    seed: int
    block_length: float
    cell: float
    bars: npt.NDArray[np.int64]
    nav: Mapping[float, Floats]
    cagr: Mapping[float, float] | None
    no_cagr: str
    final: Mapping[float, float]
    drawdown: Mapping[float, float]
    deeper: Mapping[float, float]
    loss: float


class _Cells(NamedTuple):
    """Consecutive bars, resampled together; each array has one value per cell.

    `low` and `high` are the extremes of NAV over that at the start of the cell, which they do not include. `depth` is
    the deepest drawdown from a peak inside the cell, 0 for none.
    """

    edges: npt.NDArray[np.int64]
    growth: Floats
    low: Floats
    high: Floats
    depth: Floats


def bands_of(returns: Floats, periods_per_year: float | None, seed: int = 0, n_paths: int | None = None) -> Bands | str:
    """Return the bands of a series of returns, or why there are none.

    Every path has the length of the series, from blocks with random starts and geometric lengths, which wrap around
    (the stationary bootstrap of Politis and Romano 1994; mean length by Politis and White 2004, corrected 2009). The
    blocks of more than 25,000 returns consist of whole cells; the series has 25,000 of them.

    Args:
        returns: Simple returns per bar, shape `(n_returns,)`, float64.
        periods_per_year: Bars per year.
        seed: Seed of the draws.
        n_paths: Number of paths; by default 1,000, and at least 200 for long series.
    """
    n = len(returns)
    if n < MIN_RETURNS:
        return f"at least {MIN_RETURNS} returns are required; the run has {n}"
    if native.is_riskless(returns):
        return "the returns are constant"
    cells = _cells_of(returns)
    changes = returns if len(cells.growth) == n else cells.growth - 1.0
    try:
        length = max(native.block_length(np.ascontiguousarray(changes)[:, None], [len(changes)]), 1.0)
    except OpenOutcryError as error:
        return str(error).removeprefix(f"{error.slug}: ")
    default = int(np.clip(_MOST_RETURNS // n, _LEAST_PATHS, N_PATHS))
    count = default if n_paths is None else checked_integer("n_paths", n_paths, 1, 10**6)
    places = np.unique(np.linspace(0, len(changes), min(_POINTS, len(changes) + 1)).astype(np.int64))
    parts = [(path[:, places], depths) for path, depths in _paths(cells, length, count, seed)]
    at, depths = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    final = at[:, -1]
    reason = _no_cagr(n, periods_per_year)
    rates = None if reason else np.maximum(final, 0.0) ** ((periods_per_year or 1.0) / n) - 1.0
    return Bands(
        n_paths=count,
        seed=seed,
        block_length=float(length) * (n / len(changes)),
        cell=n / len(changes),
        bars=cells.edges[places],
        nav={level: np.quantile(at, level, axis=0) for level in LEVELS},
        cagr=None if rates is None else _quantiles(rates),
        no_cagr=reason,
        final=_quantiles(final),
        drawdown=_quantiles(depths),
        deeper={depth: float((depths <= -depth).mean()) for depth in DEPTHS},
        loss=float((final < 1.0).mean()),
    )


def _no_cagr(n_returns: int, periods_per_year: float | None) -> str:
    """Return why an annual growth rate is undefined, as it is for the run; else empty."""
    if periods_per_year is None:
        return "the number of bars per year is unknown"
    month = ceil(periods_per_year / 12)
    return f"at least a month, {month} returns, is required; the run has {n_returns}" if n_returns < month else ""


def _cells_of(returns: Floats) -> _Cells:
    """Return the cells of a series: its bars, or 25,000 of about equal length."""
    n = len(returns)
    n_cells = min(n, _MOST_CELLS)
    edges = np.arange(n_cells + 1) * n // n_cells
    if n_cells == n:
        growth = 1.0 + returns
        return _Cells(edges, growth, growth, growth, np.zeros(n))
    steps = np.arange(-(-n // n_cells))
    found = []
    for first in range(0, n_cells, size := max(_CHUNK // len(steps), 1)):
        ends = edges[first : first + size + 1]
        bars = ends[:-1, None] + steps
        # A cell that is a bar shorter than the others ends with a return of 0.
        inside = np.where(bars < ends[1:, None], returns[np.minimum(bars, n - 1)], 0.0)
        nav = np.cumprod(1.0 + inside, axis=1)
        peaks = np.maximum.accumulate(nav, axis=1)
        falls = np.divide(nav, peaks, out=np.ones_like(nav), where=peaks > 0.0) - 1.0
        found.append((nav[:, -1], nav.min(axis=1), nav.max(axis=1), falls.min(axis=1)))
    return _Cells(edges, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _paths(cells: _Cells, length: float, n_paths: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield paths in chunks: NAV at the edges of cells, and drawdowns.

    Shapes `(n_chunk, n_cells + 1)` and `(n_chunk,)`.
    """
    rng, n = np.random.default_rng(seed), len(cells.growth)
    size = max(_CHUNK // n, 1)
    steps = np.arange(n)
    for first in range(0, n_paths, size):
        shape = (min(size, n_paths - first), n)
        is_start = rng.random(shape) < 1.0 / length
        is_start[:, 0] = True
        starts = rng.integers(n, size=shape)
        last = np.maximum.accumulate(np.where(is_start, steps, 0), axis=1)
        chosen = (np.take_along_axis(starts, last, axis=1) + steps - last) % n
        growth = np.cumprod(cells.growth[chosen], axis=1)
        paths = np.concatenate([np.ones((shape[0], 1)), growth], axis=1)
        yield paths, _depths(cells, chosen, paths)


def _depths(cells: _Cells, chosen: npt.NDArray[np.int64], paths: Floats) -> Floats:
    """Return the maximum drawdown of each path over all of its bars."""
    if cells.low is cells.growth:
        depths: Floats = (paths / np.maximum.accumulate(paths, axis=1) - 1.0).min(axis=1)
        return depths
    before = paths[:, :-1]
    highs = np.concatenate([np.ones((len(paths), 1)), before[:, :-1] * cells.high[chosen[:, :-1]]], axis=1)
    # A low of a cell is below a peak of an earlier one, or of its own.
    falls = before * cells.low[chosen] / np.maximum.accumulate(highs, axis=1) - 1.0
    deepest: Floats = np.minimum(falls, cells.depth[chosen]).min(axis=1, initial=0.0)
    return deepest


def _quantiles(values: Floats) -> dict[float, float]:
    return {level: float(each) for level, each in zip(LEVELS, np.quantile(values, LEVELS), strict=True)}
