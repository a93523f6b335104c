"""Gymnasium environments. Importing this module registers the ids.

`environment` is the scalar environment, `vector` the vector environment. `action_schemes`, `rewards`,
`episode_markets`, `episodes`, `observed_columns`, `spaces`, `settings`, `step_info`, `rendering` and `buffers` are
their parts. `sb3` and `puffer` adapt the vector environment to Stable-Baselines3 and PufferLib; `evaluation` runs
trained policies. Imports `errors`, `arguments`, `data`, `scenarios`, the native module and Gymnasium; a rendered frame
imports `report` when drawn; `evaluation`, which is imported on first use, also imports `untrusted`, `records`,
`backtest` and `scoring`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from openoutcry.gym.environment import Observation, OpenOutcryEnv
from openoutcry.gym.market_arguments import REQUIRED, SYNTHETIC
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.gym.evaluation import PolicyEvaluation, evaluate

__all__ = ["Observation", "OpenOutcryEnv", "OpenOutcryError", "PolicyEvaluation", "evaluate"]

# An id keeps its observation: that of the first version has the mask.
gymnasium.register("OpenOutcry/Synthetic-v1", entry_point="openoutcry.gym:OpenOutcryEnv", kwargs={"mask": True})
for _name, _market in (
    # A name, so that `dataset=` replaces the market.
    ("Synthetic-v2", {"dataset": SYNTHETIC}),
    # The spec of an environment must be JSON, so that an absent market is a text.
    ("Market-v1", {"dataset": REQUIRED}),
    ("EcbFx-v1", {"dataset": "ecb-fx"}),
    ("UsTreasury-v1", {"dataset": "us-treasury"}),
    ("Calm-v1", {"dataset": "calm"}),
    ("Hard-v1", {"dataset": "hard"}),
    ("Extreme-v1", {"dataset": "extreme"}),
    ("Fx-v1", {"dataset": "fx"}),
):
    gymnasium.register(
        f"OpenOutcry/{_name}",
        entry_point="openoutcry.gym:OpenOutcryEnv",
        vector_entry_point="openoutcry.vector:OpenOutcryVectorEnv",
        kwargs={"observation": "flat", "window": "random", **_market},
    )

# Hidden from type checkers, which would otherwise accept any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in ("PolicyEvaluation", "evaluate"):
            raise AttributeError(f"module 'openoutcry.gym' has no attribute {name!r}")
        from openoutcry.gym import evaluation

        return getattr(evaluation, name)
