"""The bodies that the documentation shows are those of the OpenAPI document, each of them once, and true."""

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
    """Return the bodies of the page, by the name that stands before each."""
    found = dict[str, Any]()
    for match in BLOCK.finditer(PAGE):
        name = re.findall(r"`([A-Z][A-Za-z]+)`", PAGE[: match.start()])[-1]
        assert name not in found, name
        found[name] = json.loads(match[1])
    return found


def test_every_body_that_the_document_names_is_shown_and_valid(ground: Floor) -> None:
    """R-03, R-08, R-17, R-21, R-28, R-31, R-33, R-36: with every member, and none that is not there."""
    document = Contract(ground.client.get("/openapi.json").json()).document
    routes = [operation for told in document["paths"].values() for operation in told.values()]
    bodies = [{"requestBody": each.get("requestBody"), "responses": each["responses"]} for each in routes]
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(bodies)))
    found = shown()
    assert set(found) == named
    for name, body in found.items():
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        Draft202012Validator(schema).validate(body)


def test_the_receipt_that_is_shown_verifies() -> None:
    """R-42: and so does the proof, which is of the same record."""
    found = shown()
    named = re.search(r"`(openoutcry\.arena/local\+\S+)`", PAGE)
    assert named is not None
    key = verifier.parse_key(named[1])
    verifier.check_receipt(found["Receipt"], key)
    proof = found["ProofBody"]
    assert json.loads(proof["record"]) == found["Receipt"]["record"]
    verifier.check_receipt(proof | {"record": json.loads(proof["record"])}, key)


def test_the_files_that_a_command_takes_are_shown_and_taken() -> None:
    """Decisions to submit, and the plan of a live season."""
    decisions, plan = BLOCK.findall((DOCS / "arena.md").read_text(encoding="utf-8"))
    assert len(TypeAdapter(list[DecisionBody]).validate_json(decisions)) == 2
    told = json.loads(plan)
    assert read_plan(plan.encode()) == Plan(told["feeds"], tuple(told["series"]), told["query"])
