"""Options of commands that write the tables of a page to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

if TYPE_CHECKING:
    from openoutcry.report.views.table_view import Table

TABLES = typer.Option(None, "--tables", help="Also write every table of the page to this folder.")
FORMAT = typer.Option("csv", "--format", help="Format of these tables: csv or parquet.")


def check_tables(tables: Path | None, table_format: str) -> None:
    """Check the folder and the format of tables before anything is computed.

    Raises:
        OpenOutcryError: `argument_invalid`: the folder is a file, or the format is unknown or given alone.
    """
    from openoutcry.report.tables.file_tables import check_folder

    if tables is None and table_format != "csv":
        raise refusal("argument_invalid", f"`--format` must come with `--tables`; received {table_format!r} alone")
    if tables is not None:
        check_folder(tables, table_format)


def write_tables_of(page: Callable[[], Mapping[str, Table]], folder: Path | None, table_format: str) -> list[str]:
    """Write the tables of a page to a folder, and return their paths."""
    from openoutcry.report.tables.file_tables import write_tables

    return [] if folder is None else [str(path) for path in write_tables(page(), folder, table_format)]


def tables_line(paths: Sequence[str]) -> str:
    """Return a line that says where tables were written."""
    return f"tables: {counted(len(paths), 'file')} in {Path(paths[0]).parent}"
