"""Bracket actions: weights with a stop loss and a take profit at distances from the last close."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.gym.action_schemes import action_scheme
from openoutcry.gym.vector import OpenOutcryVectorEnv

Actions = npt.NDArray[np.float32]
N_BARS, N_SYMBOLS = 40, 3


def market(seed: int = 0) -> oo.Dataset:
    rng = np.random.default_rng(seed)
    ticks = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.006, (N_BARS * 12, N_SYMBOLS)), axis=0))
    bars = ticks.reshape(N_BARS, 12, N_SYMBOLS)
    dates = oo.Dataset.synthetic(1, N_BARS).dates
    columns = {"open": bars[:, 0], "high": bars.max(axis=1), "low": bars.min(axis=1)}
    return oo.Dataset.from_arrays(dates, ["A", "B", "C"], bars[:, -1], **columns)


def actions(n_lanes: int, seed: int = 1) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(-0.5, 0.5, (N_BARS, n_lanes, N_SYMBOLS, 3)).astype(np.float32)
    drawn[..., 1:] = rng.uniform(-0.02, 0.03, drawn[..., 1:].shape)
    drawn[rng.random(drawn.shape[:3]) < 0.2, 1:] = 0.0
    return drawn


def exits_of(dataset: oo.Dataset, start: int, taken: Actions) -> tuple[dict[str, Any], npt.NDArray[np.float64]]:
    """Return the arguments of `run_backtest` for the actions of one environment, and their weights."""
    weights = np.full(dataset.close.shape, np.nan)
    loss, profit = np.full(dataset.close.shape, np.nan), np.full(dataset.close.shape, np.nan)
    for k, action in enumerate(taken.astype(np.float64)):
        bar, (weight, stop, gain) = start + k, action.T
        weights[bar], side = weight, np.sign(weight)
        loss[bar] = np.where((stop > 0.0) & (side != 0.0), dataset.close[bar] * (1.0 + -side * stop), np.nan)
        profit[bar] = np.where((gain > 0.0) & (side != 0.0), dataset.close[bar] * (1.0 + side * gain), np.nan)
    return {"stop_loss": loss, "take_profit": profit}, weights


def test_the_space_is_the_weights_and_two_distances_below_one() -> None:
    env = OpenOutcryEnv(market(), action="bracket")
    assert env.action_space.shape == (N_SYMBOLS, 3)
    assert isinstance(env.action_space, gym.spaces.Box)
    below_one = float(np.nextafter(np.float32(1.0), np.float32(0.0)))
    assert env.action_space.high[0].tolist() == [1.0, below_one, below_one]
    assert env.action_space.low[0].tolist() == [-1.0, -1.0, -1.0]
    check_env(env, skip_render_check=True)


def test_an_environment_gives_the_bits_of_the_backtest_of_its_exits() -> None:
    dataset = market()
    env = OpenOutcryEnv(dataset, action="bracket")
    env.reset(seed=0)
    taken, navs = actions(1)[:, 0], []
    for action in taken:
        *_, terminated, truncated, info = env.step(action)
        navs.append(info["nav"])
        if terminated or truncated:
            break
    start = N_BARS - 1 - len(navs)
    conditions, weights = exits_of(dataset, start, taken[: len(navs)])
    run = oo.run_backtest(dataset, weights, (start, N_BARS), **conditions)
    assert run.nav[1:].tolist() == navs
    assert run.event_counts["exited"] > 10


@pytest.mark.parametrize("n_lanes", [1, 3, 8, 17])
def test_every_lane_has_the_bits_of_its_environment(n_lanes: int) -> None:
    dataset, taken = market(), actions(n_lanes)
    batch = OpenOutcryVectorEnv(n_lanes, dataset=dataset, action="bracket")
    alone = [OpenOutcryEnv(dataset, action="bracket") for _ in range(n_lanes)]
    batch.reset(seed=0)
    for env in alone:
        env.reset(seed=0)
    for step in taken[:15]:
        _, rewards, *_ = batch.step(step)
        assert rewards.tolist() == [env.step(action)[1] for env, action in zip(alone, step, strict=True)]


def test_lanes_without_exits_have_the_bits_of_target_weights() -> None:
    dataset, taken = market(), actions(9)
    taken[:, ::2, :, 1:] = -0.5
    brackets = OpenOutcryVectorEnv(9, dataset=dataset, action="bracket")
    weights = OpenOutcryVectorEnv(9, dataset=dataset)
    brackets.reset(seed=0)
    weights.reset(seed=0)
    for step in taken[:15]:
        plain = weights.step(np.ascontiguousarray(step[..., 0]))[1]
        assert np.array_equal(brackets.step(step)[1][::2], plain[::2])


def test_exits_last_one_step_and_a_refused_action_leaves_none() -> None:
    dataset = market()
    env, other = (OpenOutcryVectorEnv(2, dataset=dataset, action="bracket") for _ in range(2))
    for each in (env, other):
        each.reset(seed=0)
    exits = np.zeros((2, N_SYMBOLS, 3), np.float32)
    exits[..., 0], exits[..., 1] = 0.3, 0.001
    wrong = exits.copy()
    wrong[0, 0, 0] = np.nan
    with pytest.raises(oo.OpenOutcryError, match="must be finite"):
        env.step(wrong)
    plain = exits.copy()
    plain[..., 1] = 0.0
    assert np.array_equal(env.step(plain)[1], other.step(plain)[1])


@pytest.mark.parametrize("distance", [1.0, -1.5, np.nan])
def test_a_distance_out_of_range_is_refused_and_changes_nothing(distance: float) -> None:
    env = OpenOutcryEnv(market(), action="bracket")
    env.reset(seed=0)
    action = np.zeros((N_SYMBOLS, 3), np.float32)
    action[1] = 0.5, distance, 0.0
    nav = env.unwrapped._core.nav
    with pytest.raises(oo.OpenOutcryError, match=r"distances of symbol 1 must be in \[-1, 1\)"):
        env.step(action)
    assert env.unwrapped._core.nav == nav
    env.step(np.zeros((N_SYMBOLS, 3), np.float32))


def test_a_bracket_has_no_levels() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`levels` must be None"):
        action_scheme("bracket", (0, 1), 2, [oo.Limits()])
