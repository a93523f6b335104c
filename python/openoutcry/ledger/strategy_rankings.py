"""Totals of each strategy in the index, so that a ranking reads no runs.

The mean of a strategy is over its markets, that of a market over its windows, and that of a window over its trials; a
trial is the mean of its distinct results. Of the versions of a market, one counts
(`openoutcry.ledger.market_versions`); each of its moments counts once, by the longest window that covers it
(`openoutcry.ledger.counted_windows`); and each setting of costs and limits has totals of its own
(`openoutcry.ledger.run_settings`). Repeated runs, runs on changed copies of a market, windows within another one, and
runs with other costs change neither means nor ranks. Sums are rounded once, so they do not depend on the order of the
runs of a version.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import fsum
from operator import itemgetter
from typing import Any, NamedTuple

from openoutcry.ledger.counted_windows import CountedWindow, weights_of, window_of
from openoutcry.ledger.index_schema import ALL, AVERAGED, IS_RANKED, select_in
from openoutcry.ledger.run_settings import UNSTATED

_PER_QUERY = 500
Values = tuple[float | None, ...]


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
        setting: ID of its costs and limits.
        window: Its window.
        origin: ID of the market of which its market is a version.
        precedence: Of the versions of a market, the lowest one counts.
    """

    family: int
    trial: bytes
    is_done: bool
    values: Values
    n_returns: int = 0
    sharpe_per_bar: float | None = None
    interval: str = ""
    run: int = 0
    setting: int = UNSTATED
    window: CountedWindow = CountedWindow()
    origin: int = 0
    precedence: int = 0

    def result(self) -> tuple[Any, ...]:
        """Return what distinguishes the results of a trial: all but the row ID."""
        return self.is_done, self.values, self.n_returns, self.sharpe_per_bar, self.interval, self.window


@dataclass(frozen=True)
class StrategyTotal:
    """Totals of a strategy at a setting, over a family of markets or all families.

    Attributes:
        n_runs: Number of runs, with repeated ones.
        n: Number of trials in the mean.
        n_covered: Number of trials that longer windows cover.
        n_copied: Number of finished trials on other versions of a market.
        n_undefined: Number of finished trials without a Sharpe ratio.
        n_failed: Number of trials without a finished run.
        means: Mean of each value of `RankedRun.values`; None where undefined.
        longest: Run of the mean with the most returns; None if no run has moments.
        sample: A run that does not depend on the order of the runs.
    """

    n_runs: int
    n: int
    n_covered: int
    n_copied: int
    n_undefined: int
    n_failed: int
    means: Values
    longest: RankedRun | None
    sample: RankedRun

    @property
    def n_finished(self) -> int:
        """Number of finished trials."""
        return self.n + self.n_covered + self.n_copied + self.n_undefined


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None without one.

    It does not depend on their order.
    """
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


def totals_by_family(runs: Iterable[RankedRun]) -> dict[tuple[int, int], StrategyTotal]:
    """Return the totals of a strategy by family, or `ALL`, and setting."""
    # By family and setting, then by origin, then by precedence.
    groups: dict[tuple[int, int], dict[int, dict[int, list[RankedRun]]]] = {}
    for run in runs:
        for family in (run.family, ALL):
            versions = groups.setdefault((family, run.setting), {}).setdefault(run.origin, {})
            versions.setdefault(run.precedence, []).append(run)
    by_version: dict[tuple[int, int], StrategyTotal] = {}
    return {
        key: _total_of([_origin_total(versions, by_version) for versions in origins.values()])
        for key, origins in groups.items()
    }


def _origin_total(
    versions: Mapping[int, Sequence[RankedRun]], known: dict[tuple[int, int], StrategyTotal]
) -> StrategyTotal:
    """Return the total of the first version of a market with a finished run.

    A later version changes nothing but counts: a longer or wider copy may be one that was made for a better result.
    """
    totals = []
    for precedence, runs in sorted(versions.items()):
        key = (runs[0].setting, precedence)
        if key not in known:
            known[key] = _version_total(runs)
        totals.append(known[key])
    chosen = next((each for each in totals if each.n_finished), totals[0])
    n_runs, n_failed, n_finished = (sum(getattr(each, name) for each in totals) for name in _SUMMED)
    n_copied = n_finished - chosen.n_finished
    return chosen if len(totals) == 1 else replace(chosen, n_runs=n_runs, n_failed=n_failed, n_copied=n_copied)


_SUMMED = ("n_runs", "n_failed", "n_finished")


def _version_total(runs: Sequence[RankedRun]) -> StrategyTotal:
    # The first row of equal results stands for them.
    trials: dict[bytes, dict[tuple[Any, ...], RankedRun]] = {}
    for run in runs:
        results, result = trials.setdefault(run.trial, {}), run.result()
        if result not in results or run.run < results[result].run:
            results[result] = run
    distinct = [run for results in trials.values() for run in results.values()]
    done = [run for run in distinct if run.is_done]
    rated = [run for run in done if run.values[0] is not None]
    weights = weights_of({run.window for run in rated}) if rated else {}
    counted = [run for run in done if not rated or weights.get(run.window)]
    tracked = [run for run in counted if run.n_returns and run.sharpe_per_bar is not None]
    longest = min(tracked, key=_by_length, default=None)
    kept, with_ratio, finished = (_trials(each) for each in (counted, rated, done))
    n = len(kept & with_ratio)
    n_covered, n_undefined = len(with_ratio) - n, len(finished - with_ratio)
    means, sample = _windows_mean(counted, weights), longest or min(distinct, key=_by_trial)
    return StrategyTotal(len(runs), n, n_covered, 0, n_undefined, len(trials) - len(finished), means, longest, sample)


def _trials(runs: Iterable[RankedRun]) -> set[bytes]:
    return {run.trial for run in runs}


def _windows_mean(runs: Sequence[RankedRun], weights: Mapping[CountedWindow, int]) -> Values:
    """Return the weighted mean of the windows; a window is the mean of its trials."""
    windows: dict[CountedWindow, dict[bytes, list[Values]]] = {}
    for run in runs:
        windows.setdefault(run.window, {}).setdefault(run.trial, []).append(run.values)
    means = {window: _means([_means(results) for results in trials.values()]) for window, trials in windows.items()}
    if len(means) < 2 or not weights:
        return _means(list(means.values()))
    return tuple(
        _weighted([(means[window][at], weights[window]) for window in means]) for at in range(len(AVERAGED) + 1)
    )


def _weighted(values: Collection[tuple[float | None, int]]) -> float | None:
    known = [(value, weight) for value, weight in values if value is not None]
    return fsum(value * weight for value, weight in known) / sum(weight for _, weight in known) if known else None


def _total_of(families: Sequence[StrategyTotal]) -> StrategyTotal:
    if len(families) == 1:
        return families[0]
    counts: dict[str, Any] = {name: sum(getattr(each, name) for each in families) for name in _COUNTS}
    longest = min((each.longest for each in families if each.longest), key=_by_length, default=None)
    sample = longest or min((each.sample for each in families), key=_by_trial)
    # A market without a ratio has no share in the other means.
    rated = [each.means for each in families if each.n] or [each.means for each in families]
    return StrategyTotal(**counts, means=_means(rated), longest=longest, sample=sample)


_COUNTS = ("n_runs", "n", "n_covered", "n_copied", "n_undefined", "n_failed")


def _means(rows: Sequence[Values]) -> Values:
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

    def regroup(self, families: Iterable[int]) -> None:
        """Mark the strategies of families with other members or origins."""
        query = "SELECT strategy FROM strat_agg WHERE family IN (?)"
        self.changed.update(strategy for (strategy,) in select_in(self._base, query, families))

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


_PRECEDENCE = f"CASE markets.id WHEN :first THEN {-(1 << 62)} ELSE precedence END"


def insert_totals(
    base: sqlite3.Connection, table: str, condition: str, values: Mapping[str, Any], first: int | None = None
) -> None:
    """Insert the totals of the strategies with runs that fulfil a condition.

    Args:
        base: Connection to the index.
        table: Table with the columns `index_schema.TOTALS`.
        condition: SQL condition on `runs`.
        values: Parameters of the condition.
        first: ID of the market that counts before its other versions; None for the order of the ledger.
    """
    # CROSS JOIN keeps the order of the tables: the index of ranked runs is read in its order.
    query = (
        f"SELECT runs.strategy, family, trial, status = 'done', sharpe_ratio, {', '.join(AVERAGED)},"
        " COALESCE(n_returns, 0), sharpe_per_bar, COALESCE(candle_interval, ''), runs.id, setting,"
        f" first, last, origin, {_PRECEDENCE} FROM runs CROSS JOIN markets"
        f" ON markets.id = runs.market WHERE {condition} AND {IS_RANKED} ORDER BY runs.strategy"
    )
    found: list[tuple[int, int, int, StrategyTotal]] = []
    for strategy, rows in groupby(base.execute(query, {**values, "first": first}), itemgetter(0)):
        found += ((strategy, *key, total) for key, total in totals_by_family(map(_ranked, rows)).items())
        if len(found) >= _PER_QUERY:
            _insert(base, table, found)
            found = []
    _insert(base, table, found)


def _ranked(row: Sequence[Any]) -> RankedRun:
    family, trial, is_done = row[1:4]
    n_returns, sharpe_per_bar, interval, run, setting, start, end, origin, precedence = row[-9:]
    return RankedRun(
        family,
        trial,
        bool(is_done),
        tuple(row[4:-9]),
        n_returns,
        sharpe_per_bar,
        interval,
        run,
        setting,
        window_of(start, end),
        origin,
        precedence,
    )


def _insert(base: sqlite3.Connection, table: str, found: Sequence[tuple[int, int, int, StrategyTotal]]) -> None:
    query = "SELECT id, sha256 FROM strategies WHERE id IN (?)"
    names = dict(select_in(base, query, sorted({strategy for strategy, *_ in found})))
    n_columns = 12 + len(AVERAGED) + 1
    base.executemany(
        f"INSERT INTO {table} VALUES (?{', ?' * (n_columns - 1)})",
        [(strategy, family, setting, names[strategy], *_row(total)) for strategy, family, setting, total in found],
    )


def _row(total: StrategyTotal) -> Iterator[Any]:
    yield from (*(getattr(total, name) for name in _COUNTS), *total.means)
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
