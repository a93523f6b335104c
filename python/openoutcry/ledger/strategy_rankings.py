"""Totals of each strategy in the index, so that a ranking reads no runs.

The mean of a strategy is over distinct trials, by market first: a trial is the mean of its distinct results, a market
the mean of its trials, and a strategy the mean of its markets. Repeated runs therefore change neither means nor ranks,
and a market with many trials weighs as much as one with a single trial. Sums are rounded once, so they do not depend on
the order of the runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from operator import itemgetter
from typing import Any, NamedTuple

from openoutcry.ledger.index_schema import ALL, AVERAGED, IS_RANKED, select_in

_PER_QUERY = 500


class RankedRun(NamedTuple):
    """A run as far as rankings use it.

    Attributes:
        family: Family of its market.
        trial: Its trial key.
        is_done: Whether it finished.
        values: Annual Sharpe ratio, then the metrics `AVERAGED`; None where undefined.
        n_returns: Number of returns with moments; 0 without.
        sharpe_per_bar: Sharpe ratio per bar; None if undefined.
        interval: Bar length.
        run: Row ID.
    """

    family: int
    trial: bytes
    is_done: bool
    values: tuple[float | None, ...]
    n_returns: int = 0
    sharpe_per_bar: float | None = None
    interval: str = ""
    run: int = 0


@dataclass(frozen=True)
class StrategyTotal:
    """Totals of a strategy over a family of markets, or over all families.

    Attributes:
        n_runs: Number of runs, with repeated ones.
        n: Number of trials with a Sharpe ratio.
        n_undefined: Number of finished trials without one.
        n_failed: Number of trials without a finished run.
        means: Mean of each value of `RankedRun.values`; None where undefined.
        longest: Run with the most returns; None if no run has moments.
        sample: A run that does not depend on the order of the runs.
    """

    n_runs: int
    n: int
    n_undefined: int
    n_failed: int
    means: tuple[float | None, ...]
    longest: RankedRun | None
    sample: RankedRun


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None without one.

    It does not depend on their order.
    """
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


def totals_by_family(runs: Iterable[RankedRun]) -> dict[int, StrategyTotal]:
    """Return the totals of a strategy by family of its runs, and for `ALL`."""
    families: dict[int, list[RankedRun]] = {}
    for run in runs:
        families.setdefault(run.family, []).append(run)
    found = {family: _family_total(own) for family, own in families.items()}
    return found | {ALL: _total_of(list(found.values()))}


def _family_total(runs: Sequence[RankedRun]) -> StrategyTotal:
    # The key of a result is all of it but the row ID; the first row of equal results stands for them.
    trials: dict[bytes, dict[tuple[Any, ...], RankedRun]] = {}
    for run in runs:
        results, result = trials.setdefault(run.trial, {}), run[2:-1]
        if result not in results or run.run < results[result].run:
            results[result] = run
    done = {trial: [run for run in results.values() if run.is_done] for trial, results in trials.items()}
    means = [_means([run.values for run in of_trial]) for of_trial in done.values() if of_trial]
    n = sum(sharpe is not None for sharpe, *_ in means)
    distinct = [run for results in trials.values() for run in results.values()]
    tracked = [run for run in distinct if run.is_done and run.n_returns and run.sharpe_per_bar is not None]
    longest = min(tracked, key=_by_length, default=None)
    sample = longest or min(distinct, key=_by_trial)
    return StrategyTotal(len(runs), n, len(means) - n, len(trials) - len(means), _means(means), longest, sample)


def _total_of(families: Sequence[StrategyTotal]) -> StrategyTotal:
    n_runs, n, n_undefined, n_failed = (
        sum(getattr(each, name) for each in families) for name in ("n_runs", "n", "n_undefined", "n_failed")
    )
    longest = min((each.longest for each in families if each.longest), key=_by_length, default=None)
    sample = longest or min((each.sample for each in families), key=_by_trial)
    means = _means([each.means for each in families])
    return StrategyTotal(n_runs, n, n_undefined, n_failed, means, longest, sample)


def _means(rows: Sequence[tuple[float | None, ...]]) -> tuple[float | None, ...]:
    if len(rows) == 1:
        return rows[0]
    return tuple(map(mean_of, zip(*rows, strict=True))) if rows else (None,) * (len(AVERAGED) + 1)


def _by_length(run: RankedRun) -> tuple[Any, ...]:
    return -run.n_returns, run.trial, run.sharpe_per_bar, run.interval, run.run


def _by_trial(run: RankedRun) -> tuple[Any, ...]:
    return run.trial, run.interval, run.run


class StrategyTotals:
    """Updates the totals of strategies after new runs.

    Attributes:
        changed: Row IDs of the strategies with new runs or with markets in another family.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self.changed: set[int] = set()

    def regroup(self, family: int) -> None:
        """Mark the strategies of a family that was merged into another one."""
        rows = self._base.execute("SELECT strategy FROM strat_agg WHERE family = ?", (family,))
        self.changed.update(strategy for (strategy,) in rows)

    def update(self) -> None:
        """Write the totals of the changed strategies."""
        changed, self.changed = sorted(self.changed), set()
        for at in range(0, len(changed), _PER_QUERY):
            some = changed[at : at + _PER_QUERY]
            names = ", ".join(map(str, some))
            self._base.execute(f"DELETE FROM strat_agg WHERE strategy IN ({names})")
            insert_totals(self._base, "strat_agg", f"runs.strategy IN ({names})", {})
            self._base.execute(
                "INSERT OR IGNORE INTO strat_markets SELECT DISTINCT strategy, market FROM runs"
                f" WHERE strategy IN ({names}) AND {IS_RANKED}"
            )


def insert_totals(base: sqlite3.Connection, table: str, condition: str, values: Mapping[str, Any]) -> None:
    """Insert the totals of the strategies with runs that fulfil a condition.

    Args:
        base: Connection to the index.
        table: Table with the columns `index_schema.TOTALS`.
        condition: SQL condition on `runs`.
        values: Parameters of the condition.
    """
    # CROSS JOIN keeps the order of the tables: the index of ranked runs is read in its order.
    query = (
        f"SELECT runs.strategy, family, trial, status = 'done', sharpe_ratio, {', '.join(AVERAGED)},"
        " COALESCE(n_returns, 0), sharpe_per_bar, COALESCE(candle_interval, ''), runs.id FROM runs CROSS JOIN markets"
        f" ON markets.id = runs.market WHERE {condition} AND {IS_RANKED} ORDER BY runs.strategy"
    )
    found: list[tuple[int, int, StrategyTotal]] = []
    for strategy, rows in groupby(base.execute(query, values), itemgetter(0)):
        totals = totals_by_family(RankedRun(row[1], row[2], bool(row[3]), row[4:-4], *row[-4:]) for row in rows)
        found += ((strategy, family, total) for family, total in totals.items())
        if len(found) >= _PER_QUERY:
            _insert(base, table, found)
            found = []
    _insert(base, table, found)


def _insert(base: sqlite3.Connection, table: str, found: Sequence[tuple[int, int, StrategyTotal]]) -> None:
    query = "SELECT id, sha256 FROM strategies WHERE id IN (?)"
    names = dict(select_in(base, query, sorted({strategy for strategy, _, _ in found})))
    n_columns = 9 + len(AVERAGED) + 1
    base.executemany(
        f"INSERT INTO {table} VALUES (?{', ?' * (n_columns - 1)})",
        [(strategy, family, names[strategy], *_row(total)) for strategy, family, total in found],
    )


def _row(total: StrategyTotal) -> Iterator[Any]:
    yield from (total.n_runs, total.n, total.n_undefined, total.n_failed, *total.means)
    yield from (None if total.longest is None else total.longest.run, total.sample.run)


def merge_families(base: sqlite3.Connection, into: int, family: int) -> None:
    """Merge the trial counts of one family into another.

    The totals of its strategies are updated later (`StrategyTotals.regroup`).
    """
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
    for table in ("families", "trial_agg"):
        base.execute(f"DELETE FROM {table} WHERE family = ?", (family,))
