"""Find breaking changes of a JSON Schema, by the rules of GOVERNANCE.md."""

from __future__ import annotations

from typing import Any

_WORDING = {"title", "description", "examples", "$comment", "deprecated"}
_NAMED_SCHEMAS = {"properties", "$defs"}
_ABSENT = object()


def breaking_changes(old: Any, new: Any, at: str = "$") -> list[str]:
    """Return one line per breaking change. New optional fields and descriptions are not breaking.

    A constraint that depends on a new field is not breaking. Unknown keywords are compared for equality, so any other
    new kind of constraint is breaking.
    """
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [] if old == new else [f"{at}: changed from {old!r} to {new!r}"]
    found = []
    for keyword in sorted((old.keys() | new.keys()) - _WORDING):
        before, after = old.get(keyword, _ABSENT), new.get(keyword, _ABSENT)
        path = f"{at}.{keyword}"
        if keyword in _NAMED_SCHEMAS:
            found += _member_changes(before, after, path)
        elif keyword == "dependentSchemas":
            found += _dependent_changes(before, after, path, old.get("properties", {}))
        elif keyword == "required":
            found += _required_changes(before, after, path)
        elif keyword == "enum" and before is not _ABSENT and after is not _ABSENT:
            if sorted(map(repr, before)) != sorted(map(repr, after)):
                found.append(f"{path}: changed from {before!r} to {after!r}")
        elif before is _ABSENT:
            found.append(f"{path}: added as {after!r}")
        elif after is _ABSENT:
            found.append(f"{path}: removed, was {before!r}")
        else:
            found += breaking_changes(before, after, path)
    return found


def _member_changes(old: Any, new: Any, at: str) -> list[str]:
    old, new = ({} if side is _ABSENT else side for side in (old, new))
    found = []
    for name, schema in old.items():
        found += breaking_changes(schema, new[name], f"{at}.{name}") if name in new else [f"{at}.{name}: removed"]
    return found


def _dependent_changes(old: Any, new: Any, at: str, old_fields: dict[str, Any]) -> list[str]:
    old, new = ({} if side is _ABSENT else side for side in (old, new))
    names = sorted(name for name in new.keys() - old.keys() if name in old_fields)
    return [f"{at}.{name}: added as {new[name]!r}" for name in names] + _member_changes(old, new, at)


def _required_changes(old: Any, new: Any, at: str) -> list[str]:
    old, new = (set() if side is _ABSENT else set(side) for side in (old, new))
    now_required = [f"{at}: `{name}` is now required" for name in sorted(new - old)]
    return now_required + [f"{at}: `{name}` is no longer sure to be there" for name in sorted(old - new)]
