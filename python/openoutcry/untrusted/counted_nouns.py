"""Counts in words: `1 trial`, `2 trials`."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular for 1.

    Args:
        number: The count.
        noun: The noun in the singular.
        plural: Its plural; with an `s` by default.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
