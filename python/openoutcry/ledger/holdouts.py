"""Questions to the index about days that are to be seen once."""

from __future__ import annotations

import sqlite3

from openoutcry.ledger import questions
from openoutcry.ledger.market import Market
from openoutcry.ledger.schema import chosen


def openings(
    base: sqlite3.Connection, market: Market, window: tuple[str, str]
) -> list[tuple[str, str, tuple[str, str, str], int]]:
    """Return who opened days of a window: session, seal, what exactly, times before."""
    query = (
        "SELECT sessions.name, seal, fingerprint, first, last, n_before FROM holdout_opens"
        " JOIN sessions ON sessions.id = session JOIN markets ON markets.id = market WHERE family IN (?)"
    )
    rows = sorted(chosen(base, query, questions.families_of(base, market)), key=lambda row: row[-1])
    return [(row[0], row[1], row[2:5], row[5]) for row in rows if row[3] <= window[1] and window[0] <= row[4]]


def looks(base: sqlite3.Connection, market: Market, window: tuple[str, str]) -> int:
    """Return how many runs have seen days of a window."""
    query = (
        "SELECT COUNT(*) FROM runs JOIN markets ON markets.id = runs.market WHERE runs.kind != 'holdout'"
        " AND first <= ? AND last >= ? AND markets.family = ?"
    )
    families = questions.families_of(base, market)
    return sum(base.execute(query, (window[1], window[0], family)).fetchone()[0] for family in families)
