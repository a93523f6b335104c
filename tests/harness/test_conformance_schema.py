"""The JSON schema of conformance reports, and its validation."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from conformance_agents import report_of
from jsonschema import Draft202012Validator

from openoutcry import openoutcry_py as native
from openoutcry.harness.conformance.json_schema import KEYWORDS, first_schema_error

pytestmark = pytest.mark.once

SCHEMA = json.loads(native.CONFORMANCE_REPORT_SCHEMA)
DESCRIBING = {"$schema", "$id", "$defs", "title", "description", "examples"}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and its subschemas."""
    yield schema
    inside = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for each in [*inside, *([schema["items"]] if "items" in schema else [])]:
        yield from parts(each)


def test_the_report_schema_uses_only_supported_keywords() -> None:
    for each in parts(SCHEMA):
        assert set(each) <= KEYWORDS | DESCRIBING
        assert each.get("pattern", "^$")[0] + each.get("pattern", "^$")[-1] == "^$"
        assert ("properties" in each) == (each.get("additionalProperties") is False)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a report."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield from places(each, (*path, name))


def at(report: dict[str, Any], path: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return a copy of a report, and the value at a path in it."""
    mutant = found = copy.deepcopy(report)
    for name in path:
        found = found[name]
    return mutant, found


def mutants(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies of a report with one value replaced, removed or added."""
    for path in [(), *places(report)]:
        mutant, found = at(report, path)
        if isinstance(found, dict):
            found["surprise"] = 1
            yield mutant
    for *path, name in places(report):
        for value in (None, True, -1, 1.5, 10**30, "x", "0" * 64, [7], {}):
            mutant, found = at(report, tuple(path))
            found[name] = value
            yield mutant
        mutant, found = at(report, tuple(path))
        del found[name]
        yield mutant


def test_schema_validation_agrees_with_jsonschema() -> None:
    validator = Draft202012Validator(SCHEMA)
    report = report_of("passed")
    report["signature"] = {"algorithm": "ed25519", "public_key": "0" * 64, "signature": "0" * 128}
    report["checks"] = [report_of("failed")["checks"][2]]
    assert first_schema_error(report, SCHEMA, SCHEMA) is None
    found = [(mutant, first_schema_error(mutant, SCHEMA, SCHEMA)) for mutant in mutants(report)]
    for mutant, wrong in found:
        assert (wrong is None) == validator.is_valid(mutant), (wrong, mutant)
    assert sum(wrong is not None for _, wrong in found) > 400
