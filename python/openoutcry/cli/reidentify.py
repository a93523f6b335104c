"""`openoutcry data reidentify`: how often masked windows are re-identified."""

from __future__ import annotations

import typer
from rich import box
from rich.table import Table

from openoutcry.audits.reidentification import ATTACKERS, LENGTHS, NEAR, Rate, rates
from openoutcry.cli.data_versions import SOURCE
from openoutcry.cli.market_options import open_dataset
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.data.masking import LEVELS
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json

EXAMPLES = """
**Examples**

`openoutcry data reidentify ecb-fx`

`openoutcry data reidentify prices.csv --level full --length 20 --length 60 --windows 500 --json`
"""
LEVEL = typer.Option(["none", *LEVELS], "--level", help="Masking level, repeatable.")
LENGTH = typer.Option(list(LENGTHS), "--length", help="Window length in bars, repeatable.")


@reads_files
def reidentify(
    source: str = SOURCE,
    level: list[str] = LEVEL,
    length: list[int] = LENGTH,
    windows: int = typer.Option(100, "--windows", help="Number of windows of each length."),
    seed: int = typer.Option(0, "--seed", help="Seed of windows and keys."),
    as_json: bool = typer.Option(False, "--json", help="Print the rates as JSON."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Measure how often attackers identify the symbol and date of a masked window.

    Masking preserves returns, so an attacker that matches returns with the history identifies nearly every window.
    """
    unknown = [each for each in level if each not in ("none", *LEVELS)]
    if unknown:
        raise refusal(
            "argument_invalid", f"`--level` must be one of none, {', '.join(LEVELS)}; received {unknown[0]!r}"
        )
    found = rates(open_dataset(source, reading), length, level, windows, seed)
    if as_json:
        echo_json([rate.to_dict() for rate in found])
        return
    # A fixed width, because a truncated table is misleading.
    console = Console()
    console.width = max(console.width, 110)
    console.print(_table(found))
    echo(f"Share of {counted(windows, 'window')} identified by symbol / by date to within {NEAR} bars.")


def _table(found: list[Rate]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("level", no_wrap=True)
    table.add_column("bars", justify="right", no_wrap=True)
    for name in (*ATTACKERS, "chance"):
        table.add_column(name, justify="right", no_wrap=True)
    for place in range(0, len(found), len(ATTACKERS)):
        row = found[place : place + len(ATTACKERS)]
        shares = [(rate.symbol, rate.date) for rate in row] + [(row[0].symbol_by_chance, row[0].date_by_chance)]
        table.add_row(row[0].level, str(row[0].n_bars), *(f"{symbol:.0%} / {dated:.0%}" for symbol, dated in shares))
    return table
