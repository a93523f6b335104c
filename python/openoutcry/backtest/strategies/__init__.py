"""Strategies: target weights as pure functions of a window of closes.

`Strategy` is the base class, `WindowStrategy` that of vectorized strategies, `LIBRARY` holds six classic ones.
A strategy runs bar by bar, `run_backtest(data, s.agent(data.symbols), lookback=s.lookback)`, or as a table of weights,
`run_backtest(data, s.table(data))`, with the same NAV to the bit over the same window. `PARAM_RANGES` declares its
parameters; `sample` draws from the ranges and `neighbours` varies one parameter. `strategy_text` writes them as
text, `candidate_file` reads what research found. Imports `arguments`, `errors`, `untrusted`, `data` and the native
module.
"""

from __future__ import annotations

from openoutcry.backtest.strategies.base import Strategy, WindowStrategy
from openoutcry.backtest.strategies.library import LIBRARY, catalogue, from_json
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
    "from_json",
    "neighbours",
    "sample",
]
