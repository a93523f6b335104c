"""The scalar environment follows Gymnasium's conventions and matches the engine to the bit."""

from __future__ import annotations

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv


@pytest.mark.parametrize(
    "options", [{}, {"lookback": 10}, {"allow_short": False}, {"render_mode": "ansi"}, {"render_mode": "rgb_array"}]
)
def test_check_env_passes_with_no_warning(options: dict[str, object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Gymnasium warns that a second version of the id exists.
        warnings.filterwarnings("ignore", ".*out of date", DeprecationWarning)
        check_env(gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v1", **options).unwrapped)


def test_check_env_passes_on_real_data_with_late_listings() -> None:
    env = OpenOutcryEnv(dataset=oo.data.load("ecb-fx", "all"), allow_short=False, lookback=5)
    check_env(env, skip_render_check=True)
    observation, _ = env.reset()
    late = env.dataset.symbols.index("CNY")
    assert observation["listed"][late] == 0
    assert observation["closes"][late] == 0.0
    assert (observation["history"][:, late] == 0.0).all()


def test_spaces_are_finite_and_can_be_sampled() -> None:
    env = OpenOutcryEnv(limits=oo.Limits.off(), lookback=3)
    assert np.isfinite(env.action_space.low).all()
    assert np.isfinite(env.action_space.high).all()
    sample = env.observation_space.sample()
    assert env.observation_space.contains(sample)
    assert np.isfinite(sample["cash"]).all()


def test_the_environment_has_the_nav_of_a_backtest_of_its_actions() -> None:
    dataset = oo.Dataset.synthetic(5, 80, 3)
    env = OpenOutcryEnv(dataset=dataset, window=(10, 80))
    env.reset(seed=4)
    env.action_space.seed(4)
    weights = np.full((80, 5), np.nan)
    navs = [1.0]
    done = False
    while not done:
        action = env.action_space.sample()
        weights[10 + len(navs) - 1] = action
        _, reward, terminated, truncated, info = env.step(action)
        assert reward == info["nav"] / navs[-1] - 1.0
        navs.append(info["nav"])
        done = terminated or truncated
    run = oo.run_backtest(dataset, weights, (10, 80))
    assert run.nav.tobytes() == np.array(navs).tobytes()


def test_shorthands_set_limits_and_are_refused_together_with_limits() -> None:
    env = OpenOutcryEnv(max_weight=0.3, allow_short=False)
    assert env.limits == oo.Limits(max_weight=0.3, allow_short=False)
    assert env.action_space.low.tolist() == [0.0] * 4
    assert env.action_space.high.tolist() == [np.nextafter(np.float32(0.3), np.float32(0))] * 4
    with pytest.raises(oo.OpenOutcryError, match=r"limit_invalid: .*received both"):
        OpenOutcryEnv(limits=oo.Limits(), max_weight=0.5)


@pytest.mark.parametrize(
    "action",
    [np.zeros(3, np.float32), np.zeros((4, 1), np.float32), np.array([0, 0, 0, np.nan], np.float32), np.zeros(4, bool)],
    ids=["too short", "two dimensions", "not a number", "booleans"],
)
def test_a_refused_action_leaves_the_state_unchanged(action: np.ndarray) -> None:
    env = OpenOutcryEnv()
    env.reset()
    before = env.clone_state()
    with pytest.raises(ValueError, match=r"must be|expected"):
        env.step(action)
    assert env.clone_state() == before
    env.step(np.zeros(4, np.float32))


def test_a_step_after_the_end_is_refused_until_a_reset() -> None:
    env = OpenOutcryEnv(n_days=40, window=(0, 3))
    env.reset()
    env.step(np.zeros(4, np.float32))
    assert env.step(np.zeros(4, np.float32))[3]
    with pytest.raises(oo.OpenOutcryError) as refused:
        env.step(np.zeros(4, np.float32))
    assert refused.value.slug == "episode_over"
    env.reset()
    env.step(np.zeros(4, np.float32))


def test_ruin_terminates_and_is_absorbing() -> None:
    close = np.array([[1.0], [1.0], [5.0], [5.0]])
    dataset = oo.Dataset.from_arrays(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-06"], ["A"], close)
    env = OpenOutcryEnv(dataset=dataset, window=(0, 4))
    env.reset()
    env.step(np.array([-1.0], np.float32))
    _, reward, terminated, truncated, info = env.step(np.array([-1.0], np.float32))
    assert (reward, terminated, truncated, info["nav"]) == (-1.0, True, False, 0.0)
    assert "ruined" in [event["slug"] for event in env.events]
    with pytest.raises(oo.OpenOutcryError, match="episode_over"):
        env.step(np.array([0.0], np.float32))


def test_a_checkpoint_resumes_with_the_same_bits_and_is_refused_by_another_market() -> None:
    env = OpenOutcryEnv(lookback=4)
    env.reset()
    env.step(np.full(4, 0.2, np.float32))
    state = env.clone_state()
    first = [env.step(np.full(4, w, np.float32)) for w in (0.1, -0.2, 0.0)]
    env.restore_state(state)
    again = [env.step(np.full(4, w, np.float32)) for w in (0.1, -0.2, 0.0)]
    for one, other in zip(first, again, strict=True):
        assert one[1:] == other[1:]
        assert all(one[0][key].tobytes() == other[0][key].tobytes() for key in one[0])
    with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
        OpenOutcryEnv(seed=8).restore_state(state)


def test_info_holds_no_seed_and_reset_seeds_change_no_market() -> None:
    env = OpenOutcryEnv(seed=123_456_789)
    first, info = env.reset(seed=1)
    second, _ = env.reset(seed=987_654_321)
    assert all(first[key].tobytes() == second[key].tobytes() for key in first)
    *_, stepped = env.step(np.full(4, 0.25, np.float32))
    text = json.dumps([info, stepped])
    assert "seed" not in text
    assert "123456789" not in text


def test_observations_share_no_memory() -> None:
    env = OpenOutcryEnv(lookback=2)
    first, _ = env.reset()
    before = {key: value.copy() for key, value in first.items()}
    env.step(np.full(4, 0.25, np.float32))
    assert all((first[key] == before[key]).all() for key in first)


def test_render_shows_the_account_as_image_and_text() -> None:
    env = OpenOutcryEnv(render_mode="rgb_array")
    env.reset()
    start = env.render()
    for _ in range(10):
        env.step(np.full(4, 0.25, np.float32))
    later = env.render()
    assert start.shape == later.shape == (400, 640, 3)
    assert start.dtype == np.uint8
    assert (start != later).any()
    text = OpenOutcryEnv(render_mode="ansi")
    text.reset()
    assert "NAV 1.0000" in text.render()
    assert "flat" in text.render()
    with pytest.raises(ValueError, match="render_mode"):
        OpenOutcryEnv(render_mode="human")
