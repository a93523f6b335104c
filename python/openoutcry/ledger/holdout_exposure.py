"""Openings of a holdout and runs on its days, from the index.

Markets of the same kin have the same prices at unknown dates, so all their runs and openings count for every window.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from openoutcry.ledger.index_schema import select_in
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.queries import families_of

# A date without a time covers the whole day; this suffix sorts after every time of the day.
_DAY = "~"


class Opening(NamedTuple):
    """An opening of a holdout, with the number of earlier openings."""

    session: str
    seal: str
    fingerprint: str
    first: str
    last: str
    n_before: int


def openings(base: sqlite3.Connection, market: Market, window: tuple[str, str]) -> list[Opening]:
    """Return the openings that overlap a window, in order."""
    query = (
        "SELECT sessions.name, seal, fingerprint, first, last, n_before FROM holdout_opens"
        " JOIN sessions ON sessions.id = session JOIN markets ON markets.id = market WHERE family IN (?)"
    )
    families, kin = families_of(base, market)
    found = [Opening(*row) for row in select_in(base, query, families)]
    found = [each for each in found if each.first <= window[1] + _DAY and window[0] <= each.last + _DAY]
    found += [Opening(*row) for row in select_in(base, query, kin)]
    return sorted(found, key=lambda each: each.n_before)


def looks(base: sqlite3.Connection, market: Market, window: tuple[str, str]) -> int:
    """Return the number of runs on days of a window."""
    query = (
        "SELECT COUNT(*) FROM runs JOIN markets ON markets.id = runs.market WHERE runs.kind != 'holdout'"
        " AND markets.family = ?"
    )
    families, kin = families_of(base, market)
    within = f"{query} AND first <= ? AND last || '{_DAY}' >= ?"
    n = sum(base.execute(within, (family, window[1] + _DAY, window[0])).fetchone()[0] for family in families)
    return int(n + sum(base.execute(query, (family,)).fetchone()[0] for family in kin))
