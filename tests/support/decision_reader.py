"""A reader of decisions that uses the schema only, independent of the parser of the engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

SCHEMA = Path(__file__).resolve().parents[2] / "contract" / "decision.schema.json"
VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


class RefusedError(Exception):
    """A decision text that the contract refuses."""

    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        self.slug = slug


def read_decision(text: str) -> dict[str, Any]:
    """Return the decision with its defaults, or raise `RefusedError`."""

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(pairs) != len(dict(pairs)):
            raise RefusedError("duplicate_field")
        return dict(pairs)

    def number(literal: str) -> float:
        value = float(literal)
        if abs(value) == float("inf"):
            raise RefusedError("bad_json")
        return value

    def constant(_: str) -> None:
        raise RefusedError("bad_json")

    decoder = json.JSONDecoder(object_pairs_hook=fields, parse_float=number, parse_int=number, parse_constant=constant)
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = decoder.raw_decode(text, start)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError as error:
        raise RefusedError("bad_json") from error
    faults = sorted(VALIDATOR.iter_errors(value), key=reading_order)
    if faults:
        raise RefusedError(slug_of(faults[0]))
    if text[end:].strip(" \t\r\n"):
        raise RefusedError("bad_json")
    orders = [{"confidence": 0.5, "rationale": ""} | order for order in value["orders"]]
    for order in orders:
        if order.get("at") == "open":
            del order["at"]
    return {"reasoning": ""} | value | {"orders": orders}


def is_conflict(fault: ValidationError) -> bool:
    return "dependentSchemas" in fault.absolute_schema_path


def reading_order(fault: ValidationError) -> tuple[bool, int, bool]:
    # A missing field is detected at the end of its object, and a conflict of fields after it.
    return is_conflict(fault), len(fault.absolute_path), fault.validator == "required"


def slug_of(fault: ValidationError) -> str:
    field = fault.absolute_path[-1] if fault.absolute_path else None
    if is_conflict(fault):
        return "conflicting_fields"
    if fault.validator == "enum" and field == "at":
        return "unknown_time"
    if fault.validator in {"minimum", "maximum"} and field != "confidence":
        return "order_price_invalid"
    return {
        "additionalProperties": "unknown_field",
        "required": "missing_field",
        "type": "wrong_type",
        "enum": "unknown_action",
        "minimum": "confidence_out_of_range",
        "maximum": "confidence_out_of_range",
    }[str(fault.validator)]
