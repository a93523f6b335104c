"""`openoutcry power`: statistical power of a comparison of agents."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich import box
from rich.table import Table

from openoutcry.arguments import checked_integer
from openoutcry.scoring.power import Power
from openoutcry.scoring.power import power as power_of
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo_json

EXAMPLES = """
**Examples**

`openoutcry power --days 50 --agents 21`: 21 agents over 50 days

`openoutcry power --days 2520 --agents 5 --sharpe 0.5`: whether ten years detect a Sharpe ratio of 0.5

`openoutcry power --days 120 --agents 10 --periods-per-year 12`: ten years of monthly returns

`openoutcry power --days 50 --agents 21 --json`

**Interpretation** A Sharpe ratio below the expected best of agents without skill is no evidence of skill. Standard
errors shrink with the square root of the days, so more days help more than fewer agents. The numbers assume normal
returns without autocorrelation; real returns need more days.
"""


def power(
    days: int = typer.Option(..., "--days", help="Number of returns per agent (days or other bars); at least 2."),
    agents: int = typer.Option(..., "--agents", help="Number of agents compared; at least 1."),
    sharpe: float = typer.Option(1.0, help="True annual Sharpe ratio to detect."),
    size: float = typer.Option(0.05, help="Familywise error rate: probability of a false positive in the field."),
    required_power: float = typer.Option(0.8, "--power", help="Required probability of detection."),
    periods_per_year: float = typer.Option(
        252.0,
        help="Bars per year: a plan has no dates to infer them from. The default is daily bars of a stock exchange.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print all numbers as JSON."),
) -> None:
    """Compute the statistical power of a comparison of N agents over T days.

    On few days the best of many agents without skill has a high Sharpe ratio. This command computes how high, and how
    many days are needed to detect skill.
    """
    checked_integer("--days", days, 2, 2**53)
    checked_integer("--agents", agents, 1, 2**53)
    found = power_of(days, agents, periods_per_year=periods_per_year, sharpe=sharpe, size=size, power=required_power)
    if as_json:
        echo_json(asdict(found))
    else:
        _show(found)


def _show(found: Power) -> None:
    console = Console()
    field = f"{counted(found.n_agents, 'agent')}, {counted(found.n_returns, 'return')} each"
    field += f", {found.periods_per_year:g} per year"
    title = f"{field}; annual Sharpe ratios"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("quantity")
    table.add_column("", justify="right", no_wrap=True)
    for row in _rows(found):
        table.add_row(*row)
    console.print(table)
    console.print(found.sentence, highlight=False)


def _rows(found: Power) -> list[tuple[str, str]]:
    least = "—" if found.min_sharpe is None else f"{found.min_sharpe:.2f}"
    return [
        ("standard error of an agent without skill", f"{found.standard_error:.2f}"),
        ("expected best of agents without skill", f"{found.best_expected:.2f}"),
        (f"critical value: {found.size:.0%} of such fields have a higher best", f"{found.best_quantile:.2f}"),
        (f"minimum detectable ratio at {found.power:.0%} power", least),
        (f"minimum detectable difference of two agents at {found.power:.0%} power", f"{found.min_gap:.2f}"),
        (f"returns needed to detect a ratio of {found.sharpe:g}", f"{found.n_needed:,.0f}"),
        ("… in years", f"{found.years_needed:.1f}"),
        ("… in multiples of this length", f"{found.tracks_needed:,.0f}"),
    ]
