"""The vector environment refuses invalid input with an error and leaves its state unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.vector import OpenOutcryVectorEnv

SMALL: dict[str, Any] = {"window": "random", "episode_bars": 12, "observation": "flat", "lookback": 5}


def account_of(env: OpenOutcryVectorEnv) -> bytes:
    """Return the complete state of the lanes as bytes."""
    return b"".join(each.tobytes() for each in (env.nav, env.cash, env.shares, env.bars, env.done))


def play(env: OpenOutcryVectorEnv, n_steps: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    n = env.datasets[0].n_symbols
    return [env.step(rng.normal(0.0, 0.3, (env.num_envs, n)).astype(np.float32)) for _ in range(n_steps)]


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


GOOD = np.zeros((3, 4), np.float32)
WIDTH = 25  # of a flat observation: 5 bars of 4 symbols, 4 weights and cash
BAD: dict[str, tuple[Callable[[OpenOutcryVectorEnv], Any], str, str]] = {
    "too few lanes": (lambda env: env.step(np.zeros((2, 4), np.float32)), "shape_mismatch", "[3, 4]"),
    "too few symbols": (lambda env: env.step(np.zeros((3, 3), np.float32)), "shape_mismatch", "[3, 4]"),
    "one axis": (lambda env: env.step(np.zeros(12, np.float32)), "shape_mismatch", "2 axes"),
    "rows of unequal length": (lambda env: env.step([[0.0] * 4, [0.0] * 3]), "shape_mismatch", "unequal length"),
    "bools": (lambda env: env.step(np.zeros((3, 4), bool)), "shape_mismatch", "bool"),
    "a list of too few lanes": (lambda env: env.step([[0.0] * 4]), "shape_mismatch", "list"),
    "texts": (lambda env: env.step([["a"] * 4] * 3), "shape_mismatch", "list"),
    "nothing": (lambda env: env.step(None), "shape_mismatch", "NoneType"),
    "masked": (lambda env: env.step(np.ma.masked_array(GOOD, GOOD == 0)), "shape_mismatch", "mask"),
    "NaN": (lambda env: env.step(np.full((3, 4), np.nan, np.float32)), "weight_not_finite", "actions[0, 0]"),
    "one infinity": (
        lambda env: env.step(np.where(np.arange(12).reshape(3, 4) == 6, np.inf, 0.0)),
        "weight_not_finite",
        "actions[1, 2]",
    ),
    "hold of one lane": (lambda env: env.step(GOOD, hold=np.zeros(4, bool)), "shape_mismatch", "`hold`"),
    "hold of numbers": (lambda env: env.step(GOOD, hold=np.zeros((3, 4))), "shape_mismatch", "`hold`"),
    "out too small": (lambda env: env.step(GOOD, np.zeros((3, WIDTH - 1), np.float32)), "shape_mismatch", "`out`"),
    "out of few lanes": (lambda env: env.step(GOOD, np.zeros((2, WIDTH), np.float32)), "shape_mismatch", "`out`"),
    "out turned": (lambda env: env.step(GOOD, np.zeros((WIDTH, 3), np.float32)), "shape_mismatch", "`out`"),
    "out in float64": (lambda env: env.step(GOOD, np.zeros((3, WIDTH))), "shape_mismatch", "float64"),
    "out read-only": (
        lambda env: env.step(GOOD, read_only(np.zeros((3, WIDTH), np.float32))),
        "shape_mismatch",
        "writeable",
    ),
    "out with strides": (
        lambda env: env.step(GOOD, np.zeros((3, 2 * WIDTH), np.float32)[:, ::2]),
        "shape_mismatch",
        "C-contiguous",
    ),
    "a seed below 0": (lambda env: env.reset(seed=-1), "argument_invalid", "`seed`"),
    "a seed that lanes overflow": (lambda env: env.reset(seed=2**64 - 2), "argument_invalid", "`seed`"),
    "too few seeds": (lambda env: env.reset(seed=[1, 2]), "argument_invalid", "received 2"),
    "a seed of a list below 0": (lambda env: env.reset(seed=[1, None, -2]), "argument_invalid", "`seed`"),
    "a seed in words": (lambda env: env.reset(seed="one"), "argument_invalid", "`seed`"),
    "an unknown option": (lambda env: env.reset(options={"cost": None}), "argument_invalid", "'cost'"),
    "another market": (
        lambda env: env.reset(options={"dataset": "fx"}),
        "argument_invalid",
        "at most as many symbols as before, 4",
    ),
    "costs of few lanes": (lambda env: env.reset(options={"costs": [oo.CostModel()]}), "argument_invalid", "`costs`"),
    "costs that are none": (lambda env: env.reset(options={"costs": 3.0}), "cost_invalid", "`costs`"),
    "a window outside": (lambda env: env.reset(options={"window": (0, 500)}), "window_invalid", "500"),
    "a window of some lanes": (
        lambda env: env.reset(options={"window": (0, 50), "reset_mask": np.array([True, False, False])}),
        "argument_invalid",
        "all lanes",
    ),
    "assigned costs": (lambda env: setattr(env, "costs", oo.CostModel.zero()), "argument_invalid", "options"),
    "an assigned market": (lambda env: setattr(env, "datasets", ()), "argument_invalid", "options"),
    "a mask of numbers": (lambda env: env.reset(options={"reset_mask": np.ones(3)}), "shape_mismatch", "`reset_mask`"),
    "a mask of no lane": (
        lambda env: env.reset(options={"reset_mask": np.zeros(3, bool)}),
        "argument_invalid",
        "`reset_mask`",
    ),
}


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("what", BAD)
def test_invalid_input_raises_and_leaves_the_state_unchanged(what: str, copies: bool) -> None:
    call, slug, text = BAD[what]
    env = OpenOutcryVectorEnv(3, **SMALL, copy=copies)
    env.reset(seed=0)
    shown = env.step(np.full((3, 4), 0.2, np.float32))[0]
    before, observed = account_of(env), shown.tobytes()
    with pytest.raises(oo.OpenOutcryError) as refused:
        call(env)
    assert refused.value.slug == slug
    assert text in str(refused.value)
    assert account_of(env) == before
    assert shown.tobytes() == observed
    twin = OpenOutcryVectorEnv(3, **SMALL)
    twin.reset(seed=0)
    twin.step(np.full((3, 4), 0.2, np.float32))
    assert env.step(GOOD)[0].tobytes() == twin.step(GOOD)[0].tobytes()


def test_a_finished_lane_cannot_be_stepped_if_autoreset_is_disabled() -> None:
    env = OpenOutcryVectorEnv(3, **SMALL, autoreset_mode="Disabled")
    env.reset(seed=0)
    play(env, 5)
    env.reset(options={"reset_mask": np.array([False, True, False])})
    play(env, 6)
    assert env.done.tolist() == [True, False, True]
    before = account_of(env)
    with pytest.raises(oo.OpenOutcryError, match="lane 0: a step needs a running episode") as refused:
        env.step(GOOD)
    assert refused.value.slug == "episode_over"
    assert account_of(env) == before
    env.reset(options={"reset_mask": env.done})
    env.step(GOOD)


def test_a_step_before_the_first_reset_or_after_close_is_refused() -> None:
    env = OpenOutcryVectorEnv(3, **SMALL)
    with pytest.raises(oo.OpenOutcryError, match="before the first `reset`"):
        env.step(GOOD)
    with pytest.raises(oo.OpenOutcryError, match="before the first `reset`"):
        OpenOutcryEnv(**SMALL).step(GOOD[0])
    with pytest.raises(oo.OpenOutcryError, match="must select all lanes"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    env.reset()
    env.close()
    env.close()
    for call in (lambda: env.step(GOOD), env.reset):
        with pytest.raises(ClosedEnvironmentError):
            call()


@pytest.mark.parametrize(
    ("options", "slug", "text"),
    [
        ({"num_envs": 0}, "argument_invalid", "`num_envs`"),
        ({"observation": "pixels"}, "argument_invalid", "`observation`"),
        ({"reward": "profit"}, "argument_invalid", "`reward`"),
        ({"reward_parameter": 0.5}, "argument_invalid", "`reward_parameter`"),
        ({"reward": "differential-sharpe", "reward_parameter": 1.0}, "argument_invalid", "`reward_parameter`"),
        ({"reward": "drawdown", "reward_parameter": -1.0}, "argument_invalid", "`reward_parameter`"),
        ({"no_trade_band": float("nan")}, "argument_invalid", "`no_trade_band`"),
        ({"info": "all"}, "argument_invalid", "`info`"),
        ({"on_invalid": "skip"}, "argument_invalid", "`on_invalid`"),
        ({"render_mode": "human"}, "argument_invalid", "`render_mode`"),
        ({"render_lane": 2}, "argument_invalid", "`render_lane`"),
        ({"render_lane": 1}, "argument_invalid", "hint: render_mode='rgb_array'"),
        ({"render_mode": np.zeros(2)}, "argument_invalid", "`render_mode`"),
        ({"copy": "no"}, "argument_invalid", "`copy` must be True or False; received 'no'"),
        ({"copy": None}, "argument_invalid", "`copy`"),
        ({"allow_short": "no"}, "limit_invalid", "`allow_short`"),
        ({"mask": "no"}, "argument_invalid", "`mask`"),
        ({"observation": np.array(["dict"])}, "argument_invalid", "`observation`"),
        ({"scale": np.zeros(2)}, "argument_invalid", "`scale`"),
        ({"split": np.zeros(2)}, "argument_invalid", "`split`"),
        ({"datasets": np.zeros(2)}, "argument_invalid", "`datasets`"),
        ({"split": "test"}, "argument_invalid", "received 'test'; hint: window='random'"),
        ({"split": "test", "window": (20, 60)}, "argument_invalid", "`split` must be train"),
        ({"split": "test", "dataset": "ecb-fx"}, "argument_invalid", "`split` must be train"),
        ({"split": "test", "dataset": Scenario("calm", 1)}, "argument_invalid", "`split` must be train"),
        ({"split": "dev"}, "argument_invalid", "`split`"),
        ({"episode_bars": 10}, "argument_invalid", "`episode_bars`"),
        ({"within": (0, 50)}, "argument_invalid", "`within`"),
        ({"window": "random", "episode_bars": 102}, "window_invalid", "`episode_bars`"),
        ({"window": "random", "episode_bars": 1}, "window_invalid", "`episode_bars`"),
        ({"window": "random", "within": (100, 130), "episode_bars": 5}, "window_invalid", "received 100:130"),
        ({"threads": 0}, "argument_invalid", "`threads`"),
        ({"max_episode_steps": 0}, "argument_invalid", "`max_episode_steps`"),
        ({"autoreset_mode": "Never"}, "argument_invalid", "`autoreset_mode`"),
        ({"costs": [oo.CostModel()]}, "argument_invalid", "`costs`"),
        ({"limits": [oo.Limits()] * 3}, "argument_invalid", "`limits`"),
        ({"dataset": []}, "argument_invalid", "`dataset`"),
        ({"dataset": ["ecb-fx"] * 4}, "argument_invalid", "datasets='cycle'"),
        ({"dataset": "ecb-fx", "datasets": "cycle"}, "argument_invalid", "received one market"),
        ({"dataset": ["ecb-fx"], "datasets": "shuffle"}, "argument_invalid", "cycle, random"),
        ({"mask": 1}, "argument_invalid", "`mask`"),
        ({"history": ("close",)}, "argument_invalid", "`lookback`"),
        ({"history": ("close",), "lookback": 3, "observation": "flat"}, "argument_invalid", "`features`"),
        ({"history": ("rsi",), "lookback": 3}, "argument_invalid", "received 'rsi'"),
        ({"history": (), "lookback": 3}, "argument_invalid", "`history`"),
        ({"dataset": "nasdaq"}, "unknown_dataset", "nasdaq"),
        ({"dataset": "ecb-fx", "n_days": 100}, "argument_invalid", "`dataset`"),
        ({"dataset": [oo.Dataset.synthetic()] * 2, "observation": "cursor"}, "argument_invalid", "`observation`"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], slug: str, text: str) -> None:
    made = [lambda: OpenOutcryVectorEnv(**{"num_envs": 2, **options})]
    if "split" in options or "mask" in options:
        made.append(lambda: OpenOutcryEnv(**options))
    for make in made:
        with pytest.raises(oo.OpenOutcryError) as refused:
            make()
        assert refused.value.slug == slug
        assert text in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        {"window": "random"},
        {"dataset": "calm"},
        {"n_symbols": "calm"},
        {"dataset": ScenarioSpec("calm", n_symbols=2, n_days=90)},
        {"dataset": [oo.Dataset.synthetic()] * 2, "datasets": "random"},
    ],
)
def test_a_split_is_accepted_where_it_draws(options: dict[str, Any]) -> None:
    for kind in (OpenOutcryEnv, OpenOutcryVectorEnv):
        env = kind(**{"episode_bars": 20} if "window" in options else {}, **options, split="test")
        env.reset(seed=0)
        # A later fixed window is one of the settings of a reset.
        env.reset(options={"window": (20, 60)})
