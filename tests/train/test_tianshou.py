"""Tianshou collects from the scalar environment, with its info, and trains on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic
from torch.distributions import Independent, Normal
from train_page import run_example

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv

N, STEPS = 3, 40


def env() -> OpenOutcryEnv:
    """Return an environment with symbols that are listed late, and episodes that end in ruin."""
    return OpenOutcryEnv(
        dataset="extreme", window="random", episode_bars=12, observation="flat", lookback=3, info="full",
        on_invalid="hold", limits=oo.Limits(max_weight=9.0, max_gross=60.0),
    )  # fmt: skip


def policy(of: OpenOutcryEnv) -> ProbabilisticActorPolicy:
    net = Net(state_shape=of.observation_space.shape, hidden_sizes=[8])
    actor = ContinuousActorProbabilistic(preprocess_net=net, action_shape=of.action_space.shape, unbounded=True)
    return ProbabilisticActorPolicy(
        actor=actor, dist_fn=lambda both: Independent(Normal(*both), 1), action_space=of.action_space
    )


def test_a_collector_stores_the_steps_of_the_environment() -> None:
    torch.manual_seed(0)
    envs = DummyVectorEnv([env] * N)
    collector = Collector(policy(env()), envs, VectorReplayBuffer(N * STEPS, N))
    envs.seed(5)
    collector.reset()
    collector.collect(n_step=N * STEPS)
    n_terminated = n_truncated = 0
    for lane in range(N):
        stored, hand = collector.buffer.buffers[lane], env()
        hand.reset(seed=5 + lane)
        observation, _ = hand.reset()
        actions = collector.policy.map_action(stored.act)
        assert len(stored) == STEPS
        for step in range(STEPS):
            assert np.array_equal(stored.obs[step], observation)
            observation, reward, terminated, truncated, info = hand.step(np.asarray(actions[step]))
            assert np.array_equal(stored.obs_next[step], observation)
            assert stored.rew[step] == reward
            assert (stored.terminated[step], stored.truncated[step]) == (terminated, truncated)
            same_info(stored.info[step], info)
            n_terminated += terminated
            n_truncated += truncated
            if terminated or truncated:
                observation, _ = hand.reset()
    assert min(n_terminated, n_truncated) >= 2


def same_info(stored: Any, info: dict[str, Any]) -> None:
    """Assert that a stored batch has the entries of an info."""
    for name, value in info.items():
        if isinstance(value, dict):
            same_info(stored[name], value)
        else:
            assert np.array_equal(stored[name], value), name


def test_the_example_of_the_page_trains() -> None:
    names = run_example("Tianshou", 512)
    assert names["result"].train_step >= 1
    assert all(each.isfinite().all() for each in names["algorithm"].parameters())
    assert names["collector"].collect_step >= 512
