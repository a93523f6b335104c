"""The `openoutcry` command."""

from __future__ import annotations

import sys

import typer

from openoutcry.cli import (
    arena,
    bench,
    conformance,
    contamination,
    data,
    demo,
    leakcheck,
    ledger,
    martingale,
    mcp,
    power,
    realism,
    replay,
    report,
    research,
    run,
    sandbox,
    score,
    suite,
    version_info,
)
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

EXIT_CODES = """
**Exit codes** 0: done. 1: an agent of yours raised an error, shown with its traceback, `bench --check` missed a goal,
the markets of `data diff` or the records of `diff` differ, a record is not what `replay` makes of it, an attack of
`score --attack` won, `sandbox doctor` found no tight sandbox, `conformance` found an agent that does not conform,
`leakcheck` found a leak, `ledger verify` a log that was tampered with, `realism` found what real markets are not, a bot
of `martingale` gained, `contamination` was found, a journal is not what `research replay` makes of it, an export is not
what `arena verify` wants, or an `arena witness` saw a log rewritten. 2: the input was refused, with one line that says
what is required and what came. 3: `contamination` was found by one of its two
tests alone.
"""

app = typer.Typer(
    name="openoutcry",
    help="The open trading floor for agents. Start with `openoutcry demo`.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("demo", epilog=demo.EXAMPLES)(demo.demo)
app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("replay", epilog=replay.REPLAY_EXAMPLES)(replay.replay)
app.command("diff", epilog=replay.DIFF_EXAMPLES)(replay.diff)
app.command("report", epilog=report.EXAMPLES)(report.report)
app.add_typer(data.app, name="data")
app.add_typer(suite.app, name="suite")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(ledger.app, name="ledger")
app.command("conformance", epilog=conformance.EXAMPLES)(conformance.conformance)
app.command("score", epilog=score.EXAMPLES)(score.score)
app.command("leakcheck", epilog=leakcheck.EXAMPLES)(leakcheck.leakcheck)
app.command("realism", epilog=realism.EXAMPLES)(realism.realism)
app.command("martingale", epilog=martingale.EXAMPLES)(martingale.martingale)
app.command("contamination", epilog=contamination.EXAMPLES)(contamination.contamination)
app.command("mcp", epilog=mcp.EXAMPLES)(mcp.mcp)
app.add_typer(research.app, name="research")
app.add_typer(arena.app, name="arena")
app.command("power", epilog=power.EXAMPLES)(power.run)
app.command("bench", epilog=bench.EXAMPLES)(bench.bench)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print versions, and digests of the engine and of markets."),
    as_json: bool = typer.Option(False, "--json", help="Print them as JSON."),
) -> None:
    if version:
        typer.echo(version_info.told(as_json))
        raise typer.Exit
    if as_json:
        raise refusal("argument_invalid", "`--json` must follow a command or go with `--version`; received it alone")


def main() -> None:
    """Run the command.

    A refused input is one line on stderr and exit code 2, and any other error a traceback.
    """
    try:
        app()
    except OpenOutcryError as error:
        # Of the notes, those that say where; others name the argument, as the message does.
        places = [note for note in getattr(error, "__notes__", []) if note.startswith("in ")]
        typer.echo("; ".join([f"error: {error}", *places]), err=True)
        sys.exit(2)
