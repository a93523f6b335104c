"""`openoutcry arena rules` and `compare`: how is scored, and who beats whom."""

from __future__ import annotations

from pathlib import Path

import typer

from openoutcry.cli.arena_operator import DATA, DATABASE, OPERATOR, open_arena, report_score_changes
from openoutcry.errors import refusal

app = typer.Typer(rich_markup_mode="markdown")

RULES_EXAMPLES = """
**Examples** `openoutcry arena rules` shows them. `openoutcry arena rules --fee-model none` and
`openoutcry arena rules --base-rates rates.json` set others: a record of the log, by which all is scored anew.
"""
COMPARE_EXAMPLES = "**Example** `openoutcry arena compare season my-agent other-agent`, of what `export` wrote."


@app.command(epilog=RULES_EXAMPLES, rich_help_panel=OPERATOR)
def rules(
    base_rates: Path | None = typer.Option(None, help="Past rates of theaters: JSON, as docs/arena-scoring.md has it."),
    fee_model: str | None = typer.Option(None, help="`kalshi_taker` or `none`."),
    fee_rate: str | None = typer.Option(None, help="Of contracts times price times the other side's price."),
    fee_step: str | None = typer.Option(None, help="What a fee is rounded up to a multiple of."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Show the rules of scoring that are in force, or set others."""
    import json

    from openoutcry.arena.scoring.operator_rules import chosen, table_of
    from openoutcry.arena.store.initialization import SetScoringRules
    from openoutcry.arena.store.read_queries import scoring_rules
    from openoutcry.arena.timestamps import now

    with open_arena(folder, database) as arena:
        with arena.reading.connect() as connection:
            version, before, rates = scoring_rules(connection)
        after = chosen(before, {"fee_model": fee_model, "fee_rate": fee_rate, "fee_step": fee_step})
        table = rates if base_rates is None else table_of(base_rates.read_bytes())
        if (after, table) != (before, rates):
            with report_score_changes(arena):
                seq = arena.writer.write(SetScoringRules(version, after.to_record(), table, now()))
                typer.echo(f"record {seq}: all is scored by these rules from here on, what was decided before, too")
        typer.echo(f"scoring_version: {version}")
        for name, value in after.to_record().items():
            typer.echo(f"{name}: {value}")
        rows = json.loads(table)
        typer.echo(f"base rates: {'none' if not rows else ''}".rstrip())
        for row in rows:
            typer.echo(f"  {row['theater']}: {row['rate']} of {row['n']:,}, {row['source']}, {row['period']}")


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    folder: Path = typer.Argument(help="What was exported."),
    first: str = typer.Argument(help="An agent."),
    second: str = typer.Argument(help="The agent that it may beat."),
    vkey: str | None = typer.Option(None, help="The log's key as you know it; by default the export's own."),
) -> None:
    """Say whether one agent beats another on the markets of both."""
    from openoutcry.arena.log.export_audit import audit
    from openoutcry.arena.scoring import compare as compared
    from openoutcry.arena.scoring import select
    from openoutcry.arena.season_export import facts_of_export, score_faults

    if first.lower() == second.lower():
        raise refusal("argument_invalid", f"two agents are required; received {first} twice")
    # Nobody signs the moment of the scores; that all of the log is before it is found by making them again.
    faults = [f"{each.file}: {each.why}" for each in audit(folder, vkey, [])] or score_faults(folder)
    if faults:
        told = faults[0].partition("\n")[0]
        raise refusal("argument_invalid", f"an export that holds is required, with its scores; received {told}")
    facts = facts_of_export(folder)
    suspended = [each.slug for each in facts.agents if each.suspended and each.slug in (first.lower(), second.lower())]
    if suspended:
        raise refusal("argument_invalid", f"agents that are not suspended are required; received {suspended[0]}")
    found = compared(select(facts), first.lower(), second.lower())
    typer.echo(f"markets of both: {found.n_markets:,}")
    if found.reason is not None:
        typer.echo(f"undecided: at least {facts.parameters.min_markets} are needed")
        return
    mean, low, high = (f"{each:+.4f}" for each in (found.difference, found.low, found.high))
    typer.echo(f"Brier of {found.first} less that of {found.second}: {mean}, 95 % interval {low} to {high}")
    typer.echo(f"{found.first} is better in {found.p_better:.1%} of resamples; p = {found.p_value:.4f} by random signs")
