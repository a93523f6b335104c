"""Code that does not depend on the observation: a literal in another spelling.

`len([[], []])`, a chain of operators on numbers and `"abc".upper().count("A")` have one value for every window, and so
can hold data as a literal does. The analysis follows names through assignments, calls, loops and conditions. It knows
names, not objects, and ignores the order of statements: a name that once depends on the observation always does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_HOOKS = ("weights", "weigh")
_COMPUTED = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.IfExp, ast.JoinedStr, ast.Lambda, ast.Subscript),
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def constant_code(tree: ast.Module) -> list[ast.AST]:
    """Return the largest expressions that do not depend on the observation.

    Constants and names alone are left out, and so are imports, bases, decorators, annotations and `PARAM_RANGES`.
    """
    return list(_largest(tree, _Dependence(tree)))


def _largest(node: ast.AST, depends: _Dependence) -> Iterator[ast.AST]:
    if _is_declared(node):
        return
    if isinstance(node, (ast.expr, ast.Assign, ast.AugAssign)) and not depends.on_observation(node):
        if any(isinstance(each, (*_COMPUTED, ast.AugAssign)) for each in ast.walk(node)):
            yield node
        return
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "bases", "decorator_list"):
            children = value if isinstance(value, list) else [value]
            for child in children:
                if isinstance(child, ast.AST):
                    yield from _largest(child, depends)


def _is_declared(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(each, ast.Name) and each.id == "PARAM_RANGES" for each in targets)


@dataclass(frozen=True)
class _Facts:
    """What a node contains: the names that it reads or binds, and its lambdas."""

    names: frozenset[str]
    lambdas: tuple[ast.Lambda, ...]


class _Dependence:
    """Names that depend on the observation: variables, attributes and functions."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[int, _Facts] = {}
        self._functions: dict[str, list[ast.FunctionDef | ast.Lambda]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self._functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for name in _names(node.targets):
                    self._functions.setdefault(name, []).append(node.value)
        # Modules and functions are no objects that a call changes.
        self._variables = {name for node in ast.walk(tree) for name in _bound(node)} - self._functions.keys()
        hooks = [each for name in _HOOKS for each in self._functions.get(name, [])]
        self._names = {name for each in hooks for name in _arguments(each) if name != "self"}
        n_before = -1
        while n_before < len(self._names):
            n_before = len(self._names)
            self._follow(tree, is_conditional=False)

    def on_observation(self, node: ast.AST) -> bool:
        """Return whether a node reads a name that depends on the observation."""
        return not self._names.isdisjoint(self._facts(node).names)

    def _facts(self, node: ast.AST) -> _Facts:
        found = self._known.get(id(node))
        if found is None:
            names = (
                {node.id} if isinstance(node, ast.Name) else {node.attr} if isinstance(node, ast.Attribute) else set()
            )
            lambdas = [node] if isinstance(node, ast.Lambda) else []
            for child in ast.iter_child_nodes(node):
                names |= self._facts(child).names
                lambdas += self._facts(child).lambdas
            found = self._known[id(node)] = _Facts(frozenset(names), tuple(lambdas))
        return found

    def _follow(self, node: ast.AST, *, is_conditional: bool) -> None:
        """Add the names that depend on the observation because of a node."""
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            self._assigned(node, is_conditional)
        elif isinstance(node, (ast.For, ast.comprehension)):
            if is_conditional or self.on_observation(node.iter):
                self._names |= set(_names([node.target]))
        elif isinstance(node, ast.withitem) and node.optional_vars and self.on_observation(node.context_expr):
            self._names |= set(_names([node.optional_vars]))
        elif isinstance(node, ast.Call):
            self._called(node, is_conditional)
        elif isinstance(node, ast.Match) and self.on_observation(node.subject):
            self._names |= {str(getattr(each, "name", None) or "") for each in ast.walk(node)} - {""}
        elif isinstance(node, ast.FunctionDef) and any(self._returned(node)):
            self._names.add(node.name)
        for field, child in _children(node):
            decides = isinstance(node, (ast.If, ast.While, ast.For, ast.Match)) and field in ("body", "orelse", "cases")
            self._follow(child, is_conditional=is_conditional or (decides and self._decided(node)))

    def _decided(self, node: ast.AST) -> bool:
        head = getattr(node, "test", None) or getattr(node, "iter", None) or getattr(node, "subject", None)
        return head is not None and self.on_observation(head)

    def _assigned(self, node: ast.AST, is_conditional: bool) -> None:
        value = getattr(node, "value", None)
        if is_conditional or (value is not None and self.on_observation(value)):
            self._names |= set(_names(getattr(node, "targets", None) or [node.target]))  # type: ignore[attr-defined]

    def _called(self, node: ast.Call, is_conditional: bool) -> None:
        parts = [*node.args, *(each.value for each in node.keywords)]
        if not is_conditional and not any(map(self.on_observation, parts)) and not self.on_observation(node.func):
            return
        if isinstance(node.func, ast.Attribute) and any(map(self.on_observation, parts)):
            # A method may store its arguments in its object, as `append` does.
            self._names |= set(_names([node.func.value])) & self._variables
        for part in (node.func, *parts):
            facts = self._facts(part)
            functions = [each for name in facts.names & self._functions.keys() for each in self._functions[name]]
            for function in (*functions, *facts.lambdas):
                self._names |= set(_arguments(function)) - {"self"}

    def _returned(self, node: ast.FunctionDef) -> Iterator[bool]:
        for each in ast.walk(node):
            if isinstance(each, (ast.Return, ast.Yield, ast.YieldFrom)) and each.value is not None:
                yield self.on_observation(each.value)
            elif isinstance(each, (ast.If, ast.While, ast.For)):
                yield self._decided(each)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield node.id if isinstance(node, ast.Name) else node.attr


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _names(targets: list[ast.expr]) -> Iterator[str]:
    """Yield the variables and attributes that an assignment to targets changes."""
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Attribute):
            yield target.attr
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            yield from _names([target.value])
        elif isinstance(target, (ast.Tuple, ast.List)):
            yield from _names(target.elts)


def _arguments(node: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    arguments = node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            yield each.arg
