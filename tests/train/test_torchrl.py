"""TorchRL steps the vector environment, with its info, and the scalar environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torchrl.data import Unbounded
from torchrl.envs import GymEnv, GymWrapper, check_env_specs
from torchrl.envs.gym_like import default_info_dict_reader
from train_page import run_example

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

N, STEPS = 3, 60
MODES = [AutoresetMode.DISABLED, AutoresetMode.SAME_STEP]


def settings(**changes: Any) -> dict[str, Any]:
    """Return arguments of environments with masks in info and lanes ruined at different bars."""
    close = np.cumprod(np.exp(np.random.default_rng(0).normal(0.0, 0.2, (60, 3))), axis=0)
    close[:30, 1] = np.nan
    dates = [f"2020-{1 + bar // 28:02d}-{1 + bar % 28:02d}" for bar in range(60)]
    market = oo.Dataset.from_arrays(dates, ["A", "B", "C"], close)
    episodes = {"window": "random", "within": (8, 60), "episode_bars": 11, "lookback": 5}
    limits = oo.Limits(max_weight=3.0, max_gross=6.0)
    return {"dataset": market, "observation": "flat", "on_invalid": "hold", "limits": limits, **episodes, **changes}


def lanes(mode: AutoresetMode, **changes: Any) -> OpenOutcryVectorEnv:
    return OpenOutcryVectorEnv(N, autoreset_mode=mode, **settings(**changes))


def batch(mode: AutoresetMode, **changes: Any) -> Any:
    return SyncVectorEnv([lambda: OpenOutcryEnv(**settings(**changes))] * N, autoreset_mode=mode)


def wrapped(env: Any) -> Any:
    """Return an environment of TorchRL with all of the info; it registers the info of `SAME_STEP` itself."""
    found = GymWrapper(env)
    return found if env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP else found.auto_register_info_dict()


def assert_same_rollout(rollout: Any, env: Any, keys: list[str]) -> None:
    """Assert that a rollout equals the steps of `env`, which has just been reset, with the same actions."""
    observation, info = env.reset()
    is_disabled, n_terminated, n_partial = env.metadata["autoreset_mode"] is AutoresetMode.DISABLED, 0, 0
    known = {key: info[key].copy() for key in keys}
    for step in range(STEPS):
        at = rollout[:, step]
        assert same(at["observation"], observation)
        assert all(same(at[key], known[key]) for key in keys), step
        observation, rewards, terminations, truncations, info = env.step(at["action"].numpy())
        ended = terminations | truncations
        last, known = observation.copy(), {key: info[key].copy() for key in keys}
        final = {key: known[key].copy() for key in keys}
        if ended.any() and not is_disabled:
            last[ended] = np.stack(info["final_obs"][ended])
            for key in keys:
                final[key][ended] = info["final_info"][key][ended]
        assert same(at["next", "observation"], last)
        assert all(same(at["next", key], final[key]) for key in keys), step
        # TorchRL converts rewards to float32.
        assert same(at["next", "reward"], rewards.astype(np.float32)[:, np.newaxis])
        assert same(at["next", "terminated"], terminations[:, np.newaxis])
        assert same(at["next", "truncated"], truncations[:, np.newaxis])
        if ended.all() and not is_disabled:
            # TorchRL resets a batch again if all of its episodes have ended.
            observation, info = env.reset()
            known = {key: info[key].copy() for key in keys}
        elif ended.any() and is_disabled:
            observation, info = env.reset(options={"reset_mask": ended.copy()})
            for key in keys:
                known[key][ended] = info[key][ended]
        n_terminated += int(terminations.sum())
        n_partial += int(0 < ended.sum() < N)
    assert min(n_terminated, n_partial) >= 3


def same(mine: torch.Tensor, theirs: np.ndarray) -> bool:
    shown = mine.numpy()
    return shown.dtype == theirs.dtype and shown.shape == theirs.shape and shown.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("make", [lanes, batch])
@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_specs_with_info_pass_the_check_of_torchrl(make: Any, mode: AutoresetMode, observation: str) -> None:
    env = wrapped(make(mode, observation=observation))
    check_env_specs(env)
    nav = {"nav"} if make is batch else set()
    assert {"tradable", "invalid_action", *nav} <= set(env.reset().keys())


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("make", [lanes, batch])
def test_a_rollout_of_a_batch_equals_its_steps(make: Any, mode: AutoresetMode) -> None:
    torch.manual_seed(0)
    env, hand = wrapped(make(mode)), make(mode)
    env.set_seed(5), hand.reset(seed=5)
    keys = ["tradable", "invalid_action"] + ["nav"] * (make is batch)
    assert_same_rollout(env.rollout(STEPS, break_when_any_done=False), hand, keys)


def test_chosen_keys_of_full_info_are_in_a_rollout() -> None:
    torch.manual_seed(0)
    keys, hand = ["nav", "turnover"], lanes(AutoresetMode.DISABLED, info="full")
    spec = [Unbounded((N,), dtype=torch.float64)] * len(keys)
    env = GymWrapper(lanes(AutoresetMode.DISABLED, info="full"))
    env.set_info_dict_reader(default_info_dict_reader(keys, spec=spec))
    check_env_specs(env)
    env.set_seed(5), hand.reset(seed=5)
    assert_same_rollout(env.rollout(STEPS, break_when_any_done=False), hand, keys)


def test_next_step_autoreset_is_refused_by_torchrl() -> None:
    with pytest.raises(RuntimeError, match="must be one of SAME_STEP or DISABLED"):
        GymWrapper(lanes(AutoresetMode.NEXT_STEP))


def test_a_rollout_of_the_scalar_environment_equals_its_steps() -> None:
    env = GymEnv("openoutcry.gym:OpenOutcry/EcbFx-v1", episode_bars=9).auto_register_info_dict()
    check_env_specs(env)
    hand = OpenOutcryEnv(dataset="ecb-fx", window="random", observation="flat", episode_bars=9)
    env.set_seed(5), hand.reset(seed=5)
    observation, info = hand.reset()
    for at in env.rollout(20):
        assert same(at["observation"], observation)
        assert at["nav"].item() == info["nav"]
        observation, reward, terminated, truncated, info = hand.step(at["action"].numpy())
        assert same(at["next", "observation"], observation)
        assert at["next", "nav"].item() == info["nav"]
        assert at["next", "reward"].item() == np.float32(reward)
        assert (at["next", "terminated"].item(), at["next", "truncated"].item()) == (terminated, truncated)
    assert truncated


@pytest.mark.filterwarnings("ignore:Creating .*WeightUpdater:DeprecationWarning")
def test_the_example_of_the_page_trains() -> None:
    names = run_example("TorchRL", 2048)
    assert names["batch"].batch_size == (64, 32)
    assert names["batch"]["next", "tradable"].shape == (64, 32, 20)
    assert all(each.isfinite().all() for each in names["actor"].parameters())
    assert torch.isfinite(names["loss"])
