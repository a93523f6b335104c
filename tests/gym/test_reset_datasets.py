"""The option `dataset` of a reset: other markets from that episode on, with the same bits in every interface."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

SHARED: dict[str, Any] = {"window": "random", "episode_bars": 6, "observation": "flat", "lookback": 4}
OLD, NEW = oo.Dataset.synthetic(3, 90, 1), oo.Dataset.synthetic(3, 60, 2)
NARROW = oo.Dataset.synthetic(2, 70, 3)


def played(env: OpenOutcryEnv, n: int = 3) -> list[bytes]:
    action = np.full(n, 0.2, np.float32)
    return [env.step(action)[0].tobytes() for _ in range(5)]


def test_episodes_after_the_option_are_those_of_an_environment_with_the_market() -> None:
    env, twin = OpenOutcryEnv(dataset=OLD, **SHARED), OpenOutcryEnv(dataset=NEW, **SHARED)
    spaces = env.action_space, env.observation_space
    env.reset(seed=5)
    twin.reset(seed=5)
    assert played(env) != played(twin)
    for options in ({"dataset": NEW}, None, {"costs": oo.CostModel(fee_bps=9.0)}):
        costs = {name: value for name, value in (options or {}).items() if name == "costs"}
        assert env.reset(options=options)[0].tobytes() == twin.reset(options=costs)[0].tobytes()
        assert played(env) == played(twin)
    assert env.dataset is NEW
    assert env.datasets == (NEW,)
    assert (env.action_space, env.observation_space) == spaces
    restored = pickle.loads(pickle.dumps(env))
    assert restored.reset()[0].tobytes() == env.reset()[0].tobytes()


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lanes_are_the_scalar_environments(mode: AutoresetMode, copies: bool) -> None:
    lanes = OpenOutcryVectorEnv(3, dataset=OLD, **SHARED, autoreset_mode=mode, copy=copies)
    singles = [OpenOutcryEnv(dataset=OLD, **SHARED) for _ in range(3)]
    lanes.reset(seed=8)
    for i, single in enumerate(singles):
        single.reset(seed=8 + i)
    action = np.full((3, 3), 0.25, np.float32)
    lanes.step(action)
    options = {"dataset": NEW, "costs": oo.CostModel(fee_bps=3.0)}
    shown = lanes.reset(options=options)[0]
    assert [row.tobytes() for row in shown] == [single.reset(options=options)[0].tobytes() for single in singles]
    # An episode has five steps; the last one of SAME_STEP shows the next episode.
    for _ in range(4):
        shown, rewards, *_ = lanes.step(action)
        found = [single.step(action[0]) for single in singles]
        assert [row.tobytes() for row in shown] == [each[0].tobytes() for each in found]
        assert rewards.tolist() == [each[1] for each in found]
    assert lanes.dataset is NEW
    restored = pickle.loads(pickle.dumps(lanes))
    assert [row.tobytes() for row in restored.step(action)[0]] == [row.tobytes() for row in lanes.step(action)[0]]


@pytest.mark.parametrize("draw", ["cycle", "random", lambda seed, episode: (seed + episode) % 2])
def test_drawn_markets_are_replaced_by_drawn_markets(draw: Any) -> None:
    other = oo.Dataset.synthetic(3, 80, 9)
    old, new = (OLD, NEW), (other, oo.Dataset.synthetic(3, 75, 8))
    env, twin = (OpenOutcryEnv(dataset=each, datasets=draw, **SHARED) for each in (old, new))
    lanes = OpenOutcryVectorEnv(2, dataset=old, datasets=draw, **SHARED)
    env.reset(seed=1)
    twin.reset(seed=1)
    lanes.reset(seed=1)
    shown = lanes.reset(options={"dataset": new})[0]
    assert env.reset(options={"dataset": new})[0].tobytes() == twin.reset()[0].tobytes() == shown[0].tobytes()
    for _ in range(4):
        assert env.reset()[0].tobytes() == twin.reset()[0].tobytes()


def test_a_market_with_fewer_symbols_is_padded_if_the_observation_has_a_mask() -> None:
    masked = OpenOutcryEnv(dataset=OLD, mask=True)
    masked.reset(seed=0)
    assert masked.reset(options={"dataset": NARROW})[0]["listed"].tolist() == [1, 1, 0]
    plain = OpenOutcryEnv(dataset=OLD)
    plain.reset(seed=0)
    with pytest.raises(oo.OpenOutcryError, match=r"no mask.*mask=True"):
        plain.reset(options={"dataset": NARROW})
    assert plain.dataset is OLD


FEATURED = OLD.with_features({"x": np.arange(90.0 * 3).reshape(90, 3)})
BAD: dict[str, tuple[dict[str, Any], Any, str]] = {
    "no market": ({}, None, "received None"),
    "more symbols": ({}, oo.Dataset.synthetic(4, 60, 1), "at most as many symbols as before, 3"),
    "several markets": ({}, [OLD, NEW], "received 2"),
    "one market for a draw": ({"dataset": [OLD, NEW], "datasets": "cycle"}, NEW, "received one market"),
    "more bars than a cursor has": ({"observation": "cursor"}, oo.Dataset.synthetic(3, 91, 1), "at most 90 bars"),
    "no feature": ({"dataset": FEATURED}, NEW, "`features`"),
    "a window that it lacks": ({"window": (70, 85)}, NEW, "60"),
}


@pytest.mark.parametrize("what", BAD)
def test_other_markets_are_refused_and_change_nothing(what: str) -> None:
    arguments, market, text = BAD[what]
    given: dict[str, Any] = {"dataset": OLD, **arguments}
    env = OpenOutcryEnv(**given)
    env.reset(seed=1)
    before = env.clone_state(), env.dataset
    with pytest.raises(oo.OpenOutcryError, match=text):
        env.reset(options={"dataset": market})
    assert (env.clone_state(), env.dataset) == before


def test_a_part_of_the_lanes_keeps_its_market() -> None:
    lanes = OpenOutcryVectorEnv(2, dataset=OLD, **SHARED)
    lanes.reset(seed=1)
    with pytest.raises(oo.OpenOutcryError, match="needs a reset of all lanes"):
        lanes.reset(options={"dataset": NEW, "reset_mask": np.array([True, False])})
    assert lanes.dataset is OLD
