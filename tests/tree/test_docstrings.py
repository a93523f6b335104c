"""Docstrings: every public name has one, and the stub has those of the native module."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import openoutcry as oo
from openoutcry import openoutcry_py as native

pytestmark = pytest.mark.once

PACKAGE = Path(oo.__file__).parent
STUB = ast.parse((PACKAGE / "openoutcry_py.pyi").read_text(encoding="utf-8"))
RUST = Path(__file__).resolve().parents[2] / "rust"
LONGEST = 80


def members(owner: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the members that a class or module of this package defines, with their qualified names."""
    for name, found in sorted(vars(owner).items()):
        # The fields of a dataclass are described by its class.
        if name.startswith("_") or name in getattr(owner, "__dataclass_fields__", ()):
            continue
        plain = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        is_property = isinstance(plain, property | cached_property) or inspect.isdatadescriptor(plain)
        if is_property or ((inspect.isclass(plain) or inspect.isroutine(plain)) and is_own(plain)):
            yield f"{path}.{name}", plain


def is_own(each: Any) -> bool:
    # Native methods have no module.
    return str(getattr(each, "__module__", None) or "openoutcry").startswith("openoutcry")


def public() -> dict[str, Any]:
    """Return every public class, method, property and function by name."""
    modules = {name: getattr(oo, name) for name in oo.__all__ if inspect.ismodule(getattr(oo, name))}
    found = {name: getattr(oo, name) for name in oo.__all__ if callable(getattr(oo, name))}
    found |= dict(members(native, "openoutcry_py"))
    for name, module in modules.items():
        found |= dict(members(module, name))
    for name, each in list(found.items()):
        if inspect.isclass(each):
            found |= dict(members(each, name))
    return found


PUBLIC = public()


def test_everything_public_is_found() -> None:
    for name in ("CostModel.fee_bps", "TradingEnv.step", "Run.nav", "Dataset.from_csv", "data.load", "Window.parse"):
        assert name in PUBLIC
    assert {"openoutcry_py.Run.nav", "openoutcry_py.Session.decide", "openoutcry_py.summarize"} <= set(PUBLIC)
    assert len(PUBLIC) > 100


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_of_its_own(name: str) -> None:
    each = PUBLIC[name]
    # An inherited docstring does not describe the class.
    text = inspect.cleandoc(vars(each).get("__doc__") or "" if inspect.isclass(each) else each.__doc__ or "")
    first = text.partition("\n")[0]
    assert first
    assert len(first) <= LONGEST
    # `dataclass` generates a signature if the docstring is missing.
    assert not first.startswith(f"{name.rpartition('.')[2]}(")


def documented() -> dict[str, str]:
    classes = [node for node in STUB.body if isinstance(node, ast.ClassDef) and hasattr(native, node.name)]
    functions = [("", node) for node in STUB.body if isinstance(node, ast.FunctionDef)]
    methods = [(f"{each.name}.", node) for each in classes for node in each.body if isinstance(node, ast.FunctionDef)]
    found = {each.name: ast.get_docstring(each) for each in classes}
    found |= {f"{scope}{node.name}": ast.get_docstring(node) for scope, node in functions + methods}
    return {name: text for name, text in found.items() if text}


@pytest.mark.parametrize(("name", "text"), documented().items(), ids=list(documented()))
def test_the_stub_has_the_docstrings_of_the_native_module(name: str, text: str) -> None:
    assert inspect.cleandoc(PUBLIC[f"openoutcry_py.{name}"].__doc__) == text


def test_the_first_line_of_every_docstring_of_the_package_fits() -> None:
    long = []
    for path in [*sorted(PACKAGE.rglob("*.py")), PACKAGE / "openoutcry_py.pyi"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if len(text.partition("\n")[0]) > LONGEST:
                    long.append(f"{path.relative_to(PACKAGE)}: {getattr(node, 'name', 'module')}")
    assert long == []


def first_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number and text of the first line of each Rust doc comment, and the text after it."""
    lines = [re.match(r"\s*(//[/!])(?: (.*)|$)", line) for line in text.splitlines()]
    for number, (before, line, after) in enumerate(zip([None, *lines], lines, [*lines[1:], None], strict=False), 1):
        if line and (before is None or before[1] != line[1]):
            yield number, line[2] or "", after[2] or "" if after and after[1] == line[1] else ""


def test_the_first_line_of_every_rust_doc_comment_fits_and_stands_alone() -> None:
    sources = {path.relative_to(RUST): path.read_text(encoding="utf-8") for path in sorted(RUST.rglob("*.rs"))}
    assert len(sources) > 50
    faults = [
        f"{path}:{number}"
        for path, text in sources.items()
        for number, first, after in first_lines(text)
        if len(first) > LONGEST or after
    ]
    assert faults == []


def test_a_long_or_run_on_first_line_is_found() -> None:
    text = "/// One.\n///\n/// More.\nfn a() {}\n\n    //! Runs\n    //! on.\n/// " + "x" * 81
    assert list(first_lines(text)) == [(1, "One.", ""), (6, "Runs", "on."), (8, "x" * 81, "")]


def test_the_docstring_of_a_class_describes_its_fields() -> None:
    assert "fee_bps: Commission on slipped notional; 1." in inspect.cleandoc(oo.CostModel.__doc__ or "")
    assert import_module("openoutcry.openoutcry_py").__doc__
