"""MaskablePPO and RecurrentPPO of sb3-contrib train on the vector environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor
from stored_rollouts import FirstRollout, assert_same_rollout
from train_page import run_example

from openoutcry.gym import OpenOutcryEnv
from openoutcry.sb3 import OpenOutcryVecEnv
from openoutcry.vector import OpenOutcryVectorEnv

DISCRETE = {"dataset": "hard", "action": "multi-discrete", "levels": [-1.0, 0.0, 1.0, "hold"]}
EPISODES = {"window": "random", "episode_bars": 12, "observation": "flat", "lookback": 2}


def lanes(**options: Any) -> OpenOutcryVectorEnv:
    return OpenOutcryVectorEnv(4, autoreset_mode=AutoresetMode.SAME_STEP, **EPISODES, **options)


def test_the_masks_of_lanes_are_those_of_scalar_environments() -> None:
    batch = VecMonitor(OpenOutcryVecEnv(lanes(**DISCRETE)))
    single = DummyVecEnv([lambda: OpenOutcryEnv(**EPISODES, **DISCRETE)] * 4)
    assert is_masking_supported(batch)
    batch.seed(3), single.seed(3)
    batch.reset(), single.reset()
    single.action_space.seed(0)
    n_refused = 0
    for _ in range(30):
        masks = get_action_masks(batch)
        assert np.array_equal(masks, get_action_masks(single))
        n_refused += int((~masks).sum())
        actions = np.stack([single.action_space.sample() for _ in range(4)])
        batch.step(actions), single.step(actions)
    assert n_refused > 0
    assert np.array_equal(batch.env_method("action_masks", indices=[2])[0], get_action_masks(single)[2])


def test_maskable_ppo_chooses_valid_actions() -> None:
    first = FirstRollout()
    model = MaskablePPO("MlpPolicy", OpenOutcryVecEnv(lanes(**DISCRETE)), n_steps=48, batch_size=64, seed=3)
    model.learn(2 * 48 * 4, callback=first)
    assert assert_same_rollout(first.arrays, lanes(**DISCRETE), 3) >= 12
    assert not first.arrays["action_masks"].all()
    assert all(each.isfinite().all() for each in model.policy.parameters())


def test_recurrent_ppo_stores_the_steps_of_the_lanes() -> None:
    first = FirstRollout()
    model = RecurrentPPO(
        "MlpLstmPolicy", OpenOutcryVecEnv(lanes()), n_steps=48, batch_size=64, n_epochs=2, seed=3,
        policy_kwargs={"lstm_hidden_size": 16},
    )  # fmt: skip
    model.learn(2 * 48 * 4, callback=first)
    assert assert_same_rollout(first.arrays, lanes(), 3) >= 12
    assert all(each.isfinite().all() for each in model.policy.parameters())


def test_the_example_of_the_page_trains() -> None:
    names = run_example("sb3-contrib", 512)
    assert names["model"].num_timesteps >= 512
    assert names["weights"].shape == (9,)
