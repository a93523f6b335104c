"""Description length of a syntax tree, in bits.

A model predicts each token from the three before it, and learns while it reads. It starts from typical strategies, so
the idioms of a strategy cost little, a repetition costs little, and a free choice costs its information. The
probabilities of all next tokens sum to at most 1, so at most 2^b trees have a length of b bits (Kraft): however a tree
spells data, b bits are the most that it can hold.

The typical strategies are a frozen file: another one would change the lengths that journals record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from math import log2

_ORDER = 3
_DISCOUNT = 0.75
"""Share of a seen token that is left for others. Source: Kneser and Ney (1995), interpolated."""
_NEW = 2.0**-13
"""Probability of a token that neither the source nor a typical strategy had before, among 8,192."""
_TYPICAL = "typical_strategies.txt"

_Context = tuple[str, ...]


class TokenModel:
    """An adaptive model of tokens with interpolated contexts of up to three."""

    def __init__(self) -> None:
        self._counts: dict[_Context, dict[str, int]] = {}
        self._totals: dict[_Context, int] = {}
        self._before: _Context = ()

    def copy(self) -> TokenModel:
        """Return a model with the same counts, before a new sequence."""
        found = TokenModel()
        found._counts = {context: dict(counts) for context, counts in self._counts.items()}
        found._totals = dict(self._totals)
        return found

    def start(self) -> None:
        """Forget the last tokens, before a new sequence."""
        self._before = ()

    def probability(self, token: str) -> float:
        """Return the probability of the next token."""
        found = _NEW
        for length in range(len(self._before) + 1):
            context = self._before[len(self._before) - length :]
            counts = self._counts.get(context)
            if counts is None:
                break
            seen = max(counts.get(token, 0) - _DISCOUNT, 0.0)
            found = (seen + _DISCOUNT * len(counts) * found) / self._totals[context]
        return found

    def add(self, token: str) -> None:
        """Learn the next token."""
        for length in range(len(self._before) + 1):
            context = self._before[len(self._before) - length :]
            counts = self._counts.setdefault(context, {})
            counts[token] = counts.get(token, 0) + 1
            self._totals[context] = self._totals.get(context, 0) + 1
        self._before = (*self._before, token)[-_ORDER:]


def token_bits(tokens: Sequence[str]) -> tuple[float, ...]:
    """Return the bits of each token of a source, given those before it."""
    return _bits(tuple(tokens))


# A session checks a source once per worker.
@lru_cache(maxsize=16)
def _bits(tokens: tuple[str, ...]) -> tuple[float, ...]:
    model = typical_model()
    bits = []
    for token in tokens:
        bits.append(-log2(model.probability(token)))
        model.add(token)
    return tuple(bits)


def typical_model() -> TokenModel:
    """Return a model that has read the typical strategies."""
    return _typical().copy()


@lru_cache(maxsize=1)
def _typical() -> TokenModel:
    model = TokenModel()
    for sequence in files(__package__).joinpath(_TYPICAL).read_text(encoding="utf-8").split("\n\n"):
        model.start()
        for token in sequence.split():
            model.add(token)
    return model
