"""Tables of runs for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from openoutcry.backtest.run import Run
from openoutcry.untrusted.terminal import readable

LONGEST_NAME, LONGEST_AGENT = 60, 200
LEGEND = "return is total; vol, turn and cost are per year; s.e. is the standard error"


def plain(text: str, longest: int = LONGEST_NAME) -> str:
    """Return untrusted text on one line, at most `longest` characters long."""
    return readable(text, longest)


def metrics_table(title: str, runs: Iterable[Run], *, ranked: bool) -> Table:
    """Return a table with one row of metrics per run.

    An undefined metric or rank is a dash.
    """
    heading = Text(readable(title))
    table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    if ranked:
        table.add_column("#", justify="right", style="dim")
    # Only this column wraps: a long name takes more lines before a number is cut.
    table.add_column("agent", overflow="fold")
    for head in ("return", "vol", "Sharpe ± s.e.", "max DD", "turn/y", "cost/y"):
        table.add_column(head, justify="right", no_wrap=True)
    for place, run in enumerate(runs, 1):
        rank = "—" if run.metrics["sharpe"] is None or "sharpe" in run.caveats else str(place)
        table.add_row(*([rank] if ranked else []), Text(plain(run.name, LONGEST_AGENT)), *_cells(run.metrics))
    return table


def _cells(metrics: dict[str, float | None]) -> list[str]:
    sharpe, error = metrics["sharpe"], metrics["sharpe_se"]
    ratio = "—" if sharpe is None else f"{sharpe:.2f} ± " + ("—" if error is None else f"{error:.2f}")
    turnover = metrics["turnover"]
    return [
        _percent(metrics["return"], "+.1%"),
        _percent(metrics["vol"], ".1%"),
        ratio,
        _percent(metrics["max_drawdown"], ".1%"),
        "—" if turnover is None else f"{turnover:.1f}x",
        _percent(metrics["cost"], ".2%"),
    ]


def _percent(value: float | None, form: str) -> str:
    return "—" if value is None else format(value, form)
