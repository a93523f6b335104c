"""The library: six classic strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.strategies.mean_reversion import MeanReversion
from openoutcry.backtest.strategies.momentum import Momentum
from openoutcry.backtest.strategies.pairs import Pairs
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.backtest.strategies.risk_parity import RiskParity
from openoutcry.backtest.strategies.trend import Trend
from openoutcry.backtest.strategies.volatility_target import VolatilityTarget
from openoutcry.errors import refusal

_CLASSES: tuple[type[Strategy], ...] = (Trend, MeanReversion, Momentum, VolatilityTarget, Pairs, RiskParity)

LIBRARY: Mapping[str, type[Strategy]] = MappingProxyType({each.NAME: each for each in _CLASSES})
"""The strategies of this package by name."""


def of_json(value: Any) -> Strategy:
    """Return the strategy of the library that `Strategy.to_json` returned.

    Parameters that are missing have their defaults.

    Raises:
        OpenOutcryError: `argument_invalid`: there is none of that name, or a parameter is not what it must be.
    """
    if not isinstance(value, Mapping) or not {"strategy"} <= set(value) <= {"strategy", "params"}:
        raise refusal("argument_invalid", f"a strategy must have `strategy` and `params`; received {shown(value)}")
    name, params = value["strategy"], value.get("params", {})
    if not isinstance(name, str) or name not in LIBRARY:
        raise refusal("argument_invalid", f"a strategy must be one of {', '.join(LIBRARY)}; received {shown(name)}")
    if not isinstance(params, Mapping) or not all(isinstance(each, str) for each in params):
        raise refusal("argument_invalid", f"`params` must be an object; received {shown(params)}")
    return LIBRARY[name](**params)


def catalogue() -> dict[str, dict[str, Any]]:
    """Return what each strategy of the library does and may be set to.

    Its form is `{name: {"description": ..., "ranges": PARAM_RANGES}}`.
    """
    return {
        name: {"description": kind.describe(), "ranges": {each: dict(spec) for each, spec in kind.PARAM_RANGES.items()}}
        for name, kind in LIBRARY.items()
    }
