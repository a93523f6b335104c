"""Perturbations of the rows after a bar: garbage, NaN, permutation and truncation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from openoutcry.audits.leakcheck.frame_columns import Column, Rows, Source

# Exponents of the factors. Up and down, so that a running maximum or minimum cannot hide a leak; large, so that a leak
# of 1e-12 of a value exceeds rounding; not larger, because a transform of a column rounds by its largest value.
_LEAST, _MOST = 2.0, 4.0
_SEED = 20_240_229
# Largest distance of the exponent of a price from that of its row: opens stay near closes.
_SPREAD = 0.05
_PRICES = ("open", "high", "low", "close")

# A perturbed headline reports other moves.
_OTHER = str.maketrans("+-0123456789", "-+9876543210")


def garbage(source: Source, cut: int) -> Source:
    """Multiply or divide each later number by 1e2 to 1e4.

    Signs and NaN stay, a zero becomes the factor, a boolean is inverted and a text is replaced. The prices of a row
    have nearly the same factor, and its `high` and `low` are bounds of them: many targets refuse other prices.
    """
    garbled = _with_later(source, cut, lambda values, rng: _garbled(values, _exponents(rng, len(values))))
    prices = [name for name in map(source.column, _PRICES) if name is not None]
    if len(prices) < 2 or any(source.columns[name].dtype.kind not in "fiu" for name in prices):
        return garbled
    later: Rows = np.flatnonzero(source.bars > cut)
    # The exponents of the last price, as in a frame with no other one.
    rng = np.random.default_rng([_SEED, cut, source.values.index(prices[-1])])
    shared = _exponents(rng, len(later))
    changed = {prices[-1]: garbled.columns[prices[-1]].copy()}
    for name in prices[:-1]:
        changed[name] = garbled.columns[name].copy()
        # Ratios of two prices change too.
        exponents = shared + rng.uniform(-_SPREAD, _SPREAD, len(later))
        changed[name][later] = _garbled(np.asarray(source.columns[name][later]), exponents)
    rows = np.array([changed[name][later] for name in prices])
    for bound, function in (("high", np.fmax), ("low", np.fmin)):
        if (named := source.column(bound)) is not None:
            values = changed[named][later]
            changed[named][later] = np.where(np.isnan(values), values, function.reduce(rows))
    return source.changed({**garbled.columns, **changed})


def blank(source: Source, cut: int) -> Source:
    """Replace each later floating-point value by NaN and each later text by None."""

    def blanked(values: Column, _: np.random.Generator) -> Column:
        return np.full(len(values), np.nan, values.dtype) if values.dtype.kind == "f" else _no_text(values)

    return _with_later(source, cut, blanked)


def permutation(source: Source, cut: int) -> Source:
    """Permute the later rows; dates and symbols keep their order."""
    order = np.random.default_rng([_SEED, cut]).permutation(int((source.bars > cut).sum()))
    return _with_later(source, cut, lambda values, _: np.asarray(values[order]))


def truncation(source: Source, cut: int) -> Source:
    """Drop the later rows."""
    return source.truncated(cut)


KINDS: dict[str, Callable[[Source, int], Source]] = {
    "garbage": garbage,
    "nan": blank,
    "permutation": permutation,
    "truncation": truncation,
}


def _with_later(source: Source, cut: int, change: Callable[[Column, np.random.Generator], Column]) -> Source:
    later: Rows = np.flatnonzero(source.bars > cut)
    changed = {}
    for place, name in enumerate(source.values):
        values = source.columns[name].copy()
        values[later] = change(np.asarray(values[later]), np.random.default_rng([_SEED, cut, place]))
        changed[name] = values
    return source.changed(changed)


def _exponents(rng: np.random.Generator, n: int) -> Column:
    """Return exponents of factors up and down, shape `(n,)`."""
    exponents: Column = rng.uniform(_LEAST, _MOST, n) * rng.choice([-1.0, 1.0], n)
    return exponents


def _garbled(values: Column, exponents: Column) -> Column:
    kind = values.dtype.kind
    if kind == "b":
        return ~values
    if kind not in "fiu":
        return _other_text(values)
    factors = 10.0**exponents
    numbers = values.astype(np.float64)
    garbled: Column
    # The largest floats overflow to infinity, which is a valid perturbation.
    with np.errstate(over="ignore"):
        numbers = np.where(numbers == 0.0, factors, numbers * factors)
        if kind == "f":
            garbled = numbers.astype(values.dtype)
            return garbled
    # A quarter of the range, so that sums of a few values do not overflow.
    limits = np.iinfo(values.dtype)
    garbled = np.clip(np.rint(numbers), limits.min // 4, limits.max // 4).astype(values.dtype)
    return garbled


def _other_text(values: Column) -> Column:
    return _texts(values, lambda text: f"not {text.translate(_OTHER)}")


def _no_text(values: Column) -> Column:
    return _texts(values, lambda _: None)


def _texts(values: Column, change: Callable[[str], str | None]) -> Column:
    """Return values with their texts changed."""
    # Texts of fixed width have no room for others, so their order changes.
    if values.dtype.kind != "O":
        turned: Column = values[::-1].copy()
        return turned
    return np.array([change(value) if isinstance(value, str) else value for value in values], dtype=object)
