"""Identity of strategies, code and trials, as hashes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

from openoutcry.backtest.strategies import from_json
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.chained_lines import canonical

_CODE = ("normalised", "code")
_SHA = re.compile("[0-9a-f]{64}")


def digest_of(name: str, value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hex."""
    return sha256(canonical(name, value).encode()).hexdigest()


def strategy_id(strategy: Mapping[str, Any]) -> str:
    """Return the ID of a strategy, independent of the order of its keys; 1 equals 1.0."""
    if not isinstance(strategy, Mapping) or not strategy:
        raise refusal("argument_invalid", f"`strategy` must be an object with a member; received {strategy!r}")
    return digest_of("strategy", strategy)


def full_definition(strategy: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the definition of a library strategy with all parameters.

    Other definitions are returned unchanged.

    A run, a sweep and a trial of research therefore have one identity. `{"name": ...}` is not such a definition: it is
    a baseline, or a label of the user, which does not determine decisions.
    """
    if not {"strategy"} <= set(strategy) <= {"strategy", "params"}:
        return strategy
    try:
        return from_json(strategy).to_json()
    except OpenOutcryError:
        # Of another version of the library, or of the user.
        return strategy


def code_of(strategy: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name and the value of the hash of code in a definition, or None.

    Research and `code_strategy` normalize a source in their own ways.
    """
    for member in _CODE:
        if isinstance(found := strategy.get(member), str) and _SHA.fullmatch(found):
            return member, found
    return None


def is_same_strategy(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two definitions are one strategy.

    The parameters of code do not matter: research tunes them in each fold, so that the file of a candidate has the last
    ones and its trial the proposed ones.
    """
    code = code_of(one)
    if code is not None:
        return code == code_of(other)
    return strategy_id(full_definition(one)) == strategy_id(full_definition(other))


@lru_cache(4096)
def alias_of(strategy_sha: str, text: str) -> tuple[str, str]:
    """Return ID and JSON under which the index counts a strategy of the log.

    Lines of earlier versions may state a part of the parameters of a library strategy; they are never rewritten.

    Args:
        strategy_sha: The ID in the log.
        text: The strategy in the log, as JSON.
    """
    stated = json.loads(text)
    full = full_definition(stated) if isinstance(stated, Mapping) else stated
    # A wrong ID stays, for the index to refuse.
    if full == stated or strategy_id(stated) != strategy_sha:
        return strategy_sha, text
    return strategy_id(full), canonical("strategy", full)


def trial_key(
    strategy: Mapping[str, Any], fingerprint: str, window: tuple[str, str], rules: Mapping[str, Any], version: str
) -> str:
    """Return the key of a trial before it is run.

    Args:
        strategy: Complete definition of the strategy, with all parameter values.
        fingerprint: Fingerprint of the market.
        window: First and last date.
        rules: Costs, limits and other inputs of the results.
        version: Version of the engine.
    """
    body = {"strategy": strategy_id(strategy), "dataset": fingerprint, "window": list(window)}
    return digest_of("trial", body | {"rules": rules, "engine_version": version})


def code_strategy(source: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of a code strategy: a behavior hash and its parameters."""
    return {"code": code_identity(source)[0], "params": dict(params)}


def code_identity(source: str) -> tuple[str, str]:
    """Return hashes of the normalized syntax tree and of the text of Python source.

    The first ignores comments, docstrings, layout and the names of classes, functions and variables. Attributes,
    methods and names that the source does not define are kept.

    Raises:
        OpenOutcryError: `argument_invalid`: the source is not Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refusal(
            "argument_invalid", f"`source` must be Python; received {type(error).__name__}: {error}"
        ) from error
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
            without = body[1:] if _is_text(body[0]) else body
            node.body = without or [ast.Pass()]
    return sha256(ast.unparse(_Renamed(tree).visit(tree)).encode()).hexdigest(), sha256(source.encode()).hexdigest()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Renamed(ast.NodeTransformer):
    """Replaces names that a source defines by numbers, in order of appearance."""

    def __init__(self, tree: ast.Module) -> None:
        members = set(_members(tree))
        self._own = set(_defined(tree)) - members
        self._numbers: dict[str, str] = {}

    def _name(self, name: str) -> str:
        return self._numbers.setdefault(name, f"_{len(self._numbers)}") if name in self._own else name

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.name = self._name(node.name)
        elif isinstance(node, ast.Name):
            node.id = self._name(node.id)
        elif isinstance(node, (ast.arg, ast.keyword)) and node.arg is not None:
            node.arg = self._name(node.arg)
        return self.generic_visit(node)


def _members(tree: ast.Module) -> Iterator[str]:
    """Yield the names of class members, which other code may access."""
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef):
            for item in each.body:
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    yield item.name
                else:
                    yield from (name.id for name in ast.walk(item) if isinstance(name, ast.Name))


def _defined(tree: ast.Module) -> Iterator[str]:
    for each in ast.walk(tree):
        if isinstance(each, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield each.name
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.arg):
            yield each.arg
