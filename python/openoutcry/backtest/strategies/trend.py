"""Trend following: fast against slow moving average of the closes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from openoutcry.backtest.strategies import rolling_windows
from openoutcry.backtest.strategies.base import WindowStrategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array


class Trend(WindowStrategy):
    """Hold symbols whose fast moving average is above the slow one.

    With `side="long-short"`, symbols whose fast average is below are sold short. Each symbol gets an equal part of the
    account.
    """

    NAME = "trend"
    PARAM_RANGES: ClassVar[Ranges] = {
        "fast": {"type": "int", "min": 2, "max": 60, "step": 1, "default": 50},
        "slow": {"type": "int", "min": 65, "max": 300, "step": 5, "default": 200},
        "side": {"type": "categorical", "choices": ["long", "long-short"], "default": "long"},
    }

    @property
    def lookback(self) -> int:
        """Closes of the slow moving average."""
        return int(self.params["slow"])

    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows."""
        is_shown = rolling_windows.fully_listed(ends)
        fast = rolling_windows.mean(ends[:, -self.params["fast"] :])
        slow = rolling_windows.mean(ends)
        below = -1.0 if self.params["side"] == "long-short" else 0.0
        side = np.where(fast > slow, 1.0, np.where(fast < slow, below, 0.0))
        return rolling_windows.ratio(side, rolling_windows.across(is_shown.astype(np.float64)), is_shown)
