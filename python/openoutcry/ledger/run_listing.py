"""Runs of the index, one after another."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from openoutcry.arguments import whole
from openoutcry.ledger import queries
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.run_summary import RunMetricsSummary

MOST = 1_000_000
"""Rows of a list at most."""


@dataclass(frozen=True)
class Which:
    """Which runs are listed, newest first; None is any.

    Attributes:
        market: Of the family of this market.
        strategy: Id of the strategy, or its beginning.
        session: Who wrote.
        status: `done` or `failed`.
        kind: `run`, `trial` or `holdout`.
        n: Runs at most.
    """

    market: Market | None = None
    strategy: str | None = None
    session: str | None = None
    status: str | None = None
    kind: str | None = None
    n: int = 20


@dataclass(frozen=True)
class Listed:
    """A run of a list."""

    summary: RunMetricsSummary
    strategy_id: str
    strategy: str
    description: str | None
    market: str
    window: tuple[str, str]
    kind: str
    holdout_touched: bool
    session: str
    ts: str
    error: str | None


def listed(base: sqlite3.Connection, which: Which) -> list[Listed]:
    """Return runs, newest first."""
    conditions, values = ["1"], list[Any]()
    for clause, value in (
        ("sessions.name = ?", which.session),
        ("runs.status = ?", which.status),
        ("runs.kind = ?", which.kind),
        ("SUBSTR(strategies.sha256, 1, LENGTH(?)) = ?", which.strategy),
        ("markets.family = ?", None if which.market is None else queries.family_of(base, which.market) or -1),
    ):
        if value is not None:
            conditions.append(clause)
            values += [value] * clause.count("?")
    rows = base.execute(
        f"SELECT {queries.SUMMARY}, strategies.sha256, canonical_json, description, markets.name, first, last,"
        " runs.kind, holdout_touched, sessions.name, ts, error FROM runs JOIN strategies ON strategies.id = strategy"
        " JOIN markets ON markets.id = market JOIN sessions ON sessions.id = session WHERE"
        f" {' AND '.join(conditions)} ORDER BY runs.id DESC LIMIT ?",
        (*values, whole("n", which.n, 1, MOST)),
    )
    found = []
    for row in rows.fetchall():
        sha, text, description, market, first, last, kind, touched, session, ts, error = row[18:]
        told = (sha, text, description, market or "unnamed", (first, last), kind, bool(touched), session, ts, error)
        found.append(Listed(queries.summary_of(row), *told))
    return found
