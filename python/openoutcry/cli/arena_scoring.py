"""`openoutcry arena rules` and `compare`: scoring rules, comparison of agents."""

from __future__ import annotations

from pathlib import Path

import typer

from openoutcry.cli.arena_operator import DATA, DATABASE, OPERATOR, open_arena, report_score_changes
from openoutcry.errors import refusal
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_bytes
from openoutcry.untrusted.terminal import echo

app = typer.Typer(rich_markup_mode="markdown")

RULES_EXAMPLES = """
**Examples** `openoutcry arena rules` shows the rules. `openoutcry arena rules --fee-model none` and
`openoutcry arena rules --base-rates rates.json` change them. The change is a record of the log, and all scores are
recomputed.
"""
COMPARE_EXAMPLES = "**Example** `openoutcry arena compare season my-agent other-agent`, with the folder of an export."


@app.command(epilog=RULES_EXAMPLES, rich_help_panel=OPERATOR)
def rules(
    base_rates: Path | None = typer.Option(None, help="JSON file of base rates, see docs/arena-scoring.md."),
    fee_model: str | None = typer.Option(None, help="`kalshi_taker` or `none`."),
    fee_rate: str | None = typer.Option(None, help="Fee as a fraction of contracts x price x (1 - price)."),
    fee_step: str | None = typer.Option(None, help="Fees are rounded up to a multiple of this."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Show or change the scoring rules."""
    import json

    from openoutcry.arena.scoring.operator_rules import canonical_rate_table, with_fees
    from openoutcry.arena.store.initialization import SetScoringRules
    from openoutcry.arena.store.read_queries import scoring_rules
    from openoutcry.arena.timestamps import now

    with open_arena(folder, database) as arena:
        with arena.reading.connect() as connection:
            version, before, rates = scoring_rules(connection)
        after = with_fees(before, {"fee_model": fee_model, "fee_rate": fee_rate, "fee_step": fee_step})
        table = rates
        if base_rates is not None:
            table = canonical_rate_table(read_bytes(base_rates, DOCUMENT_BYTES, "`--base-rates`"))
        if (after, table) != (before, rates):
            with report_score_changes(arena):
                seq = arena.writer.write(SetScoringRules(version, after.to_record(), table, now()))
                echo(f"record {seq}: these rules apply to all decisions from now on, including earlier ones")
        echo(f"scoring_version: {version}")
        for name, value in after.to_record().items():
            echo(f"{name}: {value}")
        rows = json.loads(table)
        echo(f"base rates: {'none' if not rows else ''}".rstrip())
        for row in rows:
            echo(f"  {row['theater']}: {row['rate']} of {row['n']:,}, {row['source']}, {row['period']}")


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    folder: Path = typer.Argument(help="Folder of an export."),
    first: str = typer.Argument(help="First agent."),
    second: str = typer.Argument(help="Second agent."),
    vkey: str | None = typer.Option(None, help="Trusted public key of the log; by default the export's own key."),
) -> None:
    """Compare the Brier scores of two agents on the markets that both decided on."""
    from openoutcry.arena.log.export_audit import audit
    from openoutcry.arena.scoring import compare as compared
    from openoutcry.arena.scoring import select
    from openoutcry.arena.season_export import facts_of_export, score_faults

    if first.lower() == second.lower():
        raise refusal("argument_invalid", f"two agents are required; received {first} twice")
    # The time of the scores is not signed; recomputing them checks that no record is later.
    faults = [f"{each.file}: {each.why}" for each in audit(folder, vkey, [])] or score_faults(folder)
    if faults:
        fault = faults[0].partition("\n")[0]
        raise refusal("argument_invalid", f"an export without faults is required; received {fault}")
    facts = facts_of_export(folder)
    suspended = [each.slug for each in facts.agents if each.suspended and each.slug in (first.lower(), second.lower())]
    if suspended:
        raise refusal("argument_invalid", f"agents that are not suspended are required; received {suspended[0]}")
    comparison = compared(select(facts), first.lower(), second.lower())
    echo(f"common markets: {comparison.n_markets:,}")
    if comparison.reason is not None:
        echo(f"undecided: at least {facts.parameters.min_markets} common markets are required")
        return
    mean, low, high = (f"{each:+.4f}" for each in (comparison.difference, comparison.low, comparison.high))
    echo(f"Brier score of {comparison.first} minus {comparison.second}: {mean}, 95 % interval {low} to {high}")
    better = f"{comparison.first} is better in {comparison.p_better:.1%} of resamples"
    echo(f"{better}; p = {comparison.p_value:.4f} by random signs")
