"""Strategies: target weights as pure functions of a window of closes.

`Strategy` is what any of them is, `WindowStrategy` one that decides many windows at once, `LIBRARY` six classic ones by
name. A strategy runs bar by bar, `run_backtest(data, s.agent(data.symbols), lookback=s.lookback)`, or as a table of
weights, `run_backtest(data, s.table(data))`, with the same NAV to the bit. Its parameters have `PARAM_RANGES`, which
`sample` draws from and `neighbours` looks around in.
"""

from __future__ import annotations

from openoutcry.backtest.strategies.base import Strategy, WindowStrategy
from openoutcry.backtest.strategies.library import LIBRARY, catalogue, of_json
from openoutcry.backtest.strategies.mean_reversion import MeanReversion
from openoutcry.backtest.strategies.momentum import Momentum
from openoutcry.backtest.strategies.pairs import Pairs
from openoutcry.backtest.strategies.parameter_space import ParamRange, check_ranges, neighbours, sample
from openoutcry.backtest.strategies.risk_parity import RiskParity
from openoutcry.backtest.strategies.trend import Trend
from openoutcry.backtest.strategies.volatility_target import VolatilityTarget

__all__ = [
    "LIBRARY",
    "MeanReversion",
    "Momentum",
    "Pairs",
    "ParamRange",
    "RiskParity",
    "Strategy",
    "Trend",
    "VolatilityTarget",
    "WindowStrategy",
    "catalogue",
    "check_ranges",
    "neighbours",
    "of_json",
    "sample",
]
