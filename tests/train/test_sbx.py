"""SBX, Stable-Baselines3 in JAX, trains on the vector environment."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
from gymnasium.vector import AutoresetMode
from stored_rollouts import FirstRollout, assert_same_rollout
from train_page import run_example

from openoutcry.sb3 import OpenOutcryVecEnv
from openoutcry.vector import OpenOutcryVectorEnv

with warnings.catch_warnings():
    # Its import warns about a deprecated name of JAX.
    warnings.simplefilter("ignore", DeprecationWarning)
    from sbx import PPO, SAC


def lanes(**options: Any) -> OpenOutcryVectorEnv:
    episodes = {"window": "random", "episode_bars": 12, "observation": "flat", "lookback": 2, **options}
    return OpenOutcryVectorEnv(4, autoreset_mode=AutoresetMode.SAME_STEP, **episodes)


def is_finite(model: Any) -> bool:
    states = [getattr(model.policy, name, None) for name in ("actor_state", "vf_state", "qf_state")]
    leaves = [leaf for state in states if state is not None for leaf in jax.tree.leaves(state.params)]
    return bool(leaves) and all(np.isfinite(leaf).all() for leaf in leaves)


def test_ppo_stores_the_steps_of_the_lanes() -> None:
    first = FirstRollout()
    model = PPO("MlpPolicy", OpenOutcryVecEnv(lanes()), n_steps=48, batch_size=64, n_epochs=2, seed=3)
    model.learn(2 * 48 * 4, callback=first)
    assert assert_same_rollout(first.arrays, lanes(), 3) >= 12
    assert is_finite(model)


def test_sac_stores_the_steps_of_the_lanes() -> None:
    model = SAC("MlpPolicy", OpenOutcryVecEnv(lanes()), buffer_size=1_000, learning_starts=100, seed=3)
    model.learn(240)
    stored, hand = model.replay_buffer, lanes()
    observation, _ = hand.reset(seed=3)
    n_truncated = 0
    for step in range(stored.pos):
        assert np.array_equal(stored.observations[step], observation)
        actions = model.policy.unscale_action(stored.actions[step])
        observation, rewards, terminations, truncations, infos = hand.step(actions)
        ended, following = terminations | truncations, observation.copy()
        if ended.any():
            following[ended] = np.stack(infos["final_obs"][ended])
        assert np.array_equal(stored.next_observations[step], following)
        assert np.array_equal(stored.rewards[step], rewards.astype(np.float32))
        assert stored.dones[step].tolist() == ended.tolist()
        assert stored.timeouts[step].tolist() == truncations.tolist()
        n_truncated += int(truncations.sum())
    assert n_truncated >= 8
    assert is_finite(model)


def test_the_example_of_the_page_trains() -> None:
    model = run_example("SBX", 512)["model"]
    assert model.num_timesteps >= 512
    assert is_finite(model)
