"""`openoutcry martingale`: test the engine with bots on martingale prices."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.table import Table

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress
from openoutcry.untrusted.terminal import echo, echo_exception, echo_json

if TYPE_CHECKING:
    from openoutcry.audits.martingale import Row, Setting, Verdict

EXAMPLES = """
**Examples**

`openoutcry martingale`

`openoutcry martingale --markets 1000 --bars 250`

`openoutcry martingale --setting fee --setting default --json`

**Exit codes** 0: no bot profits. 1: a bot profits, which is a bug in the engine. 2: the command could not run.
"""


def martingale(
    markets: int = typer.Option(40, help="Number of markets that every bot trades under every setting."),
    bars: int = typer.Option(120, help="Traded bars of each market."),
    setting: list[str] = typer.Option([], help="Name of a setting (costs and limits), repeatable; all by default."),
    generations: int = typer.Option(30, min=1, help="Training generations of the evolution strategies."),
    seed: int = typer.Option(0, min=0, help="Seed of the first market."),
    every: bool = typer.Option(
        False, "--every", help="Print every bot; by default, only the strongest result of each setting."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the full result as JSON."),
) -> None:
    """Run trading bots on martingale prices, where expected profit is zero.

    A significant profit is a bug in the engine. Thirty-six rule bots and two evolution strategies, evaluated on unseen
    markets, trade under every cost and limit.
    """
    from openoutcry.audits.martingale import Training, check
    from openoutcry.audits.martingale.martingale_gate import n_rounds

    chosen, training = _chosen(setting), Training(generations)
    for option, value, least in (("--markets", markets, training.n_markets), ("--bars", bars, training.n_bars + 1)):
        if value < least:
            raise refusal("argument_invalid", f"`{option}` must be at least {least}; received {value}")
    try:
        with Progress(BarColumn(), MofNCompleteColumn()) as progress:
            task = progress.add_task("", total=n_rounds(chosen, markets))
            verdict = check(
                chosen,
                n_markets=markets,
                n_bars=bars,
                training=training,
                seed=seed,
                on_setting=lambda: progress.advance(task),
            )
    except OpenOutcryError:
        raise
    except Exception as error:
        # Not re-raised: an uncaught error exits with code 1, which means that a bot profits.
        echo_exception(error)
        raise typer.Exit(2) from error
    if as_json:
        echo_json(verdict.to_dict())
    else:
        _show(verdict, every)
    if not verdict.passed:
        names = dict.fromkeys(f"{row.bot} ({row.setting})" for row in verdict.failures)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        echo(f"significant or unexplained gain: {', '.join([*names][:5])}{more}", err=True)
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
    title = f"martingale markets, {verdict.n_markets} x {verdict.n_bars} bars; basis points"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("setting", "bot"):
        table.add_column(head, no_wrap=True)
    for head in ("gain per bar", "± s.e.", "p (Holm)", "excess per trade", "worst bar", "ruined"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    for row in verdict.rows if every else verdict.strongest_rows():
        table.add_row(*_cells(row))
    console.print(table)
    note = "excess: gain less the profit of the positions; the contract requires minus the costs"
    console.print(f"  · {note}", style="dim", highlight=False)
    outcome = "no bot profits" if verdict.passed else f"{len(verdict.failures)} profit, which is a bug in the engine"
    console.print(f"{counted(len(verdict.rows), 'combination')} of bot and setting: {outcome}", highlight=False)


def _cells(row: Row) -> list[str]:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    excess = "—" if row.excess_bps is None else f"{round(row.excess_bps, 3) + 0.0:.3f}"
    numbers = [f"{row.gain_bps:.2f}", f"{row.error_bps:.2f}", f"{row.p_value:.2g}", excess, f"{1e4 * row.worst:.1e}"]
    return [row.setting, row.bot, *numbers, str(row.n_ruined), "ok" if row.passed else "gain"]
