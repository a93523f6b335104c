"""PufferLib vectorizes the vector environment in its own buffers."""

from __future__ import annotations

import numpy as np
import pufferlib
import pufferlib.vector
import pytest
from gymnasium.vector import AutoresetMode
from train_page import run_example

import openoutcry as oo
from openoutcry.puffer import OpenOutcryPufferEnv
from openoutcry.vector import OpenOutcryVectorEnv

SETTINGS = {"window": "random", "episode_bars": 12}


def reference(num_envs: int) -> OpenOutcryVectorEnv:
    return OpenOutcryVectorEnv(num_envs, observation="flat", autoreset_mode=AutoresetMode.SAME_STEP, **SETTINGS)


def weights(env: OpenOutcryVectorEnv, steps: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    shape = (env.num_envs, *env.single_action_space.shape)
    return [generator.uniform(-0.25, 0.25, shape).astype(np.float32) for _ in range(steps)]


def assert_same_run(vecenv: object, batch: OpenOutcryVectorEnv, seed: int) -> int:
    """Step both and return how many episodes ended."""
    vecenv.async_reset(seed)
    observation, *_ = vecenv.recv()
    assert observation.tobytes() == batch.reset(seed=seed * batch.num_envs)[0].tobytes()
    ended = 0
    for actions in weights(batch, 40):
        vecenv.send(actions)
        observation, rewards, terminals, truncations, *_ = vecenv.recv()
        wanted = batch.step(actions)
        assert observation.tobytes() == wanted[0].tobytes()
        assert rewards.tobytes() == wanted[1].astype(np.float32).tobytes()
        assert terminals.tolist() == wanted[2].tolist()
        assert truncations.tolist() == wanted[3].tolist()
        ended += int(truncations.sum())
    return ended


def test_the_native_backend_equals_the_vector_environment() -> None:
    vecenv = pufferlib.vector.make(OpenOutcryPufferEnv, env_kwargs={"num_envs": 6, **SETTINGS})
    assert assert_same_run(vecenv, reference(6), 3) >= 18
    vecenv.close()


def test_results_are_written_in_place() -> None:
    env = OpenOutcryPufferEnv(4, **SETTINGS)
    buffers = (env.observations, env.rewards, env.terminals, env.truncations)
    places = [each.ctypes.data for each in buffers]
    env.reset(1)
    first = env.observations.copy()
    returned = env.step(weights(env.env, 1)[0])
    assert [each.ctypes.data for each in returned[:4]] == places
    assert not np.array_equal(env.observations, first)


@pytest.mark.parametrize(
    ("backend", "extra"),
    [(pufferlib.vector.Serial, {}), (pufferlib.vector.Multiprocessing, {"num_workers": 2, "batch_size": 2})],
    ids=["serial", "multiprocessing"],
)
def test_several_environments_equal_the_lanes_of_one_vector_environment(backend: object, extra: dict[str, int]) -> None:
    options = {"num_envs": 3, **SETTINGS}
    vecenv = pufferlib.vector.make(OpenOutcryPufferEnv, env_kwargs=options, num_envs=2, backend=backend, **extra)
    try:
        # PufferLib seeds environment i with 3 + i, whose lanes follow those of environment i - 1.
        vecenv.async_reset(3)
        observation, *_ = vecenv.recv()
        batch = reference(6)
        assert observation.tobytes() == batch.reset(seed=9)[0].tobytes()
        navs = []
        for actions in weights(batch, 24):
            vecenv.send(actions)
            observation, rewards, *rest = vecenv.recv()
            wanted = batch.step(actions)
            assert observation.tobytes() == wanted[0].tobytes()
            assert rewards.tobytes() == wanted[1].astype(np.float32).tobytes()
            navs += [info["nav"] for part in rest if isinstance(part, list) for info in part if "nav" in info]
        assert len(navs) >= 2
    finally:
        vecenv.close()


def test_invalid_actions_are_refused() -> None:
    env = OpenOutcryPufferEnv(2, **SETTINGS)
    env.reset(0)
    before = env.observations.copy()
    with pytest.raises(oo.OpenOutcryError, match="weight"):
        env.step(np.full((2, 4), np.nan, np.float32))
    assert env.observations.tobytes() == before.tobytes()


def test_the_example_of_the_page_steps() -> None:
    env = run_example("PufferLib", 512)["env"]
    try:
        env.async_reset(0)
        first = env.recv()[0].copy()
        env.send(np.full((1024, 9), 0.1, np.float32))
        assert first.shape == (1024, 190)
        assert not np.array_equal(env.recv()[0], first)
    finally:
        env.close()
