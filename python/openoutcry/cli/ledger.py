"""`openoutcry ledger`: list, rank, compare, verify and export recorded runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import typer

from openoutcry.cli.ledger_tables import (
    LIST_HEADS,
    captions_of,
    list_rows,
    print_comparison,
    print_ranking,
    print_rows,
    print_run,
)
from openoutcry.cli.market_options import open_dataset
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.run_table import plain
from openoutcry.errors import refusal
from openoutcry.ledger import Ledger, Market, RunFilter, default_folder, table_export
from openoutcry.ledger.http_client import compare_client
from openoutcry.ledger.ledger_entry import KINDS, STATES
from openoutcry.ledger.table_export import VIEWS
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json, echo_lines

app = typer.Typer(
    help="List, rank, verify and export the runs of the ledger.\n\n`openoutcry run --ledger` adds a run.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

FOLDER = typer.Option(
    None, "--ledger-dir", help="Folder of the ledger; by default `OPENOUTCRY_LEDGER` or your user folder."
)
AS_JSON = typer.Option(False, "--json", help="Print JSON.")
MARKET = typer.Option(None, "--data", help="Only runs on this market or on one with the same prices.")

LIST_EXAMPLES = """
**Examples**

`openoutcry ledger list`

`openoutcry ledger list --data ecb-fx --status failed -n 100 --json`
"""
SHOW_EXAMPLES = "**Example** `openoutcry ledger show 1b4e28ba`, a prefix of an ID"
COMPARE_EXAMPLES = """
**Examples**

`openoutcry ledger compare 1b4e28ba 6fa459ea`

`openoutcry ledger compare 1b4e28ba 6fa459ea --out runs.csv`

`openoutcry ledger compare 1b4e28ba-2fa1-11d2-883f-0016d3cca427 --url http://127.0.0.1:8321 --json`
"""
TOP_EXAMPLES = """
**Examples**

`openoutcry ledger top`

`openoutcry ledger top --data ecb-fx --worst -n 3`

`openoutcry ledger top --prompt`, the prompt text of a research session

`openoutcry ledger top --setting 3f1c`, for the runs at other costs or limits

`trials` are those in the mean, `left out` those that are not, for the reasons below the table, `reruns` repeated runs,
and `market trials` the trials of all strategies on the markets of the mean. The drawdown is a mean, too.

By default, the setting is the standard one, else the strictest one with a ranked strategy.

The mean Sharpe ratio of the best of many strategies is partly luck. DSR, the deflated Sharpe ratio, is the probability
that the true ratio is positive, given all trials on the
market of the longest run and on its renamed or changed copies.
"""
VERIFY_EXAMPLES = """
**Examples**

`openoutcry ledger verify`

`openoutcry ledger verify --head 3f1c...`, with a hash from an earlier verification: also detects a truncated log

**Exit codes** 0: the log is intact. 1: a line was modified, removed, inserted or moved. 2: the ledger does not exist.
"""
EXPORT_EXAMPLES = """
**Examples**

`openoutcry ledger export runs.parquet`, for DuckDB, pandas or polars

`openoutcry ledger export run_ledger.jsonl --view run-ledger`
"""
SERVE_EXAMPLES = "**Example** `openoutcry ledger serve --port 8321`, then `GET /api/v1/paper-runs/compare?ids=...`"


def opened(folder: Path | None) -> Ledger:
    """Open the ledger of an existing folder."""
    path = default_folder() if folder is None else folder
    if not path.is_dir():
        hint = "hint: `openoutcry run --ledger` creates one"
        raise refusal("argument_invalid", f"a folder with a ledger is required; received '{path}'; {hint}")
    return Ledger(path)


def _market(source: str | None, reading: Reading) -> Market | None:
    if source is None:
        reading.refuse("no `--data`")
        return None
    return Market.of(open_dataset(source, reading))


@app.command("list", epilog=LIST_EXAMPLES)
@reads_files
def list_(
    data: str | None = MARKET,
    strategy: str | None = typer.Option(None, help="Only runs of this strategy; a prefix of its ID."),
    session: str | None = typer.Option(None, help="Only runs of this session."),
    status: str | None = typer.Option(None, help=f"Only runs with this status: {', '.join(STATES)}."),
    kind: str | None = typer.Option(None, help=f"Only runs of this kind: {', '.join(KINDS)}."),
    n: int = typer.Option(20, "-n", min=1, max=1_000_000, help="Maximum number of runs."),
    folder: Path | None = FOLDER,
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """List runs, newest first."""
    with opened(folder) as ledger:
        found = ledger.list(RunFilter(_market(data, reading), strategy, session, status, kind, n))
        if as_json:
            rows = [{**asdict(each), "summary": each.summary.to_json()} for each in found]
            echo_json([{**row, "strategy": json.loads(row["strategy"])} for row in rows])
            return
        print_rows(Console(), list_rows(found), LIST_HEADS)
        _warn_unreadable(ledger)


@app.command(epilog=SHOW_EXAMPLES)
def show(
    run_id: str = typer.Argument(help="ID of the run, or a prefix of it."),
    folder: Path | None = FOLDER,
    as_json: bool = AS_JSON,
) -> None:
    """Show a run with all of its fields."""
    with opened(folder) as ledger:
        run = ledger.show(ledger.id_of(run_id))
        trials = ledger.count(run.market)
    if as_json:
        content = run.to_json() | {"market": run.market.to_json(), "family_trials": trials.n}
        echo_json(content)
        return
    print_run(Console(), run, trials.n)


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    ids: list[str] = typer.Argument(help="IDs of runs, or prefixes of them; at most 50."),
    url: str | None = typer.Option(None, help="Query this server instead of the local ledger; requires complete IDs."),
    out: Path | None = typer.Option(None, help="Write the 17 fields to a new file: .csv, .parquet or .jsonl."),
    folder: Path | None = FOLDER,
    as_json: bool = AS_JSON,
) -> None:
    """Compare all 17 fields of runs side by side, in the given order.

    Amounts are in account currency, at the capital of each run. An undefined field is a dash, with its reason below.
    """
    if url is not None:
        found, missing = compare_client(url, ids)
        captions: dict[str, str] = {}
    else:
        with opened(folder) as ledger:
            found, missing = ledger.compare([each if len(each) == 36 else ledger.id_of(each) for each in ids])
            captions = captions_of([each.id for each in found], ledger.facts([each.id for each in found]))
    if out is not None:
        with _writing(out):
            n_rows = table_export.write_summaries(found, out)
        _print({"path": str(out), "rows": n_rows}, f"wrote {counted(n_rows, 'row')} to {plain(str(out), 200)}", as_json)
    elif as_json:
        echo_json([each.to_row() for each in found])
    else:
        print_comparison(Console(), found, captions)
    for run_id in missing:
        echo(f"missing: {run_id}", err=True)


@app.command(epilog=TOP_EXAMPLES)
@reads_files
def top(
    n: int = typer.Option(5, "-n", min=1, max=100_000, help="Number of strategies."),
    data: str | None = MARKET,
    worst: bool = typer.Option(False, "--worst", help="Show the lowest ratios instead of the highest."),
    setting: str | None = typer.Option(
        None, help="Rank the runs of this setting of costs and limits; a prefix of its digest."
    ),
    prompt: bool = typer.Option(False, "--prompt", help="Print the prompt text of a research session."),
    folder: Path | None = FOLDER,
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Rank strategies by their mean Sharpe ratio at one setting of costs and limits.

    The mean is by market first. Reruns, windows within a longer run and runs at other costs change nothing.
    """
    with opened(folder) as ledger:
        market = _market(data, reading)
        if prompt:
            echo_lines((ledger.prior_results(market) or "").splitlines())
            return
        found = ledger.ranking(n, market, worst=worst, setting=setting)
        if as_json:
            rows = [{**asdict(each), "setting": asdict(found.setting)} for each in found.strategies]
            echo_json([{**row, "strategy": json.loads(row["strategy"])} for row in rows])
            return
        print_ranking(Console(), found)
        _warn_unreadable(ledger)


@app.command(epilog=VERIFY_EXAMPLES)
def verify(
    head: str | None = typer.Option(None, help="A hash that the chain must contain."),
    folder: Path | None = FOLDER,
    as_json: bool = AS_JSON,
) -> None:
    """Verify every line of the log and its hash chain."""
    with opened(folder) as ledger:
        found = ledger.verify(head)
    if as_json:
        faults = [
            {"file": name, "line": each.line, "offset": each.offset, "what": each.what} for name, each in found.faults
        ]
        content = {"intact": found.is_intact, "records": found.n_records, "torn": found.n_torn, "head": found.head.hash}
        echo_json(content | {"faults": faults})
    else:
        for name, each in found.faults[:20]:
            where = f"{name}, line {each.line + 1}: " if name else ""
            echo(f"{where}{each.what}")
        if len(found.faults) > 20:
            echo(f"and {len(found.faults) - 20} more")
        torn = f", {counted(found.n_torn, 'truncated line')}" if found.n_torn else ""
        state = "the log is intact" if found.is_intact else "the log was modified"
        echo(f"{counted(found.n_records, 'record')}{torn}: {state}")
        echo(f"head {found.head.hash}")
    if not found.is_intact:
        raise typer.Exit(1)


@app.command()
def rebuild(folder: Path | None = FOLDER, as_json: bool = AS_JSON) -> None:
    """Rebuild the index from the log."""
    with opened(folder) as ledger:
        read = ledger.rebuild()
        counts = {"records": read.link.seq, "torn": read.n_torn, "changed": read.n_changed}
        counts |= {"unread": read.n_unread, "newer": read.n_newer}
        _print(counts, f"read {counted(read.link.seq, 'record')}", as_json)
        if not as_json:
            _warn_unreadable(ledger)


@app.command(epilog=EXPORT_EXAMPLES)
def export(
    path: Path = typer.Argument(help="A new file: .parquet, .csv or .jsonl."),
    view: str = typer.Option("runs", help=f"One of {', '.join(VIEWS)}."),
    folder: Path | None = FOLDER,
    as_json: bool = AS_JSON,
) -> None:
    """Export runs to a file."""
    with opened(folder) as ledger, _writing(path):
        n_rows = ledger.export(path, view)
    _print({"path": str(path), "view": view, "rows": n_rows}, f"wrote {counted(n_rows, 'row')} to {path}", as_json)


@app.command(epilog=SERVE_EXAMPLES)
def serve(
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; every client that reaches it can read all summaries."
    ),
    port: int = typer.Option(8321, min=1, max=65_535, help="Port."),
    folder: Path | None = FOLDER,
) -> None:
    """Serve run summaries over HTTP, read-only, until Ctrl-C."""
    from openoutcry.ledger.http_server import serve as run

    with opened(folder) as ledger:
        echo(f"serving {ledger.folder} at http://{host}:{port}", err=True)
        try:
            run(ledger, host, port)
        except ModuleNotFoundError as error:
            raise refusal("argument_invalid", f"the command {error}; received no {error.name}") from error


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Refuse a file that cannot be written."""
    try:
        yield
    except (ModuleNotFoundError, OSError) as error:
        raise refusal("argument_invalid", f"a writable file is required; received '{path}': {error}") from error


def _print(content: Mapping[str, object], text: str, as_json: bool) -> None:
    if as_json:
        echo_json(content)
    else:
        echo(text)


def _warn_unreadable(ledger: Ledger) -> None:
    """Print the number of unusable lines of the log by reason."""
    read = ledger.read
    for n, one, many, rest in (
        (read.n_changed, "was", "were", "modified; run `openoutcry ledger verify`"),
        (read.n_unread, "has", "have", "invalid content"),
        (read.n_newer, "is", "are", "from a later version of openoutcry"),
        (read.n_torn, "was", "were", "truncated during writing"),
    ):
        if n:
            echo(f"{counted(n, 'line')} of the log {one if n == 1 else many} {rest}", err=True)
