"""Every requirement (R) and goal (G) of the Arena is named by the test or script that checks it.

The numbers are those of the specification of the Arena, which is not a part of this repository.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

TESTS = Path(__file__).parent
REQUIREMENTS = {f"R-{number:02}" for number in range(1, 56)}
GOALS = {f"G{number}" for number in range(1, 8)}


def named_in(words: str) -> set[str]:
    """Return the requirements and goals that a text names, with ranges expanded."""
    found = set(re.findall(r"R-\d\d|\bG[1-7]\b", words))
    for first, last in re.findall(r"R-(\d\d) to R-(\d\d)", words):
        found |= {f"R-{number:02}" for number in range(int(first), int(last) + 1)}
    for first, last in re.findall(r"\bG(\d) to G(\d)\b", words):
        found |= {f"G{number}" for number in range(int(first), int(last) + 1)}
    return found | {f"R-{number}" for number in re.findall(r"\btest_r(\d\d)_", words)}


def functions() -> Iterator[str]:
    """Yield the source of each Arena test; module docstrings do not count."""
    for path in sorted(TESTS.glob("test_arena_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])


def test_every_requirement_is_named_by_a_test() -> None:
    named = set().union(*map(named_in, functions()))
    assert sorted(REQUIREMENTS - named) == []
    assert sorted(name for name in named if name.startswith("R-") and name not in REQUIREMENTS) == []


def test_every_goal_is_named_by_a_test_or_a_script() -> None:
    scripts = (path.read_text(encoding="utf-8") for path in (Path(__file__).parents[2] / "scripts").glob("arena_*.py"))
    named = set().union(*map(named_in, functions()), *map(named_in, scripts))
    assert sorted(GOALS - named) == []
