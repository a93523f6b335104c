"""The documentation shows one valid example of every schema of the OpenAPI document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import Floor
from arena_openapi_client import Contract
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from openoutcry.arena import verifier
from openoutcry.arena.sources.source_plan import Plan, read_plan
from openoutcry.arena.submission_schema import DecisionBody

pytestmark = pytest.mark.once

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "arena-bodies.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```json\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown() -> dict[str, Any]:
    """Return the examples of the page by the schema name before each."""
    found = dict[str, Any]()
    for match in BLOCK.finditer(PAGE):
        name = re.findall(r"`([A-Z][A-Za-z]+)`", PAGE[: match.start()])[-1]
        assert name not in found, name
        found[name] = json.loads(match[1])
    return found


def test_every_schema_has_a_valid_example(ground: Floor) -> None:
    #
    """Examples have all members and no others."""
    document = Contract(ground.client.get("/openapi.json").json()).document
    routes = [operation for reply in document["paths"].values() for operation in reply.values()]
    bodies = [{"requestBody": each.get("requestBody"), "responses": each["responses"]} for each in routes]
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(bodies)))
    found = shown()
    assert set(found) == named
    for name, body in found.items():
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        Draft202012Validator(schema).validate(body)


def test_the_example_receipt_verifies() -> None:
    #
    """The example proof, for the same record, verifies too."""
    found = shown()
    named = re.search(r"`(openoutcry\.arena/local\+\S+)`", PAGE)
    assert named is not None
    key = verifier.parse_key(named[1])
    verifier.check_receipt(found["Receipt"], key)
    proof = found["ProofBody"]
    assert json.loads(proof["record"]) == found["Receipt"]["record"]
    verifier.check_receipt(proof | {"record": json.loads(proof["record"])}, key)


def test_the_example_input_files_of_commands_are_valid() -> None:
    """A file of decisions, and the plan of a live season."""
    decisions, plan = BLOCK.findall((DOCS / "arena.md").read_text(encoding="utf-8"))
    assert len(TypeAdapter(list[DecisionBody]).validate_json(decisions)) == 2
    reply = json.loads(plan)
    assert read_plan(plan.encode()) == Plan(reply["feeds"], tuple(reply["series"]), reply["query"])
