"""Data sources of snapshots: RSS, GDELT, Wikipedia, USGS, Kalshi, a calendar.

A source module has `fetch`, which returns captures (raw responses) and never raises, and a pure `parse`. `collector`
fetches all sources, `captures` stores and replays them, `observer` turns them into items. Imports `arena.snapshots`,
the Arena's `protocol` and `untrusted`.
"""

from __future__ import annotations

try:
    import feedparser as _feedparser  # noqa: F401 imported here, so that the error names the extra
    import httpx as _httpx  # noqa: F401 likewise
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "openoutcry.arena.sources needs `pip install openoutcry[arena]`", name=error.name
    ) from error
