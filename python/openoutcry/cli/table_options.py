"""Options of commands that write the tables of a page to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from openoutcry.errors import refusal

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


def tables_line(tables: Mapping[str, Table], folder: Path, table_format: str) -> str:
    """Write tables to a folder, and return a line that says so."""
    from openoutcry.report.tables.file_tables import write_tables

    return f"tables: {len(write_tables(tables, folder, table_format))} files in {folder}"
