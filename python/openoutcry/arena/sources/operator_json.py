"""JSON of an operator or of this package, whose members are of their kinds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openoutcry.arena.protocol import shown
from openoutcry.arena.snapshots.item_kinds import SnapshotError

_KINDS: dict[type, str] = {str: "a text", int: "a whole number", dict: "an object", list: "a list", type(None): "null"}


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the object of a file.

    Raises:
        SnapshotError: It holds no JSON, or another value.
    """
    try:
        told = json.loads(raw)
    except json.JSONDecodeError as error:
        came = f"what ends to be JSON at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        came = "bytes that are no text, or too deep"
    else:
        if isinstance(told, dict):
            return told
        came = shown(told)
    raise SnapshotError(f"an object in JSON is required; received {came}")


def member(told: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """Return a member; one that may be null may also be missing.

    Raises:
        SnapshotError: It is missing, or of another kind.
    """
    value = told.get(name)
    if not isinstance(value, kinds) or isinstance(value, bool):
        wanted = " or ".join(_KINDS[each] for each in kinds)
        raise SnapshotError(f"`{name}` must be {wanted}; received {shown(value) if name in told else 'none'}")
    return value


def text_members(told: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a member that holds texts alone: a list, or an object by any names.

    Raises:
        SnapshotError: It is missing, or of another kind.
    """
    value = member(told, name, kind)
    for each in value.values() if isinstance(value, dict) else value:
        if not isinstance(each, str):
            raise SnapshotError(f"`{name}` must hold texts; received {shown(each)}")
    return value
