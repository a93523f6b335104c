"""Text and links of strangers, made fit for a snapshot."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

from openoutcry.arena.snapshots.item_kinds import MAX_URL, URL, is_visible

# What is read of one text: markup is longer than what it shows.
MAX_MARKUP = 20_000
HIDDEN_ELEMENTS = frozenset({"script", "style", "template", "textarea", "title"})
TAG = re.compile(r"(<[/!?a-zA-Z][^<>]*>)")
TAG_NAME = re.compile(r"<(/?[!?a-zA-Z][^\s<>/]*)")


def html_to_text(markup: object, max_length: int) -> str:
    """Return what a piece of HTML shows, on one line of at most `most` code points.

    Nothing is shown of what is no text. A tag is what stands between `<` and the next `>`: a reader of true HTML takes
    a time that grows with the square of some texts, and what is read amiss here is shown as text.
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
            # A tag parts words, as `<br>` does.
            shown.append(" ")
            hidden = name if name in HIDDEN_ELEMENTS else ""
        elif name == f"/{hidden}":
            hidden = ""
    try:
        return clean_text(unescape("".join(shown)), max_length)
    except ValueError:
        # A character of thousands of digits.
        return clean_text("".join(shown), max_length)


def clean_text(text: object, max_length: int) -> str:
    """Return what a text shows, on one line of at most `most` code points."""
    if not isinstance(text, str):
        return ""
    # A line break parts words; other control characters part nothing.
    spaced = " ".join(text[:MAX_MARKUP].split())
    shown = "".join(filter(is_visible, unicodedata.normalize("NFC", spaced)))
    return " ".join(shown.split())[:max_length].rstrip()


def http_url(text: object) -> str | None:
    """Return an http or https address, or None for anything else."""
    if not isinstance(text, str):
        return None
    stripped = text.strip()
    return stripped if len(stripped) <= MAX_URL and URL.fullmatch(stripped) else None
