"""Scope of rankings and prompts: all runs of a family, or those up to a date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from openoutcry.ledger.index_schema import ALL, IS_RANKED, TOTALS
from openoutcry.ledger.run_settings import UNSTATED, default_setting, has_ranked
from openoutcry.ledger.strategy_rankings import insert_totals


@dataclass(frozen=True)
class Scope:
    """Selection of ranked runs.

    Attributes:
        family: Family of their markets.
        through: Latest end date of their windows; None for any.
        first: ID of the market that counts before its other versions; None for the order of the ledger.
        setting: ID of their costs and limits.
    """

    family: int = ALL
    through: str | None = None
    setting: int = UNSTATED
    first: int | None = None

    def at_setting(self, base: sqlite3.Connection, setting: int | None) -> Scope:
        """Return the scope at a setting, or the default one if no strategy is ranked."""
        if setting is None or not has_ranked(base, self.table, self.family, setting):
            setting = default_setting(base, self.table, self.family)
        return self.at(setting)

    def at(self, setting: int) -> Scope:
        """Return the scope at a setting."""
        return replace(self, setting=setting)

    @property
    def table(self) -> str:
        """Name of the table with the totals of strategies."""
        return "scoped" if self.has_own_totals else "strat_agg"

    @property
    def has_own_totals(self) -> bool:
        """Whether its totals are not those of all runs in the order of the ledger."""
        return self.through is not None or self.first is not None


# A date without a time covers the whole day.
ENDS_IN_TIME = "runs.last || '~' <= :through || '~'"
"""Condition of runs that end by a date."""
_IN_SCOPE = f"(:through IS NULL OR {ENDS_IN_TIME}) AND runs.market IN (SELECT id FROM markets WHERE family = :family)"

MARKETS = f"""
SELECT DISTINCT markets.name FROM strat_markets JOIN markets ON markets.id = market WHERE strategy = :strategy
    AND (:family = {ALL} OR family = :family) AND EXISTS (SELECT 1 FROM runs WHERE runs.strategy = :strategy
    AND runs.market = markets.id AND {IS_RANKED} AND runs.setting = :setting
    AND (:through IS NULL OR {ENDS_IN_TIME}))
ORDER BY markets.name LIMIT 20
"""
"""Names of the markets that a strategy was run on at a setting."""

DESCRIBED = f"""
SELECT description FROM strategies JOIN runs ON runs.id = (SELECT MIN(id) FROM runs WHERE strategy = :strategy)
JOIN markets ON markets.id = market WHERE strategies.id = :strategy AND {IS_RANKED} AND (:through IS NULL
    OR kin NOT IN (SELECT kin FROM markets WHERE family = :family) OR (family = :family AND {ENDS_IN_TIME}))
"""
"""Description of a strategy, unless its first run is outside the scope and could leak later results."""


@contextmanager
def scope_totals(base: sqlite3.Connection, scope: Scope) -> Iterator[None]:
    """Create the table with the totals of a scope for the duration of the context."""
    if not scope.has_own_totals:
        yield
        return
    base.execute("DROP TABLE IF EXISTS temp.scoped")
    base.execute(f"CREATE TEMP TABLE scoped ({TOTALS}) WITHOUT ROWID")
    try:
        values = {"family": scope.family, "through": scope.through}
        insert_totals(base, "scoped", _IN_SCOPE, values, scope.first)
        yield
    finally:
        base.execute("DROP TABLE temp.scoped")
