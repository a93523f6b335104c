"""`openoutcry score`: score records or returns, or run the score attacks."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.table import Table

from openoutcry import data as bundled
from openoutcry.cli.board_entries import Entries, read_entries
from openoutcry.cli.market_options import checked_output_file, open_datasets, public_key_of
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.recorded_holdouts import recorded_holdouts
from openoutcry.cli.returns_csv import SideColumns, digest_of, read_series
from openoutcry.cli.run_table import plain
from openoutcry.cli.suite import KEYS, open_evaluation
from openoutcry.cli.table_options import FORMAT, TABLES, check_tables, tables_line, write_tables_of
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.data.readers.return_file import is_return_file
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score as score_agents
from openoutcry.scoring.suite import IMPLIED, Suite
from openoutcry.scoring.suite_evaluation import Evaluation, suite_of
from openoutcry.scoring.verdict import Board, Score
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress
from openoutcry.untrusted.terminal import echo_json

EXAMPLES = """
**Examples**

`openoutcry score momentum.json.zst mine.json.zst --suite season.json --keys season.keys --report board.html`

`openoutcry score run.json other.json`, records of the same windows without a suite: scored, never eligible

`openoutcry score 2024.json 2025.json theirs.json --public-key runner.pub`, runs of one agent in separate files

`openoutcry score returns.csv others.csv --benchmark SPY --equal-weight RSP --windows 8`, one agent per column

`openoutcry score momentum.json mine.json --report board.html --tables tables --format parquet`, with every table

`openoutcry score --attack`

Records are replayed, and every number is recomputed from their decisions. Returns without a record are tested but never
eligible, because the decisions behind them cannot be verified. Agents that are not significantly different share a
rank. Agents with the same return series are all copies; use `--original` to name the author if you know it.

**Exit codes** 0: the board was computed, or every attack failed. 1: an attack succeeded. 2: invalid input.
"""

# Maximum width of the columns right of the agent name.
_NUMBERS_WIDTH = 76
# The sentence contains two agent names, which are untrusted text.
MAX_SENTENCE = 400
LEGEND = (
    "z: standard errors of the Sharpe ratio above the best ratio expected of all trials; DSR: deflated Sharpe ratio; "
    "RW p: Romano-Wolf p-value; won: windows above the benchmark; null below: share of null agents with a lower z"
)


COLUMNS = typer.Option(
    None,
    "--csv",
    help="Content of the CSV columns: `equity`, `returns`, or `percent` for 1.2 of 1.2 %.",
    show_default="detected",
)
EQUAL_WEIGHT = typer.Option(
    None, help="CSV column with all symbols kept at equal parts; without it, that benchmark is unknown."
)
PASSIVE = typer.Option(None, help="CSV column with another portfolio that uses no information on returns; repeatable.")


@reads_files
def score(
    files: list[Path] = typer.Argument(None, help="Record files (`.json`, `.jsonl`, optionally `.zst`), or CSV files."),
    suite: str | None = typer.Option(None, help="Evaluation suite: `default`, `default-2026.1`, or a JSON file."),
    keys: Path | None = KEYS,
    source: list[str] | None = typer.Option(None, "--data", help="A market that is not bundled; repeatable."),
    public_key: list[str] | None = typer.Option(
        None, help="Accept only records signed by this key: 64 hexadecimal digits, or a file; repeatable."
    ),
    original: list[str] | None = typer.Option(
        None, help="Agent that is the original among copies of one return series; repeatable."
    ),
    trials: int = typer.Option(0, help="Number of trials on this market family, for deflation."),
    report: Path | None = typer.Option(None, help="Write a self-contained HTML report of the board to this file."),
    tables: Path | None = TABLES,
    table_format: str = FORMAT,
    as_json: bool = typer.Option(False, "--json", help="Print the board as JSON, every number with its inputs."),
    attack: bool = typer.Option(False, "--attack", help="Run the attacks on the scorer instead."),
    columns: str | None = COLUMNS,
    benchmark: str | None = typer.Option(None, help="CSV column with buy-and-hold."),
    cash: str | None = typer.Option(None, help="CSV column with cash; default: cash earns nothing."),
    equal_weight: str | None = EQUAL_WEIGHT,
    passive: list[str] | None = PASSIVE,
    windows: int = typer.Option(5, min=1, help="Number of equal windows to split a CSV into."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Score agents by their records or returns, and rank them."""
    if attack:
        raise typer.Exit(_attack(as_json))
    if not files:
        raise refusal("argument_invalid", "at least one record or CSV file is required, or `--attack`; received none")
    _check_outputs(report, tables, table_format)
    config = {"originals": original} if original else None
    if any(map(is_return_file, files)):
        _check_csv(files, {"--suite": suite, "--data": source, "--public-key": public_key})
        sides = SideColumns(benchmark, cash, equal_weight, tuple(passive or ()))
        result = _of_returns(files, (columns, sides, windows), reading, n_trials=trials, config=config)
    else:
        _check_records({"--benchmark": benchmark, "--cash": cash, "--equal-weight": equal_weight, "--passive": passive})
        entries = read_entries(files, [public_key_of(each) for each in public_key or ()])
        evaluation = _evaluation(entries.records, (suite, keys), source, reading)
        nulls = evaluation.luck_floor([record.agent_id for record in entries.records])
        board = score_agents(entries.records, suite=evaluation, n_trials=trials, luck_floor=nulls, config=config)
        result = _Result(board, evaluation, _with_holdouts(entries, evaluation))
    _check_originals(result.board, original or ())
    _write(result, report)
    written = _write_tables(result, tables, table_format)
    if as_json:
        echo_json(_as_json(result, written))
    else:
        _show(result, report, written)


@dataclass(frozen=True)
class _Result:
    """A board with its inputs."""

    board: Board
    evaluation: Evaluation | None = None
    entries: Entries = field(default_factory=lambda: Entries((), ()))
    inputs: Mapping[str, str] = field(default_factory=dict)
    periods_origin: str = ""


def _of_returns(
    files: Sequence[Path],
    stated: tuple[str | None, SideColumns, int],
    reading: Reading,
    **settings: Any,
) -> _Result:
    """Return the board of files of returns, and the origin of its returns per year."""
    periods, notes = reading.periods_per_year, list[str]()
    series = read_series(files, *stated, _checked_options(reading), periods, notes)
    board = score_agents(**series, periods_per_year=periods, **settings)
    digests = {str(path): digest_of(path) for path in files}
    origin = "from the dates" if periods is None else "as stated"
    return _Result(board, entries=Entries((), tuple(notes)), inputs=digests, periods_origin=origin)


def _checked_options(reading: Reading) -> ReadOptions:
    """Return the options that say how to read returns; refuse those of prices."""
    options = reading.options
    columns = options.columns
    if isinstance(columns, Mapping) and (other := [role for role in columns if role != "date"]):
        raise refusal("argument_invalid", f"`--column` must be date=NAME for files of returns; received {other[0]}=")
    others = replace(options, columns=None, date_order=None, date_format=None, decimal=None, tz=None)
    Reading(others).refuse("files of returns")
    return options


def _check_csv(files: Sequence[Path], options: Mapping[str, Any]) -> None:
    if others := [path for path in files if not is_return_file(path)]:
        message = f"records and CSV files must be scored separately; received '{others[0]}' with CSV files"
        raise refusal("argument_invalid", message)
    if given := [name for name, value in options.items() if value]:
        message = f"`{given[0]}` must be left out for CSV files, which have no protocol and no signature; received both"
        raise refusal("argument_invalid", message)


def _check_originals(board: Board, names: Sequence[str]) -> None:
    known = [score.agent_id for score in board.scores]
    if unknown := [name for name in names if name not in known]:
        agents = ", ".join(plain(name) for name in known)
        raise refusal("argument_invalid", f"`--original` must be one of {agents}; received {unknown[0]!r}")


def _check_outputs(report: Path | None, tables: Path | None, table_format: str) -> None:
    if report is not None:
        checked_output_file(report)
    check_tables(tables, table_format)


def _write_tables(result: _Result, tables: Path | None, table_format: str) -> list[str]:
    from openoutcry.report.score_report import view_of
    from openoutcry.report.tables.score_tables import score_tables

    return write_tables_of(lambda: score_tables(view_of(result.board, result.evaluation)), tables, table_format)


def _with_holdouts(entries: Entries, evaluation: Evaluation) -> Entries:
    holdouts = recorded_holdouts(entries.records, [window.dataset for window in evaluation.windows])
    return replace(entries, notes=(*entries.notes, *holdouts))


def _write(result: _Result, report: Path | None) -> None:
    if report is None:
        return
    from openoutcry.report.score_report import write_score_report

    write_score_report(
        result.board,
        report,
        suite=result.evaluation,
        command=shlex.join(["openoutcry", *sys.argv[1:]]),
        records=result.entries.records,
        tables=result.inputs,
        notices=result.entries.notes,
    )


def _evaluation(
    records: Sequence[RunRecord],
    stated: tuple[str | None, Path | None],
    source: list[str] | None,
    reading: Reading,
) -> Evaluation:
    """Return the suite of `--suite`, or the one inferred from the records."""
    suite, keys = stated
    if suite is not None:
        return open_evaluation(suite, keys, source, reading)
    implied = suite_of(records)
    given = open_datasets(source or (), reading)
    known = {dataset.fingerprint for dataset in given}
    missing = [market.name for market in implied.markets if market.fingerprint not in known]
    shipped = [bundled.load(name) for name in missing if name in bundled.names()]
    return Evaluation(implied, datasets=[*given, *shipped])


def _attack(as_json: bool) -> int:
    from openoutcry.audits.score_attacks import ATTACKS, run_attacks

    with Progress(BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task("", total=len(ATTACKS))
        rows = run_attacks(on_attack=lambda _: bar.advance(task))
    if as_json:
        echo_json([row.to_dict() for row in rows])
        return int(not all(row.held for row in rows))
    table = Table(title="attacks on the scorer", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("attack", "method", "naive scorer: fooled", "won", "allowed", "held"):
        table.add_column(head, justify="right" if head in ("won", "allowed") else "left")
    for row in rows:
        bound = f"{'≥' if row.is_control else '≤'} {row.n_bound}"
        fooled = f"{row.naive}: {row.n_fooled} of {row.n}"
        table.add_row(row.slug, row.tries, fooled, f"{row.n_won} of {row.n}", bound, "yes" if row.held else "NO")
    console = Console()
    console.width = max(console.width, 110)
    console.print(table)
    return int(not all(row.held for row in rows))


def _as_json(result: _Result, tables: Sequence[str]) -> str:
    evaluation, suite = result.evaluation, None
    if evaluation is not None:
        protocol = evaluation.suite
        suite = {"name": protocol.name, "edition": protocol.edition, "digest": protocol.digest}
    # `board.text` is the scorer's JSON, unchanged.
    # `tables` was the name of the files of returns before `--tables` existed.
    extra = f'"tables":{json.dumps(result.inputs)},"table_files":{json.dumps(tables)}'
    extra += f',"notes":{json.dumps(result.entries.notes)}'
    extra += f',"scorer_edition":{result.board.edition}'
    extra += f',"caveats":{json.dumps(result.board.caveats)}'
    return f'{{"suite":{json.dumps(suite)},{extra},"board":{result.board.text}}}'


def _show(result: _Result, report: Path | None, tables: Sequence[str]) -> None:
    board = result.board
    console = Console()
    console.width = max(console.width, 100)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("#", justify="right", style="dim")
    # A long name is truncated rather than any number; it is complete below the table.
    table.add_column("agent", no_wrap=True, max_width=max(20, console.width - _NUMBERS_WIDTH))
    table.add_column("verdict", no_wrap=True)
    for head in ("z", "Sharpe", "DSR", "RW p", "won", "null below"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("sandbox", no_wrap=True)
    for each in board.scores:
        table.add_row(*_cells(each))
    console.print(table)
    console.print(f"  · {LEGEND}", style="dim", highlight=False)
    for each in board.scores:
        if each.because:
            copied = f" (same return series as {plain(each.copy_of)})" if each.copy_of else ""
            line = f"{plain(each.agent_id)}: {'; '.join(_reasons(each))}{copied}"
            console.print(f"  · {line}", style="dim", highlight=False)
    console.print(plain(board.sentence, MAX_SENTENCE), highlight=False)
    if board.power is not None:
        console.print(board.power["sentence"], highlight=False)
    for note in result.entries.notes:
        console.print(plain(note, MAX_SENTENCE), highlight=False)
    for caveat in board.caveats:
        console.print(plain(caveat, MAX_SENTENCE), style="yellow", highlight=False)
    console.print(_benchmarks(board), style="dim", highlight=False)
    if result.evaluation is None:
        _show_inputs(console, result)
    else:
        _show_protocol(console, result.evaluation.suite, board)
    if report is not None:
        console.print(f"report: {report}", highlight=False)
    if tables:
        console.print(tables_line(tables), highlight=False)


def _benchmarks(board: Board) -> str:
    """Return a sentence with the benchmarks that decide, and those that are absent."""
    absent = [name for name, found in board.tests.items() if found is None and "no_passive" in _all_reasons(board)]
    decide = ", ".join(name for name in board.tests if name not in absent)
    line = f"scorer edition {board.edition}: {decide} decide"
    return f"{line}; {', '.join(absent)} unknown, hint: `--equal-weight COLUMN --passive COLUMN`" if absent else line


def _all_reasons(board: Board) -> set[str]:
    return {reason for each in board.scores for reason in each.reasons}


def _check_records(given: Mapping[str, object]) -> None:
    """Refuse options that only files of returns have."""
    if wrong := next((name for name, value in given.items() if value), None):
        wanted = f"`{wrong}` must be used with files of returns"
        raise refusal("argument_invalid", f"{wanted}; received records; hint: leave it out")


def _reasons(each: Score) -> list[str]:
    """Return the reasons as text, with the gates of undefined statistics."""
    undefined = ", ".join(f"`{gate.slug}`" for gate in each.gates if gate.reason == "undefined")
    named = f"the statistic of {undefined} is undefined"
    pairs = zip(each.reasons, each.because, strict=True)
    return [named if slug == "undefined" and undefined else text for slug, text in pairs]


def _show_inputs(console: Console, result: _Result) -> None:
    for path, digest in result.inputs.items():
        console.print(f"{plain(path)}, SHA-256 {digest}", style="dim", highlight=False)
    periods = f"{result.board.scores[0].periods_per_year:g} returns per year, {result.periods_origin}"
    console.print(periods, style="dim", highlight=False)
    console.print("no null agents: a CSV file of returns does not name its market", style="dim", highlight=False)
    console.print("no suite digest: returns without records follow no suite", style="dim", highlight=False)


def _show_protocol(console: Console, suite: Suite, board: Board) -> None:
    if suite.edition == IMPLIED:
        warning = "no suite: the agents chose windows, costs and limits, so none is eligible; hint: pass `--suite`"
        console.print(warning, style="yellow", highlight=False)
    else:
        name = f"{plain(suite.name)} {plain(suite.edition)}"
        console.print(f"suite {name}, digest {suite.digest}", style="dim", highlight=False)
    if floor := board.luck_floor:
        ratios = floor["sharpe"]
        span = f"Sharpe {ratios['p5']:.2f} to {ratios['p95']:.2f} (5 to 95 %)"
        console.print(f"null agents: {floor['n_agents']} random agents, {span}", style="dim", highlight=False)


def _cells(each: Score) -> list[str]:
    windows = f"{each.n_won}/{each.n_windows}"
    return [
        "—" if each.rank is None else str(each.rank),
        plain(each.agent_id),
        each.verdict.replace("_", " "),
        _number(each.z),
        _number(each.metrics.get("sharpe")),
        _number(each.dsr),
        _number(each.ranking_gate("romano_wolf").value, ".3f"),
        windows,
        "—" if each.above_luck is None else f"{each.above_luck:.0%}",
        each.isolation or "—",
    ]


def _number(value: Any, form: str = ".2f") -> str:
    return "—" if value is None else format(value, form)
