"""A spec and a key determine a scenario, and only the key predicts it."""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import Any

import numpy as np
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.scenarios.scenario import NAMES, Scenario, ScenarioSpec

SMALL: dict[str, Any] = {"n_symbols": 5, "n_days": 300}

# Fingerprints of version 1 of the specs: seed 7, five symbols, 300 days.
GOLDEN: dict[str, str] = {
    "calm": "a740602e5dec17936c107f9457bc54e4ad6cbae7c183a2bbd95a9c4617088dd0",
    "hard": "864782efd636ce8028673063ccd0422f4bf245e97fd526ce6f8274426f717585",
    "extreme": "260a31d4ab771efbce7b6305f122d440c4d4bfbbdb136629ae5459f56b7d110e",
    "fx": "b409dabcf2b3e73c33d4f730ea9dec4dd6eff69cddb11b6da536feae83e39ba9",
    "pairs": "25f018c5c648e39ed514a921bb1269ab1de547a3c2c68e823e571a38f3120066",
    "regime-shift": "105fb39dbaafd9bb43a0f0fbac91d5139c91e0a1f5366043a91abf4a9f1fc9e9",
    "crisis": "0a32431c134db0c3957ee74d13810a74b116b297ac84b0b4789eb53368ac1cb0",
    "martingale": "578278622790503797a9209718d172c417da6fe533d7753b49a17d89131fcf92",
}


def market(name: str, seed: int = 0, split: str = "train", **changes: Any) -> oo.Dataset:
    return Scenario(ScenarioSpec(name, **(SMALL | changes)), seed, split=split).dataset()


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_and_a_seed_determine_every_bit(name: str) -> None:
    assert market(name, 7).fingerprint == GOLDEN[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_round_trips_through_json(name: str) -> None:
    spec = ScenarioSpec(name, n_symbols=3)
    assert ScenarioSpec.from_json(spec.to_json()) == spec
    assert spec.digest == hashlib.sha256(spec.to_json().encode()).hexdigest()
    assert json.loads(spec.to_json())["n_symbols"] == spec.n_symbols == 3
    assert spec != ScenarioSpec(name, n_symbols=4)


# Fields that the family `martingale` ignores, each with a value valid for other families.
UNREAD: dict[str, Any] = {
    "risk_price": 1.0,
    "market_jumps": {"rate": 1.0, "mean": 0.0, "sd": 1.0},
    "own_jumps": {"rate": 0.0, "mean": -0.5, "sd": 0.0},
    "has_bars": False,
    "volume_slope": 0.4,
    "volume_reaction": 0.0,
    "volume_noise": 0.2,
    "dividend_yield": 0.02,
    "split_above": 400.0,
    "late_listings": 0.1,
    "delisting_rate": 0.005,
    "halt_rate": 0.1,
}


def readable(name: str, changes: dict[str, Any]) -> ScenarioSpec:
    return ScenarioSpec(name, **{k: v for k, v in changes.items() if name != "martingale" or k not in UNREAD})


SPECS = st.builds(
    readable,
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
            "tick": st.sampled_from([0.0001, 0.01, 0.05, 0.125, 0.2, 0.25, 1.0]),
        },
    ),
)


@given(spec=SPECS, seed=st.integers(0, 2**64 - 1))
@settings(max_examples=count(1_000, 80))
def test_every_market_is_complete_on_ticks_and_reproducible(spec: ScenarioSpec, seed: int) -> None:
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


@pytest.mark.parametrize("field", UNREAD)
def test_a_martingale_refuses_fields_that_it_ignores(field: str) -> None:
    assert ScenarioSpec("hard", **{field: UNREAD[field]}).to_dict()[field] == UNREAD[field]
    with pytest.raises(oo.OpenOutcryError, match=rf"`{field}.* in the family `martingale`.*received") as refused:
        ScenarioSpec("martingale", **{field: UNREAD[field]})
    assert refused.value.slug == "argument_invalid"
    spec = ScenarioSpec("martingale").to_dict()
    assert ScenarioSpec("martingale", **{field: spec[field]}) == ScenarioSpec("martingale")


@pytest.mark.parametrize("field", sorted(set(ScenarioSpec().to_dict()) - set(UNREAD) - {"family", "version"}))
def test_a_martingale_reads_every_other_field(field: str) -> None:
    base = ScenarioSpec("martingale", **SMALL, leverage=-0.4).to_dict()
    value = base[field]
    if isinstance(value, list):
        changed: Any = [value[0] | {"sd": 0.9}, value[1]]
    else:
        # With seven sectors, five symbols would be in the same sectors as with five.
        changed = 2 if field == "n_sectors" else value + 2 if isinstance(value, int) else value / 2
    spec = ScenarioSpec("martingale", **(SMALL | {"leverage": -0.4} | {field: changed}))
    assert Scenario(spec).dataset().fingerprint != market("martingale", leverage=-0.4).fingerprint


@pytest.mark.parametrize("field", ["volume_slope", "volume_reaction", "volume_noise"])
def test_a_spec_without_bars_refuses_fields_of_bars(field: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=rf"`{field}` must be .* if `has_bars` is false") as refused:
        ScenarioSpec("fx", **{field: 0.7})
    assert refused.value.slug == "argument_invalid"
    assert ScenarioSpec("fx", has_bars=True, **{field: 0.7}).has_bars


def test_more_symbols_and_days_do_not_change_existing_values() -> None:
    small, large = market("calm"), market("calm", n_symbols=9, n_days=500)
    assert small.close.tobytes() == np.ascontiguousarray(large.close[:300, :5]).tobytes()


def test_splits_and_seeds_share_no_market() -> None:
    closes = {
        market("hard", seed, split, n_symbols=1, n_days=40).close.tobytes()
        for split in ("train", "validation", "test")
        for seed in range(200)
    }
    assert len(closes) == 600


def test_a_sealed_scenario_matches_its_commitment() -> None:
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


def test_key_and_seed_are_hidden() -> None:
    seed = 8_723_412_987
    spec = ScenarioSpec("hard", **SMALL)
    sealed, _ = Scenario.sealed(spec)
    for scenario, secret in ((Scenario(spec, seed), str(seed)), (sealed, sealed.reveal())):
        env = oo.OpenOutcryEnv(dataset=scenario.dataset(), window=(30, 60))
        observation, info = env.reset(seed=0)
        texts = [repr(scenario), repr(env), repr(observation), repr(info), repr(scenario.dataset())]
        texts.extend(repr(env.step(np.full(5, 0.1))) for _ in range(5))
        assert secret not in "".join(texts)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(scenario)


def found(data: oo.Dataset, n_seeds: int) -> list[tuple[str, int]]:
    """Return the seeds below `n_seeds`, of any split, whose market begins like this one."""
    guesses = ((split, seed) for split in ("train", "validation", "test") for seed in range(n_seeds))
    spec = ScenarioSpec("hard", n_symbols=2, n_days=3)
    shown = data.close[:3, :2].tobytes()
    return [
        (split, seed) for split, seed in guesses if Scenario(spec, seed, split=split).dataset().close.tobytes() == shown
    ]


def test_a_small_seed_is_found_by_enumeration_and_a_sealed_key_is_not() -> None:
    # More symbols and days do not change existing values, so an attacker needs only the first prices.
    spec = ScenarioSpec("hard", n_symbols=2, n_days=300)
    assert found(Scenario(spec, 137, split="validation").dataset(), 150) == [("validation", 137)]
    assert found(Scenario.sealed(spec)[0].dataset(), count(20_000, 500)) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScenarioSpec("wild"), "`name` must be one of"),
        (lambda: ScenarioSpec("hard", colour=1), "received 'colour'"),
        (lambda: ScenarioSpec("hard", n_days=1), "`n_days` must be 2 to 100000; received 1"),
        (lambda: ScenarioSpec("hard", degrees=7), "`degrees` must be even"),
        (lambda: ScenarioSpec("hard", leverage=-1.5), "`leverage` must be -1 to 1; received -1.5"),
        (lambda: ScenarioSpec("hard", n_days="many"), "`n_days` must be of the same form as 2521; received 'many'"),
        (lambda: ScenarioSpec.from_json("{}"), "missing field"),
        (lambda: Scenario("hard", -1), "`seed`"),
        (lambda: Scenario("hard", split=""), "`split`"),
        (lambda: Scenario(3), "`spec` must be"),
        (lambda: Scenario.revealed("hard", "ab"), "`key` must be 64 hexadecimal digits"),
    ],
)
def test_an_invalid_scenario_is_refused_with_its_field(make: Any, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=message) as refused:
        make()
    assert refused.value.slug == "argument_invalid"


@pytest.mark.parametrize("tick", [0.03, 0.4, 0.7])
def test_an_unusable_tick_is_refused(tick: float) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f"`tick` must be the reciprocal of an integer; received {tick}"):
        ScenarioSpec("hard", tick=tick)
