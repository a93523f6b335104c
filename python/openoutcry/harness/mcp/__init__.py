"""Episodes for any client of the Model Context Protocol.

`Floor` holds the sessions and knows nothing of MCP; `server_of` puts it behind the tools `reset`, `observe`, `step` and
`score`. What holds the two together is a module each: `session` (one of a client), `episode` (its steps), `decided`
(its score), `market` (what can be traded), `sights` (what has been shown of it), `arguments` (what a client may say),
`schemas` (how tools are typed), `keeping` and `live` (records), `refused` (lines that are no request).
"""

from openoutcry.harness.mcp.market_selection import Market, bundled, offered
from openoutcry.harness.mcp.record_folder import Records
from openoutcry.harness.mcp.session_manager import Bounds, Floor

__all__ = ["Bounds", "Floor", "Market", "Records", "bundled", "offered"]
