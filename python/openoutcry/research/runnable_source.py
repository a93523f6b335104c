"""The source that a worker receives: without text that no strategy needs.

Comments, docstrings and the names that a source coins could hold data, which code reads back: `__doc__` in a format
string, the fields of a dataclass, the message of a `NameError`. So could annotations, which a dataclass keeps. They are
removed or replaced before the source runs.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from openoutcry.research.library_names import library_names

_DOCSTRING = "A strategy."
_MARKERS = frozenset(["ClassVar", "InitVar", "KW_ONLY"])
"""Annotations that change a dataclass."""


@dataclass(frozen=True)
class RunnableSource:
    """A source as its worker receives it.

    Attributes:
        text: The source.
        names: The coined name of each name in `text` that replaces one.
    """

    text: str
    names: dict[str, str]

    def in_words_of_author(self, message: str) -> str:
        """Return a message of the worker with the names of the original source."""
        return re.sub(r"\bv\d+\b", lambda found: self.names.get(found.group(), found.group()), message)


def runnable_of(tree: ast.Module, kept: Collection[str] = ()) -> RunnableSource:
    """Return the source that a worker receives.

    Args:
        tree: A checked source.
        kept: Names that stay, such as those of parameters.
    """
    bound = coined_names(tree, kept)
    taken = set(_identifiers(tree))
    free = (f"v{number}" for number in range(1, 10**6) if f"v{number}" not in taken)
    renamed = dict(zip(bound.all, free, strict=False))
    copied = _Rewriter(renamed, bound).visit(copy.deepcopy(tree))
    return RunnableSource(ast.unparse(ast.fix_missing_locations(copied)), {new: old for old, new in renamed.items()})


@dataclass(frozen=True)
class Coined:
    """Names that a source coins, which can be replaced.

    Attributes:
        all: All of them, in the order of their first binding.
        members: Those of attributes, and in the bodies of classes.
        keywords: Those by which an argument is passed.
    """

    all: tuple[str, ...]
    members: frozenset[str]
    keywords: frozenset[str]


def coined_names(tree: ast.Module, kept: Collection[str] = ()) -> Coined:
    """Return the names that a source coins.

    They are bound in it, are no names of libraries, and occur in no string literal.
    """
    fixed = library_names() | set(kept) | _spelled(tree) | set(_imported(tree))
    everything = dict.fromkeys(name for node in ast.walk(tree) for name in _bound(node))
    members = {name for node in ast.walk(tree) for name in _members(node)}
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    free = [name for name in everything if name not in fixed and not name.startswith("__")]
    return Coined(tuple(free), frozenset(members & set(free)), frozenset((members | arguments) & set(free)))


def is_text_statement(node: ast.AST) -> bool:
    """Return whether a statement is a string: a docstring, or a comment in its form."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, renamed: dict[str, str], coined: Coined) -> None:
        self._renamed, self._coined = renamed, coined

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("id", "name", "asname", "rest"):
            if isinstance(value := getattr(node, field, None), str) and not self._is_original(node, field):
                setattr(node, field, self._renamed.get(value, value))
        if isinstance(node, ast.AnnAssign):
            node.annotation = _without_content(node.annotation)
            # `(a): int` is no field of a dataclass, which is a bit per statement.
            node.simple = int(isinstance(node.target, ast.Name))
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
            node.arg = self._renamed.get(node.arg, node.arg)
        elif isinstance(node, ast.keyword) and node.arg in self._coined.keywords:
            node.arg = self._renamed.get(str(node.arg), node.arg)
        elif isinstance(node, ast.Attribute) and node.attr in self._coined.members:
            node.attr = self._renamed.get(node.attr, node.attr)
        elif isinstance(node, ast.Nonlocal):
            node.names = [self._renamed.get(name, name) for name in node.names]
        elif isinstance(node, ast.MatchClass):
            node.kwd_attrs = [self._renamed.get(name, name) for name in node.kwd_attrs]
        self._without_texts(node)
        return node

    @staticmethod
    def _is_original(node: ast.AST, field: str) -> bool:
        return isinstance(node, ast.alias) and field == "name"

    @staticmethod
    def _without_texts(node: ast.AST) -> None:
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if not isinstance(statements, list) or not any(map(is_text_statement, statements)):
                continue
            left = [each for each in statements if not is_text_statement(each)]
            # `Strategy` requires a docstring.
            if isinstance(node, ast.ClassDef):
                left = [ast.Expr(ast.Constant(_DOCSTRING)), *left]
            is_required = field == "body" and not isinstance(node, ast.Module)
            setattr(node, field, left or ([ast.Pass()] if is_required else []))


def _without_content(annotation: ast.expr) -> ast.expr:
    """Return an annotation that holds no data."""
    root = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = root.attr if isinstance(root, ast.Attribute) else getattr(root, "id", "")
    return root if name in _MARKERS else ast.Name("object", ast.Load())


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.alias) and node.asname:
        yield node.asname
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _members(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.attr
    if isinstance(node, ast.ClassDef):
        for each in node.body:
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                yield each.name
            else:
                yield from (name.id for name in ast.walk(each) if isinstance(name, ast.Name) and _is_stored(name))


def _is_stored(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield names that an import binds under their own name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            yield from node.name.split(".")


def _spelled(tree: ast.Module) -> set[str]:
    """Return the words of string literals.

    A name in one, such as a field of a named tuple, must stay.
    """
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and is_text_statement(node)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            found.update(re.findall(r"\w+", node.value))
    return found


def _identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                yield from (each for each in value if isinstance(each, str))
