"""The conformance kit: edge cases, its digest, and agreement of decision reader and schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from builders import count, loads
from conformance_agents import agent, case, judged, small
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.harness.conformance.agent_under_test import AgentUnderTest
from openoutcry.harness.conformance.kit import kit, read

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[2] / "contract"


def test_the_package_has_the_files_of_the_contract() -> None:
    there = {path.name: path.read_text("utf-8") for path in (CONTRACT / "conformance").glob("*.json")}
    assert native.conformance_files() == there


def test_the_observations_of_the_kit_match_the_schema_and_have_their_stated_sizes() -> None:
    validator = Draft202012Validator(json.loads((CONTRACT / "observation.schema.json").read_text("utf-8")))
    for each in kit().cases:
        # The validator takes seconds for lists of 200,000 numbers; short ones cover the same cases.
        if each.name not in ("long_history", "huge_history"):
            assert validator.is_valid(each.observation) == ("ignore_unknown_fields" not in each.duties)
            assert validator.is_valid(json.loads(each.known_text))
        assert loads(each.text) == each.observation
    sizes = {each.name: len(each.text.encode()) for each in kit().cases}
    assert sizes["huge_history"] > 3_000_000
    assert sizes["long_history"] > 1_000_000
    assert len(case("huge_history").observation["symbols"]) == 100
    assert len(case("many_symbols").observation["symbols"]) == 2_500


def test_the_opening_comes_before_all_cases_and_is_part_of_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = json.loads(kit().opening)
    assert opening == {**case("empty_start").observation, "date": opening["date"]}
    assert opening["date"] < min(each.observation["date"] for each in kit().cases)
    monkeypatch.setattr("openoutcry.harness.conformance.kit._OPENING", "2024-01-03")
    assert read(native.conformance_files()).digest != kit().digest


def test_the_kit_contains_edge_cases_of_json_readers() -> None:
    texts = {each.name: each.text for each in kit().cases}
    assert {"\u2028", "\u2029", '\\"', "\\\\", "\\u0000"} <= {
        each for each in ("\u2028", "\u2029", '\\"', "\\\\", "\\u0000") if each in texts["awkward_news"]
    }
    assert {"1e-300", "1e+300", "5e-324"} <= set(re.findall(r"[\d.e+-]+", texts["extreme_prices"]))
    assert {"1e+21", "-1e+23", "1e-7"} <= set(re.findall(r"[\d.e+-]+", texts["numbers_of_rfc8785"]))
    names = {view["symbol"] for view in case("unicode_symbols").observation["symbols"]}
    assert {"e\u0301te\u0301", "\u00e9t\u00e9"} <= names
    assert any(ord(letter) > 0xFFFF for name in names for letter in name)
    assert any("\u0590" <= letter <= "\u06ff" for name in names for letter in name)


def mutants() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield kits with one change that a decision reader can detect."""
    files = native.conformance_files()
    for name in ("negative.json", "positive.json", "signed_book.json", "unicode_symbols.json"):
        content = json.loads(files[name])
        for place in range(0, len(rows := content if isinstance(content, list) else content["decisions"]), 8):
            row = dict(rows[place])
            if "slug" in row:
                row["slug"] = "bad_json" if row["slug"] != "bad_json" else "wrong_type"
            else:
                row["parsed"] = row["parsed"] | {"reasoning": "changed"}
            changed = json.loads(files[name])
            (changed if isinstance(changed, list) else changed["decisions"])[place] = row
            yield f"{name}[{place}]", files | {name: json.dumps(changed)}


@pytest.mark.parametrize(("name", "files"), list(mutants()), ids=lambda each: each if isinstance(each, str) else "")
def test_a_changed_kit_has_another_digest_and_fails_every_agent(name: str, files: dict[str, str]) -> None:
    changed = read(files)
    assert changed.digest != kit().digest
    report = judged(agent(), changed)
    assert report.failure is not None
    assert report.failure.check == "kit"


def test_a_kit_with_missing_or_unknown_duties_is_refused() -> None:
    files = native.conformance_files()
    for duties in ([], ["answer_a_decision"], ["answer_a_decision", "name_listed_symbols_only", "be_kind"]):
        changed = json.dumps(json.loads(files["empty_start.json"]) | {"agent_must": duties})
        with pytest.raises(oo.OpenOutcryError, match="`agent_must` of empty_start must be"):
            read(files | {"empty_start.json": changed})


def test_any_change_of_a_file_or_of_the_episode_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    files = native.conformance_files()
    assert {read(files | {name: text + " "}).digest for name, text in files.items()}.isdisjoint({kit().digest})
    monkeypatch.setattr("openoutcry.harness.conformance.kit.EPISODE", ("2020-01-02", "2020-03-01"))
    assert read(files).digest != kit().digest


# The reader and the schema

VALIDATOR = Draft202012Validator(json.loads((CONTRACT / "decision.schema.json").read_text("utf-8")))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.sampled_from(["AAA", "buy", "hold", "BUY", ""])
)
FIELDS = ["symbol", "action", "target_weight", "confidence", "rationale", "orders", "reasoning", "size"]
PRICES = st.sampled_from([99.5, 100, 1e-15, 1e15]) | st.floats(1, 2) | st.floats(-1, 1) | st.just(1e16)
CONDITIONS = dict.fromkeys(("limit_price", "stop_price", "stop_loss", "take_profit"), PRICES)
GOOD = st.fixed_dictionaries(
    {
        "symbol": st.text(max_size=3),
        "action": st.sampled_from(["buy", "sell", "hold", "close"]),
        "target_weight": st.floats(-9, 9),
    },
    optional={"confidence": st.floats(-0.5, 1.5), "rationale": st.text(max_size=3)},
)
DAY_ORDERS = st.fixed_dictionaries(
    {
        "symbol": st.just("AAA"),
        "action": st.sampled_from(["buy", "sell", "hold", "close"]),
        "target_weight": st.sampled_from([0.5, 0, -0.0]),
    },
    optional={**CONDITIONS, "at": st.sampled_from(["open", "close", "noon"])},
)
FIELDS += ["at", *CONDITIONS]
ORDERS = st.one_of(GOOD, GOOD, st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5), VALUES)
DECISIONS = st.one_of(
    st.fixed_dictionaries({"orders": st.lists(DAY_ORDERS, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"orders": st.lists(ORDERS, max_size=3)}, optional={"reasoning": st.text(max_size=3)}),
    st.dictionaries(st.sampled_from(FIELDS), VALUES | st.lists(ORDERS, max_size=2), max_size=3),
    VALUES,
)


@hypothesis.settings(max_examples=count(5_000, 300))
@hypothesis.given(DECISIONS)
def test_the_reader_accepts_the_same_decisions_as_the_schema(decision: Any) -> None:
    text = json.dumps(decision)
    try:
        read_back = json.loads(native.read_decision(text))
    except native.OpenOutcryError:
        read_back = None
    assert VALIDATOR.is_valid(decision) == (read_back is not None)
    assert read_back is None or VALIDATOR.is_valid(read_back)


def test_answers_to_the_kit_match_the_decision_schema() -> None:
    subject = AgentUnderTest(agent(), small())
    for each in small().cases:
        subject.run_case(each)
    for name in subject.episodes:
        subject.run_episode(name)
    answers = [answer for said in subject.transcripts.values() for _, answer in said]
    assert len(answers) > len(small().cases) + 130
    assert all(VALIDATOR.is_valid(json.loads(answer)) for answer in answers)
