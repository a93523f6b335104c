"""Frames of the scalar environment and of lanes, and Gymnasium's `RecordVideo`."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

SHARED: dict[str, Any] = {"window": "random", "episode_bars": 6, "observation": "flat"}


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_the_frame_of_a_lane_is_that_of_the_scalar_environment(render_mode: str, mode: AutoresetMode) -> None:
    env = OpenOutcryVectorEnv(3, **SHARED, render_mode=render_mode, render_lane=2, autoreset_mode=mode)
    twins = [OpenOutcryEnv(**SHARED, render_mode=render_mode) for _ in range(3)]
    env.reset(seed=5)
    for lane, twin in enumerate(twins):
        twin.reset(seed=5 + lane)
    done, rng = np.zeros(3, dtype=bool), np.random.default_rng(0)
    for k in range(9):
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(options={"reset_mask": done.copy()})
            _ = [twin.reset() for twin in twins]
        actions = rng.normal(0.0, 0.3, (3, 4)).astype(np.float32)
        *_, terminations, truncations, _ = env.step(actions)
        for twin, action, over in zip(twins, actions, done, strict=True):
            if (mode is AutoresetMode.NEXT_STEP and over) or (twin.step(action)[3] and mode is AutoresetMode.SAME_STEP):
                twin.reset()
        done = terminations | truncations
        if k % 3 == 2:
            continue
        frames = env.render()
        assert frames is not None
        assert len(frames) == 3
        for frame, lane in zip(frames, (2, 0, 1), strict=True):
            assert np.array_equal(frame, twins[lane].render()), (k, lane)
    back = pickle.loads(pickle.dumps(env)).render()
    assert np.array_equal(back[0], twins[2].render())


def test_a_frame_shows_the_step_that_it_was_asked_for() -> None:
    env = OpenOutcryVectorEnv(2, render_mode="ansi")
    with pytest.warns(UserWarning, match="reset"):
        assert env.render() is None
    env.reset(seed=0)
    first = env.render()
    env.step(np.full((2, 4), 0.2))
    assert first is not None
    assert "NAV 1.0000" in first[0]
    assert first[0:2] == [first[0], first[1]]
    with pytest.warns(UserWarning, match="render_mode"):
        assert OpenOutcryVectorEnv(2).render() is None


def test_the_history_of_nav_keeps_only_running_episodes() -> None:
    env = OpenOutcryVectorEnv(4, **SHARED, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.zeros((4, 4), np.float32))
    assert env._navs is not None
    assert len(env._navs.rows) <= 7


def test_it_records_videos(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env: Any = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", episode_bars=4, render_mode="rgb_array")
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "one"))
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros(4, np.float32))
    env.close()
    lanes: Any = gymnasium.make_vec(
        "openoutcry.gym:OpenOutcry/Synthetic-v2", num_envs=64, episode_bars=4, render_mode="rgb_array", render_lane=3
    )
    lanes = gymnasium.wrappers.vector.RecordVideo(lanes, str(tmp_path / "many"), record_first_only=True)
    lanes.reset(seed=0)
    for _ in range(4):
        lanes.step(np.zeros((64, 4), np.float32))
    lanes.close()
    assert all([*(tmp_path / name).glob("*.mp4")] for name in ("one", "many"))


def test_wrappers_that_read_info_of_lanes_work() -> None:
    env = DictInfoToList(OpenOutcryVectorEnv(2, info="full", autoreset_mode="SameStep", window=(0, 4)))
    _, info = env.reset(seed=0)
    assert [each["nav"] for each in info] == [1.0, 1.0]
    for _ in range(3):
        *_, info = env.step(np.full((2, 4), 0.1))
    assert info[1]["final_info"]["events"]["filled"] == 4
    assert oo.OpenOutcryEnv(render_mode="ansi").metadata["render_modes"] == ["ansi", "rgb_array"]
