"""Totals of each strategy in the index, so that a ranking reads no runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from openoutcry.ledger.index_rows import AT, RunRow
from openoutcry.ledger.index_schema import ALL, AVERAGED, select_in

_SUMS = [f"{kind}_{name}" for name in AVERAGED for kind in ("total", "n")]
_COUNTS = ["n", "n_undefined", "n_failed", "total"]
_COLUMNS = ["sha256", *_COUNTS, *_SUMS, "longest", "n_longest", "last"]
_N, _UNDEFINED, _FAILED, _TOTAL, _FIRST_SUM = 1, 2, 3, 4, 5
_LONGEST, _N_LONGEST, _LAST = len(_COLUMNS) - 3, len(_COLUMNS) - 2, len(_COLUMNS) - 1
_select_columns = itemgetter(
    *(AT[name] for name in ("kind", "holdout_touched", "status", "sharpe_ratio", "sharpe_per_bar", "n_returns")),
    *(AT[name] for name in AVERAGED),
)

_MAX_BUFFERED = 100_000


class StrategyTotals:
    """Adds runs to the totals of their strategies, in the order of the log.

    Changes are buffered until `write`, because many blocks of runs share strategies.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._loaded: set[int] = set()
        self._totals: dict[tuple[int, int], list[Any]] = {}
        self._markets: set[tuple[int, int]] = set()

    def load(self, strategies: Iterable[int]) -> None:
        """Load the totals of strategies before their runs are added."""
        if len(self._totals) > _MAX_BUFFERED:
            self.write()
        new = [strategy for strategy in strategies if strategy not in self._loaded]
        query = f"SELECT strategy, family, {', '.join(_COLUMNS)} FROM strat_agg WHERE strategy IN (?)"
        for row in select_in(self._base, query, new):
            self._totals[row[:2]] = list(row[2:])
        self._loaded.update(new)

    def add(self, row: RunRow, place: int, strategy: int, market: tuple[int, int]) -> None:
        """Add a run with its row ID and the ID and family of its market.

        Holdout runs are ignored.
        """
        kind, is_touched, status, sharpe, ratio, n_returns, *averaged = _select_columns(row.columns)
        if kind == "holdout" or is_touched:
            return
        self._markets.add((strategy, market[0]))
        n_returns = 0 if ratio is None else n_returns or 0
        for key in ((strategy, ALL), (strategy, market[1])):
            totals = self._totals.get(key)
            if totals is None:
                totals = [row.strategy_sha, 0, 0, 0, 0.0, *(0.0, 0) * len(AVERAGED), None, 0, place]
                self._totals[key] = totals
            totals[_LAST] = place
            if status == "failed":
                totals[_FAILED] += 1
                continue
            if sharpe is None:
                totals[_UNDEFINED] += 1
            else:
                totals[_N] += 1
                totals[_TOTAL] += sharpe
            at = _FIRST_SUM
            for value in averaged:
                if value is not None:
                    totals[at] += value
                    totals[at + 1] += 1
                at += 2
            if n_returns > totals[_N_LONGEST]:
                totals[_LONGEST], totals[_N_LONGEST] = place, n_returns

    def write(self) -> None:
        """Write buffered changes and clear the buffer."""
        names = ", ".join(["strategy", "family", *_COLUMNS, "mean"])
        self._base.executemany(
            f"INSERT OR REPLACE INTO strat_agg ({names}) VALUES (?, ?, ?{', ?' * len(_COLUMNS)})",
            [
                (*key, *totals, totals[_TOTAL] / totals[_N] if totals[_N] else None)
                for key, totals in sorted(self._totals.items())
            ],
        )
        self._base.executemany("INSERT OR IGNORE INTO strat_markets VALUES (?, ?)", sorted(self._markets))
        self._loaded, self._totals, self._markets = set(), {}, set()


def merge_families(base: sqlite3.Connection, into: int, family: int) -> None:
    """Merge one family into another."""
    base.execute("UPDATE markets SET family = ? WHERE family = ?", (into, family))
    base.execute(
        "INSERT INTO families SELECT ?, n_trials FROM families WHERE family = ?"
        " ON CONFLICT (family) DO UPDATE SET n_trials = n_trials + excluded.n_trials",
        (into, family),
    )
    base.execute(
        "INSERT INTO trial_agg SELECT ?, n_returns, n, total, squares FROM trial_agg WHERE family = ? ON CONFLICT"
        " (family, n_returns) DO UPDATE SET n = n + excluded.n, total = total + excluded.total,"
        " squares = squares + excluded.squares",
        (into, family),
    )
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in [*_COUNTS, *_SUMS])
    is_longer = "excluded.n_longest > n_longest OR (excluded.n_longest = n_longest AND excluded.longest < longest)"
    names = ", ".join(_COLUMNS)
    base.execute(
        f"INSERT INTO strat_agg (strategy, family, {names}, mean) SELECT strategy, ?, {names}, mean FROM strat_agg"
        f" WHERE family = ? ON CONFLICT (strategy, family) DO UPDATE SET {added},"
        f" longest = CASE WHEN {is_longer} THEN excluded.longest ELSE longest END,"
        " n_longest = MAX(n_longest, excluded.n_longest), last = MAX(last, excluded.last),"
        " mean = CASE WHEN n + excluded.n > 0 THEN (total + excluded.total) / (n + excluded.n) END",
        (into, family),
    )
    for table in ("families", "trial_agg", "strat_agg"):
        base.execute(f"DELETE FROM {table} WHERE family = ?", (family,))
