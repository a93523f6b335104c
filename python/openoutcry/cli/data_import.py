"""`openoutcry data import`: files of vendors and libraries become a snapshot."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.table import Table

from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.data import file_import, market_warnings
from openoutcry.data.bar_axis import AXES
from openoutcry.data.columns import periods_text
from openoutcry.data.dataset import Dataset
from openoutcry.data.lagged_symbols import lag_warnings
from openoutcry.data.market_cache import Imported
from openoutcry.data.market_source import name_of, without_package
from openoutcry.data.readers.echoed_values import short
from openoutcry.data.snapshots.snapshot_files import freeze as write
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json

EXAMPLES = """
**Examples**

`openoutcry data import AAPL.csv --out aapl`: a file of one symbol, named after the file

`openoutcry data import prices.csv --column close=Settle --date-order dmy --out es`

`openoutcry data import BTCUSDT-1h.zip --as binance-klines --out btc`

`openoutcry data import *.csv --tz America/New_York --adjusted total --out stocks`: one file a symbol

`openoutcry data import AAPL_2019.csv AAPL_2020.csv --out aapl`: years of one symbol

`openoutcry data import prices.csv --axis XNYS --every 1w --out weekly`: weekly bars of the sessions in New York

`openoutcry data import ES.csv --every 1d --tz America/New_York --day-starts 17:00 --out es`: days of futures

**Exit code** 2 if a file cannot be read, or does not say something that is needed.
"""
_MOST_NAMES = 5
_PER_YEAR = {"w": 52.0, "mo": 12.0, "q": 4.0, "y": 1.0}
# Options of the annual rates that are not 0 by default.
_NO_RATES = ("--financing-bps", "0", "--borrow-bps", "0")
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")
EVERY = typer.Option(None, help="Longer bars: 15min, 1h, 1d, 1w, 1mo, 1q or 1y.")


@reads_files
def import_(
    files: list[Path] = typer.Argument(
        ..., help="Files of prices: CSV, JSON, Parquet, Feather or Excel; gzip and zip too."
    ),
    out: Path = typer.Option(..., "--out", help="Folder of the snapshot; created if missing."),
    every: str | None = EVERY,
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Read files of vendors, show what they were taken for, and write a snapshot.

    Every command that takes a market accepts the snapshot.
    """
    found = imported(files, reading if every is None else _of_shorter_bars(reading))
    name = name_of(files[0]) if len(files) == 1 else out.name
    dataset = Dataset._read(found, name)
    if every is not None:
        dataset = _resampled(dataset, every, reading)
    path = _written(dataset, out, ", ".join(path.name for path in files))
    if as_json:
        echo_json(described(dataset, found) | {"manifest": str(path)})
        return
    show(dataset, found)
    if dataset.periods_per_year is None:
        usual = usual_periods(every)
        year = [] if usual is None else ["--periods-per-year", f"{usual:g}"]
        words = [*map(str, files), *reading.words(), *year, *(["--every", every] if every else []), "--out", str(out)]
        echo(periods_line(f"openoutcry data import {shlex.join(words)}", usual))
    echo(f"run it: {run_command(dataset, str(path))}")


def _of_shorter_bars(reading: Reading) -> Reading:
    """Return how to read bars that become longer: days start when they are joined.

    An exchange chooses bars by its sessions, so that days come before it.
    """
    options = reading.options
    if options.axis in (None, *AXES) and options.calendar is None:
        options = replace(options, day_starts=None)
    return replace(reading, options=options)


def _resampled(dataset: Dataset, every: str, reading: Reading) -> Dataset:
    options, is_read = reading.options, reading == _of_shorter_bars(reading)
    start = None if is_read else options.day_starts
    tz = options.tz if dataset.dates[0].endswith("Z") else None
    return dataset.resample(every, tz=tz, day_starts=start, periods_per_year=reading.periods_per_year)


def _written(dataset: Dataset, out: Path, source: str) -> Path:
    try:
        return write(dataset, out, source)
    except OSError as error:
        message = f"`--out` must be a folder that can be written; received '{out}': {error.strerror}"
        raise refusal("argument_invalid", message) from error


def periods_line(command: str, periods_per_year: float | None) -> str:
    """Return the line that says how to state bars per year that the dates do not show."""
    repeated = f"repeat `{command}`" + ("" if periods_per_year else " with `--periods-per-year` and their number")
    return f"without bars per year, annual rates must be 0 and annual metrics are undefined; to state them, {repeated}"


def usual_periods(every: str | None) -> float | None:
    """Return the bars per year of a period of weeks or longer, None for others."""
    match = re.fullmatch(r"(\d*)(w|mo|q|y)", every or "")
    return None if match is None else _PER_YEAR[match[2]] / int(match[1] or 1)


def imported(files: list[Path], reading: Reading) -> Imported:
    """Return the market of files.

    Raises:
        OpenOutcryError: a file cannot be read, or does not say something that is needed.
    """
    periods, options = reading.periods_per_year, reading.options
    try:
        if len(files) == 1:
            return file_import.import_cached(files[0], periods, options)
        return file_import.import_files(files, periods, options)
    except OSError as error:
        message = f"a file of prices is required; received '{short(str(error.filename or files[0]))}': {error.strerror}"
        raise refusal("unknown_dataset", message) from error
    except ModuleNotFoundError as error:
        raise without_package(error, files[0], options) from error


def run_command(dataset: Dataset, source: str, reading: Reading = NOTHING_STATED) -> str:
    """Return the command that runs an agent on a market, as it is typed."""
    words = ["openoutcry", "run", "--data", source, *reading.words()]
    if dataset.periods_per_year is None:
        # A rate is per year. The alternative is to state `--periods-per-year`, as the notice says.
        words += _NO_RATES
    return shlex.join(words)


def described(dataset: Dataset, found: Imported) -> dict[str, Any]:
    """Return what a file was taken for, as JSON-serializable values."""
    return {
        "fingerprint": dataset.fingerprint,
        "symbols": list(dataset.symbols),
        "dates": [dataset.dates[0], dataset.dates[-1]],
        "n_bars": dataset.n_bars,
        "periods_per_year": dataset.periods_per_year,
        "read_as": [list(pair) for pair in found.described],
        "notices": list(dataset.notices),
    }


def show(dataset: Dataset, found: Imported) -> None:
    """Print what a file was taken for, in a table that a person can check."""
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("in the file", "read as"):
        table.add_column(head, overflow="fold")
    for pair in found.described:
        table.add_row(*pair)
    table.add_row("bars per year", "unknown" if (year := dataset.periods_per_year) is None else f"{year:g}")
    console.print(table, highlight=False)
    console.print(sentence(dataset), highlight=False, soft_wrap=True)
    warnings = warnings_of(dataset, found)
    for notice in dataset.notices:
        if notice not in warnings:
            console.print(f"  · {notice}", style="dim", highlight=False, soft_wrap=True)
    for warning in warnings:
        console.print(f"warning: {warning}", highlight=False, soft_wrap=True)


def sentence(dataset: Dataset) -> str:
    """Return the size of a market and how its orders fill, in words."""
    names = ", ".join(dataset.symbols[:_MOST_NAMES]) + (", ..." if dataset.n_symbols > _MOST_NAMES else "")
    size = f"{counted(dataset.n_bars, 'bar')} of {counted(dataset.n_symbols, 'symbol')} ({names})"
    fills = "orders fill at the next open" if dataset.has_opens else "orders fill at the close they were decided on"
    span = f"{dataset.dates[0]} to {dataset.dates[-1]}"
    return f"{dataset.name}: {size}, {span}, {periods_text(dataset.periods_per_year)}; {fills}"


def warnings_of(dataset: Dataset, found: Imported | None) -> list[str]:
    """Return the warnings about a market; those of a file are among its notices."""
    if found is not None:
        known = [notice for notice in dataset.notices if market_warnings.is_warning(notice)]
    else:
        known = list(market_warnings.warnings_of(dataset._core))
    return [*known, *lag_warnings(dataset)]
