"""Stable-Baselines3 accepts the scalar environment and trains on the vector environment."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize
from train_page import run_example

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.sb3 import OpenOutcryVecEnv
from openoutcry.vector import OpenOutcryVectorEnv

KINDS = ("flat", "dict")


def vector(num_envs: int = 4, **options: object) -> OpenOutcryVectorEnv:
    settings = {"observation": "flat", "window": "random", "episode_bars": 12, **options}
    return OpenOutcryVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_check_env_of_stable_baselines3_passes_on_the_scalar_environment(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It advises a symmetric action space of [-1, 1], which the default limits give.
        check_env(OpenOutcryEnv(observation=kind, window="random", episode_bars=12))


@pytest.mark.parametrize("kind", KINDS)
def test_the_adapter_equals_a_dummy_vec_env_of_scalar_environments(kind: str) -> None:
    def scalar() -> OpenOutcryEnv:
        return OpenOutcryEnv(observation=kind, window="random", episode_bars=12, info="full")

    batch, single = OpenOutcryVecEnv(vector(3, observation=kind, info="full")), DummyVecEnv([scalar] * 3)
    assert batch.seed(11) == single.seed(11)
    assert same(batch.reset(), single.reset())
    single.action_space.seed(0)
    ended = 0
    for _ in range(40):
        actions = np.stack([single.action_space.sample() for _ in range(3)])
        ours, theirs = batch.step(actions), single.step(actions)
        assert same(ours[0], theirs[0])
        for a, b in zip(ours[1:3], theirs[1:3], strict=True):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
        for a, b, done in zip(ours[3], theirs[3], ours[2], strict=True):
            if done:
                assert same(a["terminal_observation"], b["terminal_observation"])
                assert {**a, "terminal_observation": None} == {**b, "terminal_observation": None}
            else:
                assert a == {}
        ended += int(ours[2].sum())
    assert ended > 6


def same(a: object, b: object) -> bool:
    if isinstance(a, dict):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_ruin_is_not_a_truncation() -> None:
    market = oo.Dataset.from_arrays(["2020-01-01", "2020-01-02", "2020-01-03"], ["A"], close=[[1.0], [3.0], [3.0]])
    env = OpenOutcryVecEnv(vector(1, dataset=market, window=(0, 3), episode_bars=None, lookback=1))
    env.reset()
    _, _, dones, infos = env.step(np.full((1, 1), -1.0, np.float32))
    assert dones.tolist() == [True]
    assert infos[0]["TimeLimit.truncated"] is False
    assert infos[0]["nav"] == 0.0


def test_a_seed_applies_only_to_the_next_reset() -> None:
    env, batch = OpenOutcryVecEnv(vector()), vector()
    env.seed(5)
    assert same(env.reset(), batch.reset(seed=5)[0])
    assert same(env.reset(), batch.reset()[0])


def test_attributes_and_methods_are_those_of_the_vector_environment() -> None:
    env = OpenOutcryVecEnv(vector())
    env.reset()
    assert env.get_attr("num_envs", [0, 2]) == [4, 4]
    assert [nav.tolist() for nav in env.get_attr("nav", 1)] == [[1.0] * 4]
    assert not env.has_attr("unheard_of")
    env.set_attr("note", "seen")
    assert env.get_attr("note") == ["seen"] * 4
    assert env.env_method("__repr__", indices=[3]) == [repr(env.env)]
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False] * 4
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid: `indices` must be all"):
        env.set_attr("note", "seen", [0])
    env.close()
    assert env.env.closed


def test_options_of_a_reset_are_refused() -> None:
    env = OpenOutcryVecEnv(vector())
    env.set_options({"low": 1})
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid: options must be empty"):
        env.reset()


def test_another_autoreset_mode_is_refused() -> None:
    with pytest.raises(
        oo.OpenOutcryError, match=r"argument_invalid: `env` must have .*SAME_STEP; received .*NEXT_STEP"
    ):
        OpenOutcryVecEnv(OpenOutcryVectorEnv(2))


def test_the_adapter_takes_any_gymnasium_vector_environment() -> None:
    makers = [lambda: gymnasium.make("CartPole-v1")] * 2
    ours = OpenOutcryVecEnv(SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP))
    theirs = DummyVecEnv(makers)
    ours.seed(3), theirs.seed(3)
    assert same(ours.reset(), theirs.reset())
    for _ in range(60):
        a, b = ours.step(np.ones(2, np.int64)), theirs.step(np.ones(2, np.int64))
        assert all(same(x, y) for x, y in zip(a[:3], b[:3], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_ppo_trains_on_the_vector_environment(kind: str) -> None:
    env = VecMonitor(OpenOutcryVecEnv(vector(8, observation=kind, copy=False)))
    policy = "MlpPolicy" if kind == "flat" else "MultiInputPolicy"
    numbers = None if kind == "flat" else ["closes", "positions", "cash"]
    normed = VecNormalize(env, norm_obs_keys=numbers)
    model = PPO(policy, normed, n_steps=32, batch_size=64, n_epochs=2, seed=1, device="cpu")
    before = [each.detach().clone() for each in model.policy.parameters()]
    model.learn(512)
    assert model.num_timesteps == 512
    assert len(model.ep_info_buffer) > 30
    assert all(each["l"] == 11 for each in model.ep_info_buffer)
    after = list(model.policy.parameters())
    assert all(each.isfinite().all() for each in after)
    assert any((a != b).any() for a, b in zip(before, after, strict=True))
    mean, _ = evaluate_policy(model, normed, n_eval_episodes=8, warn=False)
    assert np.isfinite(mean)


def test_the_example_of_the_page_trains() -> None:
    model = run_example("Stable-Baselines3", 512)["model"]
    assert model.num_timesteps == 64 * 64
    assert all(each.isfinite().all() for each in model.policy.parameters())
