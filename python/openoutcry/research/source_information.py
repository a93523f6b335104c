"""Information that a source carries besides its logic, in bits.

A literal can hold the future: an 8 kB string, indexed by the price, holds the signs of thousands of returns. So can a
constant expression, and the choice and order of operators, calls and statements. Budgets bound what hindsight can
store: one for literals, constant expressions and the names that a source neither coins nor takes from a library; one
for the description length of the syntax tree; one for its nodes. Comments, docstrings and coined names are not counted,
since the worker does not receive them (`openoutcry.research.runnable_source`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import accumulate
from math import ceil, log2, sqrt
from typing import Any

from openoutcry.errors import refusal
from openoutcry.research.constant_code import constant_code
from openoutcry.research.deduplication import normalised_tokens
from openoutcry.research.library_names import library_names
from openoutcry.research.runnable_source import coined_names, is_text_statement
from openoutcry.research.tree_code_length import token_bits
from openoutcry.research.tree_tokens import tokens_of

MAX_LITERAL_BITS = 1024
"""Budget of literals and constant expressions, in bits: 128 characters, or 300 digits."""
MAX_TREE_BITS = 4096
"""Budget of the syntax tree, in bits of its description length: names, operators and their order."""
MAX_CODE_NODES = 1200
"""Budget of nodes of the syntax tree, since a long chain of like operators holds a bit or two each."""
MAX_SHAPE_BITS = 10_240
"""Budget of the syntax tree without typical strategies as its prior, all that sessions before gates version 5 had."""

_ARITHMETIC = "hint: replace long chains of statements by arithmetic on arrays"
_DIGIT = log2(10.0)
_REPEATED = 6.0
"""Bits of a text that occurs before: which one it is."""
_MOST_NAMES = 8
"""Names in a list, tuple, set or dict that are free; the choice of further ones is data."""
_MOST_LISTED = 4
"""Names in a display, in the arguments of a call and in decorators that are free in `constant_bits`."""
_MOST_KEYWORDS = 12
"""Keywords of all calls that are free; the order and the choice of further ones are data."""
_NEW_TOKEN = 8.0
_SCHEMA = {"type", "min", "max", "step", "choices", "default", "int", "float", "categorical"}


@dataclass(frozen=True)
class Information:
    """Information that a source carries besides its logic.

    Attributes:
        literal_bits: Bits of its literals.
        shape_bits: Bits of its syntax tree under a model without a prior.
        constant_bits: Bits of constant expressions in the syntax tree, and of long lists of names; None in a session
            before gates version 5.
        tree_bits: Bits of its syntax tree, without the content of literals and coined names; None like `constant_bits`.
        nodes: Nodes of its syntax tree; None like `constant_bits`.
    """

    literal_bits: int
    shape_bits: int
    constant_bits: int | None = None
    tree_bits: int | None = None
    nodes: int | None = None

    @property
    def total_bits(self) -> int:
        """All bits that hindsight could choose: those of literals and of the syntax tree."""
        return self.literal_bits + (self.shape_bits if self.tree_bits is None else self.tree_bits)

    def to_json(self) -> dict[str, int]:
        """Return the numbers as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def of_earlier_gates(self) -> Information:
        """Return the numbers that sessions before gates version 5 record."""
        return Information(self.literal_bits, self.shape_bits)


def information_of(tree: ast.Module, ranges: Mapping[str, Any]) -> Information:
    """Return the information of a source.

    Args:
        tree: The source.
        ranges: Its `PARAM_RANGES`.
    """
    bits = sum(_constants(tree)) + sum(_displayed(tree)) + _texts(tree, set(ranges))
    written = tokens_of(tree, set(ranges))
    until = [0.0, *accumulate(token_bits(written.tokens))]
    spans = [written.spans[id(node)] for node in constant_code(tree)]
    constant = sum(until[end] - until[start] for start, end in spans) + _REPEATED * sum(_listed(tree))
    shape = code_length(normalised_tokens(tree))
    n_nodes = sum(1 for _ in ast.walk(tree))
    return Information(ceil(bits), ceil(shape), ceil(constant), ceil(until[-1]), n_nodes)


def code_length(tokens: Sequence[str]) -> float:
    """Return the bits of a sequence of tokens under an adaptive model of pairs.

    Each token is predicted from its predecessor, and where that is new, from its frequency so far.
    """
    alone: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    heads: Counter[str] = Counter()
    bits, before = 0.0, ""
    for number, token in enumerate(tokens):
        # A new token has the probability 2^-8 of the share that is left for new ones.
        share = (alone[token] + 2.0**-_NEW_TOKEN) / (number + 1.0)
        bits -= log2((pairs[before, token] + share) / (heads[before] + 1.0))
        alone[token] += 1
        pairs[before, token] += 1
        heads[before] += 1
        before = token
    return bits


def check_information(found: Information, params: Mapping[str, Any] | None = None) -> None:
    """Refuse a source with more information than its budgets allow.

    Args:
        found: Its information.
        params: Parameters that the proposal fixes; their values count as literals.

    Raises:
        OpenOutcryError: `argument_invalid`: a budget is exceeded.
    """
    fixed = ceil(sum(value_bits(value) for value in (params or {}).values()))
    bits = found.literal_bits + fixed + (found.constant_bits or 0)
    if bits > MAX_LITERAL_BITS:
        wanted = f"the literals of a source must hold at most {MAX_LITERAL_BITS:,} bits, since they can hold the future"
        parts = f"{bits:,}" + (f", {found.constant_bits:,} in constant expressions" if found.constant_bits else "")
        hint = "hint: compute values from the window; a character counts 8 bits, a digit 3.3"
        raise refusal("argument_invalid", f"{wanted}; received {parts}; {hint}")
    if (found.nodes or 0) > MAX_CODE_NODES:
        wanted = (
            f"the syntax tree of a source must have at most {MAX_CODE_NODES:,} nodes, since its shape can hold data"
        )
        raise refusal("argument_invalid", f"{wanted}; received {found.nodes:,}; {_ARITHMETIC}")
    tree, most = found.tree_bits, MAX_TREE_BITS
    if tree is None:
        tree, most = found.shape_bits, MAX_SHAPE_BITS
    if tree > most:
        wanted = f"the syntax tree of a source must hold at most {most:,} bits after compression"
        raise refusal("argument_invalid", f"{wanted}; received {tree:,}; {_ARITHMETIC}")


def value_bits(value: Any) -> float:
    """Return the bits of a literal.

    They are 1 for None and bools, 3.3 a digit, 8 a byte of text.
    """
    if value is None or value is Ellipsis or isinstance(value, bool):
        return 1.0
    if isinstance(value, complex):
        return value_bits(value.real) + value_bits(value.imag)
    if isinstance(value, int):
        # Beyond the digits that Python converts, and for a number without decimal structure.
        return _decimal_bits(Decimal(value)) if abs(value) < 10**100 else float(value.bit_length())
    if isinstance(value, float):
        number = Decimal(repr(value))
        return _decimal_bits(number) if number.is_finite() else 1.0
    content = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return 8.0 * len(content)


def storable_sharpe(bits: float, n_returns: int, periods_per_year: float) -> float:
    """Return the annualised Sharpe ratio that hindsight can store in a number of bits.

    It is the expected maximum Sharpe ratio of 2^bits strategies without skill, sqrt(2 ln 2^bits) standard errors.

    Args:
        bits: Bits that can be chosen in hindsight.
        n_returns: Returns that the ratio is measured over.
        periods_per_year: Returns per year.
    """
    return sqrt(2.0 * bits / log2(2.718281828459045) / n_returns * periods_per_year)


def _decimal_bits(number: Decimal) -> float:
    if number == 0:
        return _DIGIT
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    power = abs(int(exponent) + len(text) - len(significant))
    # A number of up to three digits is written plainly.
    n_exponent = len(str(power)) if power > 0 else 0
    return _DIGIT * min(max(1, len(significant)) + n_exponent, max(1, len(text)) if int(exponent) >= 0 else 10**6)


def _constants(tree: ast.Module) -> Iterator[float]:
    """Yield the bits of each constant that is no string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            yield value_bits(node.value)


def _displayed(tree: ast.Module) -> Iterator[float]:
    """Yield the bits of names in long displays and of long lists of keywords.

    A list of two variables is a list of bits, and the order of keywords is one of names.
    """
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            values = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
            n_names = sum(not isinstance(value, ast.Constant) for value in values)
            yield _REPEATED * max(0, n_names - _MOST_NAMES)
    yield _REPEATED * _excess_keywords(tree)


def _listed(tree: ast.Module) -> Iterator[int]:
    """Yield the number of names in each list that are data.

    They are beyond the fourth, or in a list of lists. Keywords of calls count together.
    """
    # Sessions of earlier gates do not count parameters, so both halves of their bits are here.
    yield _excess_keywords(tree) + 2 * _excess_parameters(tree)
    displays = (ast.List, ast.Tuple, ast.Set, ast.Dict)
    for node in ast.walk(tree):
        parts: list[Any] = []
        if isinstance(node, displays):
            parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
        elif isinstance(node, ast.Call):
            parts = [*node.args, *(each.value for each in node.keywords)]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            parts = [*node.decorator_list, *getattr(node, "bases", [])]
        yield max(0, sum(isinstance(each, ast.Name) for each in parts) - _MOST_LISTED)
        if isinstance(node, displays):
            inner = [each for each in parts if isinstance(each, displays)]
            yield sum(isinstance(name, ast.Name) for each in inner for name in ast.iter_child_nodes(each))


def _excess_keywords(tree: ast.Module) -> int:
    """Return the keywords of calls that are data, whatever their values."""
    n_keywords = sum(len(node.keywords) for node in ast.walk(tree) if isinstance(node, ast.Call))
    return max(0, n_keywords - _MOST_KEYWORDS)


def _excess_parameters(tree: ast.Module) -> int:
    """Return how many parameters and fields are beyond the first few of their list.

    Their order is data: the message of a call without arguments, or `dataclasses.fields`, states it.
    """
    n_parameters = [len(list(ast.iter_child_nodes(node))) for node in ast.walk(tree) if isinstance(node, ast.arguments)]
    classes = [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    n_fields = [sum(isinstance(each, ast.AnnAssign) for each in body) for body in classes]
    return sum(max(0, number - _MOST_NAMES) for number in n_parameters + n_fields)


def _texts(tree: ast.Module, params: Collection[str]) -> float:
    """Return the bits of all strings, and of names from nowhere."""
    bits, seen = 0.0, set()
    for text, is_schema in _strings(tree):
        if is_schema:
            continue
        bits += _REPEATED if text in seen else value_bits(text)
        seen.add(text)
    coined = coined_names(tree, params)
    kept = {*library_names(), *seen, *params}
    for replaced, names in (
        (coined.all, _named(tree)),
        (coined.members, _attributes(tree)),
        (coined.keywords, _keys(tree)),
    ):
        for name in names:
            if name not in kept and name not in replaced:
                bits += value_bits(name)
                kept.add(name)
    return bits


def _strings(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield each string that is no docstring.

    With it, whether it belongs to the form of `PARAM_RANGES`.
    """
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and is_text_statement(node)}
    schema = {id(each) for node in ast.walk(tree) for each in _schema(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.value, id(node) in schema


def _schema(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the field names and types of the ranges that a `PARAM_RANGES` holds."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not any(isinstance(each, ast.Name) and each.id == "PARAM_RANGES" for each in targets):
        return
    value = getattr(node, "value", None)
    for spec in value.values if isinstance(value, ast.Dict) else ():
        if not isinstance(spec, ast.Dict):
            continue
        for key, field in zip(spec.keys, spec.values, strict=True):
            yield from (each for each in (key, field) if isinstance(each, ast.Constant) and each.value in _SCHEMA)


# A worker receives another name only in the role in which a source coins it; a keyword keeps its own if it only
# equals that of a local variable.
def _named(tree: ast.Module) -> Iterator[str]:
    """Yield the names of variables, functions, classes and modules."""
    for node in ast.walk(tree):
        for field in ("id", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield from name.split(".")
        if isinstance(node, ast.MatchClass):
            yield from node.kwd_attrs


def _attributes(tree: ast.Module) -> Iterator[str]:
    return (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def _keys(tree: ast.Module) -> Iterator[str]:
    return (node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg)
