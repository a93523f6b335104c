"""`openoutcry leakcheck`: does a pipeline, environment or agent look ahead."""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from openoutcry import data
from openoutcry.cli.market_options import modules_here, open_dataset, picture_to_write
from openoutcry.cli.progress_process import Progress, watched
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.audits.leakcheck import Leak, Report

EXAMPLES = """
**Examples**

`openoutcry leakcheck my_features:build`

`openoutcry leakcheck my_env:make --kind env --data prices.csv --picture leaks.svg`

`openoutcry leakcheck my_agent:decide --data ecb-fx --json`

`openoutcry leakcheck my_features:build --without nan` where it is known to refuse NaN

**Exit codes** 0: nothing looks ahead. 1: something does. 2: it could not be checked: the target raises on the data as
it is or with one of the futures at every cut, ends the process, does not give the same twice, keeps something between
calls, or gives something whose rows cannot be told.
"""


def leakcheck(
    target: str = typer.Argument(help="`module:function`: f(frame) -> frame or Env, or f(observation) -> decision."),
    source: str | None = typer.Option(None, "--data", help="A CSV or Parquet file, or a bundled market."),
    kind: str | None = typer.Option(None, help="`pipeline`, `env` or `agent`; guessed by default."),
    frame: str | None = typer.Option(None, help="`pandas` (the default), `polars` or `numpy`."),
    bars: int | None = typer.Option(None, help="Bars of the synthetic market.", min=8),
    symbols: int | None = typer.Option(None, help="Symbols of the synthetic market.", min=1),
    cuts: int = typer.Option(24, help="Bars after which the future is replaced.", min=1),
    start: int | None = typer.Option(None, help="Bar of an environment's first observation; found by default."),
    without: list[str] = typer.Option([], help="A future that the target does not take: `nan`, `truncation`."),
    rtol: float | None = typer.Option(None, help="Relative tolerance; 1e-9 by default, 1e-5 for float32."),
    periods_per_year: float = typer.Option(252.0, help="Bars a year, for Sharpe ratios."),
    picture: Path | None = typer.Option(None, help="Write a chart of each leak to this SVG file."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Replace the future, and name every column that changes before it."""
    watched()
    try:
        if picture is not None:
            picture_to_write(picture)
        market = _Market(source, frame, bars, symbols)
        settings: dict[str, Any] = {"n_cuts": cuts, "start": start, "rtol": rtol, "periods_per_year": periods_per_year}
        settings |= {"without": without, "progress": Progress(sys.stderr)}
        # What a target prints is not part of the report.
        with redirect_stdout(sys.stderr):
            report = _checked(target, kind, market, settings)
        if picture is not None:
            from openoutcry.audits.leakcheck.leak_chart import picture_of

            picture.write_text(picture_of(report), encoding="utf-8")
    except OpenOutcryError as error:
        if error.__cause__ is not None and not isinstance(
            error.__cause__, OpenOutcryError | OSError | ModuleNotFoundError
        ):
            traceback.print_exception(error.__cause__)
        raise
    except Exception as error:
        # Not passed on: an uncaught error is exit code 1, which says that there is a leak.
        traceback.print_exc()
        raise typer.Exit(2) from error
    if as_json:
        typer.echo(json.dumps(report.to_dict()))
    else:
        _show(report, picture)
    if report.complaint:
        raise refusal("argument_invalid", report.complaint)
    raise typer.Exit(0 if report.is_clean else 1)


class _Market:
    """What `--data`, `--frame`, `--bars` and `--symbols` say."""

    def __init__(self, source: str | None, library: str | None, bars: int | None, symbols: int | None) -> None:
        if source is not None and (bars is not None or symbols is not None):
            raise refusal("argument_invalid", "`--bars` and `--symbols` must be left out with `--data`; received both")
        self._source, self._library, self._sizes = source, library, (bars, symbols)

    def frame(self, kind: str) -> Any:
        """Return the frame for a kind of target."""
        from openoutcry.audits.leakcheck import market_frames

        try:
            library = market_frames.library_of(self._library)
            if self._source is None:
                return market_frames.synthetic(kind, library, *self._sizes)
            if self._source.partition(":")[0] in data.names():
                return market_frames.of_dataset(open_dataset(self._source), kind, library)
            return market_frames.read(Path(self._source), kind, library)
        except ModuleNotFoundError as error:
            raise refusal("argument_invalid", f"`--frame` {error}; received no {error.name}") from error


def _checked(name: str, kind: str | None, market: _Market, settings: dict[str, Any]) -> Report:
    from openoutcry.audits.leakcheck import check
    from openoutcry.audits.leakcheck.frame_columns import source_of
    from openoutcry.audits.leakcheck.target_lookup import checked_kind, guess, load, reloaded

    with modules_here():
        function = load(name)
    layouts = (source_of(market.frame(each)) for each in ("pipeline", "agent"))
    guessed = checked_kind(kind) or guess(function, layouts)
    return check(function, market.frame(guessed), kind=guessed, name=name, fresh=partial(reloaded, name), **settings)


def _show(report: Report, picture: Path | None) -> None:
    console = Console()
    console.width = max(console.width, 120)
    told = f"{len(report.leaks)} of {report.n_columns} columns look ahead" if report.leaks else "nothing looks ahead"
    told = "not checked with each future" if report.complaint else told
    told += f", {len(report.unsure)} unsure" if report.unsure else ""
    size = f"{report.source.n_bars:,} bars, {report.n_cuts} cuts, {report.n_runs} runs"
    console.print(f"{escape(report.target)} ({report.kind}, {size}): {told}", highlight=False)
    if report.leaks:
        console.print(_table(report.leaks))
    for note in (each for each in report.notes if each != report.complaint):
        console.print(f"  · {note}", style="dim", highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        console.print(f"picture: {picture}", highlight=False)


def _table(leaks: tuple[Leak, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("column", overflow="fold")
    for head in ("bars ahead", "first row"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("changed by")
    for head in ("Sharpe", "1 bar later"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("traded as")
    for leak in leaks:
        ahead = f"{leak.reach.horizon}" + (" (all)" if leak.reach.is_whole else "")
        first = f"{leak.reach.first}" + ("" if leak.date is None else f" ({leak.date[:10]})")
        best = max(leak.worth, key=lambda each: each.bought, default=None)
        worth = (
            ("—", "—", leak.unpriced or "") if best is None else (f"{best.sharpe:.2f}", f"{best.late:.2f}", best.signal)
        )
        table.add_row(escape(leak.reach.column), ahead, first, ", ".join(leak.reach.kinds), *worth)
    return table
