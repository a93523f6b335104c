"""What is asked of the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import sqrt
from typing import Any

import numpy as np

from openoutcry.errors import refusal
from openoutcry.ledger.index_schema import AVERAGED, chosen
from openoutcry.ledger.ingest import families_among, sharing
from openoutcry.ledger.ledger_entry import Track, checked_id
from openoutcry.ledger.market_families import Market, is_kin
from openoutcry.ledger.query_scope import DESCRIBED, MARKETS, Scope
from openoutcry.ledger.run_summary import FIELDS, NUMBERS, RunMetricsSummary
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.scoring.skill import Moments, deflate

MOST_COMPARED = 50
SUMMARY = ", ".join(f"runs.{name}" for name in ("run_id", "status", "candle_interval", *NUMBERS, "undefined"))


@dataclass(frozen=True)
class Trials:
    """How often a family of markets has been tried.

    Attributes:
        n: Configurations that were looked at, each trial once.
        sharpes: By number of returns, what the trials' Sharpe ratios per bar are like: count, mean, and the sum of
            squared differences from it.
    """

    n: int = 0
    sharpes: Mapping[int, tuple[int, float, float]] = field(default_factory=dict)

    def sharpes_at(self, n_returns: int) -> tuple[int, float, float]:
        """Return count, mean and squared differences of the ratios of one length."""
        return self.sharpes.get(n_returns, (0, 0.0, 0.0))

    def spread_at(self, n_returns: int, least: int = 10) -> float | None:
        """Return the deviation of the ratios of one length; None below `least` of them."""
        n, _, squares = self.sharpes_at(n_returns)
        return sqrt(squares / (n - 1)) if n >= max(2, least) else None


@dataclass(frozen=True)
class Standing:
    """A strategy among all that were tried.

    Attributes:
        strategy_id: SHA-256 of the strategy in canonical JSON.
        strategy: The same as canonical JSON.
        mean: Mean Sharpe ratio a year of its runs; None where none has one.
        n: Runs with a ratio.
        n_undefined: Runs that are done, without one.
        n_failed: Runs that failed.
        averages: Means of other numbers over its runs that are done; None where no run has one.
        description: What it is, in words.
        interval: Length of a bar in its last run.
        dsr: Deflated Sharpe ratio of its longest run at the trials of that market's family; None where undefined.
        n_trials: Those trials.
        markets: Names of the markets it was run on.
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


def family_of(base: sqlite3.Connection, market: Market) -> int | None:
    """Return the family of a market; None where none of it is known.

    A market that no run was made on is of the family that holds its prices.
    """
    return next(iter(families_of(base, market)[0]), None)


def families_of(base: sqlite3.Connection, market: Market) -> tuple[list[int], list[int]]:
    """Return the families that a market holds prices of or is of, and its kin's.

    Kin hold its prices at dates that say nothing of its own.
    """
    query = "SELECT family, kin, n_anchors + n_marks FROM markets WHERE fingerprint = ?"
    own = base.execute(query, (market.fingerprint,)).fetchone()
    families, kins = (set[int](), set[int]()) if own is None else ({own[0]}, {own[1]})
    if own is None or own[2] < len(market.hashes()):
        counted = sharing(base, market)
        same = families_among(base, market, counted)
        for family, kin, at in chosen(base, "SELECT family, kin, id FROM markets WHERE id IN (?)", counted):
            if at in same:
                families.add(family)
            if at in same or is_kin(counted[at]):
                kins.add(kin)
    found = {row[0] for row in chosen(base, "SELECT family FROM markets WHERE kin IN (?)", sorted(kins))}
    return sorted(families), sorted(found - families)


def trials_of(base: sqlite3.Connection, market: Market, but_session: str | None = None) -> Trials:
    """Return how often the family of a market and its kin were tried.

    One session may be left out; what others tried as well stays.
    """
    families = sorted(chain.from_iterable(families_of(base, market)))
    n = sum(row[0] for row in chosen(base, "SELECT n_trials FROM families WHERE family IN (?)", families))
    sums: dict[int, tuple[int, float, float]] = {}
    query = "SELECT n_returns, n, total, squares FROM trial_agg WHERE family IN (?) ORDER BY family, n_returns"
    for n_returns, *told in chosen(base, query, families):
        sums[n_returns] = _added(sums.get(n_returns, (0, 0.0, 0.0)), tuple(told), 1)
    if but_session is not None and families:
        n -= _taken_back(base, families, but_session, sums)
    return Trials(n, {at: _moments(*told) for at, told in sums.items() if told[0]})


def _added(one: tuple[int, float, float], two: tuple[Any, ...], sign: int) -> tuple[int, float, float]:
    return one[0] + sign * two[0], one[1] + sign * two[1], one[2] + sign * two[2]


def _moments(n: int, total: float, squares: float) -> tuple[int, float, float]:
    return n, total / n, max(0.0, squares - total * total / n)


def _taken_back(
    base: sqlite3.Connection, families: Sequence[int], session: str, sums: dict[int, tuple[int, float, float]]
) -> int:
    """Take back from sums what only one session tried; return how much that is."""
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
    """Return the run of an earlier trial, first come first served."""
    found = base.execute(
        "SELECT runs.run_id FROM trials JOIN runs ON runs.id = trials.run JOIN sessions ON sessions.id = trials.session"
        " WHERE trials.trial = ? AND trials.is_done AND sessions.name IS NOT ? ORDER BY runs.id LIMIT 1",
        (bytes.fromhex(trial), but_session),
    ).fetchone()
    return None if found is None else str(found[0])


def compared(base: sqlite3.Connection, ids: Sequence[str]) -> tuple[list[RunMetricsSummary], list[str]]:
    """Return the summaries of runs in the order asked for, and the missing ids.

    Raises:
        OpenOutcryError: `argument_invalid`: there are more than 50, or one is no UUID.
    """
    if isinstance(ids, str):
        raise refusal("argument_invalid", f"`ids` must be a list of ids; received the text {ids[:80]!r}")
    asked = list(dict.fromkeys(checked_id(each) for each in ids))
    if len(list(ids)) > MOST_COMPARED:
        wanted = f"at most {MOST_COMPARED} ids at a time are required"
        raise refusal("argument_invalid", f"{wanted}; received {len(list(ids))}")
    found = {row[0]: summary_of(row) for row in chosen(base, f"SELECT {SUMMARY} FROM runs WHERE run_id IN (?)", asked)}
    return [found[each] for each in asked if each in found], [each for each in asked if each not in found]


def summary_of(row: Sequence[Any]) -> RunMetricsSummary:
    """Return the summary that a row of the columns `SUMMARY` is."""
    undefined = json.loads(row[len(FIELDS)]) if row[len(FIELDS)] else {}
    return RunMetricsSummary(**dict(zip(FIELDS, row, strict=False)), undefined=undefined)


# Rankings


def ranked(base: sqlite3.Connection, scope: Scope, *, n: int = 5, worst: bool = False) -> list[Standing]:
    """Return the best `n` strategies by mean Sharpe ratio, or the worst, best first.

    Ties go to the one with more runs, then to the smaller id.
    """
    order = "mean ASC, n ASC, sha256 DESC" if worst else "mean DESC, n DESC, sha256 ASC"
    order = ", ".join(f"agg.{each}" for each in order.split(", "))
    found = _standings(base, scope, f"AND agg.mean IS NOT NULL ORDER BY {order}", n)
    return found[::-1] if worst else found


def unranked(base: sqlite3.Connection, scope: Scope, *, n: int = 5) -> list[Standing]:
    """Return strategies of which no run has a Sharpe ratio, by id."""
    return _standings(base, scope, "AND agg.mean IS NULL ORDER BY agg.sha256", n)


_AGG = (
    "SELECT agg.*, strategies.canonical_json, last_run.candle_interval, long.n_returns AS bars,"
    " long.sharpe_per_bar, long.skew, long.kurtosis, markets.family AS long_family FROM {table} AS agg"
    " JOIN strategies ON strategies.id = agg.strategy JOIN runs AS last_run ON last_run.id = agg.last"
    " LEFT JOIN runs AS long ON long.id = agg.longest LEFT JOIN markets ON markets.id = long.market"
    " WHERE agg.family = ?"
)


def _standings(base: sqlite3.Connection, scope: Scope, rest: str, n: int) -> list[Standing]:
    found = base.execute(f"{_AGG.format(table=scope.table)} {rest} LIMIT ?", (scope.family, n))
    names = [each[0] for each in found.description]
    return [_standing(base, scope, dict(zip(names, row, strict=True))) for row in found.fetchall()]


def _standing(base: sqlite3.Connection, scope: Scope, row: Mapping[str, Any]) -> Standing:
    asked = {"strategy": row["strategy"], "family": scope.family, "through": scope.through}
    description = base.execute(DESCRIBED, asked).fetchone()
    dsr, n_trials = None, 0
    if row["bars"] is not None:
        trials = _trials_at(base, row["long_family"], row["bars"])
        track = Track(row["bars"], row["sharpe_per_bar"], row["skew"], row["kurtosis"])
        dsr, n_trials = deflated(track, trials), trials.n
    return Standing(
        row["sha256"],
        row["canonical_json"],
        row["mean"],
        row["n"],
        row["n_undefined"],
        row["n_failed"],
        {name: row[f"total_{name}"] / row[f"n_{name}"] if row[f"n_{name}"] else None for name in AVERAGED},
        None if description is None else description[0],
        row["candle_interval"],
        dsr,
        n_trials,
        tuple(dict.fromkeys(name or "unnamed" for (name,) in base.execute(MARKETS, asked))),
    )


def _trials_at(base: sqlite3.Connection, family: int, n_returns: int) -> Trials:
    """Return the trials of a family and its kin, with the ratios of one length."""
    query = "SELECT COALESCE(SUM(n_trials), 0) FROM families WHERE family IN"
    n = base.execute(f"{query} {_KIN}", (family,)).fetchone()[0]
    query = "SELECT SUM(n), SUM(total), SUM(squares) FROM trial_agg WHERE n_returns = ? AND family IN"
    sums = base.execute(f"{query} {_KIN}", (n_returns, family)).fetchone()
    return Trials(n, {n_returns: _moments(*sums)} if sums[0] else {})


_KIN = "(SELECT family FROM markets WHERE kin IN (SELECT kin FROM markets WHERE family = ?))"


def deflated(track: Track, trials: Trials) -> float | None:
    """Return the deflated Sharpe ratio of a track at the trials of its family.

    What luck alone shows is measured by the error of a ratio without skill, as a session of research does it, and not
    by how far the trials' ratios lie apart, which true differences widen. None where it is undefined.
    """
    try:
        return deflate(Moments(*track), max(1, trials.n)).dsr
    except OpenOutcryError:
        return None


def counts(base: sqlite3.Connection, scope: Scope) -> tuple[int, int, int]:
    """Count runs that may be told of, their strategies, and those that are ranked.

    Failed ones are among the runs.
    """
    counted = "COALESCE(SUM(n + n_undefined + n_failed), 0), COUNT(*), COUNT(mean)"
    found = base.execute(f"SELECT {counted} FROM {scope.table} WHERE family = ?", (scope.family,)).fetchone()
    return int(found[0]), int(found[1]), int(found[2])


def returns_of(base: sqlite3.Connection, run_id: str) -> tuple[str | None, np.ndarray[Any, Any]] | None:
    """Return the date of a run's first return, and its returns; None without any."""
    found = base.execute(
        "SELECT run_returns.first, simple FROM run_returns JOIN runs ON runs.id = run WHERE run_id = ?", (run_id,)
    ).fetchone()
    return None if found is None else (found[0], np.frombuffer(found[1], dtype="<f8").astype(np.float64))
