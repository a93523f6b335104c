"""Monte Carlo bands of a run: its returns, resampled in blocks.

They show what the same returns in another order, with repetition, would have given. They assume that the returns are a
fair sample, and say nothing about skill: random agents without skill are in `null_agents`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

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
_POINTS = 160


@dataclass(frozen=True)
class Bands:
    """The distribution of resampled paths.

    Attributes:
        n_paths: Number of paths.
        seed: Seed of the draws.
        block_length: Mean length of a block, in bars.
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
    bars: npt.NDArray[np.int64]
    nav: Mapping[float, Floats]
    cagr: Mapping[float, float] | None
    no_cagr: str
    final: Mapping[float, float]
    drawdown: Mapping[float, float]
    deeper: Mapping[float, float]
    loss: float


def bands_of(returns: Floats, periods_per_year: float | None, seed: int = 0, n_paths: int | None = None) -> Bands | str:
    """Return the bands of a series of returns, or why there are none.

    Every path has the length of the series, from blocks with random starts and geometric lengths, which wrap around
    (the stationary bootstrap of Politis and Romano 1994; mean length by Politis and White 2004, corrected 2009).

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
    try:
        length = max(native.block_length(np.ascontiguousarray(returns)[:, None], [n]), 1.0)
    except OpenOutcryError as error:
        return str(error).removeprefix(f"{error.slug}: ")
    default = int(np.clip(_MOST_RETURNS // n, _LEAST_PATHS, N_PATHS))
    count = default if n_paths is None else checked_integer("n_paths", n_paths, 1, 10**6)
    bars = np.unique(np.linspace(0, n, min(_POINTS, n + 1)).astype(np.int64))
    parts = [(path[:, bars], _depths(path)) for path in _paths(returns, length, count, seed)]
    at, depths = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    final = at[:, -1]
    reason = _no_cagr(n, periods_per_year)
    rates = None if reason else np.maximum(final, 0.0) ** ((periods_per_year or 1.0) / n) - 1.0
    return Bands(
        n_paths=count,
        seed=seed,
        block_length=float(length),
        bars=bars,
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


def _paths(returns: Floats, length: float, n_paths: int, seed: int) -> Iterator[Floats]:
    """Yield paths of NAV in chunks, each of shape `(n_chunk, n_returns + 1)`."""
    rng, n = np.random.default_rng(seed), len(returns)
    size = max(_CHUNK // n, 1)
    steps = np.arange(n)
    for first in range(0, n_paths, size):
        shape = (min(size, n_paths - first), n)
        is_start = rng.random(shape) < 1.0 / length
        is_start[:, 0] = True
        starts = rng.integers(n, size=shape)
        last = np.maximum.accumulate(np.where(is_start, steps, 0), axis=1)
        chosen = (np.take_along_axis(starts, last, axis=1) + steps - last) % n
        growth = np.cumprod(1.0 + returns[chosen], axis=1)
        yield np.concatenate([np.ones((shape[0], 1)), growth], axis=1)


def _depths(paths: Floats) -> Floats:
    peaks = np.maximum.accumulate(paths, axis=1)
    depths: Floats = (paths / peaks - 1.0).min(axis=1)
    return depths


def _quantiles(values: Floats) -> dict[float, float]:
    return {level: float(each) for level, each in zip(LEVELS, np.quantile(values, LEVELS), strict=True)}
