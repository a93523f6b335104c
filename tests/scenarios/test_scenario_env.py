"""Environments accept scenarios like datasets, and splits separate training markets from others."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.scenarios.scenario import NAMES, Scenario, ScenarioSpec, scenarios
from openoutcry.vector import OpenOutcryVectorEnv

SPEC = ScenarioSpec("hard", n_symbols=3, n_days=120)
WINDOWS: dict[str, Any] = {"window": "random", "episode_bars": 12, "observation": "flat", "lookback": 5}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_spec_uses_the_seed_and_split_of_the_environment(split: str) -> None:
    market = Scenario(SPEC, 5, split=split).dataset()
    env = OpenOutcryEnv(dataset=SPEC, seed=5, split=split, **WINDOWS)
    assert env.dataset == market
    assert OpenOutcryVectorEnv(2, dataset=SPEC, seed=5, split=split, **WINDOWS).datasets == (market,)
    assert OpenOutcryEnv(dataset=SPEC, seed=6, split=split, **WINDOWS).dataset != market


def test_a_scenario_uses_its_own_key_and_not_the_seed_of_the_environment() -> None:
    sealed, _ = Scenario.sealed(SPEC)
    for scenario in (Scenario(SPEC, 5, split="test"), sealed):
        env = OpenOutcryEnv(dataset=scenario, seed=1, split="train", **WINDOWS)
        assert env.dataset == scenario.dataset()
        env.reset(seed=0)
        *_, info = env.step(np.full(3, 0.2, np.float32))
        assert scenario.reveal() not in repr((env, vars(env), info))


@pytest.mark.parametrize("name", NAMES)
def test_a_tier_name_selects_its_market(name: str) -> None:
    env = OpenOutcryEnv(dataset=name, seed=2, observation="flat")
    assert env.dataset == Scenario(name, 2).dataset()
    env.reset(seed=0)
    assert np.isfinite(env.step(np.zeros(env.dataset.n_symbols, np.float32))[1])


def test_sub_environments_equal_scalar_environments() -> None:
    worlds = [*scenarios(SPEC, 3, seed=4), Scenario(SPEC, 9).dataset(), ScenarioSpec("calm", n_symbols=3, n_days=120)]
    batch = OpenOutcryVectorEnv(7, dataset=worlds, seed=3, autoreset_mode="SameStep", **WINDOWS)
    lanes = [OpenOutcryEnv(dataset=worlds[i % 5], seed=3, **WINDOWS) for i in range(7)]
    seen, _ = batch.reset(seed=11)
    firsts = [env.reset(seed=11 + i)[0] for i, env in enumerate(lanes)]
    np.testing.assert_array_equal(seen, firsts)
    for k in range(40):
        actions = np.random.default_rng(k).normal(0.0, 0.3, (7, 3)).astype(np.float32)
        seen, rewards, _, truncations, _ = batch.step(actions)
        for i, env in enumerate(lanes):
            observation, reward, terminated, truncated, _ = env.step(actions[i])
            assert (reward, truncated) == (rewards[i], truncations[i])
            np.testing.assert_array_equal(seen[i], env.reset()[0] if terminated or truncated else observation)


def test_a_repeated_scenario_is_one_market() -> None:
    one, other = scenarios(SPEC, 2)
    batch = OpenOutcryVectorEnv(4, dataset=[one, other, one], **WINDOWS)
    assert batch.datasets[0] is batch.datasets[2]
    assert batch.datasets[0] != batch.datasets[1]


def test_seed_blocks_and_splits_share_no_market() -> None:
    blocks = [scenarios(SPEC, 20), scenarios(SPEC, 20, seed=20)]
    blocks += [scenarios(SPEC, 20, split=split) for split in ("validation", "test")]
    prints = [each.dataset().fingerprint for block in blocks for each in block]
    assert len(set(prints)) == len(prints) == 80
    assert prints[20:40] == [Scenario(SPEC, seed).dataset().fingerprint for seed in range(20, 40)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OpenOutcryEnv(dataset="wild"), r"unknown_dataset: .* calm, .*; received 'wild'"),
        (lambda: OpenOutcryEnv(dataset=3), r"argument_invalid: `dataset` must be a Dataset, a Scen.* received int"),
        (lambda: OpenOutcryEnv(dataset=[SPEC]), r"argument_invalid: `dataset` must be one market; .*datasets='cycle'"),
        (lambda: OpenOutcryEnv(8, dataset=SPEC), r"argument_invalid: .*received both; hint: .*ScenarioSpec"),
        (lambda: OpenOutcryEnv(dataset=SPEC, split="all"), r"argument_invalid: `split` must be one of train"),
        (lambda: OpenOutcryVectorEnv(2, dataset=["hard", 3]), r"argument_invalid: `dataset` must be a .* received int"),
        (lambda: OpenOutcryVectorEnv(2, dataset=3), r"argument_invalid: `dataset` must be a .* received int"),
        (lambda: OpenOutcryVectorEnv(2, dataset=scenarios(SPEC, 3)), r"sequence of 1 to `num_envs`=2; received 3"),
        (lambda: scenarios(SPEC, 0), r"argument_invalid: `n` must be an integer from 1 to"),
        (lambda: scenarios(SPEC, 2, seed=2**64 - 1), r"argument_invalid: `seed` must be an integer from 0 to"),
        (lambda: scenarios("wild", 2), r"argument_invalid: `name` must be one of calm"),
    ],
)
def test_an_invalid_market_is_refused_with_its_argument(make: Any, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=message):
        make()


@pytest.mark.parametrize("name", ["Calm", "Hard", "Extreme", "Fx"])
def test_an_environment_id_of_a_tier_accepts_a_seed_and_a_split(name: str) -> None:
    made = gymnasium.make(f"openoutcry.gym:OpenOutcry/{name}-v1", seed=3, split="test").unwrapped
    assert isinstance(made, OpenOutcryEnv)
    assert made.dataset == Scenario(name.lower(), 3, split="test").dataset()
    batch = gymnasium.make_vec(f"openoutcry.gym:OpenOutcry/{name}-v1", num_envs=3, seed=3, split="test")
    assert isinstance(batch, OpenOutcryVectorEnv)
    assert batch.dataset == made.dataset


def test_a_field_of_the_wrong_type_is_refused_with_its_value() -> None:
    assert ScenarioSpec("hard", n_symbols=np.int64(3), tick=np.float64(0.01)).n_symbols == 3
    for changes, message in (
        ({"n_symbols": "x"}, "`n_symbols` must be of the same form as 20; received 'x'"),
        ({"n_days": 2.5}, "`n_days` must be of the same form as 2521; received 2.5"),
        ({"halt_rate": float("nan")}, "`halt_rate` must be finite numbers, .*; received nan"),
        ({"tick": object()}, "`tick` must be finite numbers, .*; received <object"),
        ({"swings": [1]}, r"`swings` must be of the same form as .*half_life.*; received \[1\]"),
        ({"n_days": 10**6}, "`n_days` must be 2 to 100000; received 1000000"),
    ):
        with pytest.raises(oo.OpenOutcryError, match=message):
            ScenarioSpec("hard", **changes)
