"""`openoutcry demo`: rank the baseline agents on the bundled markets."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import typer

from openoutcry import agents, data
from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.cli.market_options import checked_output_file
from openoutcry.cli.run_table import LEGEND, metrics_table
from openoutcry.openoutcry_py import Limits
from openoutcry.scoring.baseline_board import Board, Entry, run_board
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress, description_column
from openoutcry.untrusted.terminal import echo_json

EXAMPLES = """
**Examples**

`openoutcry demo`

`openoutcry demo --report out/board.html --windows 8`

`openoutcry demo --json | jq '.[0].agents[0]'`
"""

DATASETS = ("ecb-fx", "us-treasury")


def demo(
    report: Path = typer.Option(Path("report.html"), help="HTML report to write; its folder is created."),
    windows: int = typer.Option(5, min=1, help="Number of consecutive windows to run in addition to the full period."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON instead of tables."),
) -> None:
    """Rank the baseline agents on the bundled markets.

    Runs 27 years of exchange rates and of Treasury indices, offline and long-only. Prints one table per market and
    writes a self-contained HTML report.
    """
    console = Console()
    with suppress(OSError):
        report.parent.mkdir(parents=True, exist_ok=True)
    checked_output_file(report)
    boards = _run(windows, console)
    _write_report(boards, report)
    if as_json:
        echo_json([_as_json(board) for board in boards])
        return
    for board in boards:
        dates = board.benchmark.dates
        period = f"{dates[0]} .. {dates[-1]}, {counted(len(dates), 'bar')}"
        title = f"{board.dataset.name}, {period}, ranked by Sharpe ratio"
        console.print(metrics_table(title, (entry.full_run for entry in board.entries), ranked=True))
        console.print(f"  · {LEGEND}", style="dim", highlight=False)
        for entry in board.entries:
            if entry.unranked:
                reason = _unranked_reason(entry)
                console.print(
                    f"  · {entry.agent} is not ranked: {reason}", style="dim", highlight=False, soft_wrap=True
                )
        for notice in board.dataset.notices:
            console.print(f"  · {notice}", style="dim", highlight=False, soft_wrap=True)
        console.print()
    console.print(f"Report written to {report}; open it in a browser.", highlight=False)


def _unranked_reason(entry: Entry) -> str:
    if "sharpe" not in entry.full_run.undefined:
        return entry.unranked
    if native.is_riskless(entry.full_run.returns):
        return "its Sharpe ratio is undefined because its returns are constant"
    return f"its Sharpe ratio is undefined: {entry.unranked}"


def _run(n_windows: int, console: Console) -> list[Board]:
    columns = (description_column(), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, disable=not console.is_terminal) as progress:
        total = len(DATASETS) * len(agents.NAMES) * (n_windows + 1)
        task = progress.add_task("running", total=total)
        return [
            run_board(
                data.load(name),
                n_windows=n_windows,
                limits=Limits(allow_short=False),
                on_run=lambda agent: progress.update(task, advance=1, description=agent),
            )
            for name in DATASETS
        ]


def _as_json(board: Board) -> dict[str, object]:
    return {
        "dataset": board.dataset.name,
        "fingerprint": board.dataset.fingerprint,
        "agents": [
            {
                "agent": entry.agent,
                "metrics": entry.full_run.metrics,
                "undefined": entry.full_run.undefined,
                "unranked": entry.unranked or None,
                "events": entry.full_run.event_counts,
                "windows": [{"dates": [run.dates[0], run.dates[-1]], "metrics": run.metrics} for run in entry.windows],
            }
            for entry in board.entries
        ],
    }


def _write_report(boards: list[Board], path: Path) -> None:
    from openoutcry.report.render import render_board
    from openoutcry.report.run_report import conditions_of, notices_of, versions, view_of, window_of
    from openoutcry.report.views.run_view import BoardRow, BoardSection, BoardWindow, Provenance

    def window(run: Run) -> BoardWindow:
        return BoardWindow(f"{run.dates[0][:4]} .. {run.dates[-1][:4]}", run.nav)

    sections: list[BoardSection] = []
    groups: dict[str, list[tuple[str, str]]] = {}
    for board in boards:
        views = [view_of(entry.full_run) for entry in board.entries]
        rows = [
            BoardRow(entry.agent, view.metrics, view.reasons, [window(run) for run in entry.windows], view.caveats)
            for entry, view in zip(board.entries, views, strict=True)
        ]
        benchmark = next(view for view in views if view.name == board.benchmark.name)
        notices = notices_of(board.benchmark)
        sections.append(BoardSection(board.dataset.name, rows, views, benchmark, notices, "the full period"))
        parts = [window_of(run) for run in board.entries[0].windows]
        windows = [(f"window {place} of {len(parts)}", part) for place, part in enumerate(parts, 1)]
        names = ", ".join(entry.agent for entry in board.entries)
        groups[board.dataset.name] = [("agents", names), *conditions_of(board.benchmark), *windows]
    command = f"openoutcry demo --windows {len(boards[0].entries[0].windows)}"
    page = render_board("Baselines on real markets", sections, [], Provenance(versions(command), groups))
    path.write_text(page, encoding="utf-8")
