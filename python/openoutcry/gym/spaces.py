"""Action and observation spaces of the Gymnasium environments.

Their bounds are finite, so that `sample()` works.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from openoutcry import openoutcry_py as native
from openoutcry.gym.action_schemes import ActionScheme, weight_space
from openoutcry.gym.observed_columns import PRICES, ObservedColumns
from openoutcry.openoutcry_py import Limits

OBSERVATIONS = ("dict", "flat", "cursor")

# No price or share count in f64, and no weight in f32, comes near these.
_F64, _F32 = 1e300, 1e30
# Prices lie within 30 decades and splits add at most 30 more: 60 ln 10 is 138.
_LOG_RETURN = 150.0


def space_of(scheme: ActionScheme | None, n_symbols: int, limits: Sequence[Limits]) -> spaces.Space[Any]:
    """Return the space of the actions of a scheme, or of target weights."""
    return weight_space(n_symbols, limits) if scheme is None else scheme.space


def observation_space(
    kind: str, n_symbols: int, lookback: int | None, n_bars: int, observed: ObservedColumns
) -> spaces.Space[Any]:
    """Return the observation space of one account in a market of `n_bars` bars."""
    account = np.full(n_symbols + 1, _F32, dtype=np.float32)
    if kind == "cursor":
        return spaces.Dict({"account": spaces.Box(-account, account), "cursor": spaces.Discrete(n_bars)})
    if kind == "flat":
        shown = native.DEFAULT_LOOKBACK if lookback is None else lookback
        bar = np.full(observed.bar_len(n_symbols), _F32, dtype=np.float32)
        bar[:n_symbols] = _LOG_RETURN
        high = np.concatenate([np.tile(bar, shown), account])
        return spaces.Box(-high, high)
    boxes: dict[str, spaces.Space[Any]] = {
        "closes": spaces.Box(0.0, _F64, (n_symbols,), np.float64),
        "positions": spaces.Box(-_F64, _F64, (n_symbols,), np.float64),
        "cash": spaces.Box(-_F64, _F64, (1,), np.float64),
    }
    if observed.mask:
        boxes["listed"] = spaces.MultiBinary(n_symbols)
    if lookback is not None:
        # Features may be negative, prices and volumes not.
        low = 0.0 if set(observed.history) <= set(PRICES) else -_F64
        boxes["history"] = spaces.Box(low, _F64, observed.window_shape(lookback, n_symbols), np.float64)
    if observed.symbol_names:
        boxes["features"] = spaces.Box(-_F64, _F64, (n_symbols, len(observed.symbol_names)), np.float64)
    if observed.market_names:
        boxes["market_features"] = spaces.Box(-_F64, _F64, (len(observed.market_names),), np.float64)
    return spaces.Dict(boxes)
