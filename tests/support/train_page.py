"""Runs the examples of docs/train.md, which need libraries that the tests of the pages lack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "train.md"
_STEPS = re.compile(r"\b\d+_000\b")


def run_example(heading: str, steps: int) -> dict[str, Any]:
    """Run the Python blocks of a section, marked `notest`, and return their names.

    Args:
        heading: Heading of the section.
        steps: Replaces numbers of steps: the literals that end in `_000`.
    """
    page = PAGE.read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}$.*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    if section is None:
        raise ValueError(f"a section of docs/train.md is required; received {heading!r}")
    names: dict[str, Any] = {"__name__": "example"}
    found = list(re.finditer(r"^```python notest\n(.*?)^```$", section[0], re.DOTALL | re.MULTILINE))
    if not found:
        raise ValueError(f"a section with an example is required; received {heading!r}")
    for block in found:
        first = page.count("\n", 0, section.start() + block.start(1))
        exec(compile("\n" * first + _STEPS.sub(str(steps), block[1]), str(PAGE), "exec", dont_inherit=True), names)
    return names
