"""Deduplication of generated strategies.

`normalised` hashes a source without comments, docstrings, layout, and the names of its class, functions and variables,
so that a renamed copy is no new trial.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from typing import Any

# AST fields that differ between Python versions or have no effect on behaviour.
_LEFT_OUT = {"ctx", "kind", "type_comment", "type_ignores", "type_params", "returns", "annotation", "simple"}
_DOMAIN = b"openoutcry/strategy-source/v1\0"


def normalised(tree: ast.Module) -> str:
    """Return the hash of the normalised source, in hexadecimal."""
    text = json.dumps(_plain(tree, _Names(tree)), separators=(",", ":"))
    return hashlib.sha256(_DOMAIN + text.encode()).hexdigest()


def normalised_tokens(tree: ast.Module) -> list[str]:
    """Return the normalised source, which is hashed, as a sequence of tokens."""
    return list(_flat(_plain(tree, _Names(tree))))


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
        yield "]"
    else:
        yield str(value)


class _Names:
    """Names that a source binds, numbered in the order of occurrence."""

    def __init__(self, tree: ast.Module) -> None:
        members = {name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for name in _members(node)}
        self._bound = {name for node in ast.walk(tree) for name in _binds(node)} - members
        self._numbers: dict[str, int] = {}

    def label(self, name: str) -> Any:
        if name not in self._bound:
            return name
        return self._numbers.setdefault(name, len(self._numbers))


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names of class members, which stay unchanged."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            yield each.name
        for target in each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]:
            if isinstance(target, ast.Name):
                yield target.id


def _binds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name


def _plain(node: Any, names: _Names) -> Any:
    if isinstance(node, ast.Constant):
        return ["Constant", type(node.value).__name__, repr(node.value)]
    if isinstance(node, ast.Name):
        return ["Name", names.label(node.id)]
    if isinstance(node, ast.arg):
        return ["arg", names.label(node.arg)]
    if isinstance(node, ast.alias):
        return ["alias", node.name, names.label(node.asname or node.name)]
    if isinstance(node, ast.AST):
        found: list[Any] = [type(node).__name__]
        for field, value in ast.iter_fields(node):
            if field in _LEFT_OUT or value is None or value == []:
                continue
            if field == "name" and isinstance(value, str):
                found.append([field, names.label(value)])
            elif field == "body" and isinstance(value, list):
                found.append([field, _plain(_without_docstring(value), names)])
            else:
                found.append([field, _plain(value, names)])
        return found
    if isinstance(node, list):
        return [_plain(each, names) for each in node]
    return repr(node)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements without string expressions, which have no effect."""
    return [
        each
        for each in body
        if not (
            isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        )
    ]
