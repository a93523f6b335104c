"""`openoutcry realism`: check a market against stylized facts and trading rules."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.table import Table

from openoutcry import data
from openoutcry.cli.market_options import open_dataset
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress
from openoutcry.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from openoutcry.audits.realism.realism_result import FactRow, Verdict

EXAMPLES = """
**Examples**

`openoutcry realism hard`

`openoutcry realism calm --seeds 20 --json`

`openoutcry realism ecb-fx --tier fx`

`openoutcry realism prices.csv --tier hard`

**Exit codes** 0: passed. 1: a fact lies outside its band, or a rule earns alpha. 2: the command could not run.
"""

LABELS = {
    "annual_volatility": "annual volatility",
    "excess_kurtosis": "excess kurtosis",
    "quantile_kurtosis": "quantile kurtosis",
    "hill": "tail index (Hill, 5 %)",
    "acf_return_1": "autocorrelation of r, 1 bar",
    "acf_abs_1": "autocorrelation of |r|, 1 bar",
    "acf_abs_5": "autocorrelation of |r|, 5 bars",
    "acf_abs_20": "autocorrelation of |r|, 20 bars",
    "leverage": "leverage effect",
    "skew": "skew",
    "long_kurtosis": "excess kurtosis over 20 bars",
    "pairwise_correlation": "mean pairwise correlation",
    "volume_volatility": "volume and volatility",
    "range_ratio": "range over return volatility",
    "overnight_share": "overnight share of variance",
    "buy_and_hold_sharpe": "Sharpe of buy-and-hold",
}
TEST_NOTES = {
    "equivalence": "equivalence test: each alpha before costs lies within ±0.15",
    "excess": "excess test: no alpha before costs is significantly beyond ±0.15; the equivalence test needs 100 seeds",
    "none": "one panel has no power against rules: their alphas are reported, not tested",
}


@reads_files
def realism(
    source: str = typer.Argument(help="A scenario tier, a bundled market (`openoutcry data list`) or a file."),
    seeds: int | None = typer.Option(None, min=2, help="Number of markets of a tier; 200 by default."),
    tier: str = typer.Option("", help="Tier whose bands a bundled market or a file is checked against."),
    as_json: bool = typer.Option(False, "--json", help="Print the full result as JSON."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Check a market against stylized facts of real returns.

    The check also tests that no simple trading rule earns excess return.

    A tier is tested over many seeds, a bundled market or a file as a single panel.
    """
    from openoutcry.audits.realism import realism_gate

    if source.partition(":")[0] in data.names() or Path(source).exists():
        _refuse_option(source, "--seeds", seeds, "one panel")
        total, band_tier = 1, tier
        panels: Iterable[Dataset] = [open_dataset(source, reading)]
    else:
        reading.refuse(source)
        total = 200 if seeds is None else seeds
        panels, band_tier = _tier(source, tier, total)
    with Progress(BarColumn(), MofNCompleteColumn()) as progress:
        bar = progress.add_task("", total=total)
        verdict = realism_gate.check(panels, band_tier, name=source, on_panel=lambda _: progress.advance(bar))
    if as_json:
        echo_json(verdict.to_dict())
    else:
        _show(verdict)
    if not verdict.passed:
        echo(f"failed: {', '.join(verdict.failures)}", err=True)
        raise typer.Exit(1)


def _refuse_option(source: str, option: str, value: object, why: str) -> None:
    if value is not None:
        raise refusal("argument_invalid", f"`{option}` must be left out with {source}, {why}; received {value}")


def _tier(source: str, tier: str, n_seeds: int) -> tuple[Iterable[Dataset], str]:
    """Return the markets of a tier or family, and the tier of their bands."""
    from openoutcry.audits.realism import reference_bands
    from openoutcry.audits.realism.tier_panels import panels_of
    from openoutcry.scenarios.scenario import NAMES

    if source not in NAMES:
        known = f"one of {', '.join(NAMES)}, a bundled market ({', '.join(data.names())}) or an existing file"
        raise refusal("unknown_dataset", f"a market must be {known}; received {source!r}")
    return panels_of(source, n_seeds), tier or (source if source in reference_bands.tiers() else "")


def _show(verdict: Verdict) -> None:
    console = Console()
    console.width = max(console.width, 100)
    many = verdict.n_seeds > 1
    bands = f"bands of {verdict.tier}" if verdict.tier else "no bands"
    title = (
        f"{verdict.name}  {verdict.n_seeds} x {verdict.n_bars} bars, {bands}" if many else f"{verdict.name}, {bands}"
    )
    console.print(_fact_table(title, verdict))
    for row in verdict.facts:
        if row.reason and row.passed is not True:
            console.print(f"  · {LABELS[row.fact]}: {row.reason}", style="dim", highlight=False)
    console.print(_rule_table(verdict))
    console.print(f"  · {TEST_NOTES[verdict.test]}", style="dim", highlight=False)
    best = f"best rule after costs {_number(verdict.best)}; on a driftless market {_number(verdict.best_of_martingale)}"
    console.print(f"{best} {_mark(verdict.best_passed)}", highlight=False)


def _fact_table(title: str, verdict: Verdict) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("fact", no_wrap=True)
    for head in ("value", "low", "high", "inside" if verdict.n_seeds > 1 else "p (Holm)"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    table.add_column("band from", style="dim")
    for row in verdict.facts:
        numbers = map(_number, (row.median, row.low, row.high))
        table.add_row(
            LABELS[row.fact], *numbers, _inside_or_p_value(row, verdict.n_seeds), _mark(row.passed), row.source
        )
    return table


def _inside_or_p_value(row: FactRow, n_seeds: int) -> str:
    if n_seeds == 1:
        return _number(row.p_value)
    return "—" if row.inside is None else f"{row.inside:.0%}"


def _rule_table(verdict: Verdict) -> Table:
    table = Table(title="alpha-Sharpe of trading rules", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    table.add_column("family")
    for head in ("after costs", "before costs", "± s.e.", "p (Holm)"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    for row in verdict.rules:
        numbers = (_number(row.net), _number(row.gross), _number(row.error), _number(row.p_value))
        table.add_row(row.rule, row.family, *numbers, _mark(row.passed))
    return table


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"


def _mark(passed: bool | None) -> str:
    return "" if passed is None else "ok" if passed else "failed"
