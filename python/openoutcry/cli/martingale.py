"""`openoutcry martingale`: whether anybody gains where nobody can."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress
from rich.table import Table

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.audits.martingale import Row, Setting, Verdict

EXAMPLES = """
**Examples**

`openoutcry martingale`

`openoutcry martingale --markets 1000 --bars 250`

`openoutcry martingale --setting fee --setting default --json`

**Exit codes** 0: nobody gained. 1: somebody did, which is a fault of the engine. 2: could not run.
"""


def martingale(
    markets: int = typer.Option(40, help="Markets that every bot trades under every setting."),
    bars: int = typer.Option(120, help="Bars of each."),
    setting: list[str] = typer.Option([], help="Costs and limits by name, once or more; all by default."),
    generations: int = typer.Option(30, min=1, help="Generations that the hunters train."),
    seed: int = typer.Option(0, min=0, help="Seed of the first market."),
    every: bool = typer.Option(False, "--every", help="Print every bot, not only the most telling of a setting."),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
) -> None:
    """Let bots trade prices of which nobody can gain; a gain is a fault.

    Thirty-six rules, and two evolution strategies judged on markets they have not seen, under every cost and limit.
    """
    from openoutcry.audits.martingale import Hunt, check
    from openoutcry.audits.martingale.martingale_gate import n_rounds

    chosen = _chosen(setting)
    try:
        with Progress(BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("", total=n_rounds(chosen, markets))
            verdict = check(
                chosen,
                n_markets=markets,
                n_bars=bars,
                hunt=Hunt(generations),
                seed=seed,
                on_setting=lambda: progress.advance(task),
            )
    except OpenOutcryError:
        raise
    except Exception as error:
        # Not passed on: an uncaught error is exit code 1, which says that somebody gained.
        traceback.print_exc()
        raise typer.Exit(2) from error
    if as_json:
        typer.echo(json.dumps(verdict.to_dict()))
    else:
        _show(verdict, every)
    if not verdict.passed:
        names = dict.fromkeys(f"{row.bot} ({row.setting})" for row in verdict.failures)
        typer.echo(f"gained: {', '.join([*names][:5])}{f' and {len(names) - 5} more' * (len(names) > 5)}", err=True)
        sys.exit(1)


def _chosen(names: list[str]) -> list[Setting]:
    from openoutcry.audits.martingale import SETTINGS

    known = {each.name: each for each in SETTINGS}
    for name in names:
        if name not in known:
            raise refusal("argument_invalid", f"`--setting` must be one of {', '.join(known)}; received {name!r}")
    return [known[name] for name in dict.fromkeys(names)] or list(SETTINGS)


def _show(verdict: Verdict, every: bool) -> None:
    console = Console()
    console.width = max(console.width, 118)
    title = f"martingales, {verdict.n_markets} x {verdict.n_bars} bars; basis points"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("setting", "bot"):
        table.add_column(head, no_wrap=True)
    for head in ("gain a bar", "± s.e.", "p (Holm)", "unexplained a trade", "worst bar", "ruined"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    for row in verdict.rows if every else verdict.shown():
        table.add_row(*_cells(row))
    console.print(table)
    told = "unexplained: of the gain, what the shares held did not bring; minus the costs, by the contract"
    console.print(f"  · {told}", style="dim", highlight=False)
    verb = "nobody gained" if verdict.passed else f"{len(verdict.failures)} gained"
    console.print(f"{len(verdict.rows)} bots under settings: {verb}", highlight=False)


def _cells(row: Row) -> list[str]:
    # Rounding has a sign, and 0 should not.
    excess = "—" if row.excess_bps is None else f"{round(row.excess_bps, 3) + 0.0:.3f}"
    numbers = [f"{row.gain_bps:.2f}", f"{row.error_bps:.2f}", f"{row.p_value:.2g}", excess, f"{1e4 * row.worst:.1e}"]
    return [row.setting, row.bot, *numbers, str(row.n_ruined), "ok" if row.passed else "gained"]
