"""Listing of runs from the index, with filters."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from openoutcry.arguments import checked_integer
from openoutcry.errors import refusal
from openoutcry.ledger import queries
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.run_summary import RunMetricsSummary

MAX_ROWS = 1_000_000
"""Maximum number of rows of a list."""


@dataclass(frozen=True)
class RunFilter:
    """Filter of a run list; None matches any value.

    Attributes:
        market: A market of the family.
        strategy: ID of the strategy or a prefix of it.
        session: Name of the writing session.
        status: `done` or `failed`.
        kind: `run`, `trial` or `holdout`.
        n: Maximum number of runs.
    """

    market: Market | None = None
    strategy: str | None = None
    session: str | None = None
    status: str | None = None
    kind: str | None = None
    n: int = 20


@dataclass(frozen=True)
class RunListItem:
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


def list_runs(base: sqlite3.Connection, which: RunFilter) -> list[RunListItem]:
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
        (*values, checked_integer("n", which.n, 1, MAX_ROWS)),
    )
    found = []
    for row in rows.fetchall():
        sha, text, description, market, first, last, kind, touched, session, ts, error = row[18:]
        fields = (sha, text, description, market or "unnamed", (first, last), kind, bool(touched), session, ts, error)
        found.append(RunListItem(queries.summary_of(row), *fields))
    return found


def id_of(base: sqlite3.Connection, prefix: str) -> str:
    """Return the ID of the run with an ID prefix.

    Raises:
        OpenOutcryError: `argument_invalid`: no run or several runs match.
    """
    lower = prefix.lower() if isinstance(prefix, str) else ""
    if not lower or set(lower) - set("0123456789abcdef-"):
        raise refusal("argument_invalid", f"a run ID or a prefix of one is required; received {prefix!r}")
    query = "SELECT run_id FROM runs WHERE run_id GLOB ? LIMIT 2"
    found = base.execute(query, (f"{lower}*",)).fetchall()
    if len(found) != 1:
        n = "several" if found else "no"
        raise refusal("argument_invalid", f"a prefix of one run ID is required; received {lower!r}, of {n} runs")
    return str(found[0][0])
