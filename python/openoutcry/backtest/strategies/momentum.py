"""Cross-sectional momentum: hold the symbols with the highest past return."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from openoutcry.backtest.strategies import rolling_windows
from openoutcry.backtest.strategies.base import WindowStrategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array


class Momentum(WindowStrategy):
    """Hold the symbols with the highest past return, skipping the last bars.

    With `side="long-short"`, symbols with the lowest return are sold short. The default is a year of daily bars without
    its last month. A market of one symbol is not traded. Source: Jegadeesh and Titman (1993).
    """

    NAME = "momentum"
    PARAM_RANGES: ClassVar[Ranges] = {
        "window": {"type": "int", "min": 25, "max": 300, "step": 1, "default": 252},
        "skip": {"type": "int", "min": 0, "max": 21, "step": 1, "default": 21},
        "share": {"type": "float", "min": 0.1, "max": 0.5, "step": 0.05, "default": 0.3},
        "side": {"type": "categorical", "choices": ["long", "long-short"], "default": "long"},
    }

    @property
    def lookback(self) -> int:
        """Closes of the window, plus its base close."""
        return int(self.params["window"]) + 1

    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows."""
        is_shown = rolling_windows.fully_listed(ends)
        rise = rolling_windows.ratio(ends[:, -1 - self.params["skip"]], ends[:, 0], is_shown)
        # Ranks by return, highest first; ties in the order of symbols, unlisted symbols last.
        ranks = np.argsort(np.argsort(np.where(is_shown, -rise, np.inf), axis=1, kind="stable"), axis=1)
        n_shown = rolling_windows.across(is_shown.astype(np.float64))
        n_held = np.minimum(np.maximum(np.floor(self.params["share"] * n_shown), 1.0), np.floor(n_shown / 2.0))
        side = (ranks < n_held).astype(np.float64)
        if self.params["side"] == "long-short":
            side = (side - ((ranks >= n_shown - n_held) & is_shown)) / 2.0
        return rolling_windows.ratio(side, n_held, is_shown & (n_held > 0.0))
