"""Sources that spell data in the shape of their code: one integer per attack, and no literal that holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strategy_sources import deciding

WORD = 20
"""Bits of a statement, since a syntax tree has a maximum depth."""

_OF_WINDOW = "z = int(closes[0, 0] > closes[0, 0])\no = int(closes[0, 0] == closes[0, 0])"
"""Zero and one that look as if they depended on the window."""


def _nested(word: Sequence[int], inner: str, outer: str, start: str = "z") -> str:
    text = start
    for bit in word:
        text = f"{outer if bit else inner}({text})"
    return text


def _chained(word: Sequence[int]) -> str:
    return f"B(z){''.join('.b(o)' if bit else '.a()' for bit in word)}.v"


def _summed(zero: str, one: str) -> Callable[[Sequence[int]], str]:
    """Return the lines that double a sum and add one of two expressions."""
    return lambda word: "\n".join(["x = z", *(f"x = x + x + {one if bit else zero}" for bit in word)])


def _ladder(word: Sequence[int]) -> str:
    """Return a ladder of conditions on a counter, which an outer loop counts down."""
    rungs = "\n".join(f"    c = c - o\n    if c == z: x = x + {'o' if bit else 'z'}" for bit in word)
    return f"x = z\nfor k in range({len(word)}):\n    c = k + o\n    x = x + x\n{rungs}"


def _annotated(word: Sequence[int]) -> str:
    arguments = ", ".join(f"a{place}: {('float', 'int')[bit]}" for place, bit in enumerate(word))
    return f"def h({arguments}): pass\nx = z\nfor t in get_type_hints(h).values(): x = x + x + (t is int)"


def _rows(word: Sequence[int]) -> str:
    names = ["zo"[bit] for bit in word]
    rows = [f"({', '.join(names[at : at + 5])})" for at in range(0, len(names), 5)]
    return f"[{', '.join(rows)}]"


_CHAIN = "class B:\n    def __init__(self, v): self.v = v\n    def a(self): return B(self.v * 2)\n"
_CHAIN += "    def b(self, o): return B(self.v * 2 + o)"
_HINTS = "from typing import get_type_hints"
_LAMBDAS = "f = lambda x: x + x\ng = lambda x: x + x + o"

SHAPES: dict[str, tuple[str, str, Callable[[Sequence[int]], str]]] = {
    "a chain of operators": (
        "",
        "",
        lambda word: "\n".join(["x = z", *(("x = x + x", "x = x + x + o")[b] for b in word)]),
    ),
    "a choice of operators": ("", "", _summed("(z > o)", "(z < o)")),
    "a chain of method calls": (_CHAIN, "", lambda word: f"x = {_chained(word)}"),
    "a choice of attributes": ("", "u = complex(o, z)", _summed("u.imag", "u.real")),
    "an order of arguments": ("", "h = lambda p, q: p", _summed("h(z, o)", "h(o, z)")),
    "the order of a dict": ("", "", _summed("list({z: z, o: z})[z]", "list({o: z, z: z})[z]")),
    "nested lambdas": ("", _LAMBDAS, lambda word: f"x = {_nested(word, 'f', 'g')}"),
    "lists of names": (
        "",
        "",
        lambda word: f"x = z\nfor row in {_rows(word)}:\n    for v in row: x = x + x + v",
    ),
    "arguments of calls": (
        "",
        "def h(x, *vs):\n    for v in vs: x = x + x + v\n    return x",
        lambda word: "\n".join(["x = z", *(f"x = h(x, {row})" for row in _rows(word)[2:-2].split("), ("))]),
    ),
    "decorators": (
        "",
        "def f(k): return lambda: k() + k()\ndef g(k): return lambda: k() + k() + o",
        lambda word: "\n".join(
            [*("fg"[bit].join("@\n") for bit in reversed(word)), "def made(): return z", "x = made()"]
        ),
    ),
    "nested subscripts": ("", "i = [z, o]", _summed("i[z]", "i[i[o]]")),
    "the length of a display": ("", "", _summed("len([])", "len([[]])")),
    "boolean operators": ("", "", _summed("(z and o)", "(z or o)")),
    "an f-string": ("", "", _summed("len(f'')", "len(f'{z}')")),
    "a ladder on a counter": ("", "", _ladder),
    "annotations": (
        _HINTS,
        "",
        _annotated,
    ),
}
"""Statements above the class, statements before the first word, and those that set `x` to a word."""


def spelled(kind: str, bits: Sequence[int], *, is_constant: bool = False) -> str:
    """Return a source that spells bits.

    Args:
        kind: A key of `SHAPES`.
        bits: The data.
        is_constant: Write zero and one as literals, so that nothing seems to depend on the window.
    """
    above, before, form = SHAPES[kind]
    words = [bits[start : start + WORD] for start in range(0, len(bits), WORD)]
    lines = ["z = 0\no = 1" if is_constant else _OF_WINDOW, before, "total = closes[0] * 0"]
    lines += [f"{form(word)}\ntotal = total + x" for word in words]
    return deciding("\n".join([*filter(None, lines), "return total"]), above=above)


def decoded(source: str) -> float:
    """Return the sum of the words that a source spells, by running it here."""
    import numpy as np

    names: dict[str, object] = {"__name__": "here"}
    exec(compile(source, "here", "exec", dont_inherit=True), names)
    return float(names["Odd"]().weights(np.ones((3, 1)))[0])  # type: ignore[operator]
