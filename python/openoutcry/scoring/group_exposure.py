"""Exposure of a run by group of symbols, such as sectors."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_text
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["UNGROUPED", "GroupExposure", "group_exposure", "groups_of"]

Floats = npt.NDArray[np.float64]

UNGROUPED = "(no group)"
"""Group of the symbols that have none."""


class GroupExposure(NamedTuple):
    """Exposure of one group.

    Attributes:
        name: Name of the group.
        n_symbols: Number of its symbols.
        net: Sum of signed weights at each close, shape `(n_bars,)`, float64.
        gross: Sum of abs(weight) at each close, same shape.
    """

    name: str
    n_symbols: int
    net: Floats
    gross: Floats


def groups_of(given: Any, symbols: Sequence[str]) -> dict[str, str]:
    """Return the group of each symbol; `UNGROUPED` for symbols without one.

    Args:
        given: A mapping of symbol to group, or a CSV file with the columns `symbol` and `group`.
        symbols: Symbols of the market.

    Raises:
        OpenOutcryError: `argument_invalid`: a symbol is unknown or there twice, or a name is no text.
    """
    pairs = _pairs_of_file(given) if isinstance(given, (str, os.PathLike)) else _pairs(given)
    if not pairs:
        raise refusal("argument_invalid", "`groups` must name the group of at least one symbol; received none")
    found: dict[str, str] = {}
    for symbol, group in pairs:
        if symbol not in symbols:
            wanted = f"a symbol of `groups` must be one of {', '.join(symbols)}"
            raise refusal("argument_invalid", f"{wanted}; received {symbol!r}; hint: leave it out")
        if symbol in found:
            raise refusal("argument_invalid", f"a symbol of `groups` must have one group; received {symbol!r} twice")
        if not isinstance(group, str) or not group.strip():
            wanted = f"the group of {symbol!r} must be a name"
            raise refusal("argument_invalid", f"{wanted}; received {group!r}; hint: leave the symbol out")
        found[symbol] = group.strip()
    return {symbol: found.get(symbol, UNGROUPED) for symbol in symbols}


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        wanted = "`groups` must be a mapping of symbol to group, or a CSV file with the columns symbol and group"
        raise refusal("argument_invalid", f"{wanted}; received {type(given).__name__}")
    return list(given.items())


def _pairs_of_file(path: str | os.PathLike[str]) -> list[tuple[Any, Any]]:
    try:
        text = read_text(path, DOCUMENT_BYTES, "`groups`")
    except (OSError, UnicodeDecodeError) as error:
        raise refusal("argument_invalid", f"`groups` must be a CSV file; received {os.fspath(path)!r}") from error
    rows = [row for row in csv.reader(text.removeprefix("\ufeff").splitlines()) if row]
    head = [name.strip().lower() for name in rows[0]] if rows else []
    if not {"symbol", "group"} <= set(head):
        wanted = f"'{os.fspath(path)}' must have the columns symbol and group"
        raise refusal("missing_column", f"{wanted}; received {', '.join(head) or 'no row'}")
    places = head.index("symbol"), head.index("group")
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(head):
            wanted = f"row {line} of '{os.fspath(path)}' must have {counted(len(head), 'cell')}"
            raise refusal("argument_invalid", f"{wanted}; received {len(row)}")
    return [(row[places[0]].strip(), row[places[1]]) for row in rows[1:]]


def group_exposure(weights: Floats, symbols: Sequence[str], groups: Mapping[str, str]) -> list[GroupExposure]:
    """Return the exposure of each group, in the order of their first symbols.

    Args:
        weights: Shape `(n_bars, n_symbols)`, float64, signed fractions of NAV at each close.
        symbols: Names of the columns.
        groups: Group of every symbol.
    """
    places: dict[str, list[int]] = {}
    for place, symbol in enumerate(symbols):
        places.setdefault(groups[symbol], []).append(place)
    return [
        GroupExposure(name, len(at), weights[:, at].sum(axis=1), np.abs(weights[:, at]).sum(axis=1))
        for name, at in places.items()
    ]
