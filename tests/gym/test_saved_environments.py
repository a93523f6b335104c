"""Environments and checkpoints that are pickled or copied go on with the same bits."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.gym.rewards import StepFigures
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.vector import OpenOutcryVectorEnv

WAYS: dict[str, Any] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "cloudpickle": lambda thing: cloudpickle.loads(cloudpickle.dumps(thing)),
    "deepcopy": copy.deepcopy,
}
REWARDS: tuple[Any, ...] = ("log", "differential-sharpe", {"simple": 1.0, "drawdown-penalty": 0.5})


def market(n_symbols: int) -> oo.Dataset:
    base = oo.Dataset.synthetic(n_symbols, 80, 4)
    return base.with_features(lambda seen: {"size": np.nan_to_num(seen.close)})


def bits(thing: Any) -> Any:
    """Return arrays within results as bytes."""
    if isinstance(thing, dict):
        return {name: bits(value) for name, value in thing.items()}
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        return [bits(each) for each in thing]
    return thing.tobytes() if isinstance(thing, (np.ndarray, np.generic)) else thing


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_a_scalar_environment_goes_on_with_the_same_bits(kind: str, way: str) -> None:
    for reward in REWARDS:
        env = OpenOutcryEnv(
            dataset=market(4), window="random", episode_bars=9, observation=kind, lookback=3, reward=reward,
            info="full", costs=oo.CostModel(slippage_jitter=0.5), limits=oo.Limits(max_gross=0.8), seed=3,
            scale="expanding",
        )  # fmt: skip
        env.action_space.seed(3)
        env.reset(seed=5)
        env.reset()
        rng = np.random.default_rng(1)
        for _ in range(4):
            env.step(rng.normal(0.0, 0.4, 4).astype(np.float32))
        back = WAYS[way](env)
        assert (back.dataset, back.costs, back.limits) == (env.dataset, env.costs, env.limits)
        assert back.action_space.sample().tobytes() == env.action_space.sample().tobytes()
        for _ in range(20):
            action = rng.normal(0.0, 0.4, 4).astype(np.float32)
            (*mine, done, mine_info), (*theirs, other, their_info) = back.step(action), env.step(action)
            assert bits((*map(bits, mine), done, mine_info)) == bits((*map(bits, theirs), other, their_info))
            if done or mine[2]:
                assert [*map(bits, back.reset())] == [*map(bits, env.reset())]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("kind", ["dict", "flat", "cursor"])
def test_lanes_go_on_with_the_same_bits(kind: str, copies: bool, way: str) -> None:
    for n_symbols, mode, reward in ((4, AutoresetMode.NEXT_STEP, REWARDS[0]), (9, AutoresetMode.SAME_STEP, REWARDS[1])):
        env = OpenOutcryVectorEnv(
            11, dataset=market(n_symbols), window="random", episode_bars=9, observation=kind, lookback=3, reward=reward,
            costs=[oo.CostModel(fee_bps=float(k)) for k in range(11)], autoreset_mode=mode, copy=copies, seed=3,
            info="full" if kind == "dict" else "light", max_episode_steps=7,
        )  # fmt: skip
        env.reset(seed=5)
        rng = np.random.default_rng(1)
        for _ in range(11):
            env.step(rng.normal(0.0, 0.4, (11, n_symbols)).astype(np.float32))
        back = WAYS[way](env)
        for _ in range(20):
            actions = rng.normal(0.0, 0.4, (11, n_symbols)).astype(np.float32)
            assert [*map(bits, back.step(actions))] == [*map(bits, env.step(actions))]
        assert [*map(bits, back.reset())] == [*map(bits, env.reset())]


def test_an_environment_before_its_first_reset_or_after_close_stays_so() -> None:
    fresh: list[tuple[Any, tuple[int, ...]]] = [
        (OpenOutcryVectorEnv(2), (2, 4)),
        (OpenOutcryEnv(window="random", episode_bars=9), (4,)),
    ]
    for env, shape in fresh:
        with pytest.raises(oo.OpenOutcryError, match="before the first `reset`"):
            pickle.loads(pickle.dumps(env)).step(np.zeros(shape, np.float32))
    closed = OpenOutcryVectorEnv(2)
    closed.reset()
    closed.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        pickle.loads(pickle.dumps(closed)).step(np.zeros((2, 4), np.float32))


def doubled(step: StepFigures) -> np.ndarray:
    return 2.0 * step.return_ - 0.1 * step.drawdown


def test_a_function_and_an_attribute_of_a_subclass_are_kept() -> None:
    env = OpenOutcryEnv(reward=lambda step: doubled(step))
    env.reset(seed=0)
    env.step(np.full(4, 0.2, np.float32))
    env.note = "mine"  # type: ignore[attr-defined]
    back = cloudpickle.loads(cloudpickle.dumps(env))
    assert back.note == "mine"
    assert back.step(np.full(4, -0.2, np.float32))[1] == env.step(np.full(4, -0.2, np.float32))[1]
    made = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2")
    made.reset(seed=1)
    again: Any = pickle.loads(pickle.dumps(made))
    action = np.full(4, 0.1, np.float32)
    assert again.step(action)[1] == made.step(action)[1]


def test_a_checkpoint_is_restored_in_another_process_and_refused_by_another_market(tmp_path: Path) -> None:
    options = "window=(10, 90), costs=oo.CostModel(slippage_jitter=0.3), reward='drawdown', seed=3"
    env = OpenOutcryEnv(window=(10, 90), costs=oo.CostModel(slippage_jitter=0.3), reward="drawdown", seed=3)
    env.reset(seed=0)
    action = np.full(4, 0.3, np.float32)
    for _ in range(5):
        env.step(action)
    state = env.clone_state()
    (tmp_path / "state").write_bytes(pickle.dumps(state))
    code = (
        "import pickle, sys; import numpy as np; import openoutcry as oo; from openoutcry.gym import OpenOutcryEnv;"
        f"env = OpenOutcryEnv({options}); env.reset(seed=1);"
        "env.restore_state(pickle.loads(open(sys.argv[1], 'rb').read()));"
        "print([env.step(np.full(4, 0.1 * k, np.float32))[1].hex() for k in range(5)])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "state")], check=True, capture_output=True, text=True
    ).stdout
    assert shown.strip() == str([env.step(np.full(4, 0.1 * k, np.float32))[1].hex() for k in range(5)])
    back = pickle.loads(pickle.dumps(state))
    assert back == state == copy.deepcopy(state)
    assert pickle.dumps(back) == pickle.dumps(state)
    assert (back.bar, back.nav, back.window) == (15, state.nav, (10, 90))
    others: list[dict[str, Any]] = [{"seed": 4}, {"n_symbols": 5}, {"window": (10, 91)}, {"costs": oo.CostModel.zero()}]
    for other in others:
        given = {"window": (10, 90), "costs": oo.CostModel(slippage_jitter=0.3), "reward": "drawdown", "seed": 3}
        with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
            OpenOutcryEnv(**(given | other)).restore_state(back)


def test_damaged_bytes_are_refused() -> None:
    env, vec = OpenOutcryEnv(), OpenOutcryVectorEnv(3)
    saved, lanes, build = env.clone_state().__reduce__()[1][0], vec._core.save(), type(env.clone_state()).from_bytes
    assert build(saved) == env.clone_state()
    for damaged in (b"", saved[:-1], saved + b"\0", b"x" + saved[1:], saved[:72] + b"\xff" * 8 + saved[80:]):
        with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
            build(damaged)
    for damaged in (
        b"",
        lanes[:-1],
        lanes + b"\0" * 8,
        lanes[:8] + b"\xff" * 8 + lanes[16:],
        OpenOutcryVectorEnv(4)._core.save(),
    ):
        with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
            vec._core.restore(damaged)
    assert vec._core.save() == lanes


def test_a_pickle_of_a_sealed_scenario_holds_no_key() -> None:
    scenario, _ = Scenario.sealed(ScenarioSpec("hard", n_symbols=3, n_days=200))
    env = OpenOutcryEnv(dataset=scenario)
    env.reset(seed=0)
    for saved in (pickle.dumps(env), pickle.dumps(env.clone_state())):
        key = scenario.reveal()
        assert key.encode() not in saved
        assert bytes.fromhex(key) not in saved
    assert pickle.loads(pickle.dumps(env)).dataset.commitment == scenario.commitment


def test_a_checkpoint_of_another_reward_is_refused() -> None:
    first = OpenOutcryEnv(n_symbols=1, reward="differential-sharpe")
    others = [
        OpenOutcryEnv(n_symbols=1, reward="log"),
        OpenOutcryEnv(n_symbols=1, reward="differential-sharpe", reward_parameter=0.5),
        OpenOutcryEnv(n_symbols=1, reward="differential-sharpe", no_trade_band=0.1),
    ]
    first.reset(seed=0)
    state = first.clone_state()
    for other in others:
        other.reset(seed=0)
        for saved in (state, pickle.loads(pickle.dumps(state))):
            with pytest.raises(oo.OpenOutcryError, match="state_mismatch"):
                other.restore_state(saved)
    first.restore_state(pickle.loads(pickle.dumps(state)))
