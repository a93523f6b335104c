"""Markets drawn per episode, padding, and the mask of listed symbols."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from builders import count
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.padding import padded
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

DRAWS = settings(max_examples=count(1_000, 40))
SEEDS = st.integers(0, 2**32 - 1)
MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


def markets(sizes: tuple[int, ...]) -> list[oo.Dataset]:
    return [oo.Dataset.synthetic(n, (30, 24, 27, 40)[i], seed=n + 10 * i) for i, n in enumerate(sizes)]


def listed_late(market: oo.Dataset) -> oo.Dataset:
    """Return the market with a second symbol that lists at bar 4."""
    starts = [4 if i == 1 else 0 for i in range(market.n_symbols)]
    close = np.where(np.arange(market.n_bars)[:, None] < starts, np.nan, market.close)
    return oo.Dataset.from_arrays(market.dates, market.symbols, close)


def own_draw(seed: int, episode: int) -> int:
    return (7 * seed + 3 * episode) % 3


@DRAWS
@given(seed=SEEDS)
def test_lanes_equal_the_environment_in_drawn_markets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule: Any = (own_draw, "cycle", "random")[rng.integers(3)]
    kind, n_lanes = ("dict", "flat")[rng.integers(2)], int(rng.integers(1, 20))
    sizes = (3, 3, 3) if rng.random() < 0.5 else (2, 9, 4)
    options: dict[str, Any] = {"dataset": markets(sizes), "datasets": rule, "observation": kind, "lookback": 3}
    options |= {"window": "random", "episode_bars": 5, "info": ("light", "full")[rng.integers(2)]}
    mode = MODES[rng.integers(2)]
    more: dict[str, Any] = {"threads": int(rng.integers(1, 3)), "copy": bool(rng.random() < 0.5)}
    lanes = OpenOutcryVectorEnv(n_lanes, **options, **more, autoreset_mode=mode)
    lanes._cells_a_thread = 1
    envs = [OpenOutcryEnv(**options) for _ in range(n_lanes)]
    observation, info = lanes.reset(seed=seed % 1000)
    for i, env in enumerate(envs):
        same(env.reset(seed=seed % 1000 + i)[0], observation, i)
    over = np.zeros(n_lanes, np.bool_)
    for _ in range(14):
        actions = rng.normal(0.0, 0.2, (n_lanes, max(sizes))).astype(np.float32)
        observation, rewards, terminations, truncations, info = lanes.step(actions)
        for i, env in enumerate(envs):
            if over[i]:
                same(env.reset()[0], observation, i)
                continue
            shown, reward, _, truncated, one = env.step(actions[i])
            assert (rewards[i], truncations[i]) == (reward, truncated)
            if truncated and mode is AutoresetMode.SAME_STEP:
                assert info["final_info"]["nav"][i] == one["nav"]
                assert info["final_info"]["tradable"][i].tolist() == one["tradable"].tolist()
                if options["info"] == "full":
                    assert info["final_info"]["date"][i] == one["date"]
                shown = env.reset()[0]
            elif options["info"] == "full":
                assert info["date"][i] == one["date"]
            same(shown, observation, i)
            assert lanes.datasets[lanes._core.markets[i]] == env.dataset
        over = (terminations | truncations) & (mode is AutoresetMode.NEXT_STEP)


def same(shown: Any, observation: Any, lane: int) -> None:
    if isinstance(shown, dict):
        assert all(np.array_equal(shown[name], observation[name][lane]) for name in shown)
    else:
        assert np.array_equal(shown, observation[lane])


def test_a_cycle_takes_the_markets_in_turn_and_random_all_of_them() -> None:
    env = OpenOutcryEnv(dataset=markets((2, 2, 2, 2)), datasets="cycle")
    env.reset(seed=5)
    seen = [env.dataset]
    for _ in range(7):
        env.reset()
        seen.append(env.dataset)
    assert [env.datasets.index(each) for each in seen] == [1, 2, 3, 0, 1, 2, 3, 0]
    draws = OpenOutcryVectorEnv(400, dataset=markets((2, 2, 2, 2)), datasets="random")
    draws.reset(seed=0)
    counts = np.bincount(draws._core.markets, minlength=4)
    # 400 draws of probability 1/4: six standard deviations are 52.
    assert np.abs(counts - 100).max() < 52
    other = OpenOutcryVectorEnv(400, dataset=markets((2, 2, 2, 2)), datasets="random", split="test")
    other.reset(seed=0)
    assert other._core.markets != draws._core.markets


def test_a_function_is_called_once_for_each_episode_and_checked() -> None:
    calls = []

    def draw(seed: int, episode: int) -> int:
        calls.append((seed, episode))
        return len(calls) % 2

    lanes = OpenOutcryVectorEnv(2, dataset=markets((2, 2)), datasets=draw, window=(0, 3))
    lanes.reset(seed=4)
    assert calls == [(4, 0), (5, 0), (4, 1), (5, 1)]
    for _ in range(3):
        lanes.step(np.zeros((2, 2), np.float32))
    assert calls[4:] == [(4, 2), (5, 2)]
    env = OpenOutcryEnv(dataset=markets((2, 2)), datasets=lambda _seed, _episode: 2)
    with pytest.raises(oo.OpenOutcryError, match="index of a dataset, 0 to 1; received 2"):
        env.reset(seed=0)


def test_a_padded_market_pays_what_its_own_symbols_pay() -> None:
    market = oo.Dataset.synthetic(2, 40, seed=3).with_features({"x": np.ones((40, 2)), "vix": np.arange(40.0)})
    wide = padded(market, 5)
    assert wide.symbols == (*market.symbols, "PAD2", "PAD3", "PAD4")
    own, env = OpenOutcryEnv(dataset=market), OpenOutcryEnv(dataset=wide)
    own.reset(seed=0)
    shown, _ = env.reset(seed=0)
    assert shown["listed"].tolist() == [1, 1, 0, 0, 0]
    assert shown["features"].tolist() == [[1.0], [1.0], [0.0], [0.0], [0.0]]
    rng = np.random.default_rng(0)
    for _ in range(15):
        weights = rng.normal(0.0, 0.2, 5)
        weights[2:] = 0.0
        assert env.step(weights)[1] == own.step(weights[:2])[1]
    with pytest.raises(oo.OpenOutcryError, match="a market of at most 1 symbol, none of them named PAD"):
        padded(market, 1)


def test_dict_observations_have_a_mask_where_symbols_come_and_go() -> None:
    plain = oo.Dataset.synthetic(3, 30)
    late = listed_late(plain)
    keys = {
        name: set(OpenOutcryEnv(dataset=each).reset(seed=0)[0]) for name, each in (("plain", plain), ("late", late))
    }
    assert keys == {"plain": {"closes", "positions", "cash"}, "late": {"closes", "positions", "cash", "listed"}}
    assert "listed" in OpenOutcryEnv(dataset=plain, mask=True).reset(seed=0)[0]
    assert "listed" not in OpenOutcryEnv(dataset=late, mask=False).reset(seed=0)[0]
    assert "listed" in OpenOutcryEnv(dataset=[plain, plain], datasets="cycle").observation_space.spaces
    # Fixed by the constructor: a window after the listing changes no key.
    env = OpenOutcryEnv(dataset=late, window=(10, 20))
    assert set(env.reset(seed=0, options={"window": (0, 10)})[0]) == set(env.observation_space.spaces)
    assert set(env.reset()[1]) == set(env.step(np.zeros(3))[4]) == {"nav", "tradable"}


def test_a_flat_observation_shows_the_mask_in_every_bar() -> None:
    plain = oo.Dataset.synthetic(2, 12)
    late = listed_late(plain)
    env = OpenOutcryEnv(dataset=late, observation="flat", lookback=3, mask=True, window=(5, 12))
    shown, _ = env.reset(seed=0)
    bars = shown[: 3 * 4].reshape(3, 4)
    assert bars[:, 2:].tolist() == [[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    lanes = OpenOutcryVectorEnv(
        3, dataset=late, observation="flat", lookback=3, mask=True, window=(5, 12), scale="none"
    )
    assert np.array_equal(lanes.reset(seed=0)[0][1], shown)
    without = OpenOutcryEnv(dataset=late, observation="flat", lookback=3)
    assert without.observation_space.shape == (3 * 2 + 3,)


def test_lanes_of_drawn_markets_continue_after_a_copy() -> None:
    lanes = OpenOutcryVectorEnv(5, dataset=markets((2, 4, 3)), datasets="random", window="random", episode_bars=4)
    lanes.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(5):
        lanes.step(rng.normal(0.0, 0.2, (5, 4)))
    twin = copy.deepcopy(lanes)
    for _ in range(9):
        actions = rng.normal(0.0, 0.2, (5, 4))
        one, other = lanes.step(actions), twin.step(actions)
        assert np.array_equal(one[1], other[1])
        assert all(np.array_equal(one[0][name], other[0][name]) for name in one[0])


def test_a_reset_that_raises_changes_nothing() -> None:
    dear = {"costs": oo.CostModel(fee_bps=400.0)}
    is_bad = False

    def draw(seed: int, episode: int) -> int:
        return 7 if is_bad else 0

    options: dict[str, Any] = {"dataset": markets((2, 2)), "datasets": draw}
    env, lanes = OpenOutcryEnv(**options), OpenOutcryVectorEnv(3, **options)
    for each in (env, lanes):
        each.reset(seed=0)
    env.step(np.array([0.5, 0.5]))
    lanes.step(np.full((3, 2), 0.5))
    before, saved = (env.clone_state(), env.costs), (lanes._core.save(), lanes.costs)
    is_bad = True
    for each in (env, lanes):
        with pytest.raises(oo.OpenOutcryError, match="index of a dataset"):
            each.reset(seed=4, options=dear)
    assert ((env.clone_state(), env.costs), (lanes._core.save(), lanes.costs)) == (before, saved)


def test_a_window_must_exist_in_every_market() -> None:
    pair = [oo.Dataset.synthetic(2, 200, seed=4), oo.Dataset.synthetic(2, 30, seed=3)]
    env = OpenOutcryEnv(dataset=pair, datasets="cycle")
    env.reset(seed=0)
    with pytest.raises(oo.OpenOutcryError, match="window_invalid"):
        env.reset(options={"window": (100, 150)})
    env.reset()
    with pytest.raises(oo.OpenOutcryError, match="window_invalid"):
        OpenOutcryEnv(dataset=pair, datasets="cycle", window=(100, 150))
    with pytest.raises(oo.OpenOutcryError, match="cursor"):
        OpenOutcryEnv(dataset=pair, datasets="cycle", observation="cursor")


def test_a_drawn_market_needs_a_reset_before_a_step() -> None:
    env = OpenOutcryEnv(dataset=markets((2, 2)), datasets="cycle")
    with pytest.raises(oo.OpenOutcryError, match="episode_over"):
        env.step(np.zeros(2))


def test_a_feature_with_the_name_of_the_mask_is_refused() -> None:
    market = oo.Dataset.synthetic(2, 30).with_features({"listed": np.full((30, 2), 7.0)})
    with pytest.raises(oo.OpenOutcryError, match="no feature named listed"):
        OpenOutcryEnv(dataset=market, observation="flat", mask=True)


def test_a_reward_that_raises_skips_no_draw() -> None:
    calls: list[tuple[int, int]] = []
    fails = [False]

    def draw(seed: int, episode: int) -> int:
        calls.append((seed, episode))
        return 0

    def reward(step: Any) -> Any:
        if fails[0]:
            raise RuntimeError("no reward")
        return step.return_

    mode = AutoresetMode.SAME_STEP
    options: dict[str, Any] = {"dataset": markets((2, 2)), "datasets": draw, "reward": reward, "window": (0, 3)}
    lanes = OpenOutcryVectorEnv(1, autoreset_mode=mode, **options)
    lanes.reset(seed=0)
    for step in range(6):
        fails[0] = step == 1
        if fails[0]:
            with pytest.raises(RuntimeError, match="no reward"):
                lanes.step(np.zeros((1, 2)))
        else:
            lanes.step(np.zeros((1, 2)))
    assert [episode for _, episode in calls] == [0, 1, 2, 3, 4]
