"""Episodes for any client of the Model Context Protocol.

`Floor` holds the sessions and knows nothing of MCP; `server_of` puts it behind the tools `reset`, `observe`, `step` and
`score`. What holds the two together is a module each: `session` (one of a client), `episode` (its steps), `decided`
(its score), `market` (what can be traded), `sights` (what has been shown of it), `arguments` (what a client may say),
`schemas` (how tools are typed), `keeping` and `live` (records), `refused` (lines that are no request).
"""

from openoutcry.mcp.floor import Bounds, Floor
from openoutcry.mcp.keeping import Records
from openoutcry.mcp.market import Market, bundled, offered

__all__ = ["Bounds", "Floor", "Market", "Records", "bundled", "offered"]
