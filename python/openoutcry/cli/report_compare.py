"""`openoutcry report compare`: compare runs on one page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from openoutcry.cli.compared_tracks import Sources
from openoutcry.cli.market_options import (
    SCENARIO,
    SCENARIO_KEY,
    checked_output_file,
    open_datasets,
    public_key_of,
    revealed_scenario,
)
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.report import BENCHMARK
from openoutcry.cli.run_table import plain
from openoutcry.cli.table_options import FORMAT, TABLES, check_tables, tables_line, write_tables_of
from openoutcry.errors import refusal
from openoutcry.scoring.track_comparison import MOST
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from openoutcry.scoring.track_comparison import Comparison, Difference

EXAMPLES = """
**Examples**

`openoutcry report compare one.json two.json`, records on a bundled market

`openoutcry report compare mine=one.json 1b4e28ba research/candidates/*.json --out compare.html`

`openoutcry report compare one.json two.json --data prices.csv --seed 7 --json`

`openoutcry report compare one.json two.json --tables tables --format parquet`, with every table as a file

`openoutcry report compare one.json two.json --benchmark SPY.csv`, with a benchmark

A record is replayed first. A ledger run is named by the first letters of its ID (`openoutcry ledger list`), and a
candidate is compared by its returns out of sample. Only common dates are compared.

**Exit codes** 0: written. 1: a record differs from its replay, or is unfinished. 2: a run or its market was not found,
or no date is common.
"""
RUNS = typer.Argument(
    help=f"From 2 to {MOST} runs: record files (`FILE#N` for run N of several), IDs of ledger runs, candidates' files."
    " `NAME=RUN` names one."
)


@reads_files
def compare(
    runs: list[str] = RUNS,
    source: list[str] = typer.Option(
        [], "--data", help="A market that is not bundled: a file or a snapshot; repeatable."
    ),
    out: Path = typer.Option(Path("compare.html"), help="Output file."),
    seed: int = typer.Option(0, min=0, help="Seed of the bootstrap of intervals and p-values."),
    ledger_dir: Path | None = typer.Option(
        None, help="Folder of the ledger; by default `OPENOUTCRY_LEDGER` or your user folder."
    ),
    public_key: str | None = typer.Option(None, help="Required signing key: 64 hexadecimal digits, or a file."),
    fill_key: str | None = typer.Option(None, help="Revealed key of sealed slippage noise, 64 hexadecimal digits."),
    scenario: str | None = SCENARIO,
    scenario_key: str | None = SCENARIO_KEY,
    benchmark: str | None = typer.Option(None, help=f"{BENCHMARK} It is one more run, on the bars of the first."),
    tables: Path | None = TABLES,
    table_format: str = FORMAT,
    as_json: bool = typer.Option(False, "--json", help="Print the comparison as JSON."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Compare runs on their common dates, with paired differences, on one page."""
    from openoutcry.report.comparison import comparison_page, verdict_of
    from openoutcry.report.tables.comparison_tables import comparison_tables
    from openoutcry.scoring.track_comparison import compare_tracks

    n_runs = len(runs) + (benchmark is not None)
    if not 2 <= n_runs <= MOST:
        hint = "hint: `openoutcry report compare one.json two.json`"
        raise refusal("argument_invalid", f"from 2 to {MOST} runs are required; received {n_runs}; {hint}")
    checked_output_file(out, "--out")
    check_tables(tables, table_format)
    sealed, datasets = revealed_scenario(scenario, scenario_key), open_datasets(source, reading)
    datasets += [] if sealed is None else [sealed.dataset()]
    key = None if public_key is None else public_key_of(public_key)
    sources = Sources(datasets, ledger_dir, fill_key, key)
    tracks = [sources.track(each) for each in runs]
    if benchmark is not None:
        tracks.append(sources.benchmark(benchmark, tracks[0]))
    comparison = compare_tracks(tracks, seed=seed)
    page = comparison_page(comparison, f"openoutcry {shlex.join(sys.argv[1:])}")
    out.write_text(page, encoding="utf-8")
    paths = write_tables_of(lambda: comparison_tables(comparison), tables, table_format)
    if as_json:
        written = {"report": str(out), "tables": paths}
        echo_json(comparison.to_json() | written | {"verdict": verdict_of(comparison)})
        return
    _show(comparison, verdict_of(comparison), out)
    if paths:
        echo(tables_line(paths))


def _show(comparison: Comparison, verdict: str, out: Path) -> None:
    aligned = comparison.aligned
    echo(verdict)
    for notice in comparison.notices:
        echo(f"  · {notice}")
    echo(f"common dates: {aligned.dates[0]} .. {aligned.dates[-1]}, {counted(len(aligned.dates), 'return')}")
    for track, metrics in zip(comparison.tracks, comparison.metrics, strict=True):
        sharpe, total = metrics["sharpe"], metrics["return"]
        shown = "undefined" if sharpe is None else f"{sharpe:.2f}"
        gained = "undefined" if total is None else f"{total:+.1%}"
        echo(f"  {plain(track.name)}: return {gained}, Sharpe ratio {shown}")
    for pair in comparison.pairs:
        names = f"{plain(comparison.tracks[pair.first].name)} less {plain(comparison.tracks[pair.second].name)}"
        echo(f"  {names}: Sharpe ratio {_text(pair.sharpe)}")
    echo(f"report: {out}")


def _text(difference: Difference) -> str:
    found = difference.interval
    if found is None:
        return f"undefined: {plain(difference.reason, 200)}"
    p_value = f"p {found.p_value:.3f}, adjusted {difference.adjusted:.3f}"
    return f"{found.estimate:+.2f}, from {found.low:+.2f} to {found.high:+.2f} ({p_value})"
