"""`openoutcry mcp`: episodes for clients of the Model Context Protocol."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from openoutcry.cli.market_options import open_dataset
from openoutcry.data.masking import LEVELS
from openoutcry.errors import refusal
from openoutcry.harness.process_privacy import closed_to_others

EXAMPLES = """
**Examples**

`openoutcry mcp`

`openoutcry mcp --data ecb-fx --mask full --records episodes`

`openoutcry replay episodes/SESSION.jsonl --data ecb-fx` verifies the record of an episode; of a synthetic market or one
in disguise, `--data episodes/markets/FINGERPRINT.json`. One in disguise is there when the server has ended.

**In a client** such as Claude Desktop, whose file of settings is JSON:

    {
      "mcpServers": {
        "openoutcry": {
          "command": "openoutcry",
          "args": ["mcp", "--mask", "full"]
        }
      }
    }

The client begins the server by itself, and ends it. Where it does not find the command, name it with its folder; where
a relative folder of records is not the one meant, likewise.
"""


def mcp(
    source: list[str] | None = typer.Option(
        None,
        "--data",
        help="A bundled market (`openoutcry data list`) or a file; may be given again. All bundled.",
    ),
    periods_per_year: float | None = typer.Option(None, help="Bars a year of a file; 252 by default."),
    mask: str | None = typer.Option(
        None, help=f"Show markets in disguise, another in each session: {', '.join(LEVELS)} (`docs/masking.md`)."
    ),
    records: Path | None = typer.Option(None, help="Folder for a record of each session; made where it is missing."),
    sessions: int = typer.Option(16, min=1, help="Sessions at a time."),
    idle: float = typer.Option(3600.0, help="Seconds without a call, after which a session is given up."),
) -> None:
    """Let a client of the Model Context Protocol trade episodes.

    It is spoken to over standard input and output. Tools are `reset`, `observe`, `step` and `score`. Needs
    `pip install openoutcry[mcp]`.
    """
    try:
        from openoutcry.harness.mcp.mcp_server import serve
    except ModuleNotFoundError as error:
        message = f"`openoutcry mcp` must be installed with `pip install openoutcry[mcp]`; received {error}"
        raise refusal("argument_invalid", message) from error
    from openoutcry.harness.mcp import Bounds, Floor, Records, bundled, offered

    if not 0.0 < idle < float("inf"):
        raise refusal("argument_invalid", f"`--idle` must be a number of seconds above 0; received {idle}")
    datasets = [open_dataset(each, periods_per_year) for each in source or ()]
    markets = offered(datasets, mask) if datasets else bundled(mask)
    floor = Floor(markets, Bounds(sessions, idle), None if records is None else Records(records))
    if sys.stdin.isatty():
        typer.echo("waiting for a client of MCP on standard input; `openoutcry mcp --help` says how", err=True)
    with closed_to_others():
        serve(floor)
