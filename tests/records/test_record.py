"""Records: two independent writers give the same bytes, and every change is reported."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count
from jsonschema import Draft202012Validator
from recorded_run import COSTS, DATA, KEY, LIMITS, RECORD, WINDOW, attempt, captured, trend

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry import records
from openoutcry.backtest.divergence import compare
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[2] / "contract"
SCHEMA = Draft202012Validator(json.loads((CONTRACT / "record.schema.json").read_text(encoding="utf-8")))


# A second writer, implemented from the contract alone


def canonical(value: Any) -> str:
    """Return the RFC 8785 text of a value, for the numbers that occur here."""
    if isinstance(value, dict):
        fields = sorted(value.items(), key=lambda field: field[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(item)}" for name, item in fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        text = repr(value)
        if value == 0 or (text.endswith(".0") and abs(value) < 1e21):
            return str(int(value))
        mantissa, _, exponent = text.partition("e")
        if exponent and -7 < int(exponent) < 21:
            return np.format_float_positional(value, trim="-")
        return f"{mantissa}e{int(exponent):+d}" if exponent else text
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def written(env: native.TradingEnv, header: dict[str, Any], agent_id: str) -> str:
    """Return the record of an agent, by stepping the JSON interface."""
    link = first = digest({"domain": "openoutcry/record/1", "header": header})
    steps, text, info, done = [], env.reset(), json.dumps({"nav": 1.0}), False
    while not done:
        seen = json.loads(text)
        observation = hashlib.sha256(text.encode()).hexdigest()
        step = {"cash": float(seen["cash"]), "nav": float(json.loads(info)["nav"]), "observation": observation}
        step["decision"] = json.dumps(trend(seen))
        link = digest(step | {"previous": link})
        steps.append(step | {"link": link})
        text, _, done, info = env.step(step["decision"])
    end = {"cash": float(json.loads(text)["cash"]), "nav": float(json.loads(info)["nav"]), "terminated": False}
    end["observation"] = hashlib.sha256(text.encode()).hexdigest()
    end["link"] = digest(end | {"previous": link})
    agent = {"agent_id": agent_id, "in_sample_trials": 0, "record_version": "1.0"}
    whole = agent | {"runs": [{"header": header, "link": first, "steps": steps, "end": end}]}
    whole["digest"] = digest(agent | {"domain": "openoutcry/record/1/agent", "runs": [end["link"]]})
    return canonical(whole)


def test_a_record_of_the_second_writer_has_the_same_bytes() -> None:
    env = native.TradingEnv.from_dataset(
        DATA._core, window=WINDOW, costs=COSTS, limits=LIMITS, lookback=20, seed=2**64 - 1
    )
    header = {
        "contract_version": oo.CONTRACT_VERSION,
        "costs": COSTS.to_dict(),
        "dataset": {"commitment": DATA.commitment, "fingerprint": DATA.fingerprint, "name": DATA.name},
        "engine_version": oo.__version__,
        "fill": {"seed": str(2**64 - 1)},
        "limits": {"allow_short": True, "maintenance_margin": 0.0, "max_participation": 0.5, "max_weight": 1.0},
        "lookback": 20,
        "window": {"start": 19, "end": 50},
    }
    assert written(env, header, "trend") == RECORD.to_json()


def test_a_record_matches_its_schema_and_contains_no_result() -> None:
    signed = RECORD.sign(KEY)
    SCHEMA.validate(json.loads(signed.to_json()))
    text = signed.to_json()
    assert not any(f'"{name}"' in text for name in ("returns", "reward", "sharpe", "metrics", "score"))


VECTOR = json.loads((CONTRACT / "vectors" / "record.json").read_text(encoding="utf-8"))


def market(name: str) -> oo.Dataset:
    sizes = {"n_symbols": VECTOR["n_symbols"], "n_days": VECTOR["n_days"]}
    if name == "synthetic":
        return oo.Dataset.synthetic(**sizes, seed=VECTOR["seed"])
    return Scenario(ScenarioSpec(name, **sizes), VECTOR["seed"]).dataset()


@pytest.mark.parametrize("name", VECTOR["shown"])
def test_observations_have_the_same_digest_on_every_platform(name: str) -> None:
    costs = oo.CostModel(**(oo.CostModel.zero().to_dict() | VECTOR["costs"]))
    agent, window, seed = VECTOR["agent"], tuple(VECTOR["window"]), VECTOR["seed"]
    record = oo.run_backtest(market(name), agent, window, costs, seed=seed, capture=True).record
    run = json.loads(record.to_json())["runs"][0]
    shown = "".join(step["observation"] for step in (*run["steps"], run["end"]))
    assert hashlib.sha256(shown.encode()).hexdigest() == VECTOR["shown"][name]


@pytest.mark.parametrize("name", ["record", "faulty"])
def test_the_records_of_the_vectors_match_their_schema_and_replay(name: str) -> None:
    SCHEMA.validate(VECTOR[name])
    record = oo.RunRecord.from_json(canonical(VECTOR[name]))
    replay = oo.replay(record, market("synthetic"), public_key=records.public_key(KEY))
    assert replay.verified, str(replay)


# Interfaces


def tables(seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    values = np.array([np.nan, 0.0, -0.0, 0.3, -0.25, 150.0, 1e-300])
    return rng.choice(values, (DATA.n_bars, DATA.n_symbols))


@pytest.mark.parametrize(
    "agent", [*native.BASELINES, trend, tables(0), tables(1)], ids=[*native.BASELINES, "trend", "table 0", "table 1"]
)
def test_capturing_changes_no_bit_of_any_interface_and_the_record_replays(agent: Any) -> None:
    run, plain = captured(agent), oo.run_backtest(DATA, agent, WINDOW, COSTS, LIMITS, 2**64 - 1)
    np.testing.assert_array_equal(run.nav, plain.nav)
    np.testing.assert_array_equal(run.decisions, plain.decisions)
    assert (run.events, run.name) == (plain.events, plain.name)
    replay = oo.replay(oo.RunRecord.from_json(run.record.to_json()), DATA)
    assert replay.verified, str(replay)
    assert (replay.n_runs, replay.n_steps, replay.digest) == (1, 30, run.record.digest)
    assert run.record.agent_id == run.name
    with pytest.raises(oo.OpenOutcryError, match="capture=True"):
        _ = plain.record


def test_the_decision_of_a_callable_is_recorded_verbatim() -> None:
    answer = ' {"orders" : [],\n"reasoning":"\\u00e9\\ud83d\\ude00"} '
    record = captured(lambda _: answer).record
    assert record.decisions == [[answer] * 30]
    assert oo.replay(record, DATA).verified


# Tampering


def flipped(content: bytes, place: int, mask: int) -> bytes:
    return content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :]


def test_every_flipped_byte_of_a_record_is_reported() -> None:
    record = captured(lambda observation: {"orders": trend(observation)["orders"][:1]}).record
    content = record.to_json().encode()
    assert len(record.decisions[0]) == 30
    unnamed, refused, n_read = [], set(), 0
    for place in range(len(content)):
        for mask in (1, 4, 32, 128) if count(1, 0) else (1,):
            changed = flipped(content, place, mask)
            read = attempt(lambda changed=changed: records.RunRecord(native.Record.from_json(changed)))  # type: ignore[misc]
            if isinstance(read, str):
                refused.add(read)
                continue
            n_read += 1
            replay = oo.replay(read, DATA)
            if replay.verified or replay.first is None:
                unnamed.append((place, mask))
    assert unnamed == []
    assert refused == {"record_invalid", "record_not_canonical", "record_version_unknown"}
    assert n_read > 1000


def test_every_flipped_byte_of_a_signature_is_reported() -> None:
    text = RECORD.sign(KEY).to_json()
    refused, found = set(), set()
    for place in range(text.index('"signature"'), len(text) - 2):
        changed = flipped(text.encode(), place, 1).decode()
        record = attempt(lambda changed=changed: oo.RunRecord.from_json(changed))  # type: ignore[misc]
        if isinstance(record, str):
            refused.add(record)
            continue
        first = oo.replay(record, DATA).first
        assert first is not None
        found.add((first.field, first.cause))
    assert refused <= {"record_invalid", "record_not_canonical"}
    assert found == {("signature", "signature_edited")}


def edited(change: Any) -> oo.Replay | Any:
    parsed = json.loads(RECORD.to_json())
    change(parsed["runs"][0])
    return oo.replay(oo.RunRecord.from_json(native.canonicalize(json.dumps(parsed))), DATA)


@pytest.mark.parametrize(
    ("change", "field", "cause", "bar"),
    [
        (lambda run: run["steps"][7].update(nav=np.nextafter(run["steps"][7]["nav"], 2)), "nav", "witness_edited", 26),
        (lambda run: run["steps"][7].update(decision='{"orders":[]}'), "decision", "decision_edited", 26),
        (lambda run: run["steps"].pop(7), "link", "steps_moved", 26),
        (lambda run: run["steps"].insert(3, run["steps"].pop(7)), "link", "steps_moved", 22),
        (lambda run: run["header"]["costs"].update(fee_bps=0.2), "link", "header_edited", None),
        (lambda run: run["header"].update(engine_version="0.0.1"), "engine_version", "version_unknown", None),
        (lambda run: run["header"]["dataset"].update(name="other"), "dataset.name", "market_name", None),
    ],
)
def test_an_edit_is_reported_with_its_bar_and_cause(change: Any, field: str, cause: str, bar: int | None) -> None:
    replay = edited(change)
    first = replay.first
    assert (replay.verified, first.field, first.cause, first.bar) == (False, field, cause, bar)
    assert first.date == (None if bar is None else DATA.dates[bar])
    assert str(replay).startswith("differs: run 0, ")
    assert field != "nav" or first.ulps == 1


def test_steps_and_runs_of_another_record_are_reported() -> None:
    other = json.loads(captured("equal-weight").record.to_json())["runs"][0]["steps"]
    replay = edited(lambda run: run["steps"].__setitem__(7, other[7]))
    assert replay.first.place == "step 7"
    both = oo.RunRecord.join("two", [RECORD, captured("random").record])
    assert oo.replay(both, DATA).verified
    parsed = json.loads(both.to_json())
    for change in ({"runs": parsed["runs"][::-1]}, {"runs": parsed["runs"][:1]}, {"agent_id": "x"}):
        text = native.canonicalize(json.dumps(parsed | change))
        first = oo.replay(oo.RunRecord.from_json(text), DATA).first
        assert first is not None
        assert (first.field, first.cause) == ("digest", "digest_edited")


def test_other_data_and_other_costs_are_reported() -> None:
    other = Scenario(ScenarioSpec("hard", n_symbols=3, n_days=80, late_listings=0.5), 6).dataset()
    replay = oo.replay(RECORD, other)
    assert replay.first is not None
    assert (replay.first.field, replay.first.cause) == ("dataset.fingerprint", "data")
    assert any(each.bar is not None and each.cause == "data" for each in replay.differences)
    assert oo.replay(RECORD, [other, DATA]).verified
    dearer = oo.CostModel(**(COSTS.to_dict() | {"fee_bps": 0.1000001}))
    first, second = oo.replay(RECORD, DATA, dearer).differences[:2]
    assert (first.field, first.recorded, first.cause) == ("costs.fee_bps", "0.1", "rules")
    assert second.ulps is not None
    assert second.cause == "rules"
    assert oo.replay(RECORD, DATA, COSTS, LIMITS).verified
    strict = oo.replay(RECORD, DATA, limits=oo.Limits(max_gross=float("inf"))).first
    assert strict is not None
    assert (strict.field, strict.recorded, strict.replayed) == ("limits.max_participation", "0.5", "none")


# Sealed keys


def test_revealed_keys_are_checked_against_their_commitments() -> None:
    spec, key = ScenarioSpec("hard", n_symbols=3, n_days=80), bytes(range(32, 64))
    sealed, published = Scenario.sealed(spec)
    record = oo.run_backtest(sealed.dataset(), trend, WINDOW, COSTS, fill_key=key, capture=True).record
    header = record.headers[0]
    assert header["dataset.commitment"] == published
    assert header["fill.commitment"] == records.fill_commitment(key)
    assert header["fill.commitment"] == hashlib.sha256(b"openoutcry/fill-commitment/v1\0" + key).hexdigest()
    SCHEMA.validate(json.loads(record.to_json()))
    assert not any(secret in record.to_json() for secret in (key.hex(), sealed.reveal(), spec.digest))
    revealed = Scenario.revealed(spec, sealed.reveal()).dataset()
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.replay(record, revealed)
    assert refused.value.slug == "fill_key_required"
    assert oo.replay(record, revealed, fill_key=key.hex()).verified
    assert oo.replay(record, pickle.loads(pickle.dumps(revealed)), fill_key=key).verified
    first = oo.replay(record, revealed, fill_key=bytes(32)).first
    assert first is not None
    assert (first.field, first.replayed, first.cause) == (
        "fill.commitment",
        records.fill_commitment(bytes(32)),
        "rules",
    )
    text = record.to_json().replace(published, Scenario.sealed(spec)[1])
    first = oo.replay(oo.RunRecord.from_json(text), revealed, fill_key=key).first
    assert first is not None
    assert (first.field, first.replayed, first.cause) == ("dataset.commitment", published, "data")


def test_a_fill_key_replaces_the_seed() -> None:
    def nav(seed: int, fill_key: bytes | None = None) -> list[float]:
        return oo.run_backtest(DATA, trend, WINDOW, COSTS, seed=seed, fill_key=fill_key).nav.tolist()

    assert nav(1, KEY) == nav(2, KEY)
    assert len({tuple(each) for each in (nav(1), nav(2), nav(1, KEY), nav(1, KEY[::-1]))}) == 4
    with pytest.raises(oo.OpenOutcryError) as refused:
        nav(1, b"short")
    assert refused.value.slug == "key_invalid"


# Two records


def test_comparison_reports_setting_differences_and_the_first_divergence() -> None:
    assert compare(RECORD, oo.RunRecord.from_json(RECORD.to_json())).same
    dearer = oo.run_backtest(
        DATA, trend, WINDOW, oo.CostModel(slippage_jitter=0.5, cash_bps=80), LIMITS, 3, capture=True
    )
    found = compare(RECORD, oo.RunRecord.join("dearer", [dearer.record], 2))
    assert not found.same
    assert [setting.field for setting in found.record] == ["agent_id", "in_sample_trials"]
    settings, divergence = found.runs[0]
    assert [setting.field for setting in settings] == ["costs.fee_bps", "fill.seed"]
    assert divergence is not None
    assert (divergence.field, divergence.step, divergence.bar) == ("nav", 1, 20)
    assert divergence.ulps
    settings, divergence = compare(RECORD, captured("equal-weight").record).runs[0]
    assert settings == ()
    assert divergence is not None
    assert (divergence.field, divergence.place) == ("decision", "step 0")


def test_canonical_json_equals_that_of_the_second_writer() -> None:
    rng = np.random.default_rng(0)
    numbers = [float(each) for each in np.exp(rng.normal(0, 30, count(20_000, 2_000))) * rng.choice([-1, 1])]
    numbers += [0.0, -0.0, 1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308]
    value = {"\ufb33": numbers, "\U0001f600": ["\u2028", '"\\\b\f\n\r\t\x1f\x7f/é']}
    assert native.canonicalize(json.dumps(value)) == canonical(value)
