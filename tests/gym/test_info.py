"""`info` has one structure in `reset` and `step`: scalar, in lanes, and as Gymnasium batches scalar environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import costs_of, limits_of
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from markets import random_market

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv


def late() -> oo.Dataset:
    """Return a market with a listing and a delisting."""
    close = np.linspace(50.0, 60.0, 40)[:, np.newaxis] * np.ones(3)
    close[:12, 1], close[26:, 2] = np.nan, np.nan
    delistings = np.full((40, 3), np.nan)
    delistings[26, 2] = -0.5
    dates = [f"2020-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(40)]
    return oo.Dataset.from_arrays(dates, ["A", "B", "C"], close, delistings=delistings)


def structure(info: Any) -> Any:
    """Return the keys, types and shapes of info."""
    if isinstance(info, dict):
        return {name: structure(value) for name, value in info.items()}
    return (info.dtype, info.shape) if isinstance(info, np.ndarray) else type(info)


def same(mine: Any, theirs: Any, where: str = "") -> None:
    """Assert that two infos have the same keys, types and bits."""
    assert structure(mine) == structure(theirs), where
    for name, value in theirs.items():
        if isinstance(value, dict):
            same(mine[name], value, f"{where}.{name}")
        elif value.dtype == object:
            for one, other in zip(mine[name], value, strict=True):
                assert np.array_equal(one, other), f"{where}.{name}"
        else:
            # Adding 0 makes zeros of both signs equal.
            assert (mine[name] + 0).tobytes() == (value + 0).tobytes(), f"{where}.{name}"


@pytest.mark.parametrize("on_invalid", ["raise", "hold"])
@pytest.mark.parametrize("info", ["light", "full"])
def test_the_structure_is_the_same_in_reset_and_step(info: str, on_invalid: str) -> None:
    for market in (late(), oo.Dataset.synthetic(3, 40, 5)):
        options: dict[str, Any] = {"dataset": market, "info": info, "on_invalid": on_invalid, "window": (5, 40)}
        env, vec = OpenOutcryEnv(**options), OpenOutcryVectorEnv(2, **options)
        scalar, lanes = structure(env.reset(seed=0)[1]), structure(vec.reset(seed=0)[1])
        for _ in range(30):
            action = np.full(3, 0.5, np.float32)
            assert structure(env.step(action)[-1]) == scalar
            assert structure(vec.step(np.stack([action] * 2))[-1]) == lanes
        # Numbers only, without nesting, so that libraries can stack them.
        assert info == "full" or all(kind in (np.float64, bool) or kind[0] == np.bool_ for kind in scalar.values())


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("seed", [3, 8, 21])
def test_full_info_of_lanes_is_that_of_a_batch_of_scalar_environments(mode: AutoresetMode, seed: int) -> None:
    rng = np.random.default_rng(seed)
    *_, costs, limits = random_market(seed)
    shared: dict[str, Any] = {
        "dataset": late() if seed == 3 else oo.Dataset.synthetic(3 if seed == 8 else 11, 60, seed), "window": "random",
        "within": (3, 40), "episode_bars": 7, "observation": "dict", "info": "full", "on_invalid": "hold",
        "costs": costs_of(costs), "limits": limits_of(limits),
    }  # fmt: skip
    mine = OpenOutcryVectorEnv(3, **shared, autoreset_mode=mode)
    theirs: Any = SyncVectorEnv([lambda: OpenOutcryEnv(**shared)] * 3, autoreset_mode=mode)
    same(mine.reset(seed=seed)[1], theirs.reset(seed=seed)[1])
    ended = np.zeros(3, dtype=bool)
    for _ in range(24):
        if mode is AutoresetMode.DISABLED and ended.any():
            same(*(env.reset(options={"reset_mask": ended.copy()})[1] for env in (mine, theirs)))
        actions = rng.normal(0.0, 1.0, (3, mine.single_action_space.shape[0])).astype(np.float32)
        if rng.random() < 0.3:
            actions[1, 0] = np.inf
        stepped, expected = mine.step(actions), theirs.step(actions)
        assert stepped[1].tobytes() == expected[1].tobytes()
        info = {name: value for name, value in stepped[-1].items() if name not in ("reset", "_reset")}
        if "final_obs" in expected[-1]:
            for one, other in zip(info.pop("final_obs"), expected[-1].pop("final_obs"), strict=True):
                assert (one is None) == (other is None)
                assert one is None or all(np.array_equal(one[name], other[name]) for name in other)
        same(info, expected[-1])
        ended = stepped[2] | stepped[3]


def test_light_info_of_lanes_lacks_only_the_nav_of_running_episodes() -> None:
    shared: dict[str, Any] = {"dataset": late(), "window": "random", "episode_bars": 5, "observation": "flat"}
    mode = AutoresetMode.SAME_STEP
    mine = OpenOutcryVectorEnv(2, **shared, autoreset_mode=mode)
    theirs: Any = SyncVectorEnv([lambda: OpenOutcryEnv(**shared)] * 2, autoreset_mode=mode)
    for k in range(5):
        actions = np.full((2, 3), 0.3, np.float32)
        info = (mine.step(actions) if k else mine.reset(seed=4))[-1]
        known = (theirs.step(actions) if k else theirs.reset(seed=4))[-1]
        assert known.pop("nav").tobytes() == mine.nav.tobytes()
        del known["_nav"]
        for each in (info, known):
            each.pop("final_obs", None)
        same(info, known)
    assert "final_info" in info


def test_records_of_lanes_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    for n_symbols in (4, 12):
        options: dict[str, Any] = {"n_symbols": n_symbols, "window": "random", "episode_bars": 9, "observation": "flat"}
        light = OpenOutcryVectorEnv(11, copy=False, **options)
        full = OpenOutcryVectorEnv(11, copy=False, info="full", **options)
        assert light.reset(seed=1)[0].tobytes() == full.reset(seed=1)[0].tobytes()
        for _ in range(40):
            actions = rng.normal(0.0, 0.5, (11, n_symbols)).astype(np.float32)
            one, other = light.step(actions), full.step(actions)
            assert [each.tobytes() for each in one[:4]] == [each.tobytes() for each in other[:4]]


def test_lanes_report_the_limits_that_bound() -> None:
    limits = [oo.Limits(max_weight=0.1), oo.Limits(max_gross=0.5), oo.Limits.off()]
    env = OpenOutcryVectorEnv(3, limits=limits, info="full")
    env.reset(seed=0)
    *_, info = env.step(np.full((3, 4), 0.2))
    assert info["limits"]["max_weight"].tolist() == [4, 0, 0]
    assert info["limits"]["max_gross"].tolist() == [0, 1, 0]
    assert info["events"]["limited"].tolist() == [4, 1, 0]


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_lane_with_an_invalid_action_holds_all_its_positions(mode: AutoresetMode, copies: bool) -> None:
    options: dict[str, Any] = {"window": "random", "episode_bars": 6, "observation": "flat", "autoreset_mode": mode}
    env = OpenOutcryVectorEnv(3, copy=copies, on_invalid="hold", **options)
    held, alone = OpenOutcryVectorEnv(3, **options), OpenOutcryEnv(window=(5, 90), on_invalid="hold")
    twin = OpenOutcryEnv(window=(5, 90))
    for each in (env, held, alone, twin):
        each.reset(seed=2)
    good = np.full((3, 4), 0.2, np.float32)
    for bad in (np.nan, np.inf, -np.inf):
        actions, mask = good.copy(), np.zeros((3, 4), dtype=bool)
        actions[1, 2], mask[1] = bad, True
        (*mine, info), (*theirs, _) = env.step(actions), held.step(good, hold=mask)
        assert [each.tobytes() for each in mine] == [each.tobytes() for each in theirs]
        assert info["invalid_action"].tolist() == [False, True, False]
        *_, scalar = alone.step(actions[1])
        twin.step(good[1], hold=mask[1])
        assert scalar["invalid_action"] is True
        assert alone.clone_state() == twin.clone_state()
    *_, info = env.step(good)
    held.step(good)
    assert not info["invalid_action"].any()
    with pytest.raises(oo.OpenOutcryError, match="weight_not_finite"):
        held.step(np.full((3, 4), np.nan))
