"""Markets for research tests: noise, drift, and a planted edge."""

from __future__ import annotations

import numpy as np

import openoutcry as oo


def noise(seed: int, n_bars: int = 1000, n_symbols: int = 4) -> oo.Dataset:
    """Return a market with independent returns, which nothing can predict."""
    rng = np.random.default_rng(seed)
    return _market(0.01 * rng.standard_normal((n_bars, n_symbols)), f"noise-{seed}")


def rising(
    seed: int, n_bars: int = 1000, n_symbols: int = 4, *, drift: float = 0.0008, volatility: float = 0.01
) -> oo.Dataset:
    """Return a market with independent returns and a positive drift."""
    rng = np.random.default_rng(seed)
    return _market(drift + volatility * rng.standard_normal((n_bars, n_symbols)), f"rising-{seed}")


def trending(seed: int, n_bars: int = 2000, n_symbols: int = 4) -> oo.Dataset:
    """Return a market whose drift changes its sign every 100 bars on average."""
    rng = np.random.default_rng(seed)
    state = np.empty((n_bars, n_symbols))
    now = rng.choice([-1.0, 1.0], n_symbols)
    for bar in range(n_bars):
        now = np.where(rng.random(n_symbols) < 0.99, now, -now)
        state[bar] = now
    return _market(0.003 * state + 0.01 * rng.standard_normal((n_bars, n_symbols)), f"trending-{seed}")


def _market(returns: np.ndarray, name: str) -> oo.Dataset:
    n_bars, n_symbols = returns.shape
    dates = [str(date) for date in np.datetime64("2000-01-03") + np.arange(n_bars)]
    close = 100.0 * np.cumprod(1.0 + returns, axis=0)
    return oo.Dataset.from_arrays(dates, [f"S{place}" for place in range(n_symbols)], close, name=name)
