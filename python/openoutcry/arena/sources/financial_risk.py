"""Financial risk of a theater, from an operator's function; unknown by default."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from openoutcry.arena.protocol import THEATERS, Theater
from openoutcry.arena.snapshots.item_kinds import RISKS
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.parse_result import Parsed, read_object, unreadable

SOURCE = "risk"
UNKNOWN = "UNKNOWN"


def unknown_risk(_: Theater) -> str:
    """Return `UNKNOWN`, the default risk of every theater."""
    return UNKNOWN


def fetch(risk: Callable[[Theater], str], now: datetime) -> Capture:
    """Capture the risk of every theater, so that a replay does not call the function."""
    return Capture(SOURCE, "theaters", "", now, 200, body=json.dumps({name: risk(name) for name in THEATERS}).encode())


def parse(raw: bytes) -> Parsed[tuple[Theater, str]]:
    """Return the risk of each theater with a valid value."""
    read = read_object(raw)
    if read is None:
        return unreadable()
    found: Parsed[tuple[Theater, str]] = Parsed()
    for name in THEATERS:
        if read.get(name) in RISKS:
            found.items.append((name, read[name]))
        else:
            found.lost["risk"] += 1
    return found
