"""Sanitizing of untrusted text and links for snapshots."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

from openoutcry.arena.snapshots.item_kinds import MAX_URL, URL, is_visible

# Input limit in characters: markup is longer than its visible text.
MAX_MARKUP = 20_000
HIDDEN_ELEMENTS = frozenset({"script", "style", "template", "textarea", "title"})
TAG = re.compile(r"(<[/!?a-zA-Z][^<>]*>)")
TAG_NAME = re.compile(r"<(/?[!?a-zA-Z][^\s<>/]*)")


def html_to_text(markup: object, max_length: int) -> str:
    """Return the visible text of HTML on one line, at most `max_length` code points.

    Scripts and styles are removed. A tag extends from `<` to the next `>`; misread tags become text. Full HTML parsers
    take quadratic time on some inputs.
    """
    if not isinstance(markup, str):
        return ""
    shown, hidden = [], ""
    for part in TAG.split(markup[:MAX_MARKUP]):
        tag = TAG_NAME.match(part)
        if tag is None:
            shown.append("" if hidden else part)
            continue
        name = tag[1].lower()
        if not hidden:
            # A tag such as `<br>` separates words.
            shown.append(" ")
            hidden = name if name in HIDDEN_ELEMENTS else ""
        elif name == f"/{hidden}":
            hidden = ""
    try:
        return clean_text(unescape("".join(shown)), max_length)
    except ValueError:
        # A character reference with thousands of digits.
        return clean_text("".join(shown), max_length)


def clean_text(text: object, max_length: int) -> str:
    """Return the visible text on one line, at most `max_length` code points."""
    if not isinstance(text, str):
        return ""
    # Line breaks separate words; other control characters are removed.
    spaced = " ".join(text[:MAX_MARKUP].split())
    shown = "".join(filter(is_visible, unicodedata.normalize("NFC", spaced)))
    return " ".join(shown.split())[:max_length].rstrip()


def http_url(text: object) -> str | None:
    """Return an http or https URL, or None for any other value."""
    if not isinstance(text, str):
        return None
    stripped = text.strip()
    return stripped if len(stripped) <= MAX_URL and URL.fullmatch(stripped) else None
