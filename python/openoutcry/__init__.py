"""The open trading floor for agents: one exact, leak-free market engine.

Semantics: `contract/README.md`. Gymnasium environments: `openoutcry.gym`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from openoutcry import agents, data
from openoutcry.backtest import Run, run_backtest
from openoutcry.dataset import Dataset
from openoutcry.openoutcry_py import CONTRACT_VERSION, CostModel, Limits, OpenOutcryError, TradingEnv
from openoutcry.window import Window

if TYPE_CHECKING:
    from openoutcry.gym import OpenOutcryEnv as OpenOutcryEnv

__version__ = "0.1.0"

# Names whose module needs more than numpy: imported when first asked for.
_LAZY = {"OpenOutcryEnv": "openoutcry.gym"}

__all__ = [
    "CONTRACT_VERSION",
    "CostModel",
    "Dataset",
    "Limits",
    "OpenOutcryEnv",
    "OpenOutcryError",
    "Run",
    "TradingEnv",
    "Window",
    "agents",
    "data",
    "run_backtest",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'openoutcry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
