"""Mean reversion: trade against deviations from the moving average."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from openoutcry.backtest.strategies import rolling_windows
from openoutcry.backtest.strategies.base import WindowStrategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array


class MeanReversion(WindowStrategy):
    """Buy symbols below their moving average, and sell symbols above it.

    The weight is proportional to the distance in standard deviations. It reaches its maximum, an equal part of the
    account, at `width` deviations.
    """

    NAME = "mean-reversion"
    PARAM_RANGES: ClassVar[Ranges] = {
        "window": {"type": "int", "min": 5, "max": 120, "step": 1, "default": 20},
        "width": {"type": "float", "min": 0.5, "max": 4.0, "step": 0.25, "default": 2.0},
        "side": {"type": "categorical", "choices": ["long", "long-short"], "default": "long-short"},
    }

    @property
    def lookback(self) -> int:
        """Closes of the moving average."""
        return int(self.params["window"])

    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows."""
        is_shown = rolling_windows.fully_listed(ends)
        mean = rolling_windows.mean(ends)
        deviation = rolling_windows.deviation(ends, mean)
        # The distance is undefined if closes are constant.
        varies = is_shown & (deviation > rolling_windows.NEGLIGIBLE * mean)
        distance = rolling_windows.ratio(mean - ends[:, -1], deviation, varies) / self.params["width"]
        least = -1.0 if self.params["side"] == "long-short" else 0.0
        part = np.minimum(np.maximum(distance, least), 1.0)
        return rolling_windows.ratio(part, rolling_windows.across(is_shown.astype(np.float64)), is_shown)
