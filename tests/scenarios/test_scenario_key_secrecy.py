"""No input of an agent contains the key, the seed, or a digest of either."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[2] / "contract"
SEED = 8_723_412_987_001_234_567
SPEC = ScenarioSpec("hard", n_symbols=4, n_days=120, late_listings=0.5)
KINDS = ("dict", "flat", "cursor")


def traces(secret: bytes) -> dict[str, bytes]:
    """Return encodings that would reveal some bytes: both byte orders, as text, and their digests."""
    found = {}
    for name, raw in (("key", secret), ("digest", hashlib.sha256(secret).digest())):
        found |= {name: raw, f"{name} reversed": raw[::-1], f"{name} in hexadecimal": raw.hex().encode()}
        found |= {f"{name} in base64": base64.b64encode(raw)[:20]}
        # Eight bytes suffice for an attack, and do not occur in an observation by chance.
        found |= {f"word {k} of the {name}": raw[k : k + 8] for k in range(0, len(raw) - 7, 8)}
        found |= {f"number {k} of the {name}": str(int.from_bytes(raw[k : k + 8], "little")).encode() for k in (0, 8)}
    return found


def secrets_of(scenario: Scenario, seed: int | None) -> dict[str, bytes]:
    found = traces(bytes.fromhex(scenario.reveal()))
    if seed is not None:
        raw = seed.to_bytes(8, "little")
        found |= {"seed": str(seed).encode(), "seed in hexadecimal": f"{seed:x}".encode(), "seed in bytes": raw}
        found |= {"seed as a float": str(float(seed)).encode(), "seed the other way": raw[::-1]}
    return found


def content_of(value: Any) -> bytes:
    """Return a value as bytes and as text; arrays by their content."""
    parts = [repr(value).encode()]
    if isinstance(value, np.ndarray):
        parts.append(pickle.dumps(value.tolist()) if value.dtype == object else value.tobytes())
    elif isinstance(value, dict):
        parts += [content_of(each) for pair in value.items() for each in pair]
    elif isinstance(value, (tuple, list)):
        parts += [content_of(each) for each in value]
    return b"\0".join(parts)


def json_interface(data: oo.Dataset) -> Iterator[Any]:
    env = native.TradingEnv.from_dataset(
        data._core, window=(30, 60), costs=oo.CostModel(slippage_jitter=0.5), limits=oo.Limits(), lookback=20, seed=3
    )
    orders = json.dumps({"orders": [{"symbol": "S000", "action": "buy", "target_weight": 0.3}]})
    yield env.reset()
    for text in (orders, "{}", "no json", json.dumps({"orders": [{"symbol": "nobody", "action": "buy"}]}), orders):
        yield failing(env.step, text)
    yield from (repr(env), env.info(), env.observation_json())


def scalar_interfaces(data: oo.Dataset) -> Iterator[Any]:
    ids = ("EcbFx-v1", "UsTreasury-v1")
    made = [gymnasium.make(f"openoutcry.gym:OpenOutcry/{name}", dataset=data, window=(30, 50)) for name in ids]
    made += [oo.OpenOutcryEnv(dataset=data, window=(30, 50), observation=kind, render_mode="ansi") for kind in KINDS]
    for env in made:
        yield env.reset(seed=0)
        ended = False
        while not ended:
            step = env.step(np.full(4, 0.2, np.float32))
            ended = step[2] or step[3]
            yield step
        yield failing(env.step, np.full(4, 0.2, np.float32))
        yield from (env.reset(), failing(env.step, np.full(4, np.nan)), failing(env.step, np.zeros(9)), repr(env))
        yield from (env.observation_space, env.action_space, env.metadata)
        yield env.render() if env.render_mode else None


def batch_interfaces(data: oo.Dataset) -> Iterator[Any]:
    for mode in AutoresetMode:
        for kind in KINDS:
            vec = oo.OpenOutcryVectorEnv(3, dataset=data, window=(30, 40), observation=kind, autoreset_mode=mode)
            yield vec.reset(seed=0)
            for _ in range(9 if mode is AutoresetMode.DISABLED else 25):
                yield vec.step(np.full((3, 4), 0.2, np.float32))
            yield from (failing(vec.step, np.full((3, 4), np.inf)), repr(vec), vec.metadata, vec.observation_space)
    vec = gymnasium.make_vec("openoutcry.gym:OpenOutcry/EcbFx-v1", num_envs=2, dataset=data, window=(30, 40))
    yield vec.reset(seed=0)
    yield from (vec.step(np.zeros((2, 4), np.float32)) for _ in range(12))


def records(scenario: Scenario, data: oo.Dataset) -> Iterator[Any]:
    run = oo.run_backtest(data, "equal-weight", (30, 90), capture=True)
    yield from (run.record.to_json(), run.record._core.to_lines(), run.record.headers, repr(run.record))
    yield from (oo.replay(run.record, data), str(oo.replay(run.record, data)), run.record.sign(bytes(32)).to_json())
    run = oo.run_backtest(
        data, lambda observation: {"orders": [], "reasoning": str(observation)}, (30, 50), capture=True
    )
    yield run.record.to_json()
    yield from (repr(run), run.decisions, run.events, run.metrics, run.nav, run.trades, run.caveats, repr(data))
    yield from (data.name, data.fingerprint, data.dates, data.symbols, repr(scenario), repr(scenario.spec))
    yield from (scenario.spec.to_json(), scenario.spec.digest, repr(vars(scenario)), repr(scenario._core))
    yield failing(pickle.dumps, scenario)
    yield failing(Scenario.revealed, SPEC, scenario.reveal()[:-2])
    yield failing(Scenario.revealed, SPEC, scenario.reveal() + "zz")


def failing(call: Any, *args: Any) -> Any:
    """Return what a call returns, or the text of its error."""
    try:
        return call(*args)
    except (oo.OpenOutcryError, TypeError, ValueError) as error:
        return f"{error!r} {getattr(error, '__notes__', '')}"


def everything(scenario: Scenario) -> Iterator[bytes]:
    data = scenario.dataset()
    for interface in (json_interface(data), scalar_interfaces(data), batch_interfaces(data), records(scenario, data)):
        yield from map(content_of, interface)


@pytest.mark.parametrize("kind", ["seeded", "sealed"])
def test_no_interface_reveals_a_key_or_a_seed(kind: str) -> None:
    scenario = Scenario(SPEC, SEED) if kind == "seeded" else Scenario.sealed(SPEC)[0]
    secrets = secrets_of(scenario, SEED if kind == "seeded" else None)
    shown = list(everything(scenario))
    assert len(shown) > 300
    assert [name for name, secret in secrets.items() for each in shown if secret in each] == []


def test_the_seed_of_a_registered_synthetic_market_is_hidden() -> None:
    env = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", seed=SEED)
    vec = gymnasium.make_vec("openoutcry.gym:OpenOutcry/Synthetic-v2", num_envs=2, seed=SEED)
    shown = [env.reset(seed=0), env.step(np.zeros(4, np.float32)), vec.reset(seed=0)]
    shown += [vec.step(np.zeros((2, 4), np.float32)) for _ in range(260)]
    texts, secrets = [content_of(each) for each in shown], secrets_of(Scenario(SPEC, SEED), SEED)
    assert [name for name, secret in secrets.items() for text in texts if secret in text] == []


def test_an_exposed_secret_is_detected() -> None:
    scenario = Scenario(SPEC, SEED)
    key, secrets = bytes.fromhex(scenario.reveal()), secrets_of(scenario, SEED)
    for planted in (
        {"scenario_seed": SEED},
        {"key": scenario.reveal()},
        np.frombuffer(key, np.float64),
        [np.array([SEED], np.uint64)],
        {"seed": np.array([SEED], dtype=object)},
        hashlib.sha256(key).hexdigest(),
    ):
        assert [name for name, secret in secrets.items() if secret in content_of(planted)]


def test_public_information_is_the_same_for_every_key() -> None:
    # Names, dates, spec and schemas are public before the first bar, so they must not depend on the key.
    public = []
    for seed in (1, 2):
        scenario = Scenario(SPEC, seed)
        data = scenario.dataset()
        public.append((data.name, data.dates, data.symbols, repr(scenario), scenario.spec.to_json()))
    assert public[0] == public[1]
    # A record is read after the run; observations and decisions have no field for a key.
    texts = [(CONTRACT / f"{name}.schema.json").read_text(encoding="utf-8") for name in ("observation", "decision")]
    assert re.findall(r'"[^"]*(?:seed|secret|commitment)[^"]*":', "".join(texts)) == []


def test_a_commitment_reveals_nothing_about_the_key() -> None:
    # A digest of 32 secret bytes: it matches no small seed, and differs for each key.
    commitments = {Scenario.sealed(SPEC)[1] for _ in range(50)}
    guesses = {Scenario(SPEC, seed, split=split).commitment for seed in range(300) for split in ("train", "test")}
    assert len(commitments) == 50
    assert not commitments & guesses
    assert Scenario(SPEC, 12).commitment in guesses
