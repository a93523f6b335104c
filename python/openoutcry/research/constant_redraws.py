"""Sources with other constants, which a fit to the market needs exactly.

A fitted constant is data: digits of a text or of a long number, the numbers of a long list, or many numbers in a
formula. A redraw puts these in random order, and replaces the digits of long numbers. The constants of a rule, such as
a window of 20, a threshold of 0.25, a year of 252 bars or the name of a mode, stay.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeGuard

import numpy as np

from openoutcry.research.constant_code import constant_code
from openoutcry.research.library_names import library_names
from openoutcry.research.runnable_source import is_text_statement
from openoutcry.research.source_information import value_bits

LEAST_DIGITS = 4
"""Significant digits from which the digits of a number are redrawn."""
LEAST_LISTED = 8
"""Constants of a list from which their order is redrawn."""
LEAST_SPELLED = 24
"""Numbers in constant expressions, in subscripts and in slices, from which their order is redrawn."""
LEAST_ORDERED = 24
"""Parameters, keywords and fields of a class from which their order is redrawn; the order of fewer counts as bits."""
LEAST_USUAL = 60
"""Usual numbers, and bools, from which their order is redrawn; typical strategies have at most 17."""
LEAST_PASSED = 60
"""Variables as arguments of calls or in lists from which their order is redrawn; typical strategies have at most 20."""
LEAST_OPERANDS = 80
"""Variables as operands from which their order is redrawn; typical strategies have at most 19."""
FREE_TEXT_BITS = 96
"""Bits of texts that stay if they have no digits: 12 characters, enough for the name of a mode."""
FREE_NUMBER_BITS = 64
"""Bits of the other numbers that stay: nine of two digits; a strategy of the library has at most 20 bits."""

_RANGES = "PARAM_RANGES"
_MOST_AXES = 4
"""Elements of a subscript of an array; more are a list."""
_LISTS = frozenset(["r_", "c_", "s_", "index_exp"])
"""Attributes of NumPy whose subscripts are lists."""
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_SMALL = frozenset([0, 1, 2, 3, 0.5, 10, 100])
_MOST_OF_LOOKBACK = 4
"""Numbers of a `lookback` that stay; more are a list."""
_FREE = frozenset([0, 1, 2, 3, 0.5, *(10.0**power for power in range(-15, 16))])


@dataclass(frozen=True)
class Redrawn:
    """A source and params with other constants."""

    source: str
    params: dict[str, Any]


def reads_its_ranges(source: str) -> bool:
    """Return whether code reads `PARAM_RANGES`.

    A redraw does not see which of these constants it uses."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == _RANGES)
        or (isinstance(node, ast.Name) and node.id == _RANGES and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.MatchClass) and _RANGES in node.kwd_attrs)
        for node in ast.walk(ast.parse(source))
    )


def redrawn(source: str, ranges: Mapping[str, Any], params: Mapping[str, Any], rng: np.random.Generator) -> Redrawn:
    """Return a source and its params with other constants.

    Equal ones if no constant is data.

    Args:
        source: A checked source.
        ranges: Its `PARAM_RANGES`.
        params: Params of its strategy.
        rng: Draws the constants.
    """
    tree = ast.parse(source)
    original = ast.dump(tree)
    # A formula that is used twice stays one formula, so equal texts and numbers are redrawn alike.
    draw = _Draw(rng, _texts_in(tree, ranges))
    held = {id(each) for node in tree.body for each in _declared(node)}
    _shuffle(tree, rng, held)
    copied = _Replaced(draw, _text_ids(tree), held).visit(tree)
    changed = {name: _param(draw, ranges[name], value) if name in ranges else value for name, value in params.items()}
    is_same = ast.dump(copied) == original
    return Redrawn(source if is_same else ast.unparse(ast.fix_missing_locations(copied)), changed)


class _Draw:
    """The other constant of each constant."""

    def __init__(self, rng: np.random.Generator, texts: list[str]) -> None:
        self._rng = rng
        self._texts = dict(zip(texts, _shuffled(texts, rng), strict=True))
        self._numbers: dict[tuple[str, int], Any] = {}

    def of(self, value: Any, kept: int = 1) -> Any:
        """Return another constant; the first digits of a long number stay."""
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, str) else value.decode("latin-1")
            found = self._texts.get(text, text)
            return found if isinstance(value, str) else found.encode("latin-1")
        if isinstance(value, complex):
            return complex(self.of(value.real), self.of(value.imag))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        return self._numbers.setdefault((repr(value), kept), self._number(value, kept))

    def _number(self, value: float, kept: int) -> Any:
        number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
        sign, digits, exponent = number.as_tuple()
        if not isinstance(exponent, int) or not _is_long(value):
            return value
        first = next(place for place, digit in enumerate(digits) if digit) + kept
        other = (*digits[:first], *self._rng.integers(0, 10, len(digits) - first).tolist())
        return type(value)(Decimal((sign, other, exponent)))


class _Replaced(ast.NodeTransformer):
    """Replaces texts and long numbers."""

    def __init__(self, draw: _Draw, texts: set[int], held: set[int]) -> None:
        self._draw, self._texts, self._held = draw, texts, held

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if id(node) not in self._texts:
            node.value = self._draw.of(node.value, 2 if id(node) in self._held else 1)
        return node


def _shuffle(tree: ast.Module, rng: np.random.Generator, held: set[int]) -> None:
    """Put the constants of long lists, and many other numbers, in random order."""
    computed = {id(part): part for node in constant_code(tree) for part in ast.walk(node) if id(part) not in held}
    groups = [leaves for leaves in _listed(tree, computed) if len(leaves) >= LEAST_LISTED]
    in_groups = {id(part) for leaves in groups for leaf in leaves for part in ast.walk(leaf)} | held
    others = [node for node in _numbers(tree) if id(node) not in in_groups and not _is_long(node.value)]
    # A chain of operators on 0, 1, 2 and 3 spells a long number.
    spelled = [node for node in computed.values() if _is_number(node) and id(node) not in in_groups]
    if len(spelled) >= LEAST_SPELLED:
        groups += _by_type(spelled)
        others = [node for node in others if id(node) not in computed]
    groups += [group for group in _subscripts(tree, in_groups) if len(group) >= LEAST_SPELLED]
    if sum(value_bits(node.value) for node in others) > FREE_NUMBER_BITS:
        groups += _by_type(others)
    groups += _usual(tree, in_groups) + _chosen(tree) + _ordered(tree)
    for leaves in [group for group in groups if len(group) > 1]:
        contents = [copy.deepcopy(leaf) for leaf in leaves]
        moved = {id(leaf): contents[place] for leaf, place in zip(leaves, rng.permutation(len(leaves)), strict=True)}
        _Moved(moved).visit(tree)


def _by_type(nodes: list[ast.Constant]) -> list[list[ast.AST]]:
    # A float in the place of an integer would only fail.
    return [[node for node in nodes if type(node.value) is kind] for kind in (int, float, complex, bool)]


def _is_long(value: Any) -> bool:
    """Return whether a number has many significant digits in decimal notation."""
    if isinstance(value, complex):
        return _is_long(value.real) or _is_long(value.imag)
    number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return len("".join(map(str, number.as_tuple().digits)).strip("0")) >= LEAST_DIGITS


class _Moved(ast.NodeTransformer):
    """Puts other nodes in the places of some."""

    def __init__(self, moved: dict[int, ast.AST]) -> None:
        self._moved = moved

    def visit(self, node: ast.AST) -> Any:
        return self._moved[id(node)] if id(node) in self._moved else self.generic_visit(node)


def _listed(node: ast.AST, computed: Mapping[int, ast.AST]) -> Iterator[list[ast.AST]]:
    """Yield the constant elements of each outermost list, tuple, set or dict."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(_declared(node)):
        return
    if isinstance(node, _DISPLAYS):
        named = {id(leaf) for leaf in _leaves(node) if any(isinstance(each, ast.Name) for each in ast.walk(leaf))}
        yield [leaf for leaf in _leaves(node) if id(leaf) not in named or id(leaf) in computed]
        return
    for child in ast.iter_child_nodes(node):
        yield from _listed(child, computed)


def _leaves(node: ast.AST) -> Iterator[ast.AST]:
    # Keys of a dict and starred lists count, too.
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_DISPLAYS, ast.Starred)):
            yield from _leaves(child)
        elif isinstance(child, ast.expr):
            yield child


def _numbers(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the numbers outside subscripts.

    The usual ones of formulas are left out, and so are the bars of a `lookback`.
    """
    if _is_lookback(node):
        return
    if _is_number(node) and node.value not in _FREE:
        yield node
    for name, value in ast.iter_fields(node):
        if isinstance(node, ast.Subscript) and name == "slice":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _numbers(child)


def _is_lookback(node: ast.AST) -> bool:
    is_named = isinstance(node, ast.FunctionDef) and node.name == "lookback"
    return is_named and sum(map(_is_number, ast.walk(node))) <= _MOST_OF_LOOKBACK


def _usual(tree: ast.Module, in_groups: set[int]) -> list[list[ast.AST]]:
    """Return usual numbers and bools that are many, or powers of ten."""
    inside = {id(each) for node in ast.walk(tree) if isinstance(node, ast.Subscript) for each in ast.walk(node.slice)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in inside | in_groups]
    usual = [node for node in found if isinstance(node.value, bool) or (_is_number(node) and node.value in _FREE)]
    powers = [node for node in usual if not isinstance(node.value, bool) and node.value not in _SMALL]
    groups, least = (usual, LEAST_USUAL) if len(usual) >= LEAST_USUAL else (powers, LEAST_LISTED)
    return [group for group in _by_type(groups) if len(group) >= least]


def _chosen(tree: ast.Module) -> list[list[ast.AST]]:
    """Return variables that are many, in lists or as operands."""
    nodes = list(ast.walk(tree))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    listed: list[ast.AST] = [each for node in nodes if isinstance(node, ast.Call) for each in node.args]
    listed += [each for node in nodes if isinstance(node, _DISPLAYS) for each in ast.iter_child_nodes(node)]
    operands = [each for node in nodes if isinstance(node, _OPERATORS) for each in ast.iter_child_nodes(node)]
    groups: list[list[ast.AST]] = []
    for found, least in ((listed, LEAST_PASSED), (operands, LEAST_OPERANDS)):
        names = [
            each for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in own
        ]
        groups.append(list(names) if len(names) >= least else [])
    return groups


def _ordered(tree: ast.Module) -> list[list[ast.AST]]:
    """Return long lists of parameters, of keywords and of fields of a class.

    `self` and what has a default stay in their places: the code would not run.
    """
    found: list[list[ast.AST]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            required = node.args[: len(node.args) - len(node.defaults)]
            found.append([each for each in required if each.arg not in ("self", "cls")])
        elif isinstance(node, ast.Call):
            found.append([*node.keywords])
        elif isinstance(node, ast.ClassDef):
            found.append([each for each in node.body if isinstance(each, ast.AnnAssign) and each.value is None])
    return [group for group in found if len(group) >= LEAST_ORDERED]


def _subscripts(tree: ast.Module, in_groups: set[int]) -> list[list[ast.AST]]:
    """Return the numbers of subscripts that are lists, and those of the others.

    `np.r_[3, 7, 1, 9, 2]` is a list. Bounds of slices are a group of their own; 0 to 3 stay in both.
    """
    listed: list[ast.Constant] = []
    others: list[ast.Constant] = []
    bounds: list[ast.Constant] = []
    has_lists = any(isinstance(node, ast.Attribute) and node.attr in _LISTS for node in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            is_tuple = isinstance(node.slice, ast.Tuple)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            inside = [each for part in parts if not isinstance(part, ast.Slice) for each in ast.walk(part)]
            sliced = [each for part in parts if isinstance(part, ast.Slice) for each in ast.walk(part)]
            numbers = [each for each in sliced if _is_number(each) and id(each) not in in_groups]
            bounds += [each for each in numbers if each.value not in _FREE]
            numbers = [each for each in inside if _is_number(each) and id(each) not in in_groups]
            if len(parts) > _MOST_AXES or (has_lists and is_tuple):
                listed += numbers
            else:
                others += [each for each in numbers if each.value not in _FREE]
    return [*_by_type(listed), *_by_type(others), *_by_type(bounds)]


def _is_number(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)


def _declared(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of `PARAM_RANGES`."""
    for each in ast.walk(node):
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        value = getattr(each, "value", None)
        if value is not None and any(isinstance(target, ast.Name) and target.id == _RANGES for target in targets):
            yield from ast.walk(value)


def _text_ids(tree: ast.Module) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and is_text_statement(node)}


def _texts_in(tree: ast.Module, ranges: Mapping[str, Any]) -> list[str]:
    """Return the texts that may be data; none if they are short words."""
    comments, fields = _text_ids(tree), {*ranges, *(field for spec in ranges.values() for field in spec)}
    known = {*library_names(), *fields, "int", "float", "categorical"}
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and id(node) not in comments:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if text not in known:
                found[text] = None
    are_words = all(letter.isalpha() or letter in "-_ " for text in found for letter in text)
    return [] if are_words and 8 * sum(map(len, found)) <= FREE_TEXT_BITS else list(found)


def _shuffled(texts: list[str], rng: np.random.Generator) -> list[str]:
    letters = [letter for text in texts for letter in text]
    order = iter(rng.permutation(len(letters)).tolist())
    return ["".join(letters[next(order)] for _ in text) for text in texts]


def _param(draw: _Draw, spec: Mapping[str, Any], value: Any) -> Any:
    """Return another value of a param that is a constant of the source."""
    if "choices" in spec:
        return draw.of(value, 2)
    if value != spec["default"] or draw.of(value, 2) == value:
        return value
    moved = min(max(draw.of(value, 2), spec["min"]), spec["max"])
    step = spec.get("step")
    if step:
        moved = spec["min"] + round((moved - spec["min"]) / step) * step
    return type(value)(min(max(moved, spec["min"]), spec["max"]))
