"""`openoutcry bench`: how fast it is on this machine, beside a peer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from openoutcry.benchmarks import Row

EXAMPLES = """
**Examples**

`openoutcry bench`

`openoutcry bench --check --json`
"""


def bench(
    check: bool = typer.Option(False, "--check", help="Exit with 1 when a goal is missed, and name each on stderr."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Measure backtests, memory, JSON steps, import time and size.

    Each beside a numpy peer in the same process, where it has one.
    """
    from openoutcry import benchmarks

    rows = benchmarks.measure()
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows]))
    else:
        Console().print(_table(rows))
    if check:
        check_goals(rows)


def check_goals(rows: list[Row]) -> None:
    """Leave with exit code 1 where a goal is missed."""
    missed = [row for row in rows if not row.is_met]
    for row in missed:
        typer.echo(f"missed: {row.what}: {row.here}, goal {row.goal}", err=True)
    if missed:
        raise typer.Exit(1)


def _table(rows: list[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("what")
    for head in ("here", "goal", "", "peer", "ratio"):
        table.add_column(head, justify="right")
    table.add_column("peer is")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
        met = "met" if row.is_met else "missed"
        table.add_row(row.what, row.here, row.goal, met, row.peer, ratio, row.peer_is)
    return table
