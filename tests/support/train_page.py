"""Runs the examples of pages on training, which need libraries that the tests of the pages lack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
_STEPS = re.compile(r"\b\d+_000\b")


def run_page(name: str, steps: int) -> dict[str, Any]:
    """Run all Python blocks of a page, marked `notest`, and return their names."""
    page = (DOCS / name).read_text(encoding="utf-8")
    return _run(name, page, 0, page, steps)


def run_example(heading: str, steps: int) -> dict[str, Any]:
    """Run the Python blocks of a section of docs/train.md, marked `notest`, and return their names.

    Args:
        heading: Heading of the section.
        steps: Replaces numbers of steps: the literals that end in `_000`.
    """
    page = (DOCS / "train.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}$.*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    if section is None:
        raise ValueError(f"a section of docs/train.md is required; received {heading!r}")
    return _run("train.md", page, section.start(), section[0], steps)


def _run(name: str, page: str, start: int, text: str, steps: int) -> dict[str, Any]:
    """Run the blocks of a text that begins at a place of a page."""
    names: dict[str, Any] = {"__name__": "example"}
    found = list(re.finditer(r"^```python notest\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    if not found:
        raise ValueError(f"a text with an example is required; received {text[:40]!r}")
    for block in found:
        # Tracebacks have the lines of the page.
        first = page.count("\n", 0, start + block.start(1))
        code = "\n" * first + _STEPS.sub(str(steps), block[1])
        exec(compile(code, str(DOCS / name), "exec", dont_inherit=True), names)
    return names
