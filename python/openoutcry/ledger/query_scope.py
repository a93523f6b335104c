"""Scope of rankings and prompts: all runs of a family, or those up to a date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from openoutcry.ledger.index_schema import ALL, AVERAGED


@dataclass(frozen=True)
class Scope:
    """Selection of ranked runs.

    Attributes:
        family: Family of their markets.
        through: Latest end date of their windows; None for any.
    """

    family: int = ALL
    through: str | None = None

    @property
    def table(self) -> str:
        """Name of the table with the totals of strategies."""
        return "strat_agg" if self.through is None else "scoped"


# Condition of ranked runs; `StrategyTotals.add` applies the same one.
_RANKED = "runs.kind != 'holdout' AND NOT runs.holdout_touched"
# A date without a time covers the whole day.
_BY = "runs.last || '~' <= :through || '~'"
_IN_SCOPE = f"{_RANKED} AND {_BY} AND runs.market IN (SELECT id FROM markets WHERE family = :family)"
_SUMS = ", ".join(f"TOTAL({name}) AS total_{name}, COUNT({name}) AS n_{name}" for name in AVERAGED)
_DONE = ", ".join(f"CASE WHEN status = 'done' THEN {name} END AS {name}" for name in ("sharpe_ratio", *AVERAGED))

_CREATE_SCOPED = f"""
CREATE TEMP TABLE scoped AS SELECT strategy, :family AS family, strategies.sha256, COUNT(sharpe_ratio) AS n,
    SUM(is_done AND sharpe_ratio IS NULL) AS n_undefined, SUM(NOT is_done) AS n_failed, AVG(sharpe_ratio) AS mean,
    {_SUMS},
    (SELECT id FROM runs WHERE runs.strategy = some.strategy AND {_IN_SCOPE} AND status = 'done' AND n_returns > 0
     AND sharpe_per_bar IS NOT NULL ORDER BY n_returns DESC, id LIMIT 1) AS longest, MAX(some.id) AS last
FROM (SELECT id, strategy, status = 'done' AS is_done, {_DONE} FROM runs WHERE {_IN_SCOPE}) AS some
JOIN strategies ON strategies.id = strategy GROUP BY strategy
"""

MARKETS = f"""
SELECT DISTINCT markets.name FROM strat_markets JOIN markets ON markets.id = market WHERE strategy = :strategy
    AND (:family = {ALL} OR family = :family) AND (:through IS NULL OR EXISTS (SELECT 1 FROM runs
    WHERE runs.strategy = :strategy AND runs.market = markets.id AND {_RANKED} AND {_BY}))
ORDER BY market LIMIT 20
"""
"""Names of the markets that a strategy was run on."""

DESCRIBED = f"""
SELECT description FROM strategies JOIN runs ON runs.id = (SELECT MIN(id) FROM runs WHERE strategy = :strategy)
JOIN markets ON markets.id = market WHERE strategies.id = :strategy AND {_RANKED} AND (:through IS NULL
    OR kin NOT IN (SELECT kin FROM markets WHERE family = :family) OR (family = :family AND {_BY}))
"""
"""Description of a strategy, unless its first run is outside the scope and could leak later results."""


@contextmanager
def scope_totals(base: sqlite3.Connection, scope: Scope) -> Iterator[None]:
    """Create the table with the totals of a scope for the duration of the context."""
    if scope.through is None:
        yield
        return
    base.execute("DROP TABLE IF EXISTS temp.scoped")
    base.execute(_CREATE_SCOPED, {"family": scope.family, "through": scope.through})
    try:
        yield
    finally:
        base.execute("DROP TABLE temp.scoped")
