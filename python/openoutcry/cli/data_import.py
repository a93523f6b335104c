"""`openoutcry data import`: files of vendors and libraries become a snapshot."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from openoutcry.data import file_import
from openoutcry.data.dataset import Dataset
from openoutcry.data.market_cache import Imported
from openoutcry.data.readers.echoed_values import short
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.data.snapshots.snapshot_files import freeze as write
from openoutcry.errors import refusal

EXAMPLES = """
**Examples**

`openoutcry data import AAPL.csv --out aapl`: a file of one symbol, named after the file

`openoutcry data import prices.csv --column close=Settle --date-order dmy --out es`

`openoutcry data import BTCUSDT-1h.zip --as binance-klines --out btc`

`openoutcry data import *.csv --tz America/New_York --adjusted total --out stocks`: one file a symbol

`openoutcry data import prices.csv --axis XNYS --every 1w --out weekly`: weekly bars of the sessions in New York

**Exit code** 2 if a file cannot be read, or does not say something that is needed.
"""
_PER_YEAR = {"w": 52.0, "mo": 12.0, "q": 4.0, "y": 1.0}
# The costs whose default is an annual rate.
_NO_RATES = ("--financing-bps", "0", "--borrow-bps", "0")
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")
SYMBOL = typer.Option(None, help="Symbol of a file of one symbol.", show_default="the file name")
COLUMN = typer.Option(None, help="Role and name of a column, such as `close=Settle`; repeatable.")
NAMES = typer.Option(None, "--columns", help="Names of all columns of a file without a header, between commas.")
AXIS = typer.Option(None, help="Dates that become bars: `union`, `intersection`, or an exchange such as XNYS.")
CALENDAR = typer.Option(None, help="Exchange that states the sessions and the bars per year, such as XNYS.")
DAY_STARTS = typer.Option(None, help="Time in `--tz` at which 24-hour bars start, such as 17:00.")
EVERY = typer.Option(None, help="Longer bars: 15min, 1h, 1d, 1w, 1mo, 1q or 1y.")
TZ = typer.Option(None, "--tz", help="Zone of times without an offset, such as America/New_York.")
DATE_ORDER = typer.Option(None, help="Order of day and month, `dmy` or `mdy`, if the dates do not show it.")
DATE_FORMAT = typer.Option(None, help="Format of the dates for strptime, such as `%d-%b-%y`.")
DUPLICATES = typer.Option(None, help="`last`: read the last of several rows of one date; refused by default.")
FORM = typer.Option(None, "--as", help="Name of a form that the file must have, such as `binance-klines`.")
DECIMAL = typer.Option(None, help="Decimal mark, `.` or `,`, if the numbers do not show it.")
ADJUSTED = typer.Option(None, help="What the prices are: `none` (as traded), `split` or `total`.")
PRICE_SCALE = typer.Option(None, help="Factor of all prices, such as 0.0001.")
PERIODS = typer.Option(None, "--periods-per-year", help="Bars per year; by default from the dates.")


def read_options(column: list[str] | None, names: str | None, **options: Any) -> ReadOptions:
    """Return the options of a reader from the options of a command.

    Raises:
        OpenOutcryError: `argument_invalid`: `--column` has no `=`, or is given with `--columns`.
    """
    if column and names:
        raise refusal("argument_invalid", "`--column` or `--columns` is required; received both")
    pairs = dict(each.partition("=")[::2] for each in column or ())
    if wrong := [role for role, name in pairs.items() if not name]:
        raise refusal("argument_invalid", f"`--column` must be ROLE=NAME; received {wrong[0]!r}")
    columns = [name.strip() for name in names.split(",")] if names else pairs or None
    return ReadOptions(columns=columns, **options)


def words_of(options: ReadOptions, periods_per_year: float | None) -> list[str]:
    """Return the words of a command that state the options of a reader."""
    words: list[str] = []
    for name, value in asdict(options).items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            words += [word for pair in value.items() for word in ("--column", "=".join(pair))]
        elif name == "columns":
            words += ["--columns", ",".join(value)]
        else:
            words += ["--as" if name == "form" else f"--{name.replace('_', '-')}", str(value)]
    return words + ([] if periods_per_year is None else ["--periods-per-year", f"{periods_per_year:g}"])


def import_(
    files: list[Path] = typer.Argument(
        ..., help="Files of prices: CSV, JSON, Parquet, Feather or Excel; gzip and zip too."
    ),
    out: Path = typer.Option(..., "--out", help="Folder of the snapshot; created if missing."),
    symbol: str | None = SYMBOL,
    column: list[str] | None = COLUMN,
    names: str | None = NAMES,
    axis: str | None = AXIS,
    calendar: str | None = CALENDAR,
    day_starts: str | None = DAY_STARTS,
    every: str | None = EVERY,
    tz: str | None = TZ,
    date_order: str | None = DATE_ORDER,
    date_format: str | None = DATE_FORMAT,
    decimal: str | None = DECIMAL,
    adjusted: str | None = ADJUSTED,
    price_scale: float | None = PRICE_SCALE,
    duplicates: str | None = DUPLICATES,
    form: str | None = FORM,
    periods_per_year: float | None = PERIODS,
    as_json: bool = AS_JSON,
) -> None:
    """Read files of vendors, show what they were taken for, and write a snapshot.

    Every command that takes a market accepts the snapshot.
    """
    options = read_options(
        column, names, symbol=symbol, axis=axis, calendar=calendar, day_starts=day_starts, tz=tz,
        date_order=date_order, date_format=date_format, decimal=decimal, adjusted=adjusted, price_scale=price_scale,
        duplicates=duplicates, form=form,
    )  # fmt: skip
    found = imported(files, periods_per_year, options)
    name = files[0].name.partition(".")[0] if len(files) == 1 else out.name
    dataset = Dataset(found.core, name=name, notices=found.notices)
    if every is not None:
        dataset = dataset.resample(every, periods_per_year=periods_per_year)
    path = _written(dataset, out, ", ".join(path.name for path in files))
    if as_json:
        typer.echo(json.dumps(described(dataset, found) | {"manifest": str(path)}))
        return
    show(dataset, found)
    typer.echo(run_line(dataset, path))
    if dataset.periods_per_year is None:
        usual = usual_periods(every)
        words = [*map(str, files), *words_of(options, usual), *(["--every", every] if every else []), "--out", str(out)]
        typer.echo(periods_line(f"openoutcry data import {shlex.join(words)}", usual))


def _written(dataset: Dataset, out: Path, source: str) -> Path:
    try:
        return write(dataset, out, source)
    except OSError as error:
        message = f"`--out` must be a folder that can be written; received '{out}': {error.strerror}"
        raise refusal("argument_invalid", message) from error


def run_line(dataset: Dataset, source: object, words: Sequence[str] = ()) -> str:
    """Return the line with the command that runs a market.

    Annual rates are 0 if its bars per year are unknown."""
    rates = _NO_RATES if dataset.periods_per_year is None else ()
    return f"run it: {shlex.join(['openoutcry', 'run', '--data', str(source), *words, *rates])}"


def periods_line(command: str, periods_per_year: float | None) -> str:
    """Return the line that says how to state bars per year that the dates do not show."""
    repeated = f"repeat `{command}`" + ("" if periods_per_year else " with `--periods-per-year` and their number")
    return f"without bars per year, annual rates must be 0 and annual metrics are undefined; to state them, {repeated}"


def usual_periods(every: str | None) -> float | None:
    """Return the bars per year of a period of weeks or longer, None for others."""
    match = re.fullmatch(r"(\d*)(w|mo|q|y)", every or "")
    return None if match is None else _PER_YEAR[match[2]] / int(match[1] or 1)


def imported(files: list[Path], periods_per_year: float | None, options: ReadOptions) -> Imported:
    """Return the market of files.

    Raises:
        OpenOutcryError: a file cannot be read, or does not say something that is needed.
    """
    try:
        if len(files) == 1:
            return file_import.import_cached(file_import.import_file, files[0], periods_per_year, options)
        return file_import.import_files(files, periods_per_year, options)
    except OSError as error:
        message = f"a file of prices is required; received '{short(str(error.filename or files[0]))}': {error.strerror}"
        raise refusal("unknown_dataset", message) from error
    except ModuleNotFoundError as error:
        what = options.calendar or options.axis if "calendars" in str(error) else files[0].name
        raise refusal("argument_invalid", f"`{what}` {error}; received no such package") from error


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
    console.print(repr(dataset), highlight=False, soft_wrap=True)
    for notice in dataset.notices:
        console.print(f"  · {notice}", style="dim", highlight=False, soft_wrap=True)
