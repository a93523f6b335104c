"""The `openoutcry` command."""

from __future__ import annotations

import sys

import typer

from openoutcry.cli import bench, data, demo, run

app = typer.Typer(
    name="openoutcry",
    help="The open trading floor for agents. Start with `openoutcry demo`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("demo", epilog=demo.EXAMPLES)(demo.demo)
app.command("run", epilog=run.EXAMPLES)(run.run)
app.add_typer(data.app, name="data")
app.command("bench", epilog=bench.EXAMPLES)(bench.bench)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the versions.")) -> None:
    if version:
        import openoutcry

        typer.echo(f"openoutcry {openoutcry.__version__}, contract {openoutcry.CONTRACT_VERSION}")
        raise typer.Exit


def main() -> None:
    """Run the command; a fault of the input is one line on stderr and exit code 2."""
    try:
        app()
    except (ValueError, OverflowError, OSError, ImportError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
