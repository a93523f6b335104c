"""Compares what learners of Stable-Baselines3's family store with the steps of the vector environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from openoutcry.vector import OpenOutcryVectorEnv


class FirstRollout(BaseCallback):
    """Keeps copies of the arrays of the first rollout, before the learner reorders them."""

    def __init__(self) -> None:
        super().__init__()
        self.arrays: dict[str, np.ndarray] = {}

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        names = ("observations", "actions", "rewards", "episode_starts", "action_masks")
        buffer = self.model.rollout_buffer
        self.arrays = self.arrays or {name: getattr(buffer, name).copy() for name in names if hasattr(buffer, name)}


def assert_same_rollout(arrays: dict[str, np.ndarray], lanes: OpenOutcryVectorEnv, seed: int) -> int:
    """Assert that a rollout equals the steps of `lanes` from a seed, and return the number of its ended episodes.

    Rewards of truncated steps are not compared: learners add the value of the last observation.
    """
    observation, _ = lanes.reset(seed=seed)
    starts, ended = np.ones(lanes.num_envs, dtype=bool), 0
    space = lanes.single_action_space
    for step in range(len(arrays["observations"])):
        assert np.array_equal(arrays["observations"][step], observation)
        assert arrays["episode_starts"][step].tolist() == starts.tolist()
        actions: Any = arrays["actions"][step]
        if hasattr(space, "low"):
            actions = np.clip(actions, space.low, space.high)
        else:
            masks = lanes.action_masks()
            assert np.array_equal(arrays["action_masks"][step].reshape(masks.shape), masks)
            actions = actions.reshape(lanes.num_envs, *space.shape).astype(np.int64)
            chosen = masks.reshape(*actions.shape, -1)
            assert np.take_along_axis(chosen, actions[..., np.newaxis], -1).all()
        observation, rewards, terminations, truncations, _ = lanes.step(actions)
        compared = ~truncations
        assert np.array_equal(arrays["rewards"][step][compared], rewards.astype(np.float32)[compared])
        starts = terminations | truncations
        ended += int(starts.sum())
    return ended
