"""`openoutcry power`: what a board of agents can see."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from openoutcry.arguments import checked_integer
from openoutcry.scoring.power import Power
from openoutcry.scoring.power import power as power_of

EXAMPLES = """
**Examples**

`openoutcry power --days 50 --agents 21`: what fifty days say of twenty-one agents

`openoutcry power --days 2520 --agents 5 --sharpe 0.5`: whether ten years show a ratio of 0.5

`openoutcry power --days 120 --agents 10 --periods-per-year 12`: ten years of months

`openoutcry power --days 50 --agents 21 --json`

**Reading it** No ratio below that of the best without skill is evidence of any. Fewer agents help little, more days a
lot: errors shrink with the root of the days. The numbers are of normal returns without autocorrelation, so real ones
need more.
"""


def power(
    days: int = typer.Option(..., "--days", help="Returns of each agent: days, or whatever a bar is; at least 2."),
    agents: int = typer.Option(..., "--agents", help="Agents that are compared; at least 1."),
    sharpe: float = typer.Option(1.0, help="True annual Sharpe ratio that one hopes to see."),
    size: float = typer.Option(0.05, help="How often luck may be taken for skill, over the whole field."),
    seen: float = typer.Option(0.8, "--power", help="How often skill must be seen."),
    periods_per_year: float = typer.Option(252.0, help="Bars a year."),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
) -> None:
    """Say what so many agents over so many days can show, before anybody is ranked.

    The best of a field without skill looks good on few days; this says how good, and how many days would tell.
    """
    checked_integer("--days", days, 2, 2**53)
    checked_integer("--agents", agents, 1, 2**53)
    found = power_of(days, agents, periods_per_year=periods_per_year, sharpe=sharpe, size=size, power=seen)
    if as_json:
        typer.echo(json.dumps(asdict(found)))
    else:
        _show(found)


def _show(found: Power) -> None:
    console = Console()
    field = f"{found.n_agents:,} agents, {found.n_returns:,} returns each, {found.periods_per_year:g} a year"
    title = f"{field}; annual Sharpe ratios"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("on this board")
    table.add_column("", justify="right", no_wrap=True)
    for row in _rows(found):
        table.add_row(*row)
    console.print(table)
    console.print(found.sentence, highlight=False)


def _rows(found: Power) -> list[tuple[str, str]]:
    least = "—" if found.min_sharpe is None else f"{found.min_sharpe:.2f}"
    return [
        ("standard error of an agent without skill", f"{found.standard_error:.2f}"),
        ("best of the field without skill, expected", f"{found.best_expected:.2f}"),
        (f"passed by the best of {found.size:.0%} of such fields", f"{found.best_quantile:.2f}"),
        (f"least true ratio seen {found.power:.0%} of the time", least),
        (f"least true gap between two agents seen {found.power:.0%} of the time", f"{found.min_gap:.2f}"),
        (f"returns to see a ratio of {found.sharpe:g}", f"{found.n_needed:,.0f}"),
        ("… in years", f"{found.years_needed:.1f}"),
        ("… in tracks of this length", f"{found.tracks_needed:,.0f}"),
    ]
