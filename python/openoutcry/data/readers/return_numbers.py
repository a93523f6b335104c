"""Numbers of the columns of a table of returns: decimal mark, percent signs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import column_roles, number_text
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

Array = npt.NDArray[np.float64]
# Negative numbers of accountants, and the minus sign of typography.
_PARENTHESES = re.compile(r"\(\s*([\d.,]+\s*%?)\s*\)(\s*%)?")
_MINUS = "\u2212"
# Codes of the data of French for a missing return.
_CODES = (-99.99, -999.0, -999.99)
_PERCENT_NAME = re.compile(r"%|\b(pct|percent|percentage|prozent)\b", re.IGNORECASE)


def decimal_mark(table: TextTable, places: Sequence[int], stated: str | None) -> str:
    """Return the decimal mark of columns; see `number_text.decimal_mark`.

    Raises:
        OpenOutcryError: `argument_invalid`: a mark is stated for columns of numbers.
    """
    texts = [table.column(place) for place in places if table.numbers(place) is None]
    columns = [_without_signs(_plain_texts(column)) for column in texts]
    if stated is not None and not columns:
        message = f"`decimal` must be left out for columns of numbers, which have no mark; received {stated!r}"
        raise refusal("argument_invalid", message)
    is_continental = table.delimiter == ";" or column_roles.are_continental(table.names)
    return number_text.decimal_mark(columns, stated, is_continental=is_continental)


def numbers_of(table: TextTable, places: Mapping[str, int], mark: str) -> tuple[dict[str, Array], list[str]]:
    """Return the numbers of columns, and the names of those with percent signs.

    `1.2%` is 0.012.

    Raises:
        OpenOutcryError: `field_unparsable`: a cell is no number, or only some cells of a column have a percent sign.
            `argument_invalid`: a cell is empty.
    """
    numbers, signed = {}, []
    for name, place in places.items():
        found = table.numbers(place)
        texts = _plain_texts(table.column(place)) if found is None else table.column(place)
        has_signs = found is None and _has_signs(texts, table.lines, name)
        if found is None:
            found = number_text.parse(_without_signs(texts) if has_signs else texts, table.lines, name, mark)
        number_text.check_finite(found, table.lines, name)
        if len(missing := np.flatnonzero(np.isnan(found))):
            row = int(missing[0])
            where = f"line {table.lines[row]}, column {name}"
            hint = "hint: leave out the rows without a value, such as with `frame.dropna()`"
            raise refusal("argument_invalid", f"{where} must be a finite number; received {texts[row]!r}; {hint}")
        if len(rows := np.flatnonzero(np.isin(found, _CODES))):
            received = f"{texts[int(rows[0])]!r} on line {table.lines[int(rows[0])]}, a code for none"
            hint = "hint: leave out the rows without a value"
            raise refusal("field_unparsable", f"`{name}` must be returns; received {received}; {hint}")
        numbers[name] = hundredths(found) if has_signs else np.asarray(found, np.float64)
        signed += [name] if has_signs else []
    return numbers, signed


def hundredths(values: Array) -> Array:
    """Return percentages as fractions: 1.2 is the number written 0.012."""
    texts = list(map(repr, values.tolist()))
    return np.array([float(Decimal(text).scaleb(-2) if "e" in text else f"{text}e-2") for text in texts], np.float64)


def says_percent(name: str, unit: str) -> bool:
    """Return whether the name or the unit of a column says percent."""
    return any(_PERCENT_NAME.search(text.replace("_", " ")) is not None for text in (name, unit))


def is_number(text: str) -> bool:
    """Return whether a text is a number, also with a percent sign."""
    return number_text.is_numeric([_without_sign(_plain(text).strip())])


def _plain_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return texts with a plain minus."""
    joined = "\n".join(texts)
    return [_plain(text) for text in texts] if "(" in joined or _MINUS in joined else texts


def _plain(text: str) -> str:
    """Return a text with a plain minus: `(1.2%)` is -1.2%."""
    match = _PARENTHESES.fullmatch(text.strip())
    return text.replace(_MINUS, "-") if match is None else f"-{match[1]}{match[2] or ''}"


def _has_signs(texts: Sequence[str], lines: Sequence[int], name: str) -> bool:
    """Return whether all numbers of a column have a percent sign; refuse some."""
    if "%" not in "\n".join(texts):
        return False
    for text, line in zip(texts, lines, strict=True):
        if "%" not in text and not number_text.is_missing(text):
            message = f"all cells of `{name}` must have a percent sign, or none; received {text!r} on line {line}"
            raise refusal("field_unparsable", message)
    return True


def _without_signs(texts: Sequence[str]) -> Sequence[str]:
    """Return texts without one percent sign at their start or end."""
    if "%" not in "\n".join(texts):
        return texts
    return [_without_sign(text.strip()) for text in texts]


def _without_sign(text: str) -> str:
    bare = text[:-1] if text.endswith("%") else text[1:] if text.startswith("%") else text
    return bare.strip()
