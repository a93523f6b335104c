"""Rows of metadata and columns of flags in tables of series, as of the Bundesbank."""

from __future__ import annotations

from openoutcry.data.readers.date_forms import looks_like_date
from openoutcry.data.readers.frame_table import FrameTable
from openoutcry.data.readers.text_table import ColumnTable, TextTable

_FLAGS = "_FLAGS"
# Rows of metadata at most.
_MOST_ROWS = 20


def without_metadata(table: TextTable) -> tuple[TextTable, list[str]]:
    """Return a table of series without metadata and flags, and notices.

    Only tables with a column of flags for a series have them.
    """
    names = [name.strip() for name in table.names]
    flags = [place for place, name in enumerate(names) if name.endswith(_FLAGS) and name[: -len(_FLAGS)] in names]
    if not flags or isinstance(table, FrameTable):
        return table, []
    dates = table.column(0)[: _MOST_ROWS + 1]
    first = next((row for row, text in enumerate(dates) if looks_like_date(text)), 0)
    kept = [place for place in range(len(names)) if place not in flags]
    columns = [list(table.column(place))[first:] for place in kept]
    below = ColumnTable([names[place] for place in kept], columns, table.lines[first:], table.preamble, table.delimiter)
    below.notes, below.zones = table.notes, table.zones
    notices = [f"columns not read: {', '.join(repr(names[place]) for place in flags)}"]
    if first:
        notices.append(f"lines {table.lines[0]} to {table.lines[first - 1]} hold metadata and are not read")
    return below, notices
