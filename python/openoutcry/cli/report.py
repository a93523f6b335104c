"""`openoutcry report`: write the report of a run from its record."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from openoutcry import data
from openoutcry.backtest.replay import Replay, replay
from openoutcry.backtest.run import Run
from openoutcry.cli.market_options import (
    SCENARIO,
    SCENARIO_KEY,
    checked_output_file,
    open_datasets,
    public_key_of,
    revealed_scenario,
)
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files, words_of
from openoutcry.cli.recorded_holdouts import recorded_holdouts
from openoutcry.cli.table_options import FORMAT, TABLES, check_tables, tables_line, write_tables_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord
from openoutcry.scenarios.scenario import Scenario
from openoutcry.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from openoutcry.report.pages.proof_panel import Proof
    from openoutcry.report.run_analysis import AnalysisInputs
    from openoutcry.report.run_report import Origin

EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum --record run.json`

`openoutcry report run.json --data ecb-fx --out report.html`

`openoutcry report run.json --data ecb-fx --self-verifying`, a page that replays its run in the reader's browser

`openoutcry report run.json --data prices.csv --benchmark SPY.csv --groups sectors.csv --factors factors.csv`

`openoutcry report run.json --data ecb-fx --benchmark USD --tables tables --format parquet`, with every table as a file

`openoutcry report run.json --data prices.csv --self-verifying --without-data`, for prices that must not be shared

`openoutcry report sealed.json --scenario hard --scenario-key <64 digits> --fill-key <64 digits> --self-verifying`

`openoutcry report compare one.json two.json`, several runs on one page; `openoutcry report compare --help`

The record is replayed first. If it differs from its replay, no report is written.

**Exit codes** 0: written. 1: the record differs, or is unfinished. 2: the record could not be read or replayed.
"""
RECORD = typer.Argument(help="Record file: `.json` or `.jsonl`, optionally with `.zst`.")
BENCHMARK = "Benchmark: a symbol of the market, or a file with dates and one column of returns or prices."


@reads_files
def report(
    record: Path = RECORD,
    source: list[str] = typer.Option(
        [], "--data", help="The market: a file, snapshot or bundled name; repeatable. A bundled one is found by itself."
    ),
    out: Path = typer.Option(Path("report.html"), help="Output file."),
    run: int | None = typer.Option(None, min=0, help="Index of the run, from 0, if the record has several."),
    self_verifying: bool = typer.Option(
        False, "--self-verifying", help="Include engine, record and market, so that the page replays its run."
    ),
    without_data: bool = typer.Option(
        False, "--without-data", help="Leave the market out of a self-verifying page; the reader supplies its file."
    ),
    public_key: str | None = typer.Option(None, help="Required signing key: 64 hexadecimal digits, or a file."),
    fill_key: str | None = typer.Option(None, help="Revealed key of sealed slippage noise, 64 hexadecimal digits."),
    scenario: str | None = SCENARIO,
    scenario_key: str | None = SCENARIO_KEY,
    benchmark: str | None = typer.Option(None, help=f"{BENCHMARK} Default: buy-and-hold."),
    factors: Path | None = typer.Option(None, help="Regress the run on a file with dates and a column per factor."),
    groups: Path | None = typer.Option(None, help="CSV file with `symbol` and `group`, such as sectors."),
    seed: int = typer.Option(0, help="Seed of the resampled returns."),
    tables: Path | None = TABLES,
    table_format: str = FORMAT,
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Replay a record and write the report of its run."""
    from openoutcry.report.run_analysis import AnalysisInputs
    from openoutcry.report.run_report import Origin

    inputs = AnalysisInputs(benchmark, factors, groups, seed)
    _check(out, self_verifying, without_data)
    check_tables(tables, table_format)
    read = RunRecord.load(record)
    chosen, sealed = _chosen(read, run), revealed_scenario(scenario, scenario_key)
    source = source or ([] if sealed else _bundled(read, chosen))
    datasets, key = _datasets(source, reading, sealed), None if public_key is None else public_key_of(public_key)
    done, made = _replayed((read, chosen), datasets, key, fill_key)
    market, notices = source[0] if len(source) == 1 else "", tuple(recorded_holdouts([read.runs()[chosen]], datasets))
    command, options = f"openoutcry {shlex.join(sys.argv[1:])}", tuple(words_of(reading.options))
    origin = Origin(command, record, market, read.digest or "", options, notices)
    shown = (datasets, len(source), sealed), fill_key or "", key or ""
    proof = _proof((read, chosen), *shown) if self_verifying else None
    _echo_notices(origin.notices)
    summary: dict[str, object] = {"report": str(out), "digest": done.digest, "run": chosen, "steps": done.n_steps}
    summary |= _write(made, out, origin, proof, inputs, has_data=not without_data)
    written = _write_tables(made, tables, table_format, inputs)
    summary |= {"tables": written} if written else {}
    _show(summary, written, str(done), as_json)


def _echo_notices(notices: tuple[str, ...]) -> None:
    for notice in notices:
        echo(f"notice: {notice}", err=True)


def _bundled(record: RunRecord, run: int) -> list[str]:
    """Return the name of the bundled market of a run, by its name and fingerprint."""
    header = record.headers[run]
    base = header.get("dataset.name", "").partition(":")[0]
    choices = [base, f"{base}:all"] if base in data.names() else []
    opened = ((choice, open_datasets([choice], NOTHING_STATED)[0]) for choice in choices)
    return [choice for choice, market in opened if market.fingerprint == header["dataset.fingerprint"]][:1]


def _datasets(source: list[str], reading: Reading, sealed: Scenario | None) -> list[Dataset]:
    datasets = open_datasets(source, reading)
    datasets += [] if sealed is None else [sealed.dataset()]
    if not datasets:
        raise refusal("argument_invalid", "`--data` or `--scenario` is required; received neither")
    return datasets


def _replayed(
    chosen: tuple[RunRecord, int], datasets: list[Dataset], key: str | None, fill_key: str | None
) -> tuple[Replay, Run]:
    """Verify a record and return one of its runs; exit with code 1 if it differs."""
    from openoutcry.backtest.rerun import rerun

    record, run = chosen
    done = replay(record, datasets, public_key=key, fill_key=fill_key)
    if not done.verified:
        echo(f"no report: {done}", err=True)
        raise typer.Exit(1)
    return done, rerun(record, run, _market(datasets, record, run), fill_key)


def _proof(
    chosen: tuple[RunRecord, int], markets: tuple[list[Dataset], int, Scenario | None], fill_key: str, key: str
) -> Proof:
    from openoutcry.report.self_verifying import market_of, proof_of

    datasets, n_files, sealed = markets
    known = [market_of(each, None if place < n_files else sealed) for place, each in enumerate(datasets)]
    return proof_of(*chosen, known, fill_key, key)


def _check(out: Path, self_verifying: bool, without_data: bool) -> None:
    from openoutcry.report.self_verifying import require_engine

    if without_data and not self_verifying:
        raise refusal("argument_invalid", "`--without-data` must come with `--self-verifying`; received it alone")
    if self_verifying:
        require_engine()
    checked_output_file(out, "--out")


def _write_tables(made: Run, tables: Path | None, table_format: str, inputs: AnalysisInputs) -> list[str]:
    from openoutcry.report.run_report import tables_of

    return write_tables_of(lambda: tables_of(made, made.record.in_sample_trials + 1, inputs), tables, table_format)


def _write(
    made: Run, out: Path, origin: Origin, proof: Proof | None, inputs: AnalysisInputs, *, has_data: bool
) -> dict[str, object]:
    from openoutcry.report.run_report import write_run_report
    from openoutcry.report.self_verifying import write_proof

    if proof is None:
        write_run_report(made, out, made.record.in_sample_trials + 1, origin, inputs)
        return {}
    written = write_proof(made, out, proof, origin, has_data=has_data, inputs=inputs)
    return {"bytes": written.n_bytes, "has_data": written.has_data}


def _show(summary: dict[str, object], tables: Sequence[str], verdict: str, as_json: bool) -> None:
    if as_json:
        echo_json(summary)
        return
    echo(verdict)
    if tables:
        echo(tables_line(tables))
    if "bytes" not in summary:
        echo(f"report: {summary['report']}")
        return
    missing = "" if summary["has_data"] else "; the reader must open the market file, and its fingerprint is checked"
    echo(f"report: {summary['report']}, {summary['bytes']:,} bytes, self-verifying{missing}")


def _chosen(record: RunRecord, run: int | None) -> int:
    n_runs = len(record)
    if run is None and n_runs == 1:
        return 0
    if run is None or run >= n_runs:
        received = "none" if run is None else f"{run}"
        wanted = f"`--run` must be the index of a run of the record, from 0 to {n_runs - 1}"
        raise refusal("argument_invalid", f"{wanted}; received {received}")
    return run


def _market(datasets: list[Dataset], record: RunRecord, run: int) -> Dataset:
    wanted = record.headers[run]["dataset.fingerprint"]
    return next(each for each in datasets if each.fingerprint == wanted)
