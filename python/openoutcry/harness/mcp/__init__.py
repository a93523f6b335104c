"""MCP server: episodes for any client of the Model Context Protocol.

`SessionManager` holds the sessions and does not depend on the protocol; `mcp_server.create_server` exposes it as the
tools `reset`, `observe`, `step` and `score`. `market_selection` lists the markets, `tool_schemas` and `tool_arguments`
define the tools, `record_folder` and `live_record` write records. Imports the core and `harness`.
"""

from openoutcry.harness.mcp.market_selection import Market, bundled_markets, markets_of
from openoutcry.harness.mcp.record_folder import RecordFolder
from openoutcry.harness.mcp.session_manager import Bounds, SessionManager

__all__ = ["Bounds", "Market", "RecordFolder", "SessionManager", "bundled_markets", "markets_of"]
