"""Texts of strangers in a prompt: bounded, cleaned and fenced.

A goal, a name, a rationale or what an earlier session left may hold anything, also what looks like an instruction or
like the end of its fence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from unicodedata import category

# Controls, formats such as marks that turn text around, halves of surrogate pairs, and ends of lines of their own.
_STRIPPED = ("Cc", "Cf", "Cs", "Zl", "Zp")
_CUT = " [cut]"


def cleaned(text: str, most: int) -> str:
    """Return a text of at most so many characters, without controls."""
    if len(text) <= most and text.isprintable():
        return text
    kept = "".join(letter for letter in text[: 2 * most] if letter in "\n\t" or category(letter) not in _STRIPPED)
    return kept if len(kept) <= most and len(text) <= 2 * most else kept[: most - len(_CUT)] + _CUT


def one_line(text: str, most: int) -> str:
    """Return a text like `cleaned`, in one line."""
    return cleaned(" ".join(text[: 4 * most].split()), most)


def fenced(text: str, kind: str = "text") -> str:
    """Return a text between fences that are longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def in_lines(rows: list[Mapping[str, Any]]) -> str:
    """Return objects in fenced lines of JSON."""
    return fenced("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "json")


def bounded(value: Any, most: int) -> Any:
    """Return plain values with every text in one cleaned line.

    What is too large is the beginning of its JSON.
    """
    found = _cleaned(value, most, 4)
    text = json.dumps(found, ensure_ascii=False)
    return found if len(text) <= 2 * most else one_line(text, most)


def _cleaned(value: Any, most: int, depth: int) -> Any:
    if isinstance(value, str):
        return one_line(value, most)
    if depth == 0 and isinstance(value, (Mapping, list)):
        return "..."
    if isinstance(value, Mapping):
        return {one_line(str(name), 80): _cleaned(each, most, depth - 1) for name, each in value.items()}
    return [_cleaned(each, most, depth - 1) for each in value] if isinstance(value, (list, tuple)) else value
