"""`openoutcry score`: a board of records or of returns, and attacks on it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress
from rich.table import Table

from openoutcry import data as bundled
from openoutcry.cli.board_entries import Entries, read_entries
from openoutcry.cli.market_options import open_dataset, page_to_write, public_key_of
from openoutcry.cli.returns_csv import digest_of, read_tracks
from openoutcry.cli.run_table import plain
from openoutcry.cli.suite import KEYS, open_evaluation
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score as judge
from openoutcry.scoring.suite import IMPLIED, Suite
from openoutcry.scoring.suite_evaluation import Evaluation, suite_of
from openoutcry.scoring.verdict import Board, Score

EXAMPLES = """
**Examples**

`openoutcry score momentum.json.zst mine.json.zst --suite season.json --keys season.keys --report board.html`

`openoutcry score run.json other.json`, records of the same windows under no suite, of which none is eligible

`openoutcry score 2024.json 2025.json theirs.json --public-key runner.pub`, runs of one agent in files of their own

`openoutcry score returns.csv others.csv --benchmark SPY --windows 8`, a column an agent

`openoutcry score --attack`

Records are replayed, and every number is recomputed from their decisions. Returns alone can be tested and never be
found eligible, since nobody can tell what was done for them. Agents that cannot be told apart share a rank. Of agents
with one track all are copies, whoever is named first; `--original` says who made it, where you know.

**Exit codes** 0: a board was made, whoever is eligible; or no attack won. 1: an attack won. 2: the input was refused.
"""

# Of two names and a few numbers.
# What the columns beside the name take at most.
_NUMBERS_WIDTH = 76
LONGEST_SENTENCE = 400


def score(
    files: list[Path] = typer.Argument(None, help="Records (`.json`, `.jsonl`, with `.zst` or without), or CSVs."),
    suite: str | None = typer.Option(None, help="The protocol that records are held to: `default`, or a JSON file."),
    keys: Path | None = KEYS,
    source: list[str] | None = typer.Option(None, "--data", help="A market that does not ship; may be given again."),
    public_key: list[str] | None = typer.Option(
        None, help="Key by which every record must be signed: 64 hexadecimal digits, or a file; may be given again."
    ),
    original: list[str] | None = typer.Option(None, help="Agent that made its track itself; may be given again."),
    trials: int = typer.Option(0, help="Trials that were counted for this family of markets."),
    report: Path | None = typer.Option(None, help="Write a self-contained HTML page of the board here."),
    as_json: bool = typer.Option(False, "--json", help="Print the board as JSON, every number with its inputs."),
    attack: bool = typer.Option(False, "--attack", help="Run the attacks that a scorer must survive instead."),
    columns: str | None = typer.Option(
        None, "--csv", help="What a CSV holds: `equity` or `returns`.", show_default="found"
    ),
    benchmark: str | None = typer.Option(None, help="Column of a CSV with buy-and-hold."),
    cash: str | None = typer.Option(None, help="Column of a CSV with cash; none earns nothing."),
    windows: int = typer.Option(5, min=1, help="Equal windows that a CSV is cut into."),
    periods_per_year: float | None = typer.Option(None, help="Bars a year of a CSV or of `--data`; 252 by default."),
) -> None:
    """Judge agents by their records or returns, and rank those that can be told apart."""
    if attack:
        raise typer.Exit(_attack(as_json))
    if not files:
        raise refusal("argument_invalid", "at least one file is required, or `--attack`; received none")
    if report is not None:
        page_to_write(report)
    config = {"originals": original} if original else None
    if any(path.suffix == ".csv" for path in files):
        _check_csv(files, {"--suite": suite, "--data": source, "--public-key": public_key})
        tracks = read_tracks(files, columns, benchmark, cash, windows)
        made = judge(**tracks, periods_per_year=periods_per_year or 252.0, n_trials=trials, config=config)
        judged = _Judged(made, tables={str(path): digest_of(path) for path in files})
    else:
        entries = read_entries(files, [public_key_of(each) for each in public_key or ()])
        evaluation = _evaluation(entries.records, suite, keys, source, periods_per_year)
        floor = evaluation.luck_floor([record.agent_id for record in entries.records])
        made = judge(entries.records, suite=evaluation, n_trials=trials, luck_floor=floor, config=config)
        judged = _Judged(made, evaluation, entries)
    _check_originals(made, original or ())
    if report is not None:
        _write(judged, report)
    if as_json:
        typer.echo(_as_json(judged))
    else:
        _show(judged, report)


@dataclass(frozen=True)
class _Judged:
    """A board, and what it was made of."""

    board: Board
    evaluation: Evaluation | None = None
    entries: Entries = field(default_factory=lambda: Entries((), ()))
    tables: Mapping[str, str] = field(default_factory=dict)


def _check_csv(files: Sequence[Path], options: Mapping[str, Any]) -> None:
    if others := [path for path in files if path.suffix != ".csv"]:
        message = f"records and CSVs must be on boards of their own; received '{others[0]}' among CSVs"
        raise refusal("argument_invalid", message)
    if given := [name for name, value in options.items() if value]:
        message = f"CSVs, which have no protocol and no signature, must come without `{given[0]}`; received both"
        raise refusal("argument_invalid", message)


def _check_originals(board: Board, names: Sequence[str]) -> None:
    known = [score.agent_id for score in board.scores]
    if unknown := [name for name in names if name not in known]:
        agents = ", ".join(plain(name) for name in known)
        raise refusal("argument_invalid", f"`--original` must be one of {agents}; received {unknown[0]!r}")


def _write(judged: _Judged, report: Path) -> None:
    from openoutcry.report.score_report import write_score_report

    write_score_report(
        judged.board,
        report,
        suite=judged.evaluation,
        command=shlex.join(["openoutcry", *sys.argv[1:]]),
        records=judged.entries.records,
        tables=judged.tables,
        notices=judged.entries.notes,
    )


def _evaluation(
    records: Sequence[RunRecord],
    suite: str | None,
    keys: Path | None,
    source: list[str] | None,
    periods_per_year: float | None,
) -> Evaluation:
    """Return the suite that is named, or the one that the records themselves imply."""
    if suite is not None:
        return open_evaluation(suite, keys, source, periods_per_year)
    implied = suite_of(records)
    given = [open_dataset(each, periods_per_year) for each in source or ()]
    known = {dataset.fingerprint for dataset in given}
    missing = [market.name for market in implied.markets if market.fingerprint not in known]
    shipped = [bundled.load(name) for name in missing if name in bundled.names()]
    return Evaluation(implied, datasets=[*given, *shipped])


def _attack(as_json: bool) -> int:
    from openoutcry.audits.score_attacks import ATTACKS, run_attacks

    with Progress(BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(ATTACKS))
        rows = run_attacks(on_attack=lambda _: bar.advance(task))
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows]))
        return int(not all(row.held for row in rows))
    table = Table(title="attacks on the scorer", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("attack", "what it tries", "a simpler scorer: fooled", "won", "may win", "held"):
        table.add_column(head, justify="right" if head in ("won", "may win") else "left")
    for row in rows:
        bound = f"{'≥' if row.is_control else '≤'} {row.n_bound}"
        fooled = f"{row.naive}: {row.n_fooled} of {row.n}"
        table.add_row(row.slug, row.tries, fooled, f"{row.n_won} of {row.n}", bound, "yes" if row.held else "NO")
    console = Console()
    console.width = max(console.width, 110)
    console.print(table)
    return int(not all(row.held for row in rows))


def _as_json(judged: _Judged) -> str:
    evaluation, suite = judged.evaluation, None
    if evaluation is not None:
        told = evaluation.suite
        suite = {"name": told.name, "edition": told.edition, "digest": told.digest}
    # The board is JSON already, number by number as the scorer wrote it.
    beside = f'"tables":{json.dumps(judged.tables)},"notes":{json.dumps(judged.entries.notes)}'
    return f'{{"suite":{json.dumps(suite)},{beside},"board":{judged.board.text}}}'


def _show(judged: _Judged, report: Path | None) -> None:
    board = judged.board
    console = Console()
    console.width = max(console.width, 100)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("#", justify="right", style="dim")
    # A long name is cut before any number is; it stands whole below.
    table.add_column("agent", no_wrap=True, max_width=max(20, console.width - _NUMBERS_WIDTH))
    table.add_column("verdict", no_wrap=True)
    for head in ("z", "Sharpe", "DSR", "RW p", "won", "above luck"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("sandbox", no_wrap=True)
    for each in board.scores:
        table.add_row(*_cells(each))
    console.print(table)
    for each in board.scores:
        if each.because:
            track = f" (the track of {plain(each.copy_of)})" if each.copy_of else ""
            told = f"{plain(each.agent_id)}: {'; '.join(each.because)}{track}"
            console.print(f"  · {told}", style="dim", highlight=False)
    console.print(plain(board.sentence, LONGEST_SENTENCE), highlight=False)
    if board.power is not None:
        console.print(board.power["sentence"], highlight=False)
    for note in judged.entries.notes:
        console.print(plain(note, LONGEST_SENTENCE), highlight=False)
    if judged.evaluation is None:
        _show_tables(console, judged)
    else:
        _show_protocol(console, judged.evaluation.suite, board)
    if report is not None:
        console.print(f"report: {report}", highlight=False)


def _show_tables(console: Console, judged: _Judged) -> None:
    for path, digest in judged.tables.items():
        console.print(f"{plain(path)}, SHA-256 {digest}", style="dim", highlight=False)
    console.print("no luck floor: returns alone name no market", style="dim", highlight=False)
    console.print("no digest of a suite: returns alone keep to no protocol", style="dim", highlight=False)


def _show_protocol(console: Console, told: Suite, board: Board) -> None:
    if told.edition == IMPLIED:
        warning = "under no suite: the agents chose windows, costs and limits, so none is eligible; hint: `--suite`"
        console.print(warning, style="yellow", highlight=False)
    else:
        name = f"{plain(told.name)} {plain(told.edition)}"
        console.print(f"suite {name}, digest {told.digest}", style="dim", highlight=False)
    if floor := board.luck_floor:
        ratios = floor["sharpe"]
        span = f"Sharpe {ratios['p5']:.2f} to {ratios['p95']:.2f} (5 to 95 %)"
        console.print(f"luck floor: {floor['n_agents']} agents without skill, {span}", style="dim", highlight=False)


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
