"""`openoutcry mcp`: episodes for clients of the Model Context Protocol."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from openoutcry.cli.market_options import open_datasets
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.data.masking import LEVELS
from openoutcry.errors import refusal
from openoutcry.harness.process_privacy import private_process
from openoutcry.untrusted.terminal import echo

EXAMPLES = """
**Examples**

`openoutcry mcp`

`openoutcry mcp --data ecb-fx --mask full --records episodes`

`openoutcry replay episodes/SESSION.jsonl --data ecb-fx` verifies the record of an episode. For a synthetic or masked
market, use `--data episodes/markets/FINGERPRINT.json`; the file of a masked market appears when the server exits.

**In a client** such as Claude Desktop, with JSON settings:

    {
      "mcpServers": {
        "openoutcry": {
          "command": "openoutcry",
          "args": ["mcp", "--mask", "full"]
        }
      }
    }

The client starts and stops the server. If it does not find the command, or records go to the wrong folder, use absolute
paths.
"""


@reads_files
def mcp(
    source: list[str] | None = typer.Option(
        None,
        "--data",
        help="A bundled market (`openoutcry data list`) or a file; repeatable. Default: all bundled markets.",
    ),
    mask: str | None = typer.Option(
        None, help=f"Mask the markets, with a new key in each session: {', '.join(LEVELS)} (`docs/masking.md`)."
    ),
    records: Path | None = typer.Option(None, help="Folder for a record of each session; created if missing."),
    sessions: int = typer.Option(16, min=1, help="Maximum number of open sessions."),
    idle: float = typer.Option(3600.0, help="Close a session after this many seconds without a call."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Serve episodes to a client of the Model Context Protocol (MCP).

    The tools are `reset`, `observe`, `step` and `score`. Needs `pip install openoutcry[mcp]`.
    """
    try:
        from openoutcry.harness.mcp.mcp_server import serve
    except ModuleNotFoundError as error:
        message = f"`openoutcry mcp` must be installed with `pip install openoutcry[mcp]`; received {error}"
        raise refusal("argument_invalid", message) from error
    from openoutcry.harness.mcp import Bounds, RecordFolder, SessionManager, bundled_markets, markets_of

    if not 0.0 < idle < float("inf"):
        raise refusal("argument_invalid", f"`--idle` must be a number of seconds above 0; received {idle}")
    datasets = open_datasets(source or (), reading)
    markets = markets_of(datasets, mask) if datasets else bundled_markets(mask)
    manager = SessionManager(markets, Bounds(sessions, idle), None if records is None else RecordFolder(records))
    if sys.stdin.isatty():
        echo("waiting for an MCP client on standard input; see `openoutcry mcp --help` for client settings", err=True)
    with private_process():
        serve(manager)
