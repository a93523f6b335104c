"""Upper estimate of the tokens of a text, without a tokenizer."""

from __future__ import annotations

import re
from bisect import bisect_right
from math import ceil

# Pieces that byte-pair tokenizers of language models rarely merge with each other: a word or the part of one from an
# upper-case letter on, up to three digits, other signs, white space, and a letter of another script.
_PIECES = re.compile(
    r"(?P<word> ?(?:[A-Z]?[a-z]+|[A-Z]+))|(?P<digits>[0-9]{1,3})|(?P<signs> ?[!-/:-@\[-`{-~]+)"
    r"|(?P<space>\s+)|(?P<rest>.)",
    re.DOTALL,
)
_WORD, _MARGIN = 12, 1.05


def tokens(text: str) -> int:
    """Return an upper estimate of the tokens of a text.

    It is the larger one of a third of the bytes, and of the number of pieces that tokenizers rarely merge. English
    prose has more than four bytes per token, but numbers, hashes and rare scripts have fewer than two.
    """
    n_pieces = _MARGIN * sum(map(_weight, _PIECES.finditer(text)))
    return ceil(max(len(text.encode("utf-8", "replace")) / 3, n_pieces))


def _weight(piece: re.Match[str]) -> float:
    length = piece.end() - piece.start()
    if piece.lastgroup == "word":
        # Longer than most words: letters without a meaning.
        return 1 if length <= _WORD else length / 2
    if piece.lastgroup == "signs":
        return ceil(length / 2) if length <= 4 else length
    if piece.lastgroup == "rest":
        n_bytes = len(piece[0].encode("utf-8", "replace"))
        return n_bytes if n_bytes > 3 else 0.75 * n_bytes
    return 1


def shortened(text: str, most: int) -> str:
    """Return a text that is cut to `most` tokens, at least three.

    The tokens are those of the upper estimate.
    """
    # A token has at most three bytes.
    head = text[: 3 * most + 1]
    if len(head) == len(text) and tokens(text) <= most:
        return text
    n = bisect_right(range(len(head)), most, key=lambda n: tokens(f"{head[:n]}…")) - 1
    return f"{head[: max(0, n)].rstrip()}…"
