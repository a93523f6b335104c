"""`openoutcry data`: list, describe and check markets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer
from rich import box
from rich.table import Table

from openoutcry import data
from openoutcry.cli import data_import, data_versions, reidentify
from openoutcry.cli.market_options import open_dataset
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.data.dataset import Dataset
from openoutcry.data.fill_bars import FillBars, fill_bars
from openoutcry.data.market_cache import Imported
from openoutcry.data.market_source import is_file, name_of, named_market
from openoutcry.data.readers.file_parts import market_name
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json

app = typer.Typer(help="List, describe, check and compare markets.", no_args_is_help=True, rich_markup_mode="markdown")
app.command("import", epilog=data_import.EXAMPLES)(data_import.import_)
app.command("freeze", epilog=data_versions.FREEZE_EXAMPLES)(data_versions.freeze)
app.command("export", epilog=data_versions.EXPORT_EXAMPLES)(data_versions.export)
app.command("diff", epilog=data_versions.DIFF_EXAMPLES)(data_versions.diff)
app.command("reidentify", epilog=reidentify.EXAMPLES)(reidentify.reidentify)

AS_JSON = typer.Option(False, "--json", help="Print as JSON.")
# Columns without a value for any symbol are omitted from the table.
HEADS = ("symbol", "first", "last", "closes", "gaps", "splits", "dividends", "settled", "low", "high")


@app.command("list", epilog="**Example** `openoutcry data list`")
def list_(as_json: bool = AS_JSON) -> None:
    """List the bundled markets."""
    described = [data.describe(name) for name in data.names()]
    if as_json:
        echo_json(described)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("name", "bars", "from", "to", "universes", "source"):
        table.add_column(head)
    for item in described:
        universes = item["universes"]
        assert isinstance(universes, dict), "a name per universe"
        named = ", ".join(f"{name} ({len(symbols)})" for name, symbols in universes.items())
        columns = ("name", "n_bars", "first_date", "last_date")
        table.add_row(*(str(item[column]) for column in columns), named, str(item["source"]))
    Console().print(table)


@app.command(epilog="**Examples** `openoutcry data describe ecb-fx:all`, `openoutcry data describe prices.csv`")
@reads_files
def describe(source: str = data_versions.SOURCE, as_json: bool = AS_JSON, reading: Reading = NOTHING_STATED) -> None:
    """Describe the symbols of a bundled market or a file."""
    dataset = open_dataset(source, reading)
    described = _describe(dataset)
    if as_json:
        echo_json(described)
        return
    # At least 100 columns: a narrow terminal would truncate 5.2e-07 to 5.2.
    console = Console()
    console.width = max(console.width, 100)
    console.print(repr(dataset), highlight=False)
    console.print(f"fingerprint {dataset.fingerprint}", style="dim", highlight=False)
    rows = described["symbols"]
    assert isinstance(rows, list), "a row per symbol"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    heads = [head for head in HEADS if any(row[head] for row in rows)]
    for head in heads:
        table.add_column(head, justify="left" if head in ("symbol", "first", "last", "settled") else "right")
    for row in rows:
        table.add_row(*("—" if row[head] is None else _cell(row[head]) for head in heads))
    console.print(table)
    for notice in dataset.notices:
        console.print(f"  · {notice}", style="dim", highlight=False)


@app.command(
    epilog="**Examples** `openoutcry data check prices.csv`, `openoutcry data check A.csv B.csv` (exit code 2 if one is"
    " invalid)"
)
@reads_files
def check(
    sources: list[str] = typer.Argument(
        ..., metavar="SOURCE...", help="Market: a bundled one (`openoutcry data list`), or one or more files."
    ),
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Check a file: show what it is read as, and warn about suspicious values."""
    dataset, found = _opened(sources, reading)
    warnings = data_import.warnings_of(dataset, found)
    if as_json:
        read_as = {} if found is None else data_import.described(dataset, found)
        stated = {"fingerprint": dataset.fingerprint, "fills": _fills(fill_bars(dataset)), "warnings": warnings}
        echo_json(read_as | stated)
        return
    if found is None:
        echo(f"ok: {data_import.sentence(dataset)}")
        for warning in warnings:
            echo(f"warning: {warning}")
    else:
        data_import.show(dataset, found)
    if dataset.periods_per_year is None and found is not None:
        command = shlex.join(["openoutcry", "data", "check", *sources, *reading.words()])
        echo(data_import.periods_line(command, None))
    if len(sources) == 1:
        echo(f"run it: {data_import.run_command(dataset, sources[0], reading)}")
    else:
        words = ["openoutcry", "data", "import", *sources, *reading.words(), "--out", dataset.name]
        echo(f"run it: {shlex.join(words)}")


def _opened(sources: Sequence[str], reading: Reading) -> tuple[Dataset, Imported | None]:
    """Return a market, and what its files were taken for.

    None if it is no file of prices.
    """
    if len(sources) > 1:
        found = data_import.imported([*map(Path, sources)], reading)
        return Dataset._read(found, market_name([*map(Path, sources)])), found
    source, path = sources[0], Path(sources[0])
    if named_market(source) or not is_file(path):
        return open_dataset(source, reading), None
    found = data_import.imported([path], reading)
    return Dataset._read(found, name_of(path)), found


def _fills(bars: dict[str, FillBars]) -> dict[str, dict[str, int]]:
    return {symbol: {"n_fills": each.n_fills, "n_bars": each.n_bars} for symbol, each in bars.items()}


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _describe(dataset: Dataset) -> dict[str, object]:
    return {
        "name": dataset.name,
        "fingerprint": dataset.fingerprint,
        "n_bars": dataset.n_bars,
        "dates": [dataset.dates[0], dataset.dates[-1]],
        "periods_per_year": dataset.periods_per_year,
        "has_opens": dataset.has_opens,
        "has_risk_free": dataset.risk_free is not None,
        "notices": dataset.notices,
        "symbols": [_describe_symbol(dataset, column) for column in range(dataset.n_symbols)],
    }


def _describe_symbol(dataset: Dataset, column: int) -> dict[str, object]:
    close = dataset.close[:, column]
    bars = np.flatnonzero(np.isfinite(close))
    row: dict[str, object] = {"symbol": dataset.symbols[column], "closes": len(bars)}
    if len(bars) == 0:
        return row | dict.fromkeys(("first", "last", "gaps", "splits", "dividends", "settled", "low", "high"))
    none = np.full(dataset.n_bars, np.nan)
    settled = np.flatnonzero(np.isfinite(none if dataset.delistings is None else dataset.delistings[:, column]))
    return row | {
        "first": dataset.dates[bars[0]],
        "last": dataset.dates[bars[-1]],
        "gaps": int(bars[-1] - bars[0] + 1 - len(bars)),
        "splits": 0 if dataset.splits is None else int((dataset.splits[:, column] != 1.0).sum()),
        "dividends": 0 if dataset.dividends is None else int((dataset.dividends[:, column] != 0.0).sum()),
        "settled": dataset.dates[settled[0]] if len(settled) else None,
        "low": float(close[bars].min()),
        "high": float(close[bars].max()),
    }
