"""Volatility targeting: scale exposure to a constant risk."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from openoutcry.backtest.strategies import rolling_windows
from openoutcry.backtest.strategies.base import WindowStrategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array


class VolatilityTarget(WindowStrategy):
    """Scale an inverse-volatility portfolio to a target volatility.

    The target is a standard deviation per bar: 0.006 per day is about 10 % per year. There is no leverage: if the fully
    invested portfolio is below the target, it is held unscaled.
    """

    NAME = "volatility-target"
    PARAM_RANGES: ClassVar[Ranges] = {
        "window": {"type": "int", "min": 10, "max": 250, "step": 5, "default": 60},
        "target": {"type": "float", "min": 0.0005, "max": 0.02, "step": 0.0005, "default": 0.006},
    }

    @property
    def lookback(self) -> int:
        """Closes of the returns of the window."""
        return int(self.params["window"]) + 1

    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows."""
        parts = inverse_volatility(ends)
        is_held = parts > 0.0
        returns = (
            rolling_windows.across(np.where(is_held, step, 0.0) * parts)
            for step in rolling_windows.simple_returns(ends)
        )
        risk = np.sqrt(rolling_windows.total(each * each for each in returns) / self.params["window"])
        target = np.full(risk.shape, self.params["target"])
        scale = np.where(risk > target, rolling_windows.ratio(target, risk, risk > target), 1.0)
        return parts * scale


def inverse_volatility(ends: Array) -> Array:
    """Return weights proportional to the inverse volatility, with a sum of 1.

    A symbol with constant price has weight 0.
    """
    volatility = rolling_windows.volatility(ends)
    moves = rolling_windows.fully_listed(ends) & (volatility > rolling_windows.NEGLIGIBLE)
    inverse = rolling_windows.ratio(np.ones(volatility.shape), volatility, moves)
    return rolling_windows.ratio(inverse, rolling_windows.across(inverse), moves)
