"""Episodes for any client of the Model Context Protocol.

`Floor` holds the sessions and knows nothing of MCP; `server_of` puts it behind the tools `reset`, `observe`, `step` and
`score`. What holds the two together is a module each: `episode` (one session), `market` (what can be traded),
`arguments` (what a client may say), `schemas` (how tools are typed), `keeping` (records).
"""

from openoutcry.mcp.floor import Bounds, Floor
from openoutcry.mcp.keeping import Records
from openoutcry.mcp.market import Market, bundled, offered

__all__ = ["Bounds", "Floor", "Market", "Records", "bundled", "offered"]
