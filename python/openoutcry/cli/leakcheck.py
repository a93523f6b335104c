"""`openoutcry leakcheck`: find look-ahead in a pipeline, environment or agent."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.table import Table

from openoutcry.cli.market_options import checked_picture_file, open_dataset, working_directory_modules
from openoutcry.cli.progress_process import Progress, run_in_child
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.run_table import LONGEST_AGENT, plain
from openoutcry.data.market_source import named_market
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo_exception, echo_json

if TYPE_CHECKING:
    from openoutcry.audits.leakcheck import Leak, Report

EXAMPLES = """
**Examples**

`openoutcry leakcheck my_features:build`

`openoutcry leakcheck my_env:make --kind env --data prices.csv --picture leaks.svg`

`openoutcry leakcheck my_agent:decide --data ecb-fx --json`

`openoutcry leakcheck trend:fast=20,slow=100 --data ecb-fx`

`openoutcry leakcheck my_features:build --without nan` for a target that does not support NaN

**Exit codes** 0: no look-ahead. 1: a column looks ahead. 2: the target could not be checked: it raises on the unchanged
data or on one perturbation at every cut, ends the process, is not deterministic, keeps state between calls, or returns
rows that cannot be aligned with the input.
"""

TARGET = (
    "`module:function`: f(frame) -> frame or Env, or f(observation) -> decision; a strategy such as "
    "`trend:fast=20,slow=100`, or a candidate's file."
)
# Files that are read with all of their columns.
_TABLES = (".csv", ".parquet")


@reads_files
def leakcheck(
    target: str = typer.Argument(help=TARGET),
    source: str | None = typer.Option(None, "--data", help="A CSV or Parquet file, or a bundled market."),
    kind: str | None = typer.Option(None, help="`pipeline`, `env` or `agent`; guessed by default."),
    frame: str | None = typer.Option(None, help="`pandas` (the default), `polars` or `numpy`."),
    bars: int | None = typer.Option(None, help="Bars of the synthetic market.", min=8),
    symbols: int | None = typer.Option(None, help="Symbols of the synthetic market.", min=1),
    cuts: int = typer.Option(24, help="Number of bars after which the data is perturbed.", min=1),
    start: int | None = typer.Option(None, help="Bar of an environment's first observation; inferred by default."),
    without: list[str] = typer.Option(
        [], help="Perturbation to skip: `garbage`, `nan`, `permutation` or `truncation`."
    ),
    rtol: float | None = typer.Option(None, help="Relative tolerance; 1e-9 by default, 1e-5 for float32."),
    picture: Path | None = typer.Option(None, help="Write a chart of each leak to this SVG file."),
    as_json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Find look-ahead in a feature pipeline, an environment or an agent.

    The check perturbs the data after a bar and reports every output that changes at or before it.
    """
    market = _Market(source, reading, frame, (bars, symbols))
    run_in_child()
    try:
        if picture is not None:
            checked_picture_file(picture)
        settings: dict[str, Any] = {"n_cuts": cuts, "start": start, "rtol": rtol}
        settings |= {"periods_per_year": reading.periods_per_year, "without": without, "progress": Progress(sys.stderr)}
        # Output of the target is not part of the report.
        with redirect_stdout(sys.stderr):
            report = _checked(target, kind, market, settings)
        if picture is not None:
            from openoutcry.audits.leakcheck.leak_chart import render_leaks

            picture.write_text(render_leaks(report), encoding="utf-8")
    except OpenOutcryError as error:
        if error.__cause__ is not None and not isinstance(
            error.__cause__, OpenOutcryError | OSError | ModuleNotFoundError
        ):
            echo_exception(error.__cause__)
        raise
    except Exception as error:
        # Not re-raised: an uncaught error exits with code 1, which means that a leak was found.
        echo_exception(error)
        raise typer.Exit(2) from error
    if as_json:
        echo_json(report.to_dict())
    else:
        _show(report, picture)
    if report.incomplete:
        raise refusal("argument_invalid", report.incomplete)
    raise typer.Exit(0 if report.is_clean else 1)


class _Market:
    """Data selected by `--data` and its options, `--frame`, `--bars`, `--symbols`."""

    def __init__(
        self, source: str | None, reading: Reading, library: str | None, sizes: tuple[int | None, int | None]
    ) -> None:
        if source is not None and sizes != (None, None):
            raise refusal("argument_invalid", "`--bars` and `--symbols` must be left out with `--data`; received both")
        # Bars per year are also for the ratios of leaks, of any market.
        self._options = replace(reading, periods_per_year=None)
        if source is None or named_market(source):
            self._options.refuse("synthetic data" if source is None else source)
        self._source, self._library, self._sizes = source, library, sizes

    def frame(self, kind: str) -> Any:
        """Return the input frame for a kind of target."""
        from openoutcry.audits.leakcheck import market_frames

        try:
            library = market_frames.library_of(self._library)
            if self._source is None:
                return market_frames.synthetic(kind, library, *self._sizes)
            path = Path(self._source)
            # Other columns of a plain table are input of the target too.
            is_table = path.suffix in _TABLES and not named_market(path)
            if is_table and not self._options.is_stated:
                return market_frames.read_file(path, kind, library)
            return market_frames.from_dataset(open_dataset(self._source, self._options), kind, library)
        except ModuleNotFoundError as error:
            raise refusal("argument_invalid", f"`--frame` {error}; received no {error.name}") from error


def _checked(name: str, kind: str | None, market: _Market, settings: dict[str, Any]) -> Report:
    from openoutcry.audits.leakcheck import check
    from openoutcry.audits.leakcheck.frame_columns import source_of
    from openoutcry.audits.leakcheck.target_lookup import guess_kind, load_target, reload_target, validated_kind

    with working_directory_modules():
        function = load_target(name)
    layouts = (source_of(market.frame(each)) for each in ("pipeline", "agent"))
    guessed = validated_kind(kind) or guess_kind(function, layouts)
    return check(
        function, market.frame(guessed), kind=guessed, name=name, fresh=partial(reload_target, name), **settings
    )


def _show(report: Report, picture: Path | None) -> None:
    console = Console()
    console.width = max(console.width, 120)
    result = f"{len(report.leaks)} of {report.n_columns:,} columns look ahead" if report.leaks else "no look-ahead"
    result = "not checked with every perturbation" if report.incomplete else result
    result += f", {len(report.unsure)} unsure" if report.unsure else ""
    size = f"{counted(report.source.n_bars, 'bar')}, {counted(report.n_cuts, 'cut')}, {counted(report.n_runs, 'run')}"
    console.print(f"{plain(report.target, LONGEST_AGENT)} ({report.kind}, {size}): {result}", highlight=False)
    if report.leaks:
        console.print(_table(report.leaks))
    for note in (each for each in report.notes if each != report.incomplete):
        console.print(f"  · {note}", style="dim", highlight=False, soft_wrap=True)
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
        best = max(leak.worth, key=lambda each: each.drop, default=None)
        worth = (
            ("—", "—", leak.unpriced or "")
            if best is None
            else (f"{best.sharpe:.2f}", f"{best.delayed:.2f}", best.signal)
        )
        table.add_row(plain(leak.reach.column, LONGEST_AGENT), ahead, first, ", ".join(leak.reach.kinds), *worth)
    return table
