"""Text and links of strangers, made fit for a snapshot."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

from openoutcry.arena.snapshots.kinds import LONGEST_URL, URL, is_visible

# What is read of one text. Markup is longer than what it shows, and a parser's time grows with it.
MOST_MARKUP = 20_000
UNSHOWN = frozenset({"script", "style", "template", "noscript", "head", "title", "textarea", "iframe", "object"})


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in UNSHOWN
        self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(0, self.hidden - (tag in UNSHOWN))
        self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def plain(markup: object, most: int) -> str:
    """Return what a piece of HTML shows, on one line of at most `most` code points."""
    if not isinstance(markup, str):
        return ""
    reader = _Text()
    try:
        reader.feed(markup[:MOST_MARKUP])
        reader.close()
    except AssertionError:
        # The parser asserts on some broken declarations; what it had read by then is kept.
        pass
    return tidy("".join(reader.parts), most)


def tidy(text: object, most: int) -> str:
    """Return what a text shows, on one line of at most `most` code points."""
    if not isinstance(text, str):
        return ""
    # A line break parts words; other control characters part nothing.
    spaced = " ".join(text[:MOST_MARKUP].split())
    shown = "".join(filter(is_visible, unicodedata.normalize("NFC", spaced)))
    return " ".join(shown.split())[:most].rstrip()


def link(text: object) -> str | None:
    """Return an http or https address, or None for anything else."""
    if not isinstance(text, str):
        return None
    stripped = text.strip()
    return stripped if len(stripped) <= LONGEST_URL and URL.fullmatch(stripped) else None
