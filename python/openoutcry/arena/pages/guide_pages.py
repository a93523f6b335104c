"""The API page: the operations of the OpenAPI document."""

from __future__ import annotations

from typing import Any

_METHODS = ("get", "post", "put", "patch", "delete")


def operations_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the operations of an OpenAPI document with their parameters and statuses."""
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": operation.get("description") or operation.get("summary", ""),
            "parameters": [each["name"] for each in operation.get("parameters", ())],
            "statuses": sorted(operation["responses"]),
        }
        for path, operations in sorted(document["paths"].items())
        for method, operation in operations.items()
        if method in _METHODS
    ]
