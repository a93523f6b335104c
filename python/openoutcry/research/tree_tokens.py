"""Syntax trees as sequences of tokens, for their description length.

A coined name is a token of its recency, so that a renamed copy has the same tokens. The value of a constant is left
out, since `source_information` counts it as a literal; so are docstrings, comments and layout.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from openoutcry.research.runnable_source import coined_names, is_text_statement

_LEFT_OUT = {"ctx", "kind", "type_comment", "type_ignores", "simple"}


@dataclass
class TreeTokens:
    """The tokens of a syntax tree.

    Attributes:
        tokens: The tokens, in the order of the source.
        spans: First token of each node and the token after its last, by the `id` of the node.
    """

    tokens: list[str] = field(default_factory=list)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)


def tokens_of(tree: ast.Module, params: Collection[str] = ()) -> TreeTokens:
    """Return the tokens of a source.

    Args:
        tree: The source.
        params: Names of its parameters, which stay.
    """
    writer = _Writer(coined_names(tree, params).all)
    writer.add(tree)
    return writer.written


class _Writer:
    def __init__(self, coined: Collection[str]) -> None:
        self.written = TreeTokens()
        self._coined = set(coined)
        self._recent: list[str] = []

    def add(self, node: ast.AST) -> None:
        start = len(self.written.tokens)
        self._write(type(node).__name__)
        if isinstance(node, ast.Constant):
            self._write(type(node.value).__name__)
        else:
            for name, value in ast.iter_fields(node):
                if name not in _LEFT_OUT:
                    self._field(name, value)
        self.written.spans[id(node)] = start, len(self.written.tokens)

    def _field(self, name: str, value: Any) -> None:
        if isinstance(value, ast.AST):
            self.add(value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, ast.AST) and not is_text_statement(each):
                    self.add(each)
                elif not isinstance(each, ast.AST):
                    self._write("-" if each is None else self._name(str(each)))
            self._write("]")
        elif isinstance(value, str):
            self._write(self._name(value))
        else:
            self._write("-" if value is None else f"{name}={value}")

    def _write(self, token: str) -> None:
        self.written.tokens.append(token)

    def _name(self, name: str) -> str:
        if name not in self._coined:
            return f".{name}"
        known = self._recent
        place = known.index(name) if name in known else None
        if place is not None:
            known.pop(place)
        known.insert(0, name)
        return "new" if place is None else f"#{place}"
