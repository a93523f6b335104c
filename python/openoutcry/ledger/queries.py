"""SQL queries of the index: trials, comparisons and rankings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from openoutcry.errors import refusal
from openoutcry.ledger.index_schema import ALL, AVERAGED, select_in
from openoutcry.ledger.ledger_entry import ReturnMoments, checked_id
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.market_matching import related
from openoutcry.ledger.query_scope import DESCRIBED, MARKETS, Scope
from openoutcry.ledger.run_settings import UNSTATED
from openoutcry.ledger.run_summary import FIELDS, NUMBERS, RunMetricsSummary
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.scoring.skill import Moments, deflate

MAX_COMPARED = 50
SUMMARY = ", ".join(f"runs.{name}" for name in ("run_id", "status", "candle_interval", *NUMBERS, "undefined"))


@dataclass(frozen=True)
class Trials:
    """Trials on a family of markets.

    Attributes:
        n: Number of evaluated configurations, counting each trial once.
        sharpes: Distribution of the trials' Sharpe ratios per bar by number of returns: count, mean, and sum of
            squared deviations.
    """

    n: int = 0
    sharpes: Mapping[int, tuple[int, float, float]] = field(default_factory=dict)

    def sharpes_at(self, n_returns: int) -> tuple[int, float, float]:
        """Return count, mean and squared deviations of ratios with `n_returns` returns."""
        return self.sharpes.get(n_returns, (0, 0.0, 0.0))

    def spread_at(self, n_returns: int, least: int = 10) -> float | None:
        """Return the standard deviation of the ratios with `n_returns` returns.

        Returns None for fewer than `least` ratios.
        """
        n, _, squares = self.sharpes_at(n_returns)
        return sqrt(squares / (n - 1)) if n >= max(2, least) else None


@dataclass(frozen=True)
class StrategySummary:
    """Results of a strategy over its runs.

    Attributes:
        strategy_id: SHA-256 of the strategy in canonical JSON.
        strategy: The strategy as canonical JSON.
        mean: Mean annual Sharpe ratio at the setting, by market first, then by window; None without one.
        n: Number of trials in the mean; a repeated run is the same trial.
        n_undefined: Number of finished trials without a Sharpe ratio.
        n_failed: Number of failed trials.
        averages: Means of other metrics, as `mean`; None where undefined.
        description: Description of the strategy.
        interval: Bar length of its longest run.
        dsr: Deflated Sharpe ratio of its longest run, given the trials of that market's family; None where undefined.
        n_trials: Number of those trials.
        markets: Names of its markets.
        n_runs: Number of its runs at the setting, with repeated ones.
        reasons: Why its trials failed, where a prompt names it: errors and failed gates.
        n_covered: Number of trials that are not in the mean, because runs over longer windows cover theirs.
        n_copied: Number of trials that are not in the mean, because another version of their market counts.
        n_elsewhere: Number of trials that are not in the mean, because they have other costs or limits.
        n_market_trials: Number of trials on all markets of the mean, by any strategy.
    """

    strategy_id: str
    strategy: str
    mean: float | None
    n: int
    n_undefined: int
    n_failed: int
    averages: Mapping[str, float | None] = field(default_factory=dict)
    description: str | None = None
    interval: str | None = None
    dsr: float | None = None
    n_trials: int = 0
    markets: tuple[str, ...] = ()
    n_runs: int = 0
    reasons: tuple[str, ...] = ()
    n_covered: int = 0
    n_copied: int = 0
    n_elsewhere: int = 0
    n_market_trials: int = 0


def family_of(base: sqlite3.Connection, market: Market) -> int | None:
    """Return the family of a market; None if its prices are unknown.

    A market without runs also has a family.
    """
    return next(iter(families_of(base, market)[0]), None)


def families_of(base: sqlite3.Connection, market: Market) -> tuple[list[int], list[int]]:
    """Return the families that share prices with a market, and those of its kin.

    Kin share its prices at other dates.
    """
    query = "SELECT family, kin, n_anchors + n_marks + n_shapes FROM markets WHERE fingerprint = ?"
    own = base.execute(query, (market.fingerprint,)).fetchone()
    families, kins = (set[int](), set[int]()) if own is None else ({own[0]}, {own[1]})
    if own is None or own[2] < len(market.hashes()) + market.n_shapes:
        found = related(base, market)
        for family, kin, at in select_in(base, "SELECT family, kin, id FROM markets WHERE id IN (?)", found.kin):
            if at in found.family:
                families.add(family)
            kins.add(kin)
    all_kin = {row[0] for row in select_in(base, "SELECT family FROM markets WHERE kin IN (?)", sorted(kins))}
    return sorted(families), sorted(all_kin - families)


def trials_of(base: sqlite3.Connection, market: Market, but_session: str | None = None) -> Trials:
    """Count the trials of the family of a market and its kin.

    `but_session` excludes a session; trials that other sessions share with it still count.
    """
    families = sorted(chain.from_iterable(families_of(base, market)))
    n = sum(row[0] for row in select_in(base, "SELECT n_trials FROM families WHERE family IN (?)", families))
    sums: dict[int, tuple[int, float, float]] = {}
    query = "SELECT n_returns, n, total, squares FROM trial_agg WHERE family IN (?) ORDER BY family, n_returns"
    for n_returns, *row in select_in(base, query, families):
        sums[n_returns] = _added(sums.get(n_returns, (0, 0.0, 0.0)), tuple(row), 1)
    if but_session is not None and families:
        n -= _subtract_session(base, families, but_session, sums)
    return Trials(n, {n_returns: _moments(*row) for n_returns, row in sums.items() if row[0]})


def _added(one: tuple[int, float, float], two: tuple[Any, ...], sign: int) -> tuple[int, float, float]:
    return one[0] + sign * two[0], one[1] + sign * two[1], one[2] + sign * two[2]


def _moments(n: int, total: float, squares: float) -> tuple[int, float, float]:
    return n, total / n, max(0.0, squares - total * total / n)


def _subtract_session(
    base: sqlite3.Connection, families: Sequence[int], session: str, sums: dict[int, tuple[int, float, float]]
) -> int:
    """Subtract the trials of only one session from the sums, and return their number."""
    names = ",".join("?" * len(families))
    rows = base.execute(
        "SELECT own.n_configs, own.sharpe, own.n_returns, (SELECT COALESCE(MAX(n_configs), 0) FROM trials WHERE trial ="
        " own.trial AND session != own.session), EXISTS (SELECT 1 FROM trials WHERE trial = own.trial AND session !="
        " own.session AND sharpe IS NOT NULL) FROM trials AS own JOIN sessions ON sessions.id = own.session"
        " JOIN markets ON markets.id = own.market WHERE sessions.name = ?"
        f" AND markets.family IN ({names}) ORDER BY own.run",
        (session, *families),
    )
    n = 0
    for n_configs, sharpe, n_returns, n_others, is_others in rows:
        n += max(n_configs, n_others) - n_others
        if sharpe is not None and not is_others:
            sums[n_returns] = _added(sums[n_returns], (1, sharpe, sharpe * sharpe), -1)
    return n


def known_trial(base: sqlite3.Connection, trial: str, but_session: str | None = None) -> str | None:
    """Return the first finished run with a trial key."""
    found = base.execute(
        "SELECT runs.run_id FROM trials JOIN runs ON runs.id = trials.run JOIN sessions ON sessions.id = trials.session"
        " WHERE trials.trial = ? AND trials.is_done AND sessions.name IS NOT ? ORDER BY runs.id LIMIT 1",
        (bytes.fromhex(trial), but_session),
    ).fetchone()
    return None if found is None else str(found[0])


def compared(base: sqlite3.Connection, ids: Sequence[str]) -> tuple[list[RunMetricsSummary], list[str]]:
    """Return the summaries of runs in the requested order, and the missing IDs.

    Raises:
        OpenOutcryError: `argument_invalid`: more than 50 IDs, or an ID that is not a UUID.
    """
    if isinstance(ids, str):
        raise refusal("argument_invalid", f"`ids` must be a list of ids; received the text {ids[:80]!r}")
    requested = list(dict.fromkeys(checked_id(each) for each in ids))
    if len(list(ids)) > MAX_COMPARED:
        raise refusal("argument_invalid", f"`ids` must have at most {MAX_COMPARED} ids; received {len(list(ids))}")
    found = {
        row[0]: summary_of(row) for row in select_in(base, f"SELECT {SUMMARY} FROM runs WHERE run_id IN (?)", requested)
    }
    return [found[each] for each in requested if each in found], [each for each in requested if each not in found]


def summary_of(row: Sequence[Any]) -> RunMetricsSummary:
    """Convert a row of the columns `SUMMARY` to a summary."""
    undefined = json.loads(row[len(FIELDS)]) if row[len(FIELDS)] else {}
    return RunMetricsSummary(**dict(zip(FIELDS, row, strict=False)), undefined=undefined)


# Rankings


def ranked(base: sqlite3.Connection, scope: Scope, *, n: int = 5, worst: bool = False) -> list[StrategySummary]:
    """Return the best or worst `n` strategies of a setting, in descending order.

    The order is that of mean Sharpe ratios.
    Ties are broken by the number of trials, then by the smaller ID.
    """
    order = "mean ASC, n ASC, sha256 DESC" if worst else "mean DESC, n DESC, sha256 ASC"
    order = ", ".join(f"agg.{each}" for each in order.split(", "))
    condition = f"AND agg.setting = {scope.setting} AND agg.mean IS NOT NULL"
    found = _summaries(base, scope, f"{condition} ORDER BY {order}", n)
    return found[::-1] if worst else found


def unranked(base: sqlite3.Connection, scope: Scope, *, n: int = 5) -> list[StrategySummary]:
    """Return strategies without a Sharpe ratio at any setting, by ID."""
    own = f"FROM {scope.table} AS own WHERE own.strategy = agg.strategy AND own.family = agg.family"
    rest = (
        f"AND agg.mean IS NULL AND NOT EXISTS (SELECT 1 {own} AND own.mean IS NOT NULL) AND agg.setting = COALESCE("
        f"(SELECT setting {own} AND own.setting = {scope.setting}), (SELECT MAX(setting) {own})) ORDER BY agg.sha256"
    )
    return _summaries(base, scope, f"AND agg.setting IN (SELECT id FROM settings UNION SELECT {UNSTATED}) {rest}", n)


_AGG = (
    "SELECT agg.*, strategies.canonical_json, sample_run.candle_interval, long.n_returns AS bars,"
    " long.sharpe_per_bar, long.skew, long.kurtosis, markets.family AS long_family FROM {table} AS agg"
    " JOIN strategies ON strategies.id = agg.strategy JOIN runs AS sample_run ON sample_run.id = agg.sample"
    " LEFT JOIN runs AS long ON long.id = agg.longest LEFT JOIN markets ON markets.id = long.market"
    " WHERE agg.family = ?"
)


def _summaries(base: sqlite3.Connection, scope: Scope, rest: str, n: int) -> list[StrategySummary]:
    found = base.execute(f"{_AGG.format(table=scope.table)} {rest} LIMIT ?", (scope.family, n))
    names = [each[0] for each in found.description]
    return [_summary(base, scope, dict(zip(names, row, strict=True))) for row in found.fetchall()]


def _summary(base: sqlite3.Connection, scope: Scope, row: Mapping[str, Any]) -> StrategySummary:
    parameters = {"strategy": row["strategy"], "family": scope.family, "through": scope.through}
    parameters["setting"] = row["setting"]
    description = base.execute(DESCRIBED, parameters).fetchone()
    dsr, n_trials = None, 0
    if row["bars"] is not None:
        trials = _trials_at(base, row["long_family"], row["bars"])
        moments = ReturnMoments(row["bars"], row["sharpe_per_bar"], row["skew"], row["kurtosis"])
        dsr, n_trials = deflated(moments, trials), trials.n
    n_failed, n_elsewhere = base.execute(_ELSEWHERE.format(table=scope.table), dict(row)).fetchone()
    return StrategySummary(
        row["sha256"],
        row["canonical_json"],
        row["mean"],
        row["n"],
        row["n_undefined"],
        row["n_failed"] + n_failed,
        {name: row[f"mean_{name}"] for name in AVERAGED},
        None if description is None else description[0],
        row["candle_interval"],
        dsr,
        n_trials,
        tuple(dict.fromkeys(name or "unnamed" for (name,) in base.execute(MARKETS, parameters))),
        row["n_runs"],
        n_covered=row["n_covered"],
        n_copied=row["n_copied"],
        n_elsewhere=n_elsewhere,
        n_market_trials=base.execute(_ON_MARKETS.format(table=scope.table), dict(row)).fetchone()[0],
    )


# A run that failed early has no setting; all others that failed have one.
_ELSEWHERE = (
    f"SELECT COALESCE(SUM(CASE WHEN setting = {UNSTATED} THEN n_failed ELSE 0 END), 0),"
    " COALESCE(SUM(n + n_covered + n_copied + n_undefined), 0) FROM {table}"
    " WHERE strategy = :strategy AND family = :family AND setting != :setting"
)
_ON_MARKETS = (
    "SELECT COALESCE(SUM(n_trials), 0) FROM families WHERE family IN (SELECT family FROM markets WHERE kin IN ("
    "SELECT kin FROM markets WHERE family IN (SELECT family FROM {table} WHERE strategy = :strategy"
    f" AND setting = :setting AND n > 0 AND (family = :family OR :family = {ALL}))))"
)


def _trials_at(base: sqlite3.Connection, family: int, n_returns: int) -> Trials:
    """Return the trials of a family and its kin, with ratios of one return count."""
    query = "SELECT COALESCE(SUM(n_trials), 0) FROM families WHERE family IN"
    n = base.execute(f"{query} {_KIN}", (family,)).fetchone()[0]
    query = "SELECT SUM(n), SUM(total), SUM(squares) FROM trial_agg WHERE n_returns = ? AND family IN"
    sums = base.execute(f"{query} {_KIN}", (n_returns, family)).fetchone()
    return Trials(n, {n_returns: _moments(*sums)} if sums[0] else {})


_KIN = "(SELECT family FROM markets WHERE kin IN (SELECT kin FROM markets WHERE family = ?))"


def deflated(moments: ReturnMoments, trials: Trials) -> float | None:
    """Return the deflated Sharpe ratio given the family's trials; None if undefined.

    The spread under the null hypothesis is the standard error of a ratio without skill, as in a research session. The
    spread of the trials' ratios would include true differences between strategies.
    """
    try:
        return deflate(Moments(*moments), max(1, trials.n)).dsr
    except OpenOutcryError:
        return None


class ScopeCounts(NamedTuple):
    """Counts of a scope at all settings, and at its own one.

    Attributes:
        n_trials: Number of trials with failed ones; a repeated run is the same trial.
        n_strategies: Number of their strategies.
        n_ranked: Number of strategies with a Sharpe ratio at the setting.
        n_elsewhere: Number of strategies with a Sharpe ratio at other settings only.
        n_covered: Number of trials at the setting that runs over longer windows cover.
        n_copied: Number of finished trials at the setting on other versions of a market.
        n_other: Number of finished trials at other settings.
    """

    n_trials: int = 0
    n_strategies: int = 0
    n_ranked: int = 0
    n_elsewhere: int = 0
    n_covered: int = 0
    n_copied: int = 0
    n_other: int = 0


def counts(base: sqlite3.Connection, scope: Scope) -> ScopeCounts:
    """Count the trials and the strategies of a scope."""
    here, finished = "setting = :setting", "n + n_covered + n_copied + n_undefined"
    query = (
        f"SELECT COALESCE(SUM({finished} + n_failed), 0), COUNT(DISTINCT strategy),"
        f" COUNT(CASE WHEN {here} THEN mean END), COUNT(DISTINCT CASE WHEN mean IS NOT NULL THEN strategy END),"
        f" COALESCE(SUM(CASE WHEN {here} THEN n_covered END), 0),"
        f" COALESCE(SUM(CASE WHEN {here} THEN n_copied END), 0),"
        f" COALESCE(SUM(CASE WHEN {here} THEN 0 ELSE {finished} END), 0) FROM {scope.table} WHERE family = :family"
    )
    values = {"family": scope.family, "setting": scope.setting}
    n_trials, n_strategies, n_ranked, n_rated, *rest = base.execute(query, values).fetchone()
    return ScopeCounts(n_trials, n_strategies, n_ranked, n_rated - n_ranked, *rest)


def returns_of(base: sqlite3.Connection, run_id: str) -> tuple[str | None, np.ndarray[Any, Any]] | None:
    """Return the first return date and the returns of a run; None without returns."""
    found = base.execute(
        "SELECT run_returns.first, simple FROM run_returns JOIN runs ON runs.id = run WHERE run_id = ?", (run_id,)
    ).fetchone()
    return None if found is None else (found[0], np.frombuffer(found[1], dtype="<f8").astype(np.float64))
