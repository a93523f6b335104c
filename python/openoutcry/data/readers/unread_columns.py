"""Checks of columns that are not read: unfinished bars, and factors of splits."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

# Columns that state whether a bar is complete, and the texts for one that is not.
_COMPLETE = frozenset(("complete", "confirm", "iscomplete", "isfinal"))
_UNFINISHED = frozenset(("false", "0"))
# Factors of Compustat and CRSP, which change at a split.
_FACTORS = frozenset(("ajexdi", "cfacpr"))


def check(table: TextTable, ignored: Sequence[str], symbol: int | None, adjusted: str | None) -> None:
    """Refuse unfinished bars, and splits that are only in a factor.

    Args:
        table: The table.
        ignored: Names of the columns that are not read.
        symbol: Place of the column of symbols, None for one symbol.
        adjusted: What the caller states about the prices.

    Raises:
        OpenOutcryError: `value_invalid`: a bar is not complete, or a factor changes.
    """
    for name in ignored:
        if simple(name) in _COMPLETE:
            _check_complete(table, name)
        if simple(name) in _FACTORS and adjusted is None:
            _check_factor(table, name, symbol)


def _check_complete(table: TextTable, name: str) -> None:
    for line, text in zip(table.lines, table.column(table.names.index(name)), strict=True):
        if text.strip().lower() in _UNFINISHED:
            message = f"bars must be complete; received {name} {text!r} on line {line}"
            raise refusal("value_invalid", f"{message}; hint: leave the unfinished bar out of the file")


def _check_factor(table: TextTable, name: str, symbol: int | None) -> None:
    factors = table.column(table.names.index(name))
    symbols = [""] * len(factors) if symbol is None else table.column(symbol)
    first: dict[str, str] = {}
    for line, key, text in zip(table.lines, symbols, factors, strict=True):
        if first.setdefault(key, text) != text:
            message = f"a split must be in a column; received {name} {first[key]} and {text} on line {line}"
            hint = 'adjusted="split", `--adjusted split` if the prices hold it, or a column `split` with the ratio'
            raise refusal("value_invalid", f"{message}; hint: {hint}")
