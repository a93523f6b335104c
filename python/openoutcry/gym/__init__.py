"""Gymnasium environments. Importing this module registers the ids.

`environment` is the scalar environment, `vector` the vector environment. `action_schemes`, `rewards`, `episode_markets`,
`episodes`, `observed_columns`, `spaces`, `settings`, `step_info`, `rendering` and `buffers` are their parts. `sb3` and
`puffer` adapt the vector environment to Stable-Baselines3 and PufferLib. Imports `errors`, `arguments`, `data`,
`scenarios`, the native module and Gymnasium; a rendered frame imports `report` when drawn.
"""

from __future__ import annotations

import gymnasium

from openoutcry.gym.environment import Observation, OpenOutcryEnv
from openoutcry.gym.market_arguments import REQUIRED, SYNTHETIC
from openoutcry.openoutcry_py import OpenOutcryError

__all__ = ["Observation", "OpenOutcryEnv", "OpenOutcryError"]

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
