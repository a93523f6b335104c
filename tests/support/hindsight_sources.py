"""Proposals of code that carry the future of a market instead of a rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from strategy_sources import deciding

import openoutcry as oo

N_SLOTS = 8191


def signs_after(market: oo.Dataset) -> np.ndarray:
    """Return whether each symbol rises after each bar, shape `(n_bars - 1, n_symbols)`."""
    return np.diff(market.close, axis=0) > 0.0


def slot_of(market: oo.Dataset, bar: int, n_slots: int) -> int:
    """Return the place of a bar in a table that is indexed by the price."""
    return round(float(market.close[bar, 0]) * 1e6) % n_slots


def string_table(market: oo.Dataset, n_slots: int = N_SLOTS) -> str:
    """Return the attack: a string, indexed by the price, that holds the signs of tomorrow's returns."""
    letters = ["@"] * n_slots
    for bar, signs in enumerate(signs_after(market)):
        code = sum(int(sign) << place for place, sign in enumerate(signs))
        letters[slot_of(market, bar, n_slots)] = chr(64 + code)
    return looked_up(f'T = "{"".join(letters)}"', f"ord(T[int(round(closes[-1, 0] * 1e6)) % {n_slots}]) - 64")


def integer_table(market: oo.Dataset, n_slots: int = 997, base: int = 10) -> str:
    """Return a smaller attack: the bits of an integer are the signs of the first symbol."""
    number = 0
    for bar, signs in enumerate(signs_after(market)):
        number |= int(signs[0]) << slot_of(market, bar, n_slots)
    text = hex(number) if base == 16 else str(number)
    return looked_up(f"T = {text}", f"(T >> int(round(closes[-1, 0] * 1e6)) % {n_slots}) & 1", "v * np.ones(n)")


def sign_table(market: oo.Dataset, n_slots: int = 977, n_signs: int = 24) -> str:
    """Return an attack that price levels do not stop: the index is a hash of the signs of the last returns."""
    number, signs = 0, signs_after(market)[:, 0].tolist()
    for bar in range(n_signs, len(signs)):
        slot = sum(int(sign) << place for place, sign in enumerate(signs[bar - n_signs : bar])) % n_slots
        number |= int(signs[bar]) << slot
    index = f"sum(int(x) << k for k, x in enumerate(np.diff(closes[:, 0]) > 0)) % {n_slots}"
    source = looked_up(f"T = {number:#x}", f"(T >> {index}) & 1", "v * np.ones(n)")
    return source.replace("        return 2", f"        return {n_signs + 1}")


def looked_up(above: str, index: str, bits: str = "(v >> np.arange(n)) & 1") -> str:
    """Return a source that looks up the signs of all symbols in a table."""
    body = f"n = closes.shape[1]\nv = {index}\nreturn np.where({bits}, 0.9 / n, -0.9 / n)"
    return deciding(body, above=above, lookback="2")


def caught(line: str, error: str) -> str:
    """Return a function that reads a name back from the message of an error."""
    return f"def f():\n    try:\n        {line}\n    except {error} as e:\n        return str(e)"


def hidden_in(kind: str, data: Sequence[int]) -> str:
    """Return a source that carries data, integers from 0 to 63, outside a string."""
    letters = "".join(chr(63 + value) for value in data)
    word = "v" + "".join("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ü"[value] for value in data)
    number = int("1" + "".join(f"{value:02d}" for value in data))
    lines = [f"if closes[-1, 0] < {value}: return closes[0] * 0" for value in data[:200]]
    made = {
        "a decimal integer": f"T = {number % 10**4000}",
        "a hexadecimal integer": f"T = {number:#x}",
        "a list of numbers": f"T = {list(data)}",
        "a list of bools": f"T = {[value > 31 for value in data]}",
        "a list of floats": f"T = {[value / 7 for value in data[: len(data) // 8]]}",
        "bytes": f"T = {bytes(data)!r}",
        "escapes": "T = '" + "".join(f"\\x{value:02x}" for value in data) + "'",
        "the keys of a dict": f"T = {dict.fromkeys(letters[i : i + 8] for i in range(0, len(data), 8))}",
        "an f-string": "T = f'{0}" + letters.replace("{", "a").replace("}", "b").replace("\\", "c") + "'",
        "a default": f"def f(t={letters!r}): return t",
        "an annotation": f"T: {letters!r} = 1",
        "a comprehension": f"T = [ord(c) for c in {letters!r}]",
        "a list of names": f"a = 0\nb = 1\nT = [{', '.join('ab'[value > 31] for value in data)}]",
        "joined parts": "T = " + " ".join(repr(letters[i : i + 8]) for i in range(0, len(data), 8)),
        "keyword names": f"T = list(dict({word}=1))",
        "an unbound name": caught(f"return {word}", "NameError"),
        "an unknown attribute": caught(f"return np.{word}", "AttributeError"),
        "a missing import": caught(f"from numpy import {word}", "ImportError"),
    }  # fmt: skip
    if kind == "a chain of conditions":
        return deciding("\n".join([*lines, "return closes[0] * 0"]))
    return deciding("return closes[0] * 0", above=made[kind])
