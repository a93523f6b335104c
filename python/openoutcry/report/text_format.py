"""Formatting of numbers and text, with untrusted text escaped."""

from __future__ import annotations

import html
import re

__all__ = [
    "DASH",
    "MINUS",
    "PLUS_MINUS",
    "TIMES",
    "attribute",
    "breakable",
    "clean",
    "escape",
    "number",
    "percent",
    "shorten",
    "undefined_because",
]

# As escapes: the characters themselves are easily mistaken for a hyphen and an x.
MINUS = "\u2212"
DASH = "\u2014"
TIMES = "\u00d7"
PLUS_MINUS = "\u00b1"

_CONTROLS = {
    **dict.fromkeys((*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"),
    # JSON may contain a lone surrogate, which UTF-8 cannot encode.
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    **dict.fromkeys((9, 10, 13, 0x2028, 0x2029), " "),
}
# Reasons of the engine, which are refusals, in the words of a reader.
_UNDEFINED_BECAUSE = {"varying returns are required; received constant returns": "the returns are constant"}
# Parts of a name such as `trend:fast=20,slow=100`: a value stays with its key if both fit into a column of a phone.
_PARTS = re.compile(r"(?:[^\s:,_/-]{1,18}(?=[\s:,_/-]|$)|[^\s:,=_/-]{1,18})[:,=_/-]*\s*|[:,=_/-]+\s*|\s+")
_LINES = {**_CONTROLS, 10: "\n", 0x2028: "\n", 0x2029: "\n"}


def undefined_because(reason: str) -> str:
    """Return why a number is undefined, in the words of a reader if there are some."""
    return _UNDEFINED_BECAUSE.get(reason, reason)


def clean(text: str) -> str:
    """Replace control and bidirectional override characters, except line breaks."""
    return text.translate(_LINES)


def escape(text: str) -> str:
    """Return `text` safe as HTML content or as a quoted attribute.

    Control and bidirectional override characters become U+FFFD: they could hide or reorder what a reader sees.
    """
    return html.escape(text.translate(_CONTROLS), quote=True)


def breakable(name: str) -> str:
    """Return a name as HTML that breaks between its parts, and not within them."""
    # Browsers break at a space and after a hyphen without it.
    parts = [escape(part) + ("" if part[-1] == "-" or part[-1].isspace() else "<wbr>") for part in _PARTS.findall(name)]
    return "".join(parts).removesuffix("<wbr>")


def attribute(name: str, value: str) -> str:
    """Return ` name="value"`, escaped."""
    return f' {name}="{escape(value)}"'


def number(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """Return `value` with a true minus sign; a value that rounds to zero has no sign."""
    text = f"{abs(value):,.{digits}f}"
    if not any(c in "123456789" for c in text):
        return text
    return (MINUS if value < 0 else "+" if signed else "") + text


def percent(value: float, digits: int = 1, *, signed: bool = False) -> str:
    """Return a fraction as a percentage."""
    return number(value * 100.0, digits, signed=signed) + "%"


def shorten(text: str, length: int) -> str:
    """Return `text`, cut to `length` characters with an ellipsis at its end."""
    return text if len(text) <= length else text[: length - 1] + "\u2026"
