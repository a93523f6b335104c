"""Pairs trading: two correlated symbols whose price ratio has diverged."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from openoutcry.backtest.strategies import rolling_windows
from openoutcry.backtest.strategies.base import WindowStrategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array

Places = npt.NDArray[np.intp]


class Pairs(WindowStrategy):
    """Buy the cheap and sell the expensive one of the two most correlated symbols.

    The signal is the ratio of the two closes relative to its mean in the window. At `entry` standard deviations or more
    the whole account is in the pair, half on each side; below `exit` nothing; in between a proportional part. To trade
    one given pair, select its symbols from the market. Source: Gatev, Goetzmann and Rouwenhorst (2006).
    """

    NAME = "pairs"
    PARAM_RANGES: ClassVar[Ranges] = {
        "window": {"type": "int", "min": 20, "max": 250, "step": 5, "default": 60},
        "entry": {"type": "float", "min": 1.0, "max": 4.0, "step": 0.25, "default": 2.0},
        "exit": {"type": "float", "min": 0.0, "max": 1.0, "step": 0.25, "default": 0.5},
    }

    @property
    def lookback(self) -> int:
        """Closes of the window."""
        return int(self.params["window"])

    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows."""
        n_symbols = ends.shape[2]
        weights = np.zeros((len(ends), n_symbols))
        if n_symbols == 1:
            return weights
        first, second, is_pair = _closest(ends)
        rows = np.arange(len(ends))
        # Without a pair these closes are NaN; `varies` masks them out.
        spread = (ends[rows, :, first] / ends[rows, :, second])[:, :, None]
        mean = rolling_windows.mean(spread)
        deviation = rolling_windows.deviation(spread, mean)
        varies = is_pair[:, None] & (deviation > rolling_windows.NEGLIGIBLE * mean)
        distance = rolling_windows.ratio(mean - spread[:, -1], deviation, varies)
        size = np.where(np.abs(distance) < self.params["exit"], 0.0, distance / self.params["entry"])
        half = (np.minimum(np.maximum(size, -1.0), 1.0) / 2.0)[:, 0]
        weights[rows, first] = half
        weights[rows, second] = -half
        return weights


def _closest(ends: Array) -> tuple[Places, Places, rolling_windows.Mask]:
    """Return the most correlated pair of each window, and whether it has one."""
    firsts, seconds = np.triu_indices(ends.shape[2], 1)
    moves = rolling_windows.fully_listed(ends)
    powers = rolling_windows.total(step * step for step in rolling_windows.simple_returns(ends))
    moves &= powers > rolling_windows.NEGLIGIBLE**2
    shared = rolling_windows.total(step[:, firsts] * step[:, seconds] for step in rolling_windows.simple_returns(ends))
    is_pair = moves[:, firsts] & moves[:, seconds]
    size = np.sqrt(powers[:, firsts]) * np.sqrt(powers[:, seconds])
    correlation = np.where(is_pair, rolling_windows.ratio(shared, size, is_pair), -np.inf)
    best = np.argmax(correlation, axis=1)
    has_pair = np.isfinite(correlation.max(axis=1))
    return firsts[best], seconds[best], has_pair
