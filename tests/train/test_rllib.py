"""RLlib steps the vector environment through its vector entry point, and trains on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from train_page import run_example

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv

# RLlib warns about its own deprecated arguments.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BARS = 12


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Start Ray with one processor for this file."""
    ray.init(num_cpus=1, include_dashboard=False, configure_logging=False)
    yield
    ray.shutdown()


def runner() -> Any:
    """Return an environment runner of RLlib with four lanes."""
    mode = gymnasium.VectorizeMode.VECTOR_ENTRY_POINT
    arguments = {"dataset": "ecb-fx", "episode_bars": BARS, "info": "full"}
    config = PPOConfig().environment("openoutcry.gym:OpenOutcry/Market-v1", env_config=arguments)
    config = config.env_runners(num_env_runners=0, num_envs_per_env_runner=4, gym_env_vectorize_mode=mode)
    return SingleAgentEnvRunner(config=config.debugging(seed=3))


def test_episodes_equal_the_steps_of_the_scalar_environment() -> None:
    found = runner()
    assert repr(found.env.unwrapped).startswith("OpenOutcryVectorEnv(ecb-fx, num_envs=4")
    found.env.action_space.seed(0)
    episodes = found.sample(num_timesteps=150, random_actions=True)
    found.stop()
    ended = [episode for episode in episodes if episode.is_done]
    assert len(ended) >= 8
    # A step that only resets a lane is not in an episode.
    assert {len(episode) for episode in ended} == {BARS - 1}
    market, n_autoresets = oo.data.load("ecb-fx"), 0
    for episode in ended:
        observations, infos = episode.get_observations(), episode.get_infos()
        first = market.dates.index(infos[0]["date"])
        hand = OpenOutcryEnv(dataset=market, window=(first, first + BARS), observation="flat", info="full")
        observation, info = hand.reset()
        assert np.array_equal(observations[0], observation)
        n_autoresets += bool(infos[0].pop("reset", False))
        assert infos[0] == info
        for step, action in enumerate(episode.get_actions()):
            observation, reward, terminated, truncated, info = hand.step(np.asarray(action))
            assert np.array_equal(observations[step + 1], observation)
            assert episode.get_rewards(step) == reward
            assert infos[step + 1] == info
        assert (episode.is_terminated, episode.is_truncated) == (terminated, truncated)
    assert n_autoresets == len(ended) - 4


def test_the_example_of_the_page_trains() -> None:
    names = run_example("RLlib", 640)
    result, algorithm = names["result"], names["algorithm"]
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] >= 640
    assert np.isfinite(result["learners"]["default_policy"]["total_loss"])
    assert repr(algorithm.env_runner.env.unwrapped).startswith("OpenOutcryVectorEnv(ecb-fx")
    algorithm.stop()
