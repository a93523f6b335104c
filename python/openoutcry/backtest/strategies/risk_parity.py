"""Risk parity: equal risk contributions of all symbols."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from openoutcry.backtest.strategies import rolling_windows
from openoutcry.backtest.strategies.base import WindowStrategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.backtest.strategies.volatility_target import inverse_volatility

_SWEEPS = 30


class RiskParity(WindowStrategy):
    """Hold all symbols with equal contributions to portfolio risk.

    `equal-risk` accounts for correlations; `inverse-volatility` assumes that they are equal. The account is fully
    invested. Source: Maillard, Roncalli and Teiletche (2010); solved by cyclical coordinate descent with a fixed number
    of sweeps, Griveau-Billion, Richard and Roncalli (2013).
    """

    NAME = "risk-parity"
    PARAM_RANGES: ClassVar[Ranges] = {
        "window": {"type": "int", "min": 20, "max": 250, "step": 5, "default": 60},
        "method": {"type": "categorical", "choices": ["equal-risk", "inverse-volatility"], "default": "equal-risk"},
    }

    @property
    def lookback(self) -> int:
        """Closes of the returns of the window."""
        return int(self.params["window"]) + 1

    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows."""
        parts = inverse_volatility(ends)
        if self.params["method"] == "inverse-volatility":
            return parts
        moves = parts > 0.0
        equal = parts * _balanced(_correlations(ends, moves))
        return rolling_windows.ratio(equal, rolling_windows.across(equal), moves)


def _correlations(ends: Array, moves: rolling_windows.Mask) -> Array:
    """Return correlations of returns around 0, shape `(n_symbols, n_symbols, n)`.

    The correlations of a symbol with constant price are 0.
    """
    steps = [np.where(moves, step, 0.0).T for step in rolling_windows.simple_returns(ends)]
    shared = rolling_windows.total(step[:, None] * step[None] for step in steps)
    power = np.sqrt(shared[np.arange(len(shared)), np.arange(len(shared))])
    return rolling_windows.ratio(shared, power[:, None] * power[None], (moves.T[:, None] & moves.T[None]))


def _balanced(correlations: Array) -> Array:
    """Return factors of inverse volatility for equal risk, shape `(n, n_symbols)`.

    Each sweep solves `x (C x) = 1 / n_symbols` for one symbol after the other, with the other factors fixed.
    """
    n_symbols = len(correlations)
    budget = 1.0 / n_symbols
    factors = np.full((n_symbols, correlations.shape[2]), np.sqrt(budget))
    for _ in range(_SWEEPS):
        for symbol in range(n_symbols):
            products = correlations[symbol] * factors
            # Accumulates left to right; the order of a numpy sum may differ.
            others = np.add.accumulate(products)[-1] - products[symbol]
            factors[symbol] = (np.sqrt(others * others + 4.0 * budget) - others) / 2.0
    balanced: Array = factors.T
    return balanced
