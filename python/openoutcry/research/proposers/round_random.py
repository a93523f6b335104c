"""Random numbers of a round, equal in every session that reaches it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


def seed_for(*parts: object) -> int:
    """Return a seed derived from parts such as the session's seed and the round."""
    text = "\0".join(["openoutcry.research", *map(str, parts)])
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")


class Draws:
    """Reproducible random draws for one purpose.

    They use `Random.random` alone, whose sequence is stable across Python versions.

    Args:
        parts: Key of the draws, such as a name, the session's seed and the round.
    """

    def __init__(self, *parts: object) -> None:
        self._random = Random(seed_for(*parts))

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return self._random.random()

    def below(self, n: int) -> int:
        """Return an integer in [0, n)."""
        return min(int(self.unit() * n), n - 1)

    def one_of(self, items: Sequence[Item]) -> Item:
        """Return one of the items."""
        return items[self.below(len(items))]

    def some_of(self, items: Sequence[Item], n: int) -> list[Item]:
        """Return n of the items, in their order."""
        left = list(range(len(items)))
        chosen = [left.pop(self.below(len(left))) for _ in range(n)]
        return [items[place] for place in sorted(chosen)]
