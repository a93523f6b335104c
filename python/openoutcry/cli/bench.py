"""`openoutcry bench`: how fast it is on this machine, beside a peer."""

from __future__ import annotations

import json

import typer
from rich import box
from rich.console import Console
from rich.table import Table

EXAMPLES = """
**Examples**

`openoutcry bench`

`openoutcry bench --json`
"""


def bench(as_json: bool = typer.Option(False, "--json", help="Print as JSON.")) -> None:
    """Measure backtests, JSON steps, import time and size.

    Each beside a numpy peer in the same process.
    """
    from openoutcry import benchmarks

    rows = benchmarks.measure()
    if as_json:
        typer.echo(json.dumps([row.__dict__ for row in rows]))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head, side in (("what", "left"), ("here", "right"), ("goal", "right"), ("peer", "right"), ("ratio", "right")):
        table.add_column(head, justify="left" if side == "left" else "right")
    table.add_column("peer is")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
        table.add_row(row.what, row.here, row.goal, row.peer, ratio, row.peer_is)
    Console().print(table)
