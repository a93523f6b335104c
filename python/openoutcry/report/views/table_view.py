"""View of a table: the same rows for the page and for files.

Every number arrives computed. None is undefined, with its reason in `reasons`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from openoutcry.untrusted.counted_nouns import counted

__all__ = ["Column", "Table", "Value"]

Value = str | float | int | None


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: Name in files.
        label: Heading on the page.
        unit: Unit, as in `table_parts.written`: `row` for the unit of each row, `hidden` for files only.
    """

    name: str
    label: str
    unit: str = "text"


@dataclass(frozen=True)
class Table:
    """A table of a run.

    Attributes:
        name: Name of its file, without suffix.
        title: Caption on the page.
        columns: The first visible one is the heading of each row.
        rows: Values in the order of `columns`.
        units: Unit of each row, for columns of the unit `row`; empty if there is none.
        reasons: Index of a row and name of a column to why the value is undefined.
        n_rows: Rows of the whole table if `rows` are only its first; None if `rows` is all.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    units: tuple[str, ...] = ()
    reasons: Mapping[tuple[int, str], str] = field(default_factory=dict)
    n_rows: int | None = None

    @property
    def length(self) -> int:
        """Number of rows of the whole table."""
        return len(self.rows) if self.n_rows is None else self.n_rows

    def __post_init__(self) -> None:
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"rows[{index}] must have {counted(len(self.columns), 'value')}; received {len(row)}")
        if any(column.unit == "row" for column in self.columns) and len(self.units) != len(self.rows):
            raise ValueError(
                f"`units` must have {counted(len(self.rows), 'entry', 'entries')}; received {len(self.units)}"
            )
