"""What the runs of a strategy state about it.

These are its description, errors, and the acceptance gates that rejected it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from openoutcry.ledger.index_schema import ALL, IS_RANKED
from openoutcry.ledger.query_scope import ENDS_IN_TIME, Scope

Payload = Callable[[int, int], Mapping[str, Any]]
"""Returns the payload of a record by its segment and offset; empty if the line has changed."""

REASONS = "reasons"
"""Member of `LedgerRun.notes` with the messages of failed gates."""
_MOST_TRIALS, _MOST_ERRORS = 8, 2
_IN_SCOPE = (
    f"strategies.sha256 = :strategy AND {IS_RANKED} AND (:family = {ALL} OR runs.market IN (SELECT id FROM markets"
    f" WHERE family = :family)) AND (:through IS NULL OR {ENDS_IN_TIME})"
)
_FROM = f"FROM runs JOIN strategies ON strategies.id = runs.strategy WHERE {_IN_SCOPE}"
_ERRORS = f"SELECT DISTINCT error {_FROM} AND status = 'failed' AND error IS NOT NULL ORDER BY error LIMIT :n"
_TRIALS = (
    f"SELECT segment, offset, MIN(runs.id) {_FROM} AND runs.kind = 'trial' AND status = 'done'"
    " GROUP BY trial ORDER BY trial"
)


def reasons_of(base: sqlite3.Connection, scope: Scope, strategy_id: str, payload: Payload) -> tuple[str, ...]:
    """Return why the trials of a strategy failed; empty if no run states it.

    The gates are those of the first of its trials, by key, that states any.

    Args:
        base: Connection to the index.
        scope: Runs whose results may be shown.
        strategy_id: ID of the strategy.
        payload: Reads a record of the log.
    """
    values = {"strategy": strategy_id, "family": scope.family, "through": scope.through}
    errors = tuple(error for (error,) in base.execute(_ERRORS, values | {"n": _MOST_ERRORS}))
    for segment, offset, _ in base.execute(f"{_TRIALS} LIMIT :n", values | {"n": _MOST_TRIALS}).fetchall():
        notes = payload(segment, offset).get("notes")
        stated = notes.get(REASONS) if isinstance(notes, Mapping) else None
        if isinstance(stated, list) and stated:
            return (*errors, *(each for each in stated if isinstance(each, str)))
    return errors


def description_of(base: sqlite3.Connection, scope: Scope, strategy_id: str, payload: Payload) -> str | None:
    """Return the description of a strategy by its longest run in a scope.

    None without one.
    """
    query = (
        f"SELECT segment, offset FROM strategies CROSS JOIN {scope.table} AS agg ON agg.strategy = strategies.id"
        " JOIN runs ON runs.id = agg.sample WHERE agg.family = ? AND strategies.sha256 = ? AND agg.setting = ?"
    )
    found = base.execute(query, (scope.family, strategy_id, scope.setting)).fetchone()
    description = None if found is None else payload(*found).get("description")
    return description if isinstance(description, str) and description else None
