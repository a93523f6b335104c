"""Versions of a market, of which one counts in a ranking.

Anyone can make a longer or wider copy of a market on which a strategy looks better or worse: with copies of a symbol,
or with a trend before its first bar. The first version of a market that the ledger recorded therefore counts before
later ones, and a bundled dataset, which cannot be changed, before all. Both orders are fixed as soon as a market is
recorded: later markets do not change which version counts, even if they connect two markets to one family.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from openoutcry.ledger.index_schema import select_in

BUNDLED = frozenset(
    {
        "ea15e74a1a06c422cf7c574f9ca6cd1635e116347454cca7c155853f2fa8fada",
        "59d5b0ca6ac596f825532cfcf6e142dafc44f06c7a6c83197ba13d035b17efb2",
        "d4c24e730b458dcff1c028fe6eeafcd2fa1badbbd31683c134aebff605fc60ca",
        "a395a4ba61b47efb44bc41e5baa5687c7930a032f17558410825460f4db31ae9",
    }
)
"""Fingerprints of the bundled datasets, with their default symbols and with all."""
_BEFORE_OTHERS = 1 << 40


def precedence_of(market: int, fingerprint: str) -> int:
    """Return the precedence of the market with an ID.

    The version with the lowest one counts.
    """
    return market - _BEFORE_OTHERS if fingerprint in BUNDLED else market


def set_origin(base: sqlite3.Connection, market: int, similar: Collection[int]) -> set[int]:
    """Set the origin of a new market, and return families with other rankings.

    The origin is the market of which it is a version: that of the similar market with the lowest precedence. A bundled
    dataset has no origin but itself, and becomes the origin of similar markets.

    Args:
        base: Connection to the index.
        market: ID of the new market.
        similar: IDs of recorded markets with the same, or changed, prices at any dates.
    """
    others = sorted(set(similar) - {market})
    if base.execute("SELECT precedence FROM markets WHERE id = ?", (market,)).fetchone()[0] < 0:
        query = "SELECT id, family FROM markets WHERE precedence > 0 AND id IN (?)"
        moved = list(select_in(base, query, others))
        base.executemany("UPDATE markets SET origin = ? WHERE id = ?", [(market, each) for each, _ in moved])
        return {family for _, family in moved}
    query = (
        "SELECT first.precedence, first.id FROM markets JOIN markets AS first ON first.id = markets.origin"
        " WHERE markets.id IN (?)"
    )
    _, origin = min(select_in(base, query, others), default=(0, market))
    base.execute("UPDATE markets SET origin = ? WHERE id = ?", (origin, market))
    return set()


def preferred(base: sqlite3.Connection, fingerprint: str) -> int | None:
    """Return the ID of a market if another version counts by default, or None."""
    query = (
        "SELECT own.id FROM markets AS own WHERE fingerprint = ? AND precedence >"
        " (SELECT MIN(precedence) FROM markets WHERE origin = own.origin)"
    )
    found = base.execute(query, (fingerprint,)).fetchone()
    return None if found is None else int(found[0])
