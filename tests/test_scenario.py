"""A scenario is a market that its spec and key fix, and that nothing but its key foretells."""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import count

import openoutcry as oo
from openoutcry.scenario import NAMES, Scenario, ScenarioSpec

SMALL: dict[str, Any] = {"n_symbols": 5, "n_days": 300}

# What version 1 of the specs is: the fingerprint of seed 7 of each, at five symbols and 300 days.
GOLDEN: dict[str, str] = {
    "calm": "7b2ff19e3a705259966bf758ea3ac5133b967a331487ebef275deaf97d6db9cc",
    "hard": "c6ed87c5166dc2c35b62a8d859ebf927f58b4762a64fc7044d839f00aba8740c",
    "extreme": "fc63651477a6d4ba99218766ecc9921c347f37517e4db605cc7502095e0e5b48",
    "fx": "2eb02882bb4ff9c741b8832e9d0df7ffc1852c5e11e9580f24a9ff72670128f9",
    "pairs": "798530a8b34644e3840f5c4b1a52a6309ef81a507d79b792ea5bb57d2642250e",
    "regime-shift": "dae653f6421f36e32b7c10e1376ee61d9537daa6ce8ecd42757fc1e8e87d07b2",
    "crisis": "438777de339c24be61466ec2e339e0ce7c1cb1bbc0417ee2bac6eb21e3bbb565",
    "martingale": "49e28041e00f39f5c255359cd7bc614026d43e0a42b0bcb1f8e4c174a92c88e9",
}


def market(name: str, seed: int = 0, split: str = "train", **changes: Any) -> oo.Dataset:
    return Scenario(ScenarioSpec(name, **(SMALL | changes)), seed, split=split).dataset()


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_and_a_seed_fix_every_bit(name: str) -> None:
    assert market(name, 7).fingerprint == GOLDEN[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_reads_back_as_it_was_printed(name: str) -> None:
    spec = ScenarioSpec(name, n_symbols=3)
    assert ScenarioSpec.from_json(spec.to_json()) == spec
    assert spec.digest == hashlib.sha256(spec.to_json().encode()).hexdigest()
    assert json.loads(spec.to_json())["n_symbols"] == spec.n_symbols == 3
    assert spec != ScenarioSpec(name, n_symbols=4)


SPECS = st.builds(
    lambda name, changes: ScenarioSpec(name, **changes),
    st.sampled_from(NAMES),
    st.fixed_dictionaries(
        {"n_symbols": st.integers(1, 9), "n_days": st.integers(2, 400)},
        optional={
            "n_sectors": st.integers(1, 7),
            "market_vol": st.floats(0.0, 0.6),
            "own_vol": st.floats(0.0, 1.0),
            "leverage": st.floats(-1.0, 1.0),
            "degrees": st.sampled_from([4, 6, 10, 30]),
            "overnight": st.floats(0.0, 1.0),
            "late_listings": st.floats(0.0, 1.0),
            "delisting_rate": st.floats(0.0, 6.0),
            "halt_rate": st.floats(0.0, 30.0),
            "dividend_yield": st.floats(0.0, 0.3),
            "split_above": st.sampled_from([0.0, 50.0]),
            "tick": st.sampled_from([0.0001, 0.01, 0.05, 0.25]),
        },
    ),
)


@given(spec=SPECS, seed=st.integers(0, 2**64 - 1))
@settings(max_examples=count(1_000, 80))
def test_every_market_is_whole_on_ticks_and_the_same_again(spec: ScenarioSpec, seed: int) -> None:
    data = Scenario(spec, seed).dataset()
    assert data.fingerprint == Scenario(spec, seed).dataset().fingerprint
    per_unit = round(1 / spec.tick)
    columns = {name: data._core.column(name) for name in ("close", "open", "high", "low", "volume")}
    closed = np.isfinite(data.close)
    for name, table in columns.items():
        if table is None:
            assert not spec.has_bars
            continue
        assert (np.isfinite(table) == closed).all(), name
        assert (table[closed] > 0.0).all(), name
        if name != "volume":
            ticks = np.round(table[closed] * per_unit)
            assert (ticks / per_unit == table[closed]).all(), name
    if spec.has_bars:
        top, bottom = np.fmax(columns["open"], columns["close"]), np.fmin(columns["open"], columns["close"])
        assert (columns["high"][closed] >= top[closed]).all()
        assert (columns["low"][closed] <= bottom[closed]).all()
    assert closed[:, 0].sum() > 0


def test_more_symbols_and_more_days_change_nothing_that_was_there() -> None:
    small, large = market("calm"), market("calm", n_symbols=9, n_days=500)
    assert small.close.tobytes() == np.ascontiguousarray(large.close[:300, :5]).tobytes()


def test_splits_and_seeds_share_no_market() -> None:
    closes = {
        market("hard", seed, split, n_symbols=1, n_days=40).close.tobytes()
        for split in ("train", "validation", "test")
        for seed in range(200)
    }
    assert len(closes) == 600


def test_a_sealed_scenario_keeps_what_its_commitment_promises() -> None:
    spec = ScenarioSpec("hard", **SMALL)
    scenario, commitment = Scenario.sealed(spec)
    key = scenario.reveal()
    data = b"".join(
        len(part).to_bytes(8, "little") + part
        for part in (b"openoutcry/scenario-commitment/v1", bytes.fromhex(key), bytes.fromhex(spec.digest))
    )
    assert commitment == hashlib.sha256(data).hexdigest()
    again = Scenario.revealed(spec, key)
    assert again.commitment == commitment
    assert again.dataset().fingerprint == scenario.dataset().fingerprint
    assert Scenario.revealed(ScenarioSpec("hard", n_symbols=6, n_days=300), key).commitment != commitment
    assert Scenario.sealed(spec)[1] != commitment


def test_neither_key_nor_seed_is_in_sight() -> None:
    seed = 8_723_412_987
    spec = ScenarioSpec("hard", **SMALL)
    sealed, _ = Scenario.sealed(spec)
    for scenario, secret in ((Scenario(spec, seed), str(seed)), (sealed, sealed.reveal())):
        env = oo.OpenOutcryEnv(dataset=scenario.dataset(), window=(30, 60))
        observation, info = env.reset(seed=0)
        told = [repr(scenario), repr(env), repr(observation), repr(info), repr(scenario.dataset())]
        told.extend(repr(env.step(np.full(5, 0.1))) for _ in range(5))
        assert secret not in "".join(told)
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(scenario)


def found(data: oo.Dataset, n_seeds: int) -> list[tuple[str, int]]:
    """Return the seeds below `n_seeds`, of any split, whose market begins as this one does."""
    guesses = ((split, seed) for split in ("train", "validation", "test") for seed in range(n_seeds))
    spec = ScenarioSpec("hard", n_symbols=2, n_days=3)
    shown = data.close[:3, :2].tobytes()
    return [
        (split, seed) for split, seed in guesses if Scenario(spec, seed, split=split).dataset().close.tobytes() == shown
    ]


def test_a_small_seed_is_found_by_trying_and_a_sealed_key_is_not() -> None:
    # More symbols and days change nothing that was there: an attacker needs the first prices alone.
    spec = ScenarioSpec("hard", n_symbols=2, n_days=300)
    assert found(Scenario(spec, 137, split="validation").dataset(), 150) == [("validation", 137)]
    assert found(Scenario.sealed(spec)[0].dataset(), count(20_000, 500)) == []


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ScenarioSpec("wild"), "`name` must be one of"),
        (lambda: ScenarioSpec("hard", colour=1), "received 'colour'"),
        (lambda: ScenarioSpec("hard", n_days=1), "`n_days` must be 2 to 100000; received 1"),
        (lambda: ScenarioSpec("hard", degrees=7), "`degrees` must be even"),
        (lambda: ScenarioSpec("hard", leverage=-1.5), "`leverage` must be -1 to 1; received -1.5"),
        (lambda: ScenarioSpec("hard", n_days="many"), "invalid type"),
        (lambda: ScenarioSpec.from_json("{}"), "missing field"),
        (lambda: Scenario("hard", -1), "`seed`"),
        (lambda: Scenario("hard", split=""), "`split`"),
        (lambda: Scenario(3), "`spec` must be"),
        (lambda: Scenario.revealed("hard", "ab"), "`key` must be 64 hexadecimal digits"),
    ],
)
def test_what_is_no_scenario_is_refused_by_name(make: Any, said: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=said) as refused:
        make()
    assert refused.value.slug == "argument_invalid"
