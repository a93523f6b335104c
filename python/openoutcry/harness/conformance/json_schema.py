"""A validator for the subset of JSON Schema that the report schema uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from openoutcry.harness.conformance.decision_rules import ascii_excerpt

Schema = Mapping[str, Any]

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "null": lambda value: value is None,
    "number": lambda value: _is_number(value),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
KEYWORDS = frozenset(
    {"$ref", "additionalProperties", "const", "enum", "exclusiveMinimum", "items"}
    | {"minimum", "pattern", "properties", "required", "type"}
)
"""Keywords that are validated; every other keyword in the schema is descriptive."""


def first_schema_error(value: Any, schema: Schema, root: Schema, place: str = "") -> str | None:
    """Return the first violation of a schema by a value; None if the value is valid.

    Args:
        value: The value.
        schema: The schema, which uses `KEYWORDS` only, patterns from `^` to `$`, and closed objects.
        root: The schema whose `$defs` are referenced.
        place: Path of the value, such as `checks[2].state`.
    """
    if "$ref" in schema:
        return first_schema_error(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, place)
    wanted = _wanted(value, schema)
    if wanted is not None:
        received = f"'{ascii_excerpt(value, 100)}'" if isinstance(value, str) else ascii_excerpt(repr(value), 100)
        return f"`{place}` {received}, where {wanted} is known" if place else "a value that is not an object"
    if isinstance(value, dict):
        return _of_object(value, schema, root, place)
    if isinstance(value, list):
        items = (first_schema_error(each, schema["items"], root, f"{place}[{i}]") for i, each in enumerate(value))
        return next((each for each in items if each is not None), None)
    return None


def _of_object(value: Mapping[str, Any], schema: Schema, root: Schema, place: str) -> str | None:
    where = f"{place}." if place else ""
    for name in schema.get("required", ()):
        if name not in value:
            return f"no `{where}{name}`"
    for name, each in value.items():
        if name not in schema["properties"]:
            return f"the unknown field `{where}{ascii_excerpt(name, 60)}`"
        if found := first_schema_error(each, schema["properties"][name], root, f"{where}{name}"):
            return found
    return None


def _wanted(value: Any, schema: Schema) -> str | None:
    """Return what is required of a value, without its parts; None if it is met."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_TYPES[each](value) for each in types):
        return " or ".join(types)
    known = [schema["const"]] if "const" in schema else schema.get("enum")
    if known is not None and value not in known:
        return " or ".join(f"`{each}`" for each in known)
    if isinstance(value, str) and "pattern" in schema and not re.fullmatch(schema["pattern"][1:-1], value):
        return f"text that matches {schema['pattern']}"
    if _is_number(value):
        if "minimum" in schema and value < schema["minimum"]:
            return f"a number of at least {schema['minimum']}"
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            return f"a number above {schema['exclusiveMinimum']}"
    return None


def _is_number(value: Any) -> bool:
    # In Python `bool` is a subclass of `int`.
    return isinstance(value, int | float) and not isinstance(value, bool)
