"""The open trading floor for agents: one market engine for all interfaces.

Semantics: `contract/README.md`. Gymnasium environments: `openoutcry.gym`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from openoutcry.openoutcry_py import CONTRACT_VERSION, CostModel, Limits, OpenOutcryError, TradingEnv

if TYPE_CHECKING:
    from openoutcry import agents, data
    from openoutcry.backtest.replay import replay
    from openoutcry.backtest.run import Run, run_backtest
    from openoutcry.backtest.sweep import run_sweep
    from openoutcry.data.dataset import Dataset
    from openoutcry.data.window import Window
    from openoutcry.gym import OpenOutcryEnv
    from openoutcry.gym.vector import OpenOutcryVectorEnv
    from openoutcry.records.run_record import RunRecord
    from openoutcry.scoring.scorer import Score, score, score_run
    from openoutcry.verifiers_env import VerifiersEnv, VerifiersHarness, VerifiersTaskset

__version__ = "0.1.0"

# Modules of the names that are imported on first use, so that `import openoutcry` takes far less time than numpy.
_HOMES = {
    "Dataset": "openoutcry.data.dataset",
    "OpenOutcryEnv": "openoutcry.gym",
    "OpenOutcryVectorEnv": "openoutcry.vector",
    "Run": "openoutcry.backtest.run",
    "RunRecord": "openoutcry.records.run_record",
    "Score": "openoutcry.scoring.scorer",
    "VerifiersEnv": "openoutcry.verifiers_env",
    "VerifiersHarness": "openoutcry.verifiers_env",
    "VerifiersTaskset": "openoutcry.verifiers_env",
    "Window": "openoutcry.data.window",
    "replay": "openoutcry.backtest.replay",
    "run_backtest": "openoutcry.backtest.run",
    "run_sweep": "openoutcry.backtest.sweep",
    "score": "openoutcry.scoring.scorer",
    "score_run": "openoutcry.scoring.scorer",
}
_SUBMODULES = ("agents", "data")

__all__ = [
    "CONTRACT_VERSION",
    "CostModel",
    "Dataset",
    "Limits",
    "OpenOutcryEnv",
    "OpenOutcryError",
    "OpenOutcryVectorEnv",
    "Run",
    "RunRecord",
    "Score",
    "TradingEnv",
    "Window",
    "agents",
    "data",
    "replay",
    "run_backtest",
    "run_sweep",
    "score",
    "score_run",
]
# `vf-eval openoutcry` looks for these names in `__all__`. They are listed only if the right `verifiers` is installed: a
# star import would fail with another package or folder of that name.
_found = find_spec("verifiers")
if _found is not None and PathFinder.find_spec("verifiers.v1", _found.submodule_search_locations or ()) is not None:
    __all__ += ["VerifiersEnv", "VerifiersHarness", "VerifiersTaskset"]


# Hidden from type checkers, which would otherwise accept any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            found = getattr(import_module(_HOMES[name]), name)
        elif name in _SUBMODULES:
            found = import_module(f"openoutcry.{name}")
        else:
            raise AttributeError(f"module 'openoutcry' has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
