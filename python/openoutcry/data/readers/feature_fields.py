"""Columns of a file that are features: numbers that agents observe beside prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import number_text
from openoutcry.data.readers.market_columns import Table
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import refusal

PREFIX = "feature_"
"""Start of the name of a column that is a feature without being stated."""


@dataclass
class FeatureFields:
    """Numbers of the features of a table, row by row, and the rules for missing ones.

    Attributes:
        rows: Numbers by name, shape `(n_rows,)`.
        missing: The rule of each feature, as `data.feature_columns.Feature` takes it.
    """

    rows: dict[str, Table] = field(default_factory=dict)
    missing: dict[str, Any] = field(default_factory=dict)

    def placed(
        self, bars: npt.NDArray[Any], kept: npt.NDArray[Any] | slice, shape: tuple[int, ...], places: Any = None
    ) -> dict[str, Table]:
        """Return the features by bar, and by symbol if the rows have places of symbols."""
        found = {}
        for name, values in self.rows.items():
            found[name] = np.full(shape, np.nan)
            found[name][bars if places is None else (bars, places)] = values[kept]
        return found


def taken(table: TextTable, stated: Any, decimal: str | None) -> tuple[TextTable, FeatureFields]:
    """Return a table without its features, and the features.

    Args:
        table: The table.
        stated: Names of columns, or rules for missing values by name; columns with the prefix are features too.
        decimal: Decimal mark, if it is stated.

    Raises:
        OpenOutcryError: a stated column is missing or no text, or a value is no number.
    """
    rules = _rules(stated)
    if unknown := [name for name in rules if name not in table.names]:
        wanted = f"`features` must name columns of the file; received {unknown[0]!r}"
        raise refusal("missing_column", f"{wanted} among {', '.join(map(repr, table.names))}")
    rules |= {name: "refuse" for name in table.names if name.lower().startswith(PREFIX) and name not in rules}
    found = FeatureFields()
    for name, rule in rules.items():
        place, shown = table.names.index(name), name[len(PREFIX) :] if name.lower().startswith(PREFIX) else name
        numbers = table.numbers(place)
        if numbers is None:
            numbers = number_text.parse(table.column(place), table.lines, name, decimal or ".")
        found.rows[shown], found.missing[shown] = numbers, rule
    return table.without([table.names.index(name) for name in rules]) if rules else table, found


def _rules(stated: Any) -> dict[str, Any]:
    if stated is None:
        return {}
    if isinstance(stated, Mapping):
        return dict(stated)
    if isinstance(stated, str) or not isinstance(stated, Sequence) or not all(isinstance(name, str) for name in stated):
        raise refusal("argument_invalid", f"`features` must be a list of names of columns; received {stated!r}")
    return dict.fromkeys(stated, "refuse")
