"""A ranking of strategies at one setting, with what its means leave out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from openoutcry.ledger import queries
from openoutcry.ledger.index_schema import ALL
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.market_versions import preferred
from openoutcry.ledger.queries import ScopeCounts, StrategySummary
from openoutcry.ledger.query_scope import Scope, scope_totals
from openoutcry.ledger.run_settings import Setting, other_settings, setting_at, setting_with

Result = TypeVar("Result")


@dataclass(frozen=True)
class Ranking:
    """Strategies by mean Sharpe ratio at one setting of costs and limits.

    Attributes:
        setting: The setting.
        strategies: The strategies, in descending order.
        counts: Counts of all strategies and trials.
        others: Other settings, and the number of finished trials at each.
    """

    setting: Setting = field(default_factory=Setting)
    strategies: Sequence[StrategySummary] = ()
    counts: ScopeCounts = field(default_factory=ScopeCounts)
    others: Sequence[tuple[Setting, int]] = ()


def in_scope(
    base: sqlite3.Connection,
    market: Market | None,
    through: str | None,
    query: Callable[[sqlite3.Connection, Scope], Result],
    default: Result,
) -> Result:
    """Return the result of a query of a market's scope, or of all runs.

    It is `default` if the prices of the market are unknown.
    """
    scope: Scope | None = Scope(ALL, through)
    if market is not None:
        family = queries.family_of(base, market)
        scope = None if family is None else Scope(family, through, first=preferred(base, market.fingerprint))
    if scope is None:
        return default
    with scope_totals(base, scope):
        return query(base, scope)


def scope_at(base: sqlite3.Connection, scope: Scope, setting: str | None) -> Scope:
    """Return a scope at the setting with a digest prefix, or at the default one."""
    return scope.at_setting(base, None) if setting is None else scope.at(setting_with(base, setting))


def ranking_of(base: sqlite3.Connection, scope: Scope, n: int, *, worst: bool, setting: str | None) -> Ranking:
    """Return the best or worst `n` strategies of a scope.

    Args:
        base: Connection to the index.
        scope: Family of the markets.
        n: Maximum number of strategies.
        worst: Whether to return the lowest ratios.
        setting: Prefix of the digest of a setting; None for the standard one, else the strictest one.

    Raises:
        OpenOutcryError: `argument_invalid`: no setting or several settings have the prefix.
    """
    chosen = scope_at(base, scope, setting)
    return Ranking(
        setting_at(base, chosen.setting),
        queries.ranked(base, chosen, n=n, worst=worst),
        queries.counts(base, chosen),
        other_settings(base, chosen.table, chosen.family, chosen.setting),
    )
