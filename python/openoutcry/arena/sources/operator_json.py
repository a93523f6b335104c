"""Parsing of JSON files with required fields of given types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openoutcry.arena.protocol import shown
from openoutcry.arena.snapshots.item_kinds import SnapshotError

_KINDS: dict[type, str] = {str: "a string", int: "an integer", dict: "an object", list: "a list", type(None): "null"}


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        SnapshotError: The bytes are not JSON, or not an object.
    """
    try:
        fields = json.loads(raw)
    except json.JSONDecodeError as error:
        received = f"invalid JSON at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        received = "bytes that are not UTF-8, or nested too deeply"
    else:
        if isinstance(fields, dict):
            return fields
        received = shown(fields)
    raise SnapshotError(f"a JSON object is required; received {received}")


def member(fields: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """Return a field of given types; a nullable field may be missing.

    Raises:
        SnapshotError: The field is missing or has another type.
    """
    value = fields.get(name)
    if not isinstance(value, kinds) or isinstance(value, bool):
        wanted = " or ".join(_KINDS[each] for each in kinds)
        raise SnapshotError(f"`{name}` must be {wanted}; received {shown(value) if name in fields else 'none'}")
    return value


def text_members(fields: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a field that is a list of strings, or an object with string values.

    Raises:
        SnapshotError: The field is missing or has another type.
    """
    value = member(fields, name, kind)
    for each in value.values() if isinstance(value, dict) else value:
        if not isinstance(each, str):
            raise SnapshotError(f"`{name}` must hold strings; received {shown(each)}")
    return value
