"""What the index keeps of each strategy, so that a ranking reads no run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from openoutcry.ledger.index_rows import AT, RunRow
from openoutcry.ledger.index_schema import ALL, AVERAGED, chosen

_SUMS = [f"{kind}_{name}" for name in AVERAGED for kind in ("total", "n")]
_COUNTS = ["n", "n_undefined", "n_failed", "total"]
_COLUMNS = ["sha256", *_COUNTS, *_SUMS, "longest", "n_longest", "last"]
_N, _UNDEFINED, _FAILED, _TOTAL, _FIRST_SUM = 1, 2, 3, 4, 5
_LONGEST, _N_LONGEST, _LAST = len(_COLUMNS) - 3, len(_COLUMNS) - 2, len(_COLUMNS) - 1
_chosen = itemgetter(
    *(AT[name] for name in ("kind", "holdout_touched", "status", "sharpe_ratio", "sharpe_per_bar", "n_returns")),
    *(AT[name] for name in AVERAGED),
)

_MOST = 100_000


class Standings:
    """Adds runs to what is known of their strategies, in the order of the log.

    What changes is kept here until `write`: many blocks of runs are of the same strategies.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._loaded: set[int] = set()
        self._told: dict[tuple[int, int], list[Any]] = {}
        self._markets: set[tuple[int, int]] = set()

    def load(self, strategies: Iterable[int]) -> None:
        """Read what is known of strategies, before runs of them are added."""
        if len(self._told) > _MOST:
            self.write()
        new = [strategy for strategy in strategies if strategy not in self._loaded]
        query = f"SELECT strategy, family, {', '.join(_COLUMNS)} FROM strat_agg WHERE strategy IN (?)"
        for row in chosen(self._base, query, new):
            self._told[row[:2]] = list(row[2:])
        self._loaded.update(new)

    def add(self, row: RunRow, place: int, strategy: int, market: tuple[int, int]) -> None:
        """Add a run, with its place, and the id and family of its market.

        One that touched a holdout is left.
        """
        kind, is_touched, status, sharpe, ratio, n_returns, *averaged = _chosen(row.columns)
        if kind == "holdout" or is_touched:
            return
        self._markets.add((strategy, market[0]))
        n_returns = 0 if ratio is None else n_returns or 0
        for key in ((strategy, ALL), (strategy, market[1])):
            told = self._told.get(key)
            if told is None:
                told = [row.strategy_sha, 0, 0, 0, 0.0, *(0.0, 0) * len(AVERAGED), None, 0, place]
                self._told[key] = told
            told[_LAST] = place
            if status == "failed":
                told[_FAILED] += 1
                continue
            if sharpe is None:
                told[_UNDEFINED] += 1
            else:
                told[_N] += 1
                told[_TOTAL] += sharpe
            at = _FIRST_SUM
            for value in averaged:
                if value is not None:
                    told[at] += value
                    told[at + 1] += 1
                at += 2
            if n_returns > told[_N_LONGEST]:
                told[_LONGEST], told[_N_LONGEST] = place, n_returns

    def write(self) -> None:
        """Write what has changed, and forget it."""
        names = ", ".join(["strategy", "family", *_COLUMNS, "mean"])
        self._base.executemany(
            f"INSERT OR REPLACE INTO strat_agg ({names}) VALUES (?, ?, ?{', ?' * len(_COLUMNS)})",
            [(*key, *told, told[_TOTAL] / told[_N] if told[_N] else None) for key, told in sorted(self._told.items())],
        )
        self._base.executemany("INSERT OR IGNORE INTO strat_markets VALUES (?, ?)", sorted(self._markets))
        self._loaded, self._told, self._markets = set(), {}, set()


def join(base: sqlite3.Connection, into: int, family: int) -> None:
    """Make one family of two."""
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
