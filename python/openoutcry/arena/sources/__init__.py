"""Sources of snapshots: bytes that are fetched and kept, and items read from them.

`fetch` of a source talks to the network and never fails: no answer is a capture, too. `parse` is pure and never raises,
whatever the bytes. `docs/arena-snapshots.md` lists the sources.
"""

from __future__ import annotations

try:
    import feedparser as _feedparser  # noqa: F401 asked for here, so that the error names the extra
    import httpx as _httpx  # noqa: F401 likewise
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "openoutcry.arena.sources needs `pip install openoutcry[arena]`", name=error.name
    ) from error
