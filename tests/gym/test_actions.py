"""Action schemes: their weights, their limits, and equal bits in the environment and in lanes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest
from builders import count
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.gym.action_schemes import FLAT, action_scheme
from openoutcry.vector import OpenOutcryVectorEnv

SEEDS = st.integers(0, 2**32 - 1)
DRAWS = settings(max_examples=count(1_000, 40))
SCHEMES: tuple[dict[str, Any], ...] = (
    {"action": "parts"},
    {"action": "softmax"},
    {"action": "multi-discrete"},
    {"action": "multi-discrete", "levels": (-0.75, 0, 0.1, 1, "hold")},
    {"action": "discrete", "n_symbols": 1},
    {"action": "discrete", "n_symbols": 1, "levels": ("hold", 0, 0.3, -1)},
)
FREE = oo.CostModel(fee_bps=0.0, slippage_bps=0.0)


@DRAWS
@given(seed=SEEDS)
def test_lanes_equal_the_environment_for_every_action(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scheme = dict(SCHEMES[rng.integers(len(SCHEMES))])
    n_symbols, n_lanes = scheme.pop("n_symbols", int(rng.integers(1, 12))), int(rng.integers(1, 20))
    options: dict[str, Any] = {"n_symbols": n_symbols, "n_days": 12, "seed": seed, **scheme}
    lanes = OpenOutcryVectorEnv(n_lanes, **options)
    envs = [OpenOutcryEnv(**options) for _ in range(n_lanes)]
    lanes.reset(seed=1)
    for i, env in enumerate(envs):
        env.reset(seed=1 + i)
    lanes.action_space.seed(seed)
    for _ in range(6):
        actions = lanes.action_space.sample()
        observation, rewards, *_ = lanes.step(actions)
        for i, env in enumerate(envs):
            shown, reward, *_ = env.step(actions[i])
            assert reward == rewards[i]
            assert all(np.array_equal(shown[name], observation[name][i]) for name in shown)


def test_weights_of_an_action_do_not_depend_on_the_other_lanes() -> None:
    rng = np.random.default_rng(5)
    for n_symbols in (1, 2, 3, 7, 8, 9, 31, 200):
        scheme = action_scheme("softmax", None, n_symbols, [oo.Limits()])
        assert scheme is not None
        scores = rng.normal(0.0, 0.6, (67, n_symbols + 1)).astype(np.float32)
        together = scheme.read(scores, 67)[0]
        alone = np.concatenate([scheme.read(row[np.newaxis], 1)[0] for row in scores])
        assert np.array_equal(together, alone)
        assert np.all(together.sum(axis=1) <= 1.0 + 1e-12)
        powers = np.exp(5.0 * scores.astype(np.float64))
        exact = (powers / powers.sum(axis=1, keepdims=True))[:, :-1]
        np.testing.assert_allclose(together, np.where(exact < FLAT, 0.0, exact), rtol=1e-12, atol=0.0)


def test_a_softmax_action_can_close_a_position() -> None:
    env = OpenOutcryEnv(2, 20, action="softmax", costs=FREE)
    env.reset(seed=0)
    env.step(np.array([1.0, 0.0, 0.0], np.float32))
    shown, *_ = env.step(np.array([-1.0, -1.0, 1.0], np.float32))
    assert shown["positions"].tolist() == [0.0, 0.0]
    assert {event["slug"] for event in env.events} == {"filled"}
    assert shown["cash"][0] > 0.9


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gymnasium_accepts_every_action_space(scheme: dict[str, Any]) -> None:
    check_env(OpenOutcryEnv(n_days=15, **scheme), skip_render_check=True)
    made = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", n_days=300, **scheme)
    made.reset(seed=0)
    made.step(made.action_space.sample())


def test_levels_are_exact_weights_and_hold_trades_nothing() -> None:
    env = OpenOutcryEnv(1, 30, action="discrete", levels=(-1, 0, 1, "hold"), costs=FREE)
    assert env.action_space == gymnasium.spaces.Discrete(4)
    env.reset(seed=2)
    long, *_ = env.step(2)
    held, *_ = env.step(3)
    assert held["positions"][0] == long["positions"][0] > 0.0
    flat, *_ = env.step(np.int64(1))
    assert flat["positions"][0] == 0.0
    short, *_ = env.step(np.array(0))
    assert short["positions"][0] < 0.0
    twin = OpenOutcryEnv(1, 30, costs=FREE)
    twin.reset(seed=2)
    steps = [twin.step(np.array([weight])) for weight in (1.0, 1.0, 0.0, -1.0)]
    assert steps[3][0]["positions"][0] == pytest.approx(short["positions"][0], rel=0.02)


def test_a_level_is_in_units_of_an_equal_part() -> None:
    env = OpenOutcryEnv(4, 30, action="multi-discrete", levels=(-1, 0, 1, 4))
    env.reset(seed=2)
    env.step(np.array([2, 0, 1, 2]))
    twin = OpenOutcryEnv(4, 30)
    twin.reset(seed=2)
    twin.step(np.array([0.25, -0.25, 0.0, 0.25]))
    assert env.clone_state() == twin.clone_state()
    parts = OpenOutcryEnv(4, 30, action="parts")
    parts.reset(seed=2)
    parts.step(np.array([1.0, -1.0, 0.0, 1.0], np.float32))
    assert parts.clone_state() == twin.clone_state()


def test_default_levels_are_the_widest_that_the_limits_allow() -> None:
    long_only = OpenOutcryEnv(1, 30, action="discrete", allow_short=False)
    assert long_only.action_space == gymnasium.spaces.Discrete(2)
    half = OpenOutcryEnv(1, 30, action="discrete", max_weight=0.5)
    half.reset(seed=0)
    half.step(0)
    twin = OpenOutcryEnv(1, 30, max_weight=0.5)
    twin.reset(seed=0)
    twin.step(np.array([-0.5]))
    assert half.clone_state() == twin.clone_state()
    assert {event["slug"] for event in half.events} == {"filled"}


def test_masks_leave_one_level_to_a_symbol_without_trades() -> None:
    close = np.array([[10.0, np.nan], [11.0, np.nan], [12.0, 5.0], [13.0, 6.0]])
    dates = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    market = oo.Dataset.from_arrays(dates, ["OLD", "NEW"], close)
    options: dict[str, Any] = {"dataset": market, "action": "multi-discrete", "window": (0, 4)}
    env, lanes = OpenOutcryEnv(**options), OpenOutcryVectorEnv(3, **options)
    holding = OpenOutcryEnv(**options, levels=(0, 1, "hold"))
    for each in (env, lanes, holding):
        each.reset(seed=0)
    assert env.action_masks().tolist() == [True, True, True, False, True, False]
    assert holding.action_masks().tolist() == [True, True, True, False, False, True]
    assert lanes.action_masks().tolist() == [env.action_masks().tolist()] * 3
    env.step(np.array([1, 1]))
    env.step(np.array([1, 1]))
    assert env.action_masks().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"action": "orders"}, "`action` must be one of weights, parts, softmax, discrete, multi-discrete, bracket"),
        ({"action": "discrete"}, 'one symbol; received 4 symbols; hint: action="multi-discrete"'),
        ({"levels": (0, 1)}, "`levels` must be None unless"),
        ({"action": "multi-discrete", "levels": (0,)}, "at least two different numbers"),
        ({"action": "multi-discrete", "levels": (0, 0.0)}, "at least two different numbers"),
        ({"action": "multi-discrete", "levels": "hold"}, "`levels` must be a list"),
        ({"action": "multi-discrete", "levels": (0, "buy")}, "may be 'hold'"),
        ({"action": "multi-discrete", "levels": (0, float("nan"))}, "finite"),
        ({"action": "multi-discrete", "levels": (0, True)}, "finite"),
        ({"action": "multi-discrete", "levels": (0, 5)}, "`levels` must be -4 to 4"),
        ({"action": "multi-discrete", "levels": (-1, 1), "allow_short": False}, "`levels` must be 0 to 4"),
        ({"action": "multi-discrete", "limits": oo.Limits(max_weight=0.0)}, "at least two different"),
    ],
)
def test_levels_outside_of_the_limits_are_refused(options: dict[str, Any], message: str) -> None:
    for make in (OpenOutcryEnv, lambda **given: OpenOutcryVectorEnv(2, **given)):
        with pytest.raises(oo.OpenOutcryError) as caught:
            make(**options)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "action", "message"),
    [
        ({"action": "discrete", "n_symbols": 1}, 3, "indices of levels, 0 to 2; received 3"),
        ({"action": "discrete", "n_symbols": 1}, -1, "received -1"),
        ({"action": "discrete", "n_symbols": 1}, 1.0, "integers of shape"),
        ({"action": "multi-discrete"}, [1, 1], "integers of shape"),
        ({"action": "softmax"}, [0.0] * 4, "numbers of shape (1, 5)"),
        ({"action": "softmax"}, [np.nan] * 5, "weight_not_finite"),
        ({"action": "softmax"}, [np.inf] * 5, "weight_not_finite"),
        ({"action": "parts"}, ["a"] * 4, "numbers of shape"),
    ],
)
def test_an_invalid_action_changes_nothing(scheme: dict[str, Any], action: Any, message: str) -> None:
    env, lanes = OpenOutcryEnv(n_days=20, **scheme), OpenOutcryVectorEnv(1, n_days=20, **scheme)
    env.reset(seed=0)
    lanes.reset(seed=0)
    before, saved = env.clone_state(), lanes._core.save()
    with pytest.raises(oo.OpenOutcryError) as caught:
        env.step(action)
    assert message in str(caught.value)
    with pytest.raises(oo.OpenOutcryError):
        lanes.step([action])
    assert env.clone_state() == before
    assert lanes._core.save() == saved


def test_an_invalid_softmax_action_holds_if_asked() -> None:
    options: dict[str, Any] = {"n_days": 20, "action": "softmax", "on_invalid": "hold"}
    env, lanes = OpenOutcryEnv(**options), OpenOutcryVectorEnv(2, **options)
    env.reset(seed=0)
    lanes.reset(seed=0)
    _, _, _, _, info = env.step(np.full(5, np.nan, np.float32))
    assert info["invalid_action"]
    _, rewards, _, _, info = lanes.step(np.stack([np.full(5, np.nan), np.zeros(5)]).astype(np.float32))
    assert info["invalid_action"].tolist() == [True, False]
    assert rewards[0] == 0.0
    # The scheme still reads the actions after it.
    lanes.step(np.zeros((2, 5), np.float32))


def test_masks_need_discrete_actions() -> None:
    for action in ("weights", "parts", "softmax"):
        with pytest.raises(oo.OpenOutcryError, match="needs discrete"):
            OpenOutcryEnv(n_days=20, action=action).action_masks()


def test_default_levels_need_equal_limits() -> None:
    limits = [oo.Limits(allow_short=False), oo.Limits()]
    with pytest.raises(oo.OpenOutcryError, match="`levels` must be given"):
        OpenOutcryVectorEnv(2, n_symbols=1, action="discrete", limits=limits)
    lanes = OpenOutcryVectorEnv(2, n_symbols=1, action="discrete", limits=limits, levels=(0, 1))
    lanes.reset(seed=0)


@pytest.mark.parametrize("number", [-np.inf, np.inf, np.nan, 1e308])
def test_a_softmax_action_that_is_not_finite_is_invalid(number: float) -> None:
    env = OpenOutcryEnv(2, 20, action="softmax")
    env.reset(seed=0)
    with pytest.raises(oo.OpenOutcryError, match="weight_not_finite"):
        env.step(np.array([number, 0.0, 0.0]))


def test_the_index_of_a_level_may_have_an_axis() -> None:
    env = OpenOutcryEnv(1, 20, action="discrete")
    env.reset(seed=0)
    assert env.step(np.array([2]))[0]["positions"][0] > 0.0


def test_labels_of_an_action_are_not_dropped() -> None:
    env = OpenOutcryEnv(2, 20, action="parts")
    env.reset(seed=0)
    with pytest.raises(oo.OpenOutcryError, match="an array without labels"):
        env.step(pd.Series([0.5, -0.5], index=["S001", "S000"]))
