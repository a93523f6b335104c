"""Columns of a file that are features: numbers that agents observe with prices."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers import number_text
from openoutcry.data.readers.column_words import simple
from openoutcry.data.readers.market_columns import Table
from openoutcry.data.readers.text_table import TextTable
from openoutcry.errors import OpenOutcryError, refusal

# Names of columns that a market needs, in lower case.
_NO_FEATURES = frozenset(("date", "symbol", "open", "high", "low", "close", "volume"))
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
    rules = _of_columns(_rules(stated), table.names)
    found = FeatureFields()
    for column, rule in rules.items():
        place, name = table.names.index(column), _shown(column)
        if name in found.rows:
            wanted = "the name of a feature must be unique"
            raise refusal("value_invalid", f"{wanted}; received {name!r} for two of {', '.join(map(repr, rules))}")
        numbers = table.numbers(place)
        if numbers is None:
            numbers = number_text.parse(table.column(place), table.lines, column, decimal or ".")
        found.rows[name], found.missing[name] = numbers, rule
    return table.without([table.names.index(name) for name in rules]) if rules else table, found


@contextmanager
def named_hints(names: Collection[str]) -> Iterator[None]:
    """Put the name of the feature into the hint of an error about a missing value."""
    try:
        yield
    except OpenOutcryError as error:
        message = str(error).removeprefix(f"{error.slug}: ")
        name = next((name for name in names if message.startswith(f'feature "{name}" ')), None)
        if name is None:
            raise
        raise refusal(error.slug, message.replace('features={"NAME"', f'features={{"{name}"')) from None


def _shown(column: str) -> str:
    """Return the name of the feature of a column."""
    return column[len(PREFIX) :] if column.lower().startswith(PREFIX) else column


def _of_columns(stated: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the rules by column, with those of columns that have the prefix."""
    with_prefix = [name for name in names if name.lower().startswith(PREFIX)]
    column_of = {_shown(name): name for name in with_prefix} | {name: name for name in names}
    rules: dict[str, Any] = {}
    for name, rule in stated.items():
        if name not in column_of:
            wanted = f"`features` must name columns of the file; received {name!r}"
            raise refusal("missing_column", f"{wanted} among {', '.join(map(repr, names))}")
        if simple(name) in _NO_FEATURES:
            wanted = "a feature must be a column other than dates, symbols, prices and volumes"
            hint = 'hint: environments show them without a feature, as in `features=["close"]`'
            raise refusal("value_invalid", f"{wanted}; received {name!r}; {hint}")
        if column_of[name] in rules:
            raise refusal("argument_invalid", f"`features` must name each column once; received {name!r} twice")
        rules[column_of[name]] = rule
    return rules | {name: "refuse" for name in with_prefix if name not in rules}


def _rules(stated: Any) -> dict[str, Any]:
    if stated is None:
        return {}
    if isinstance(stated, Mapping):
        return dict(stated)
    if isinstance(stated, str) or not isinstance(stated, Sequence) or not all(isinstance(name, str) for name in stated):
        raise refusal("argument_invalid", f"`features` must be a list of names of columns; received {stated!r}")
    return dict.fromkeys(stated, "refuse")
