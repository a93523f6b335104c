"""Static checks of a strategy source.

They are about quality: an invalid strategy must not cost a trial. They are no security boundary; the sandbox of
`openoutcry.research.code_loader` is. The source is parsed, never executed.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openoutcry.backtest.strategies import check_ranges
from openoutcry.backtest.strategies.parameter_space import Ranges, shown
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.deduplication import normalised
from openoutcry.research.runnable_source import RunnableSource, runnable_of
from openoutcry.research.source_information import Information, check_information, information_of

MAX_BYTES = 32 * 1024
MAX_TOKENS = 8000
MAX_NODES = 5000
MAX_DEPTH = 60
MAX_TUNABLE = 5

IMPORTS = (
    "__future__",
    "collections",
    "collections.abc",
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "numpy",
    "numpy.typing",
    "openoutcry.backtest.strategies",
    "openoutcry.backtest.strategies.rolling_windows",
    "statistics",
    "typing",
)
"""Modules that a strategy may import."""

_REFUSED = """
    __import__ breakpoint compile delattr dir eval exec exit getattr globals help input locals memoryview open quit
    setattr vars
"""
REFUSED_NAMES = frozenset(_REFUSED.split())
"""Builtins that are unavailable to a strategy."""

_BASES = ("Strategy", "WindowStrategy")
_HOME = "openoutcry.backtest.strategies"
_AT_TOP = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


@dataclass(frozen=True)
class CheckedSource:
    """A source that passed the checks.

    Attributes:
        source: The source.
        class_name: Name of the strategy class.
        description: First line of its docstring.
        ranges: Its `PARAM_RANGES`.
        exact: SHA-256 of the source, in hexadecimal.
        normalised: Hash of the normalised source, equal for renamed copies.
        runnable: The source that its worker receives, without comments, docstrings and coined names.
        information: Bits of its literals, its constant expressions and its syntax tree.
    """

    source: str
    class_name: str
    description: str
    ranges: Ranges
    exact: str
    normalised: str
    runnable: RunnableSource
    information: Information


def check_source(source: Any, *, earlier_gates: bool = False) -> CheckedSource:
    """Parse and check the source of a strategy.

    Args:
        source: The source.
        earlier_gates: Apply the budgets of gates before version 5, as a source that was accepted then requires.

    Raises:
        OpenOutcryError: `argument_invalid`: the source is too large, not Python, imports or uses a forbidden name,
            holds more data than the budgets of `source_information` allow, or does not define exactly one strategy with
            docstring, hooks and literal ranges of at most five parameters. No input raises anything else.
    """
    try:
        return _checked(source, earlier_gates=earlier_gates)
    except OpenOutcryError:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, tokenize.TokenError) as error:
        message = " ".join(str(error).split())[:120]
        raise refusal(
            "argument_invalid", f"source must be Python; received {type(error).__name__}: {message}"
        ) from error


def _checked(source: Any, *, earlier_gates: bool) -> CheckedSource:
    if not isinstance(source, str):
        raise refusal("argument_invalid", f"source must be a string; received {type(source).__name__}")
    content = source.encode("utf-8")
    if len(content) > MAX_BYTES:
        raise refusal("argument_invalid", f"source must have at most {MAX_BYTES:,} bytes; received {len(content):,}")
    tree = _parsed(source)
    _check_top(tree)
    for node in ast.walk(tree):
        _check_node(node)
    strategy = _strategy(tree)
    description = (ast.get_docstring(strategy) or "").strip().partition("\n")[0].rstrip(": ")
    if not description:
        raise refusal("argument_invalid", f"a strategy must have a docstring; received `{strategy.name}` without one")
    _check_hooks(strategy)
    ranges = _ranges(strategy, tree)
    information = information_of(tree, ranges)
    if earlier_gates:
        information = information.of_earlier_gates()
    check_information(information)
    exact = hashlib.sha256(content).hexdigest()
    runnable = runnable_of(tree, ranges)
    return CheckedSource(source, strategy.name, description, ranges, exact, normalised(tree), runnable, information)


def _parsed(source: str) -> ast.Module:
    # Before the parser, which recurses once per operator of a long chain.
    count = sum(1 for _ in tokenize.generate_tokens(io.StringIO(source).readline))
    if count > MAX_TOKENS:
        raise refusal("argument_invalid", f"source must have at most {MAX_TOKENS:,} tokens; received {count:,}")
    with warnings.catch_warnings():
        # The worker reports warnings such as invalid escapes.
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    n_nodes, depth, level = 0, 0, [tree]
    while level:
        n_nodes, depth = n_nodes + len(level), depth + 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]  # type: ignore[misc]
    for name, count, most in (("nodes", n_nodes, MAX_NODES), ("levels", depth, MAX_DEPTH)):
        if count > most:
            raise refusal("argument_invalid", f"a syntax tree must have at most {most:,} {name}; received {count:,}")
    return tree


def _check_top(tree: ast.Module) -> None:
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not isinstance(node, _AT_TOP):
            wanted = "a source must consist of imports, constants, functions and classes"
            raise refusal("argument_invalid", f"{wanted}; received `{type(node).__name__}` on line {_line(node)}")


_OWN_METHODS = ("__init__", "__post_init__")


def _check_node(node: ast.AST) -> None:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names]
        from_package = node.module == "openoutcry" and names == ["strategies"]
        modules = [_HOME if from_package else "." * node.level + (node.module or "")]
        if "*" in names:
            raise refusal("argument_invalid", f"imports must be explicit; received `*` on line {_line(node)}")
    for module in modules:
        if module not in IMPORTS:
            wanted = f"imports must be among {', '.join(IMPORTS)}"
            raise refusal("argument_invalid", f"{wanted}; received {shown(module)} on line {_line(node)}")
    if isinstance(node, ast.Attribute) and _is_dunder(node.attr) and node.attr != "__init__":
        received = f"{shown(node.attr)} on line {_line(node)}"
        raise refusal("argument_invalid", f"attributes must not be Python internals; received {received}")
    if isinstance(node, ast.MatchClass) and any(map(_is_dunder, node.kwd_attrs)):
        received = f"{shown(next(filter(_is_dunder, node.kwd_attrs)))} on line {_line(node)}"
        raise refusal("argument_invalid", f"attributes must not be Python internals; received {received}")
    if isinstance(node, ast.Name) and (node.id in REFUSED_NAMES or _is_dunder(node.id)):
        received = f"{shown(node.id)} on line {_line(node)}"
        raise refusal("argument_invalid", f"names must be available to a strategy; received {received}")
    if isinstance(node, ast.FunctionDef) and _is_dunder(node.name) and node.name not in _OWN_METHODS:
        # With operators of its own, a chain of comparisons is a table of data without a literal.
        received = f"{shown(node.name)} on line {_line(node)}"
        raise refusal("argument_invalid", f"methods must not define operators or Python internals; received {received}")
    if isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global)):
        received = f"`{type(node).__name__}` on line {_line(node)}"
        raise refusal("argument_invalid", f"a strategy must be a plain function of its window; received {received}")


def _strategy(tree: ast.Module) -> ast.ClassDef:
    bases = set(_bases(tree))
    found: list[ast.ClassDef] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and bases & {ast.unparse(base) for base in node.bases}:
            found.append(node)
            bases.add(node.name)
    if len(found) != 1 or found[0] not in tree.body:
        received = f"{len(found)}" + (f", {', '.join(shown(each.name) for each in found[:3])}" if found else "")
        raise refusal("argument_invalid", f"exactly one class must inherit from `Strategy`; received {received}")
    return found[0]


def _bases(tree: ast.Module) -> Iterator[str]:
    """Yield the expressions that refer to the base classes in a source."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == _HOME:
            yield from (alias.asname or alias.name for alias in node.names if alias.name in _BASES)
        elif isinstance(node, ast.ImportFrom) and node.module == "openoutcry":
            yield from (f"{alias.asname or alias.name}.{base}" for alias in node.names for base in _BASES)
        elif isinstance(node, ast.Import):
            named = (alias.asname or alias.name for alias in node.names if alias.name == _HOME)
            yield from (f"{name}.{base}" for name in named for base in _BASES)


def _check_hooks(strategy: ast.ClassDef) -> None:
    members = {each.name for each in strategy.body if isinstance(each, ast.FunctionDef)}
    members |= {target.id for target, _ in _assigned(strategy)}
    if "lookback" not in members or not members & {"weights", "weigh"}:
        wanted = "a strategy must define `lookback` and `weights`, or `weigh` on a `WindowStrategy`"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(sorted(members)) or 'neither'}"[:300])


def _ranges(strategy: ast.ClassDef, tree: ast.Module) -> Mapping[str, Any]:
    values = [value for target, value in _assigned(strategy) if target.id == "PARAM_RANGES"]
    if len(values) != 1:
        raise refusal("argument_invalid", f"a strategy must set `PARAM_RANGES` once; received {len(values)} times")
    # Elsewhere it would be data that neither counts nor is redrawn.
    stored = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    n_stored = sum(node.id == "PARAM_RANGES" for node in stored)
    chained = [node for node in strategy.body if isinstance(node, ast.Assign) and len(node.targets) > 1]
    if n_stored != 1 or any(value is node.value for value in values for node in chained):
        wanted = "`PARAM_RANGES` must be assigned once and alone, in the body of the strategy"
        received = "a chained assignment" if n_stored == 1 else f"{n_stored:,} assignments"
        raise refusal("argument_invalid", f"{wanted}; received {received}")
    try:
        ranges = ast.literal_eval(values[0])
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        wanted = "`PARAM_RANGES` must be a literal"
        raise refusal("argument_invalid", f"{wanted}; received one that raises {type(error).__name__}") from error
    check_ranges(ranges)
    if len(ranges) > MAX_TUNABLE:
        raise refusal("argument_invalid", f"at most {MAX_TUNABLE} parameters are allowed; received {len(ranges)}")
    found: Mapping[str, Any] = ranges
    return found


def _assigned(strategy: ast.ClassDef) -> Iterator[tuple[ast.Name, ast.expr]]:
    for node in strategy.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        yield from ((each, value) for each in targets if isinstance(each, ast.Name) and value is not None)


def _is_dunder(name: str) -> bool:
    return name.startswith("__")


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
