"""Sanitize untrusted text for prompts: truncate, strip controls and fence it.

A goal, a name, a rationale or notes of an earlier session can contain anything, including text that looks like an
instruction or closes its fence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from unicodedata import category

# Unicode categories: controls, format characters such as bidirectional marks, lone surrogates, and line and
# paragraph separators.
_STRIPPED = ("Cc", "Cf", "Cs", "Zl", "Zp")
_CUT = " [cut]"


def cleaned(text: str, most: int) -> str:
    """Return a text of at most `most` characters, without control characters."""
    if len(text) <= most and text.isprintable():
        return text
    clean = "".join(char for char in text[: 2 * most] if char in "\n\t" or category(char) not in _STRIPPED)
    return clean if len(clean) <= most and len(text) <= 2 * most else clean[: most - len(_CUT)] + _CUT


def one_line(text: str, most: int) -> str:
    """Return a cleaned text on one line."""
    return cleaned(" ".join(text[: 4 * most].split()), most)


def fenced(text: str, kind: str = "text") -> str:
    """Return a text in a code fence longer than any run of backticks inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def in_lines(rows: list[Mapping[str, Any]]) -> str:
    """Return objects as fenced JSON lines."""
    return fenced("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "json")


def bounded(value: Any, most: int) -> Any:
    """Return JSON values with every string cleaned to one line.

    A value whose JSON is too long becomes the beginning of that JSON.
    """
    clean = _cleaned(value, most, 4)
    text = json.dumps(clean, ensure_ascii=False)
    return clean if len(text) <= 2 * most else one_line(text, most)


def _cleaned(value: Any, most: int, depth: int) -> Any:
    if isinstance(value, str):
        return one_line(value, most)
    if depth == 0 and isinstance(value, (Mapping, list)):
        return "..."
    if isinstance(value, Mapping):
        return {one_line(str(name), 80): _cleaned(each, most, depth - 1) for name, each in value.items()}
    return [_cleaned(each, most, depth - 1) for each in value] if isinstance(value, (list, tuple)) else value
