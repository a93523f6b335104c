"""`openoutcry score`: a board of records or of returns, and attacks on it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress
from rich.table import Table

from openoutcry import data as bundled
from openoutcry.cli.source import open_dataset, page_to_write
from openoutcry.cli.suite import KEYS, open_evaluation
from openoutcry.cli.table import plain
from openoutcry.cli.tracks import read_tracks
from openoutcry.errors import refusal, tell
from openoutcry.evaluation import IMPLIED, Evaluation, suite_of
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.record import SUFFIXES, RunRecord
from openoutcry.scoring import score as judge
from openoutcry.verdict import Board, Score

EXAMPLES = """
**Examples**

`openoutcry score momentum.json.zst mine.json.zst --suite season.json --keys season.keys --report board.html`

`openoutcry score run.json other.json`, records of the same windows under no suite, of which none is eligible

`openoutcry score returns.csv --benchmark SPY --windows 8`, a column an agent

`openoutcry score --attack`

Records are replayed, and every number is recomputed from their decisions. Returns alone can be tested and never be
found eligible, since nobody can tell what was done for them. Agents that cannot be told apart share a rank.

**Exit codes** 0: a board was made, whoever is eligible; or no attack won. 1: an attack won. 2: the input was refused.
"""

# Of two names and a few numbers.
LONGEST_SENTENCE = 400


def score(
    files: list[Path] = typer.Argument(None, help="Records (`.json`, `.jsonl`, with `.zst` or without), or one CSV."),
    suite: str | None = typer.Option(None, help="The protocol that records are held to: `default`, or a JSON file."),
    keys: Path | None = KEYS,
    source: list[str] | None = typer.Option(None, "--data", help="A market that does not ship; may be given again."),
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
    if len(files) == 1 and files[0].suffix == ".csv":
        if suite is not None or source:
            raise refusal("argument_invalid", "a CSV must come without `--suite` and `--data`; received both")
        tracks = read_tracks(files[0], columns, benchmark, cash, windows)
        board, evaluation = judge(**tracks, periods_per_year=periods_per_year or 252.0, n_trials=trials), None
        records: list[RunRecord] = []
    else:
        records = [_record(path) for path in files]
        evaluation = _evaluation(records, suite, keys, source, periods_per_year)
        board = judge(records, suite=evaluation, n_trials=trials, luck_floor=evaluation.luck_floor())
    if report is not None:
        from openoutcry.score_picture import write_score_report

        command = shlex.join(["openoutcry", *sys.argv[1:]])
        write_score_report(board, report, suite=evaluation, command=command, records=records)
    if as_json:
        typer.echo(_as_json(board, evaluation))
    else:
        _show(board, evaluation, report)


def _record(path: Path) -> RunRecord:
    if path.suffix == ".csv":
        raise refusal("argument_invalid", f"a CSV must be alone, a column an agent; received '{path}' among others")
    if not path.name.endswith(SUFFIXES):
        wanted = f"a file must be a record, {', '.join(SUFFIXES)}, or a .csv"
        raise refusal("argument_invalid", f"{wanted}; received '{path}'")
    try:
        return RunRecord.load(path)
    except OpenOutcryError as error:
        tell(error, f"in the file '{path}'")
        raise


def _evaluation(
    records: list[RunRecord],
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
    from openoutcry.score_attacks import ATTACKS, run_attacks

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


def _as_json(board: Board, evaluation: Evaluation | None) -> str:
    suite = None
    if evaluation is not None:
        told = evaluation.suite
        suite = {"name": told.name, "edition": told.edition, "digest": told.digest}
    # The board is JSON already, number by number as the scorer wrote it.
    return f'{{"suite":{json.dumps(suite)},"board":{board.text}}}'


def _show(board: Board, evaluation: Evaluation | None, report: Path | None) -> None:
    console = Console()
    console.width = max(console.width, 100)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("#", justify="right", style="dim")
    table.add_column("agent", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for head in ("z", "Sharpe", "DSR", "RW p", "won", "above luck"):
        table.add_column(head, justify="right", no_wrap=True)
    for each in board.scores:
        table.add_row(*_cells(each))
    console.print(table)
    for each in board.scores:
        if each.because:
            console.print(f"  · {plain(each.agent_id)}: {'; '.join(each.because)}", style="dim", highlight=False)
    console.print(plain(board.sentence, LONGEST_SENTENCE), highlight=False)
    if board.power is not None:
        console.print(board.power["sentence"], highlight=False)
    if evaluation is None:
        console.print("no luck floor: returns alone name no market", style="dim", highlight=False)
    else:
        told = evaluation.suite
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
    if report is not None:
        console.print(f"report: {report}", highlight=False)


def _cells(each: Score) -> list[str]:
    windows = f"{each.n_won}/{each.n_windows}"
    return [
        "—" if each.rank is None else str(each.rank),
        plain(each.agent_id),
        each.verdict.replace("_", " "),
        _number(each.z),
        _number(each.metrics.get("sharpe")),
        _number(each.dsr),
        _number(each.gate("romano_wolf").value, ".3f"),
        windows,
        "—" if each.above_luck is None else f"{each.above_luck:.0%}",
    ]


def _number(value: Any, form: str = ".2f") -> str:
    return "—" if value is None else format(value, form)
