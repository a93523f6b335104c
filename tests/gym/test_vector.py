"""The vector environment follows Gymnasium's conventions and equals its scalar environments."""

from __future__ import annotations

import hashlib
import json
import mmap
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

TIERS = ("OpenOutcry/Calm-v1", "OpenOutcry/Hard-v1", "OpenOutcry/Extreme-v1", "OpenOutcry/Fx-v1")
IDS = ("OpenOutcry/Synthetic-v2", "OpenOutcry/EcbFx-v1", "OpenOutcry/UsTreasury-v1", *TIERS)
SMALL: dict[str, Any] = {"window": "random", "episode_bars": 12, "observation": "flat", "lookback": 5}


def play(env: OpenOutcryVectorEnv, n_steps: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    n = env.datasets[0].n_symbols
    return [env.step(rng.normal(0.0, 0.3, (env.num_envs, n)).astype(np.float32)) for _ in range(n_steps)]


def late() -> oo.Dataset:
    """Return a market in which one symbol lists late and one settles."""
    rng = np.random.default_rng(0)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.01, (60, 3)), axis=0))
    close[:30, 1] = np.nan
    settled = np.full((60, 3), np.nan)
    settled[40, 2], close[40:, 2] = -0.1, np.nan
    dates = np.datetime_as_string(np.datetime64("2020-01-01") + np.arange(60)).tolist()
    return oo.Dataset.from_arrays(dates, ["A", "B", "C"], close, delistings=settled)


# Fixed properties of each id: shape of an observation, number of symbols, and a hash of the first 100 steps.
PINNED: dict[str, tuple[tuple[int, ...], int, str]] = {
    "OpenOutcry/Synthetic-v2": ((85,), 4, "b4f09a970913bcb7"),
    "OpenOutcry/EcbFx-v1": ((190,), 9, "3e7a1483f9610a5c"),
    "OpenOutcry/UsTreasury-v1": ((127,), 6, "3bfd7408ea281922"),
    "OpenOutcry/Calm-v1": ((421,), 20, "f70365c1c128a008"),
    "OpenOutcry/Hard-v1": ((421,), 20, "9f15a9b8ed07ae92"),
    "OpenOutcry/Extreme-v1": ((421,), 20, "8e3f4e21587486fd"),
    "OpenOutcry/Fx-v1": ((190,), 9, "212ee7ee303e5e43"),
}


@pytest.mark.parametrize("name", IDS)
def test_the_environment_of_an_id_never_changes(name: str) -> None:
    env = gymnasium.make(f"openoutcry.gym:{name}")
    shape, n_symbols, pinned = PINNED[name]
    assert (env.observation_space.shape, env.observation_space.dtype) == (shape, np.float32)
    assert env.action_space == gymnasium.spaces.Box(-1.0, 1.0, (n_symbols,), np.float32)
    observation, _ = env.reset(seed=2026)
    digest = hashlib.sha256(observation.tobytes())
    weights = np.arange(1.0, n_symbols + 1.0) / (n_symbols * n_symbols)
    for k in range(100):
        observation, reward, *_ = env.step(np.roll(weights, k).astype(np.float32))
        digest.update(observation.tobytes() + np.float64(reward).tobytes())
    assert digest.hexdigest()[:16] == pinned


@pytest.mark.parametrize("name", IDS)
def test_check_env_passes_every_id_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(f"openoutcry.gym:{name}").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_check_env_passes_every_observation_kind(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(OpenOutcryEnv(observation=kind, lookback=3), skip_render_check=True)


def test_the_first_synthetic_id_keeps_its_dict_and_its_fixed_window() -> None:
    with pytest.warns(DeprecationWarning, match="out of date"):
        env = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v1")
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"closes", "listed", "positions", "cash"}
    assert env.unwrapped._core.bar == 19


def test_make_vec_creates_the_native_batch_in_a_fresh_process() -> None:
    code = (
        "import gymnasium, sys; env = gymnasium.make_vec('openoutcry.gym:OpenOutcry/EcbFx-v1', num_envs=1024, "
        "max_episode_steps=7); print(type(env).__name__, env.num_envs, env.reset(seed=0)[0].shape); "
        "[env.step(env.action_space.sample()) for _ in range(6)]; "
        "print(env.step(env.action_space.sample())[3].all())"
    )
    shown = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.splitlines() == ["OpenOutcryVectorEnv 1024 (1024, 190)", "True"]


def test_a_step_limit_truncates_like_the_time_limit_wrapper() -> None:
    vec = gymnasium.make_vec("openoutcry.gym:OpenOutcry/EcbFx-v1", num_envs=2, max_episode_steps=5)
    env = gymnasium.make("openoutcry.gym:OpenOutcry/EcbFx-v1", max_episode_steps=5)
    vec.reset(seed=1)
    env.reset(seed=1)
    for _ in range(5):
        *_, truncated, _ = env.step(np.zeros(9, np.float32))
        *_, truncations, _ = vec.step(np.zeros((2, 9), np.float32))
        assert truncations.tolist() == [truncated] * 2
    assert truncated


@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_observations_lie_in_their_spaces(kind: str) -> None:
    env = OpenOutcryVectorEnv(3, **{**SMALL, "observation": kind, "lookback": 4})
    shown, _ = env.reset(seed=0)
    assert env.observation_space.contains(shown)
    assert env.single_observation_space.contains(OpenOutcryEnv(observation=kind, lookback=4).reset(seed=0)[0])
    for each in play(env, 30):
        assert env.observation_space.contains(each[0])
    assert env.action_space.sample().shape == (3, 4)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_lanes_equal_those_of_sync_vector_env(mode: AutoresetMode) -> None:
    env = OpenOutcryVectorEnv(3, **SMALL, autoreset_mode=mode)
    sync = SyncVectorEnv([lambda: OpenOutcryEnv(**SMALL)] * 3, autoreset_mode=mode)
    assert env.observation_space == sync.observation_space
    assert env.action_space == sync.action_space
    ours, theirs = env.reset(seed=11)[0], sync.reset(seed=11)[0]
    assert ours.tobytes() == theirs.tobytes()
    n_final, rng = 0, np.random.default_rng(0)
    for _ in range(40):
        if mode is AutoresetMode.DISABLED and env.done.any():
            over = env.done
            shown = [each.reset(options={"reset_mask": over.copy()})[0] for each in (env, sync)]
            assert shown[0].tobytes() == shown[1].tobytes()
        actions = rng.normal(0.0, 0.3, (3, 4)).astype(np.float32)
        *ours, info = env.step(actions)
        *theirs, sync_info = sync.step(actions)
        assert [each.tobytes() for each in ours] == [each.tobytes() for each in theirs]
        assert ("final_obs" in info) == ("final_obs" in sync_info)
        if "final_obs" in info:
            n_final += 1
            for key in ("_final_obs", "_final_info"):
                assert info[key].tolist() == sync_info[key].tolist()
            for a, b in zip(info["final_obs"], sync_info["final_obs"], strict=True):
                assert (a is None) == (b is None)
                assert a is None or a.tobytes() == b.tobytes()
            for key, values in info["final_info"].items():
                assert values.tolist() == sync_info["final_info"][key].tolist()
    assert (n_final > 0) == (mode is AutoresetMode.SAME_STEP)


def test_the_transition_of_a_reset_is_marked_and_has_reward_0() -> None:
    env = OpenOutcryVectorEnv(4, **SMALL)
    env.reset(seed=0)
    steps = play(env, 30)
    was_over = np.zeros(4, bool)
    for _, rewards, terminations, truncations, info in steps:
        assert ("reset" in info) == was_over.any()
        if "reset" in info:
            assert info["reset"].tolist() == info["_reset"].tolist() == was_over.tolist()
            assert not rewards[was_over].any()
            assert not (terminations | truncations)[was_over].any()
        was_over = terminations | truncations
    assert sum("reset" in each[4] for each in steps) == 2


def test_a_reset_without_a_seed_continues_and_a_seed_starts_over() -> None:
    env, scalar = OpenOutcryVectorEnv(3, **SMALL), OpenOutcryEnv(**SMALL)
    env.reset(seed=5)
    starts = [env.bars.tolist()]
    for _ in range(5):
        env.reset()
        starts.append(env.bars.tolist())
    scalar.reset(seed=6)
    of_scalar = [scalar._core.bar]
    for _ in range(5):
        scalar.reset()
        of_scalar.append(scalar._core.bar)
    assert [row[1] for row in starts] == of_scalar
    assert len(set(of_scalar)) > 1
    env.reset(seed=5)
    assert env.bars.tolist() == starts[0]
    shifted = OpenOutcryVectorEnv(3, **SMALL)
    shifted.reset(seed=6)
    assert shifted.bars.tolist()[:2] == starts[0][1:]


def test_a_first_reset_without_a_seed_draws_one_and_does_not_reveal_it() -> None:
    starts = set()
    for _ in range(4):
        env = OpenOutcryVectorEnv(4, 4, 4000, **SMALL)
        _, info = env.reset()
        starts.add(tuple(env.bars.tolist()))
        assert info == {}
    assert len(starts) == 4


def test_splits_are_independent_and_windows_stay_in_their_range() -> None:
    options: dict[str, Any] = {**SMALL, "n_days": 3000, "within": (100, 2000)}
    drawn = {}
    for split in ("train", "validation", "test"):
        env = OpenOutcryVectorEnv(500, **options, split=split)
        env.reset(seed=3)
        assert env.bars.min() >= 100
        assert env.bars.max() <= 1988
        drawn[split] = env.bars
    assert (drawn["train"] == drawn["test"]).mean() < 0.02
    assert (drawn["train"] == drawn["validation"]).mean() < 0.02


@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_copies_share_no_memory_and_reused_buffers_are_valid_for_one_more_step(kind: str) -> None:
    actions = np.full((2, 4), 0.2, np.float32)
    for copies in (True, False):
        env = OpenOutcryVectorEnv(2, **{**SMALL, "observation": kind}, copy=copies)
        steps = [env.reset(seed=0)[0]]
        saved = []
        for _ in range(5):
            saved.append(pickle.dumps(steps[-1]))
            steps.append(env.step(actions)[0])
            assert pickle.dumps(steps[-2]) == saved[-1]
        if copies:
            assert [pickle.dumps(each) for each in steps[:-1]] == saved
        else:
            arrays = steps[1].values() if isinstance(steps[1], dict) else [steps[1]]
            others = steps[3].values() if isinstance(steps[3], dict) else [steps[3]]
            assert all(np.shares_memory(a, b) for a, b in zip(arrays, others, strict=True))


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_a_step_writes_into_the_arrays_of_the_caller(kind: str, copies: bool) -> None:
    options: dict[str, Any] = {**SMALL, "observation": kind, "copy": copies}
    env, plain = OpenOutcryVectorEnv(3, **options), OpenOutcryVectorEnv(3, **options)
    env.reset(seed=0)
    plain.reset(seed=0)
    shown = plain.step(np.zeros((3, 4)))[0]
    rollout = [
        {name: np.empty_like(part) for name, part in shown.items()} if isinstance(shown, dict) else np.empty_like(shown)
        for _ in range(20)
    ]
    env.step(np.zeros((3, 4)))
    for k, out in enumerate(rollout):
        actions = np.full((3, 4), 0.01 * k, np.float32)
        mine, theirs = env.step(actions, out=out), plain.step(actions)
        assert mine[0] is out
        assert pickle.dumps(out) == pickle.dumps(theirs[0])
        assert [each.tobytes() for each in mine[1:4]] == [each.tobytes() for each in theirs[1:4]]


def test_info_holds_tradable_in_a_market_with_listings_and_delistings() -> None:
    options: dict[str, Any] = {"dataset": late(), "window": (5, 60), "observation": "flat", "lookback": 5}
    env, scalar = OpenOutcryVectorEnv(2, **options), OpenOutcryEnv(**options)
    _, info = env.reset(seed=0)
    _, scalar_info = scalar.reset(seed=0)
    seen = [info["tradable"][1].tolist()]
    assert scalar_info["tradable"].tolist() == seen[0]
    for _ in range(54):
        *_, info = env.step(np.zeros((2, 3), np.float32))
        *_, scalar_info = scalar.step(np.zeros(3, np.float32))
        assert info["tradable"][0].tolist() == info["tradable"][1].tolist() == scalar_info["tradable"].tolist()
        assert info["_tradable"].all()
        seen.append(info["tradable"][0].tolist())
    assert seen == [[True, bar >= 30, bar < 40] for bar in range(5, 60)]
    steady = OpenOutcryVectorEnv(2, **SMALL)
    assert "tradable" not in steady.reset(seed=0)[1]


def test_a_hold_mask_and_a_no_trade_band_leave_positions_unchanged() -> None:
    for make in (
        lambda **k: OpenOutcryVectorEnv(1, window=(0, 60), costs=oo.CostModel.zero(), **k),
        lambda **k: OpenOutcryEnv(window=(0, 60), costs=oo.CostModel.zero(), **k),
    ):
        env = make()
        is_scalar = isinstance(env, OpenOutcryEnv)
        lane = (lambda values: np.array(values)) if is_scalar else (lambda values: np.array([values]))
        env.reset(seed=0)
        first = env.step(lane([0.25] * 4))[0]["positions"]
        held = env.step(lane([0.5] * 4), hold=lane([True, True, True, False]))[0]["positions"]
        assert (first == held).tolist() == lane([True, True, True, False]).tolist()
        banded = make(no_trade_band=0.1)
        banded.reset(seed=0)
        first = banded.step(lane([0.25, 0.25, 0.05, 0.0]))[0]["positions"]
        second = banded.step(lane([0.3, 0.5, 0.0, 0.0]))[0]["positions"]
        assert (first == second).tolist() == lane([True, False, True, True]).tolist()
        assert first.reshape(-1)[2] == 0.0


def test_lanes_have_their_own_costs_and_limits() -> None:
    costs = [oo.CostModel.zero(), oo.CostModel(fee_bps=50.0)]
    limits = [oo.Limits(max_weight=0.1), oo.Limits(max_weight=0.5, allow_short=False)]
    env = OpenOutcryVectorEnv(2, costs=costs, limits=limits, window=(0, 60))
    top = np.nextafter(np.float32(0.5), np.float32(1)) if np.float32(0.5) < 0.5 else np.float32(0.5)
    assert env.single_action_space == gymnasium.spaces.Box(-top, top, (4,), np.float32)
    env.reset(seed=0)
    actions = np.full((2, 4), 0.2)
    env.step(actions)
    for lane in range(2):
        alone = OpenOutcryEnv(costs=costs[lane], limits=limits[lane], window=(0, 60))
        alone.reset(seed=0)
        *_, info = alone.step(actions[lane])
        assert env.nav[lane] == info["nav"]


def test_histories_of_cursors_equal_flat_observations() -> None:
    options: dict[str, Any] = {"n_days": 60, "window": (0, 60), "lookback": 7}
    cursor, flat = (OpenOutcryVectorEnv(2, **options, observation=kind) for kind in ("cursor", "flat"))
    seen, shown = [env.reset(seed=0)[0] for env in (cursor, flat)]
    for _ in range(30):
        gathered = cursor.histories(seen["cursor"])
        assert gathered.shape == (2, 7, 4)
        joined = np.concatenate([gathered.reshape(2, -1), seen["account"]], axis=1)
        assert joined.tobytes() == shown.tobytes()
        seen, shown = [env.step(np.full((2, 4), 0.2, np.float32))[0] for env in (cursor, flat)]


def test_info_names_the_reward_scheme() -> None:
    env = OpenOutcryVectorEnv(2, reward="log", info="full")
    _, info = env.reset(seed=0)
    assert info["reward_scheme"].tolist() == ["log", "log"]
    scalar = OpenOutcryEnv(reward="turnover", info="full")
    assert scalar.reset(seed=0)[1]["reward_scheme"] == "turnover"
    *_, info = scalar.step(np.zeros(4, np.float32))
    assert info["reward_scheme"] == "turnover"
    json.dumps(info)


def test_reward_schemes_change_rewards_but_not_the_nav() -> None:
    navs, sums = [], []
    for reward in ("simple", "log", "differential-sharpe", "drawdown", "turnover"):
        env = OpenOutcryEnv(reward=reward)
        env.reset(seed=0)
        total = sum(env.step(np.full(4, 0.2, np.float32))[1] for _ in range(50))
        navs.append(env._core.nav)
        sums.append(total)
    assert len(set(navs)) == 1
    assert len(set(sums)) == 5
    assert sums[1] == pytest.approx(np.log(navs[0]), abs=1e-12)


def test_a_checkpoint_includes_the_state_of_the_reward_scheme() -> None:
    env = OpenOutcryEnv(reward="differential-sharpe")
    env.reset(seed=0)
    actions = np.random.default_rng(0).dirichlet(np.ones(4), 20).astype(np.float32)
    for action in actions[:10]:
        env.step(action)
    state = env.clone_state()
    first = [env.step(action)[1] for action in actions[10:]]
    env.restore_state(state)
    assert [env.step(action)[1] for action in actions[10:]] == first


def test_it_has_a_repr() -> None:
    env = OpenOutcryVectorEnv(3, **SMALL)
    assert repr(env) == "OpenOutcryVectorEnv(synthetic-4x120, num_envs=3, observation='flat', autoreset_mode=NEXT_STEP)"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("threads", [1, 2])
def test_ten_million_steps_take_no_more_memory_than_the_first(threads: int) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE

    env = OpenOutcryVectorEnv(2048, window="random", episode_bars=50, observation="flat", lookback=5, threads=threads)
    env.reset(seed=0)
    actions = np.full((2048, 4), 0.2, np.float32)
    for _ in range(200):
        env.step(actions)
    before = resident()
    for _ in range(10**7 // 2048 + 1):
        env.step(actions)
    assert resident() - before < 2**20


def test_importing_the_package_does_not_import_gymnasium() -> None:
    code = "import sys, openoutcry; assert 'gymnasium' not in sys.modules; openoutcry.OpenOutcryVectorEnv; print('ok')"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "ok\n"
