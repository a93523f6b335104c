"""Peers of `intraday_speed`: vectorbt and raptorbt, if installed, and numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
Work = Callable[[], object]

FEE, SLIPPAGE = 5e-4, 5e-4
# Nanoseconds of a minute, and minutes of a year.
MINUTE, MINUTES = 60_000_000_000, 525_600.0


def raptorbt(closes: Table) -> Work | None:
    """Return a run of `raptorbt` with its metrics; None if it is not installed.

    It trades on every bar.
    """
    try:
        import raptorbt as peer
    except ModuleNotFoundError:
        return None
    n_bars = len(closes)
    times = np.arange(n_bars) * MINUTE
    entries, exits = np.arange(n_bars) % 2 == 0, np.arange(n_bars) % 2 == 1
    config = peer.BacktestConfig(fees=FEE, slippage=SLIPPAGE)
    prices, volumes = (closes[:, 0].copy() for _ in range(4)), np.ones(n_bars)
    bars = (times, *prices, volumes, entries, exits)

    def run() -> object:
        metrics = peer.run_single_backtest(*bars, config=config).metrics
        return [getattr(metrics, name) for name in dir(metrics) if not name.startswith("_")]

    return run


def vectorbt(closes: Table, weights: Table) -> Work | None:
    """Return a run of `vectorbt` with three metrics; None if it is not installed."""
    try:
        import pandas as pd
        import vectorbt as peer
        import vectorbt_rust  # noqa: F401 its engine
    except ModuleNotFoundError:
        return None
    names = [f"S{place}" for place in range(closes.shape[1])]
    index = pd.date_range("2015-01-01", periods=len(closes), freq="min")
    frames = [pd.DataFrame(table, index=index, columns=names) for table in (closes, weights)]
    options: dict[str, Any] = {"size_type": "targetpercent", "fees": FEE, "slippage": SLIPPAGE, "freq": "1min"}
    options |= {"group_by": True, "cash_sharing": True, "engine": "rust"}

    def run() -> object:
        portfolio = peer.Portfolio.from_orders(*frames, **options)
        return portfolio.sharpe_ratio(), portfolio.max_drawdown(), portfolio.total_return()

    return run


def numpy_points(closes: Table, sizes: Table) -> Table:
    """Return the NAV of many points at once: a numpy loop over bars, linear costs.

    A point holds its size on every second bar and nothing on the others.
    """
    cash, shares = np.ones(len(sizes)), np.zeros(len(sizes))
    navs = np.ones((len(closes), len(sizes)))
    for bar, close in enumerate(closes[:-1, 0]):
        order = (sizes if bar % 2 == 0 else 0.0 * sizes) * navs[bar] / close - shares
        flow = order * close * (1.0 + np.sign(order) * SLIPPAGE)
        cash = cash - flow - FEE * np.abs(flow)
        shares = shares + order
        navs[bar + 1] = cash + shares * closes[bar + 1, 0]
    return navs


def numpy_sharpe(closes: Table, sizes: Table) -> Table:
    """Return the Sharpe ratio of each point of `numpy_points`."""
    navs = numpy_points(closes, sizes)
    returns = navs[1:] / navs[:-1] - 1.0
    ratios: Table = returns.mean(axis=0) / returns.std(axis=0, ddof=1) * np.sqrt(MINUTES)
    return ratios
