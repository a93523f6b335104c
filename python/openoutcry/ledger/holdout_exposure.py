"""Who has seen the days of a holdout, as the index tells it.

Dates of a market's kin say nothing of its own: whatever was run or opened there may have been on these days.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from openoutcry.ledger.index_schema import chosen
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.queries import families_of

# A date without a time is the whole day: what begins so comes before it.
_DAY = "~"


class Opening(NamedTuple):
    """A holdout that was opened: by whom, for what, and how often before."""

    session: str
    seal: str
    fingerprint: str
    first: str
    last: str
    n_before: int


def openings(base: sqlite3.Connection, market: Market, window: tuple[str, str]) -> list[Opening]:
    """Return who opened days of a window, in order."""
    query = (
        "SELECT sessions.name, seal, fingerprint, first, last, n_before FROM holdout_opens"
        " JOIN sessions ON sessions.id = session JOIN markets ON markets.id = market WHERE family IN (?)"
    )
    families, kin = families_of(base, market)
    found = [Opening(*row) for row in chosen(base, query, families)]
    found = [each for each in found if each.first <= window[1] + _DAY and window[0] <= each.last + _DAY]
    found += [Opening(*row) for row in chosen(base, query, kin)]
    return sorted(found, key=lambda each: each.n_before)


def looks(base: sqlite3.Connection, market: Market, window: tuple[str, str]) -> int:
    """Return how many runs have seen days of a window."""
    query = (
        "SELECT COUNT(*) FROM runs JOIN markets ON markets.id = runs.market WHERE runs.kind != 'holdout'"
        " AND markets.family = ?"
    )
    families, kin = families_of(base, market)
    within = f"{query} AND first <= ? AND last || '{_DAY}' >= ?"
    n = sum(base.execute(within, (family, window[1] + _DAY, window[0])).fetchone()[0] for family in families)
    return int(n + sum(base.execute(query, (family,)).fetchone()[0] for family in kin))
