"""`evaluate` uses the settings and wrappers of the environment of a training."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import FrameStackObservation, NormalizeObservation, RescaleAction, TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv, evaluate
from openoutcry.vector import OpenOutcryVectorEnv

MARKET = oo.Dataset.synthetic(3, 160, seed=5)
COSTS = oo.CostModel(fee_bps=3.0, slippage_bps=4.0, slippage_jitter=0.5, impact_bps=0.0)
FLAT: dict[str, Any] = {"observation": "flat", "lookback": 5}


def momentum(observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return weights by the mean of the last five returns of a flat observation."""
    signal = observation[:15].reshape(5, 3).mean(axis=0)
    return np.asarray(np.clip(signal * 40.0, -0.3, 0.3), dtype=np.float32)


def seen_by(**options: Any) -> list[npt.NDArray[Any]]:
    """Return the observations of an evaluation of a policy that stays in cash."""
    found: list[Any] = []

    def policy(observation: Any) -> npt.NDArray[Any]:
        found.append(np.array(observation))
        return np.zeros(3, dtype=np.float32)

    evaluate(policy, windows=(40, 60), **options)
    return found


def test_the_settings_of_an_environment_are_used_and_it_is_not_stepped() -> None:
    settings: dict[str, Any] = {"features": ["close"], "scale": "window", "no_trade_band": 0.02, "costs": COSTS, **FLAT}
    plain = np.array(seen_by(dataset=MARKET, **settings))
    assert plain.shape == (19, 15 + 5 * 3 + 4)
    for env in (
        OpenOutcryEnv(dataset=MARKET, window="random", episode_bars=9, **settings),
        OpenOutcryVectorEnv(4, dataset=MARKET, window="random", episode_bars=9, **settings),
    ):
        env.reset(seed=1)
        before = pickle.dumps(env)
        assert np.array(seen_by(env=env)).tobytes() == plain.tobytes()
        found = evaluate(lambda observation: np.zeros(3), windows=(40, 60), env=env)
        assert found.runs[0].cost_model == COSTS
        assert pickle.dumps(env) == before
    batch = SyncVectorEnv([lambda: OpenOutcryEnv(dataset=MARKET, **settings)] * 2)
    made = gymnasium.make("openoutcry.gym:OpenOutcry/Market-v1", dataset=MARKET, episode_bars=9, **settings)
    saved = pickle.loads(pickle.dumps(OpenOutcryEnv(MARKET, **settings)))
    for other in (batch, RecordEpisodeStatistics(batch), made, saved):
        assert np.array(seen_by(env=other)).tobytes() == plain.tobytes()


def test_another_market_and_other_settings_replace_those_of_the_environment() -> None:
    env = OpenOutcryEnv(dataset=MARKET, costs=COSTS, limits=oo.Limits(max_weight=0.5), **FLAT)
    other = oo.Dataset.synthetic(3, 90, seed=6)
    found = evaluate(lambda observation: np.full(3, 0.3), other, env=env, limits=oo.Limits(max_weight=0.2)).runs[0]
    assert found.dataset.fingerprint == other.fingerprint
    assert found.lookback == 5
    assert (found.cost_model, found.limits.max_weight) == (COSTS, 0.2)
    assert found.event_counts["limited"] > 0
    # Costs and limits that a reset has changed are those of the environment.
    env.reset(options={"costs": oo.CostModel.zero()})
    assert evaluate(momentum, env=env).runs[0].cost_model == oo.CostModel.zero()
    short = evaluate(momentum, env=env, allow_short=False).runs[0]
    assert short.limits == oo.Limits(allow_short=False)


def test_wrappers_are_copied_and_their_statistics_stay() -> None:
    inner = OpenOutcryEnv(dataset=MARKET, window=(10, 40), **FLAT)
    env = TimeLimit(FrameStackObservation(NormalizeObservation(inner), 2), 7)
    for _ in range(3):
        env.reset(seed=0)
        for _ in range(6):
            env.step(np.zeros(3, np.float32))
    statistics = env.env.env.obs_rms
    before = (statistics.mean.tobytes(), statistics.count)
    shown = seen_by(env=env)
    plain = seen_by(dataset=MARKET, **FLAT)
    assert len(shown) == 19
    expected = [(each - statistics.mean) / np.sqrt(statistics.var + 1e-8) for each in plain]
    for bar in range(1, 19):
        np.testing.assert_allclose(shown[bar], expected[bar - 1 : bar + 1], rtol=1e-5, atol=1e-5)
    assert (statistics.mean.tobytes(), statistics.count) == before
    assert env.env.env.update_running_mean


def test_actions_of_a_wrapper_are_executed_as_it_maps_them() -> None:
    low, high = np.full(3, -0.2, np.float32), np.full(3, 0.2, np.float32)
    env = RescaleAction(OpenOutcryEnv(dataset=MARKET, max_weight=0.4, **FLAT), low, high)
    run = evaluate(lambda observation: np.full(3, 0.1, np.float32), env=env, windows=(30, 40)).runs[0]
    np.testing.assert_allclose(run.decisions, 0.2, rtol=1e-6)


class Twice(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Repeats every action."""

    def step(self, action: Any) -> Any:
        self.env.step(action)
        return self.env.step(action)


class Planner(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tries equal weights before every action, and optionally keeps that account instead."""

    def __init__(self, env: Any, *, keeps: bool) -> None:
        super().__init__(env)
        self._keeps = keeps

    def step(self, action: Any) -> Any:
        base: Any = self.env.unwrapped
        before = base.clone_state()
        self.env.step(np.full(3, 0.3, np.float32))
        equal = base.clone_state()
        base.restore_state(before)
        found = self.env.step(action)
        if self._keeps:
            base.restore_state(equal)
        return found


def test_a_wrapper_that_changes_the_account_is_refused() -> None:
    env = OpenOutcryEnv(dataset=MARKET, **FLAT)
    planned = evaluate(momentum, env=Planner(env, keeps=False)).runs[0]
    assert planned.nav.tobytes() == evaluate(momentum, env=env).runs[0].nav.tobytes()
    with pytest.raises(oo.OpenOutcryError, match="record_differs: the NAV of the environment must follow from its dec"):
        evaluate(momentum, env=Planner(env, keeps=True))


def test_a_wrapper_that_skips_bars_is_refused() -> None:
    env = Twice(OpenOutcryEnv(dataset=MARKET, **FLAT))
    with pytest.raises(oo.OpenOutcryError, match=r"a step of `env` must advance one bar, .*; received bar 42 after 40"):
        seen_by(env=env)


def test_lanes_with_other_costs_need_costs() -> None:
    env = OpenOutcryVectorEnv(2, dataset=MARKET, costs=[COSTS, oo.CostModel.zero()], **FLAT)
    with pytest.raises(oo.OpenOutcryError, match="`costs` must be equal in all lanes of `env`; received several; hint"):
        evaluate(momentum, env=env)
    assert evaluate(momentum, env=env, costs=COSTS).runs[0].cost_model == COSTS
    several = OpenOutcryVectorEnv(2, dataset=[MARKET, oo.Dataset.synthetic(3, 90, seed=1)], **FLAT)
    with pytest.raises(oo.OpenOutcryError, match="`dataset` must be a market, as `env` has several; received None"):
        evaluate(momentum, env=several)
    assert evaluate(momentum, MARKET, (30, 40), env=several).runs[0].lookback == 5


def test_observations_can_be_normalized() -> None:
    seen: list[Any] = []

    def policy(observation: Any) -> Any:
        seen.append(observation)
        return np.zeros(3)

    evaluate(policy, MARKET, (40, 60), normalize=lambda observation: observation * 2.0, **FLAT)
    assert np.array_equal(np.array(seen), 2.0 * np.array(seen_by(dataset=MARKET, **FLAT)))


ACTIONS: dict[str, dict[str, Any]] = {
    "weights": {},
    "parts": {},
    "softmax": {},
    "multi-discrete": {"levels": [-1, 0, 0.5, "hold"]},
}


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_executed_as_in_the_environment(action: str) -> None:
    settings: dict[str, Any] = {"action": action, **ACTIONS[action], **FLAT}
    env = OpenOutcryEnv(dataset=MARKET, window=(30, 60), **settings)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(29)]
    env.reset(seed=0)
    navs = [1.0, *(env.step(each)[4]["nav"] for each in actions)]
    for known in ({"dataset": MARKET, **settings}, {"env": env}, {"env": OpenOutcryVectorEnv(2, MARKET, **settings)}):
        left = iter(actions)
        run = evaluate(lambda observation, left=left: next(left), windows=(30, 60), **known).runs[0]
        assert run.nav.tobytes() == np.array(navs).tobytes()
        assert np.isnan(run.decisions).any() == (action == "multi-discrete")


@pytest.mark.parametrize("kind", ["flat", "dict"])
def test_another_market_shows_the_features_and_the_mask_of_the_training(kind: str) -> None:
    def market(*names: str, gap: int = 0) -> oo.Dataset:
        close = np.array(MARKET.close)
        close[:gap, 0] = np.nan
        plain = oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, close)
        return plain.with_features({name: plain.close * place for place, name in enumerate(names, 1)})

    # The mask of a dict is shown because of the listing.
    mask = None if kind == "dict" else True
    env = OpenOutcryEnv(dataset=market("a", "b", gap=20), observation=kind, lookback=5, mask=mask)
    seen: list[Any] = []

    def policy(observation: Any) -> npt.NDArray[Any]:
        seen.append(observation)
        return np.zeros(3, dtype=np.float32)

    other = market("b", "c", "a")
    evaluate(policy, other, (40, 42), env=env)
    settings: dict[str, Any] = {"features": ["a", "b"], "mask": True, "observation": kind, "lookback": 5}
    expected, _ = OpenOutcryEnv(dataset=other, window=(40, 42), **settings).reset()
    shown = {"flat": seen[0]} if kind == "flat" else seen[0]
    expected = {"flat": expected} if kind == "flat" else expected
    assert {name: each.tobytes() for name, each in shown.items()} == {
        name: each.tobytes() for name, each in expected.items()
    }
    assert env.observation_space.contains(seen[0])
    with pytest.raises(oo.OpenOutcryError, match="`features` must be among b, c, close; received 'a'"):
        evaluate(policy, market("b", "c"), (40, 42), env=env)


SMALL = oo.Dataset.synthetic(2, 120, seed=8)


def mixed(kind: type[Any], **settings: Any) -> Any:
    """Return an environment of markets of two and of three symbols."""
    lanes = {"num_envs": 2} if kind is OpenOutcryVectorEnv else {}
    known = {"dataset": [SMALL, MARKET], "datasets": "random", "window": "random", "episode_bars": 20, "costs": COSTS}
    return kind(**lanes, **known, **FLAT | settings)


@pytest.mark.parametrize("kind", [OpenOutcryEnv, OpenOutcryVectorEnv])
@pytest.mark.parametrize("action", ["weights", "softmax", "multi-discrete"])
def test_a_policy_of_padded_markets_runs_on_a_smaller_one(kind: type[Any], action: str) -> None:
    env = mixed(kind, action=action, limits=oo.Limits(max_gross=0.9))
    padding = env.datasets[0]
    assert padding.n_symbols == 3
    space = env.action_space if kind is OpenOutcryEnv else env.single_action_space
    space.seed(1)
    actions = [space.sample() for _ in range(29)]
    seen: list[Any] = []
    left = iter(actions)

    def policy(observation: Any) -> Any:
        seen.append(observation.copy())
        return next(left)

    found = evaluate(policy, SMALL, (30, 60), env=env)
    settings = {"mask": True, "action": action, "limits": oo.Limits(max_gross=0.9), "costs": COSTS, **FLAT}
    same = OpenOutcryEnv(dataset=padding, window=(30, 60), **settings)
    observation, _ = same.reset()
    navs = [1.0]
    for given, each in zip(seen, actions, strict=True):
        assert given.tobytes() == observation.tobytes()
        observation, *_, info = same.step(each)
        navs.append(info["nav"])
    run = found.runs[0]
    assert run.nav.tobytes() == np.array(navs).tobytes()
    assert np.ptp(run.nav) > 0.0
    # The run is that of the market without its padding.
    assert run.dataset.fingerprint == SMALL.fingerprint
    assert run.decisions.shape == (29, 2)
    assert "refused" not in {name for name, n in run.event_counts.items() if n}
    assert oo.replay(found.record, SMALL).verified
    # A padded market is evaluated as it is.
    left = iter(actions)
    assert evaluate(policy, padding, (30, 60), env=env).runs[0].nav.tobytes() == run.nav.tobytes()


def test_a_market_is_padded_only_for_a_training_with_padding() -> None:
    env = OpenOutcryEnv(dataset=MARKET, **FLAT)
    assert evaluate(lambda observation: np.zeros(2), SMALL, (30, 40), env=env).runs[0].decisions.shape == (9, 2)
    large = oo.Dataset.synthetic(4, 120, seed=8)
    with pytest.raises(oo.OpenOutcryError, match="weight_count"):
        evaluate(lambda observation: np.zeros(3), large, (30, 40), env=mixed(OpenOutcryEnv))
