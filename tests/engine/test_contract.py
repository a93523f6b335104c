"""Test the files of the contract without the engine: schemas, fixtures, slugs and backward compatibility."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
from decision_reader import RefusedError, read_decision
from jsonschema import Draft202012Validator
from schema_diff import breaking_changes

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "contract"
FROZEN = ("observation", "decision")
NAMES = (*FROZEN, "conformance-report", "record", "suite")
FROZEN_SHA256 = {
    "observation": "15e432fc935ace03f566c409160607ae3a5fc56f75b3fc199c311f23d24ba2b5",
    "decision": "706170e2c1bde457ed7c2cfebcfaf9529f1932b08e747978372025cd772c7a5f",
}


def load(path: str) -> Any:
    return json.loads((CONTRACT / path).read_text(encoding="utf-8"))


SCHEMAS = {name: load(f"{name}.schema.json") for name in NAMES}
VALIDATORS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
NEGATIVE = [case for kit in ("conformance", "conformance/v1.1") for case in load(f"{kit}/negative.json")]
POSITIVE = [case for kit in ("conformance", "conformance/v1.1") for case in load(f"{kit}/positive.json")]
FIXTURES = [
    load(f"conformance/{path.name}")
    for path in sorted((CONTRACT / "conformance").glob("*.json"))
    if path.stem not in {"negative", "positive"}
]
ERRORS = load("errors.json")
KINDS = ("decision", "array", "env", "data", "config", "record", "agent", "infrastructure", "session")
PAGE = (CONTRACT / "README.md").read_text(encoding="utf-8")


def by_name(case: dict[str, Any]) -> str:
    return case["name"]


# The schemas


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_json_schema_2020_12(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMAS[name]["$id"] == f"https://openoutcry.dev/contract/v1/{name}.schema.json"


@pytest.mark.parametrize("name", NAMES)
def test_every_message_object_is_closed_and_every_field_described(name: str) -> None:
    schema = SCHEMAS[name]
    for message in (schema, *schema["$defs"].values()):
        assert message["additionalProperties"] is False
        for field in (message, *message["properties"].values()):
            assert field["title"]
            assert field["description"]


@pytest.mark.parametrize("name", NAMES)
def test_every_example_in_a_schema_validates(name: str) -> None:
    schema = SCHEMAS[name]
    for message in (schema, *schema["$defs"].values()):
        for part in (message, *message["properties"].values()):
            # An `$id` inside a wrapper would change the base of `#/$defs`.
            wrapped = {key: value for key, value in part.items() if key != "$id"} | {"$defs": schema["$defs"]}
            for example in part.get("examples", []):
                Draft202012Validator(wrapped).validate(example)


def test_the_optional_fields_of_a_decision_have_the_defaults_of_the_page() -> None:
    order = SCHEMAS["decision"]["$defs"]["Order"]
    assert order["required"] == ["symbol", "action", "target_weight"]
    assert SCHEMAS["decision"]["required"] == ["orders"]
    assert order["properties"]["confidence"]["default"] == 0.5
    assert order["properties"]["rationale"]["default"] == ""
    assert order["properties"]["at"]["default"] == "open"
    assert SCHEMAS["decision"]["properties"]["reasoning"]["default"] == ""


# The conformance kit


def test_the_kit_covers_every_situation_of_the_contract() -> None:
    assert {fixture["name"] for fixture in FIXTURES} >= {
        "empty_start",
        "single_symbol_with_a_position",
        "several_symbols_with_fundamentals_and_news",
        "legacy_decision_shape",
        "signed_short",
        "unknown_observation_field",
    }


@pytest.mark.parametrize("fixture", FIXTURES, ids=by_name)
def test_a_fixture_validates_or_states_that_it_does_not(fixture: dict[str, Any]) -> None:
    assert VALIDATORS["observation"].is_valid(fixture["observation"]) == fixture["validates"]
    assert ("ignore_unknown_fields" in fixture["agent_must"]) != fixture["validates"]
    listed = [view["symbol"] for view in fixture["observation"]["symbols"]]
    assert len(set(listed)) == len(listed)
    assert {position["symbol"] for position in fixture["observation"]["portfolio"]} <= set(listed)


@pytest.mark.parametrize("fixture", FIXTURES, ids=by_name)
def test_the_decisions_of_a_fixture_parse_as_stated(fixture: dict[str, Any]) -> None:
    listed = {view["symbol"] for view in fixture["observation"]["symbols"]}
    assert fixture["decisions"]
    for case in fixture["decisions"]:
        assert read_decision(case["decision"]) == case["parsed"]
        assert {order["symbol"] for order in case["parsed"]["orders"]} <= listed


@pytest.mark.parametrize("fixture", FIXTURES, ids=by_name)
def test_every_requirement_for_agents_is_defined_on_the_page(fixture: dict[str, Any]) -> None:
    assert {f"`{duty}`" for duty in fixture["agent_must"]} <= set(re.findall(r"^\| (`\w+`) \|", PAGE, re.MULTILINE))


@pytest.mark.parametrize("case", POSITIVE, ids=by_name)
def test_an_accepted_decision_parses_as_stated(case: dict[str, Any]) -> None:
    assert read_decision(case["decision"]) == case["parsed"]


@pytest.mark.parametrize("case", NEGATIVE, ids=by_name)
def test_a_refused_decision_is_refused_with_its_slug(case: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refusal:
        read_decision(case["decision"])
    assert refusal.value.slug == case["slug"]


def test_case_names_of_the_kit_are_unique() -> None:
    names = [case["name"] for case in (*POSITIVE, *NEGATIVE, *FIXTURES)]
    assert len(set(names)) == len(names)


def test_every_decision_slug_has_a_negative_case() -> None:
    assert {case["slug"] for case in NEGATIVE} == {
        error["slug"] for error in ERRORS["errors"] if error["kind"] == "decision"
    }


def test_the_cases_of_1_1_use_fields_that_1_0_refuses() -> None:
    frozen = Draft202012Validator(load("frozen/v1.0/decision.schema.json"))
    accepted = load("conformance/v1.1/positive.json")
    assert [case["name"] for case in accepted if frozen.is_valid(json.loads(case["decision"]))] == []
    assert all(VALIDATORS["decision"].is_valid(json.loads(case["decision"])) for case in accepted)


# Slugs and events


def test_the_version_is_one() -> None:
    assert (CONTRACT / "VERSION").read_text(encoding="utf-8") == ERRORS["contract_version"] + "\n"


def test_slugs_are_unique() -> None:
    slugs = [entry["slug"] for entry in ERRORS["errors"] + ERRORS["events"]]
    assert len(set(slugs)) == len(slugs)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", slug) for slug in slugs)


@pytest.mark.parametrize("error", ERRORS["errors"], ids=lambda error: error["slug"])
def test_an_error_states_what_is_required_and_what_was_received(error: dict[str, Any]) -> None:
    assert error["kind"] in KINDS
    assert all(error["message"].partition("; received "))
    assert not error["message"].endswith(".")
    template = "".join(
        re.escape(text) + (".*" if field is not None else "")
        for text, field, _, _ in string.Formatter().parse(error["message"])
    )
    assert re.fullmatch(template, error["example"]["message"])
    assert error["example"]["given"]


@pytest.mark.parametrize("error", [e for e in ERRORS["errors"] if e["kind"] == "decision"], ids=lambda e: e["slug"])
def test_the_example_of_a_decision_error_is_refused_with_its_slug(error: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refusal:
        read_decision(error["example"]["given"])
    assert refusal.value.slug == error["slug"]


@pytest.mark.parametrize("event", ERRORS["events"], ids=lambda event: event["slug"])
def test_the_example_of_an_event_has_its_fields_and_a_documented_reason(event: dict[str, Any]) -> None:
    assert event["severity"] in {"info", "block"}
    example = dict(event["example"])
    assert example.pop("slug") == event["slug"]
    required = {name for name, field in event["fields"].items() if field["required"]}
    assert required <= example.keys() <= event["fields"].keys()
    for name, value in example.items():
        assert isinstance(value, {"string": str, "number": (int, float)}[event["fields"][name]["type"]])
    assert ("reason" in event["fields"]) == bool(event["reasons"])
    assert example.get("reason") in (event["reasons"] or [None])


def test_limits_and_losses_are_not_breaches_of_process() -> None:
    assert {event["slug"] for event in ERRORS["events"] if event["severity"] == "block"} == set()


# The page


def test_the_page_names_every_decision_slug_event_field_and_reason() -> None:
    words = {error["slug"] for error in ERRORS["errors"] if error["kind"] in {"decision", "array"}}
    for event in ERRORS["events"]:
        words |= {event["slug"], *event["fields"], *event["reasons"]}
    assert {word for word in words if f"`{word}`" not in PAGE} == set()


def test_the_page_starts_with_the_timeline_and_numbers_its_fifteen_steps() -> None:
    assert re.findall(r"^## (.*)", PAGE, re.MULTILINE)[0] == "1. The bar timeline"
    steps = PAGE[PAGE.index("### 1.4") : PAGE.index("### 1.5")]
    assert re.findall(r"^(\d+)\. ", steps, re.MULTILINE) == [str(n) for n in range(1, 16)]


def test_the_fill_hash_of_the_page_follows_its_definition() -> None:
    key = hashlib.sha256(b"openoutcry/fill-key/v1\0" + (7).to_bytes(8, "little")).digest()
    digest = hashlib.sha256(b"openoutcry/fill/v1\0" + key + (20).to_bytes(8, "little") + b"AAA").digest()
    u = (int.from_bytes(digest[:8], "little") >> 11) * 2.0**-53
    assert f"For seed 7, bar 20, symbol `AAA`: u = {u!r}." in PAGE


def test_the_worked_example_of_the_page_adds_up() -> None:
    shares = 0.5 * 1 / 100
    fill = 101 * (1 + 5 / 10_000)
    cash = 1 - (shares * fill + 10 / 10_000 * shares * fill)
    nav = cash + shares * 102
    for value in (shares, fill, cash, nav, nav - 1):
        assert f"= {round(value, 12)!r}" in PAGE


@pytest.mark.parametrize("fixture", FIXTURES, ids=by_name)
def test_the_agent_of_the_docs_conforms(fixture: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}
    docs = (ROOT / "docs/contract.md").read_text(encoding="utf-8")
    exec(re.findall(r"```python\n(.*?)```", docs, re.DOTALL)[0], scope)
    decision = read_decision(json.dumps(scope["decide"](fixture["observation"])))
    named = [order["symbol"] for order in decision["orders"]]
    assert len(set(named)) == len(named)
    assert set(named) <= {view["symbol"] for view in fixture["observation"]["symbols"]}


def test_the_messages_in_the_docs_belong_together() -> None:
    docs = (ROOT / "docs/contract.md").read_text(encoding="utf-8")
    observation, decision = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", docs, re.DOTALL))
    VALIDATORS["observation"].validate(observation)
    scope: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", docs, re.DOTALL)[0], scope)
    assert scope["decide"](observation) == decision


# Backward compatibility


@pytest.mark.parametrize("name", FROZEN)
def test_the_schema_is_compatible_with_the_frozen_one(name: str) -> None:
    assert breaking_changes(load(f"frozen/v1.0/{name}.schema.json"), SCHEMAS[name]) == []


@pytest.mark.parametrize("name", FROZEN)
def test_the_frozen_schema_is_the_one_released(name: str) -> None:
    content = (CONTRACT / f"frozen/v1.0/{name}.schema.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == FROZEN_SHA256[name]


def test_no_frozen_slug_event_field_or_reason_was_removed() -> None:
    frozen, events = load("frozen/v1.0/slugs.json"), {event["slug"]: event for event in ERRORS["events"]}
    assert set(frozen["errors"]) <= {error["slug"] for error in ERRORS["errors"]}
    for slug, event in frozen["events"].items():
        assert set(event["fields"]) <= set(events[slug]["fields"])
        assert set(event["reasons"]) <= set(events[slug]["reasons"])


BREAKING = {
    "removed_field": ("observation", "del d['Position']['properties']['avg_price']"),
    "removed_optional_field": ("observation", "del d['SymbolView']['properties']['news']"),
    "removed_top_field": ("decision", "del p['reasoning']"),
    "renamed_field": ("decision", "p['comment'] = p.pop('reasoning')"),
    "removed_definition": ("decision", "del d['Order']"),
    "retyped_field": ("decision", "d['Order']['properties']['target_weight']['type'] = 'string'"),
    "retyped_to_integer": ("decision", "d['Order']['properties']['target_weight']['type'] = 'integer'"),
    "made_nullable": ("decision", "d['Order']['properties']['confidence']['type'] = ['number', 'null']"),
    "retyped_items": ("observation", "d['SymbolView']['properties']['close_history']['items'] = {}"),
    "retyped_news": ("observation", "d['SymbolView']['properties']['news']['items'] = {'type': 'object'}"),
    "untyped": ("observation", "del p['cash']['type']"),
    "optional_to_required": ("decision", "d['Order']['required'].append('confidence')"),
    "new_required_field": ("decision", "p['id'] = {'type': 'string'}; s['required'].append('id')"),
    "required_to_optional": ("observation", "s['required'].remove('cash')"),
    "added_action": ("decision", "d['Order']['properties']['action']['enum'].append('short')"),
    "removed_action": ("decision", "d['Order']['properties']['action']['enum'].remove('hold')"),
    "renamed_action": ("decision", "d['Order']['properties']['action']['enum'][0] = 'BUY'"),
    "dropped_enum": ("decision", "del d['Order']['properties']['action']['enum']"),
    "narrowed_bound": ("decision", "d['Order']['properties']['confidence']['maximum'] = 0.9"),
    "new_bound": ("decision", "d['Order']['properties']['target_weight']['maximum'] = 1"),
    "new_length_bound": ("decision", "p['reasoning']['maxLength'] = 1000"),
    "new_count_bound": ("decision", "p['orders']['minItems'] = 1"),
    "dropped_bound": ("observation", "del d['Position']['properties']['avg_price']['exclusiveMinimum']"),
    "narrowed_pattern": ("observation", "p['date']['pattern'] = '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'"),
    "changed_default": ("decision", "d['Order']['properties']['confidence']['default'] = 1"),
    "changed_id": ("decision", "s['$id'] = s['$id'].replace('v1', 'v2')"),
    "opened_object": ("decision", "s['additionalProperties'] = True"),
    "opened_by_omission": ("decision", "del d['Order']['additionalProperties']"),
    "closed_object": ("observation", "d['SymbolView']['properties']['fundamentals']['additionalProperties'] = False"),
    "pointed_elsewhere": ("observation", "p['portfolio']['items'] = {'$ref': '#/$defs/SymbolView'}"),
    "constrained_by_an_old_field": ("decision", "s['dependentSchemas'] = {'reasoning': {'minProperties': 2}}"),
    "dropped_constraint": ("decision", "del d['Order']['dependentSchemas']['at']"),
    "narrowed_constraint": (
        "decision",
        "d['Order']['dependentSchemas']['at']['properties']['action']['enum'].remove('close')",
    ),
    "constrained_by_another_keyword": ("decision", "s['not'] = {'required': ['reasoning']}"),
}

ADDITIVE = {
    "new_optional_top_field": ("decision", "p['tags'] = {'type': 'array', 'items': {'type': 'string'}}"),
    "new_optional_order_field": ("decision", "d['Order']['properties']['horizon'] = {'type': 'integer'}"),
    "new_optional_order_field_with_a_constraint": (
        "decision",
        "d['Order']['properties']['horizon'] = {'type': 'integer'};"
        " d['Order']['dependentSchemas']['horizon'] = {'required': ['confidence']}",
    ),
    "new_optional_symbol_field": ("observation", "d['SymbolView']['properties']['sector'] = {'type': 'string'}"),
    "new_optional_object_with_required_fields": (
        "observation",
        "p['costs'] = {'$ref': '#/$defs/C'}; d['C'] = {'type': 'object', 'required': ['fee_bps']}",
    ),
    "new_unused_definition": ("decision", "d['Later'] = {'type': 'object'}"),
    "better_description": ("decision", "p['orders']['description'] = 'Clearer.'"),
    "another_example": ("decision", "s['examples'].append({'orders': [], 'reasoning': 'flat'})"),
    "marked_deprecated": ("decision", "p['reasoning']['deprecated'] = True"),
    "reordered_action_values": ("decision", "d['Order']['properties']['action']['enum'].reverse()"),
    "field_named_like_a_keyword": ("observation", "p['title'] = {'type': 'string'}"),
}


def planted(name: str, edit: str) -> list[str]:
    """Return the breaking changes of a schema after `edit`: `s` is the schema, `p` its properties, `d` its `$defs`."""
    schema = copy.deepcopy(SCHEMAS[name])
    exec(edit, {"s": schema, "d": schema["$defs"], "p": schema["properties"]})
    assert schema != SCHEMAS[name]
    return breaking_changes(SCHEMAS[name], schema)


@pytest.mark.parametrize(("name", "edit"), BREAKING.values(), ids=BREAKING)
def test_a_planted_breaking_change_is_detected(name: str, edit: str) -> None:
    assert planted(name, edit)


@pytest.mark.parametrize(("name", "edit"), ADDITIVE.values(), ids=ADDITIVE)
def test_a_planted_additive_change_passes(name: str, edit: str) -> None:
    assert planted(name, edit) == []
