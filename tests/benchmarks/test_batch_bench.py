"""`openoutcry bench --batch`: the numpy baseline does the same work as the vector environment."""

from __future__ import annotations

import numpy as np
import pytest

from openoutcry import OpenOutcryError
from openoutcry.benchmarks import batch_speed as bench
from openoutcry.vector import OpenOutcryVectorEnv

pytestmark = pytest.mark.once

N, S = 24, 3


def environments(n_columns: int = 0) -> tuple[OpenOutcryVectorEnv, bench.NumpyEnv, bench.Actions]:
    dataset, close = bench._market(S)
    columns = np.random.default_rng(2).normal(size=(bench.N_BARS, S, n_columns)).astype(np.float32)
    if n_columns:
        dataset = bench._with_columns(dataset, columns)
    costs, limits = bench.FEATURES["fee + slippage"]
    env = OpenOutcryVectorEnv(
        N,
        dataset=dataset,
        window="random",
        episode_bars=bench.EPISODE_BARS,
        observation="flat",
        lookback=bench.LOOKBACK,
        reward="log",
        costs=costs,
        limits=limits,
    )
    env.reset(seed=3)
    peer = bench.NumpyEnv(close, N, columns.swapaxes(1, 2).reshape(bench.N_BARS, -1))
    peer.bar = env._core.bars.copy()
    return env, peer, np.random.default_rng(5).dirichlet(np.ones(S + 1), N)[:, :S].astype(np.float32)


@pytest.mark.parametrize("n_columns", [0, 8])
@pytest.mark.parametrize("gathers", [True, False])
def test_the_baseline_has_the_observations_and_rewards_of_the_vector_environment(gathers: bool, n_columns: int) -> None:
    env, peer, actions = environments(n_columns)
    for k in range(10):
        weights = np.roll(actions, k, axis=0)
        seen, rewards, *_ = env.step(weights)
        shown, logs = peer.step(weights, gathers)
        if not gathers:  # symbol by symbol
            bar_len = S * (1 + n_columns)
            width = bench.LOOKBACK * bar_len
            shown = shown.copy()
            shown[:, :width] = shown[:, :width].reshape(N, bar_len, bench.LOOKBACK).swapaxes(1, 2).reshape(N, width)
        np.testing.assert_allclose(seen, shown, rtol=0, atol=1e-6)
        np.testing.assert_allclose(rewards, logs, rtol=0, atol=1e-6)


def test_episodes_of_both_end_evenly_over_the_steps() -> None:
    env, peer, actions = environments()
    bench._stagger(env, actions)
    ends = np.zeros(bench.EPISODE_BARS, int)
    for k in range(bench.EPISODE_BARS):
        ends[k] = env.step(actions)[3].sum()
    # One of 24 lanes every 252 / 24 steps, plus the step of a reset.
    gaps = np.diff(np.flatnonzero(ends))
    assert ends.sum() in (N - 1, N)
    assert ends.max() == 1
    assert gaps.max() <= 12
    assert np.diff(np.sort(peer.left)).max() <= 11
    assert len(set(peer.left.tolist())) == N


def test_a_lane_whose_episode_did_not_end_has_no_final_values() -> None:
    env, _, _ = environments()
    for lanes in ([0], [N]):
        with pytest.raises(OpenOutcryError, match=f"an ended episode; received {lanes[0]}"):
            env._core.ended(lanes)
