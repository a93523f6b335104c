"""Schema of the SQLite index, which is derived from the log and disposable."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from openoutcry.ledger.run_summary import NUMBERS

VERSION = 5
"""Schema version; an index with another version is rebuilt."""

ALL = 0
"""Family ID in `strat_agg` for the total over all markets."""

_NUMBERS = ", ".join(f"{name} {'INTEGER' if name == 'total_positions' else 'REAL'}" for name in NUMBERS)

AVERAGED = ("max_drawdown", "win_rate", "profit_factor", "total_positions")
"""Metrics that are averaged for each strategy."""
_MEANS = ", ".join(f"mean_{name} REAL" for name in AVERAGED)

IS_RANKED = "runs.kind != 'holdout' AND NOT runs.holdout_touched"
"""Condition of ranked runs."""

TOTALS = f"""
    strategy INTEGER NOT NULL, family INTEGER NOT NULL, setting INTEGER NOT NULL, sha256 TEXT NOT NULL,
    n_runs INTEGER NOT NULL, n INTEGER NOT NULL, n_covered INTEGER NOT NULL, n_copied INTEGER NOT NULL,
    n_undefined INTEGER NOT NULL, n_failed INTEGER NOT NULL, mean REAL, {_MEANS}, longest INTEGER,
    sample INTEGER NOT NULL,
    PRIMARY KEY (strategy, family, setting)
"""
"""Columns of a table with the totals of strategies by family and setting."""

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE markets (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, name TEXT, symbols TEXT, periods_per_year REAL,
    n_symbols INTEGER NOT NULL DEFAULT 0, n_anchors INTEGER NOT NULL DEFAULT 0, n_marks INTEGER NOT NULL DEFAULT 0,
    n_shapes INTEGER NOT NULL DEFAULT 0, family INTEGER NOT NULL, kin INTEGER NOT NULL, origin INTEGER NOT NULL,
    precedence INTEGER NOT NULL);
CREATE TABLE anchors (anchor INTEGER NOT NULL, market INTEGER NOT NULL, PRIMARY KEY (anchor, market)) WITHOUT ROWID;
CREATE TABLE shapes (
    path INTEGER NOT NULL, market INTEGER NOT NULL, line INTEGER NOT NULL, shape INTEGER NOT NULL,
    PRIMARY KEY (path, market, line, shape)) WITHOUT ROWID;
CREATE TABLE lines (
    market INTEGER NOT NULL, line INTEGER NOT NULL, n_shapes INTEGER NOT NULL, PRIMARY KEY (market, line))
    WITHOUT ROWID;
CREATE TABLE strategies (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, canonical_json TEXT NOT NULL, source TEXT, source_sha TEXT,
    kind TEXT NOT NULL, param_count INTEGER NOT NULL, description TEXT);
CREATE TABLE settings (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, content TEXT NOT NULL);
CREATE TABLE rules (rules_sha TEXT PRIMARY KEY, setting INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, strategy INTEGER NOT NULL, market INTEGER NOT NULL,
    setting INTEGER NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, candle_interval TEXT, first TEXT NOT NULL,
    last TEXT NOT NULL, cost_sha TEXT, engine_version TEXT, {_NUMBERS}, undefined TEXT, n_returns INTEGER,
    sharpe_per_bar REAL, skew REAL,
    kurtosis REAL, trial BLOB NOT NULL, n_configs INTEGER NOT NULL, isolation TEXT, holdout_touched INTEGER NOT NULL,
    error TEXT, session INTEGER NOT NULL, ts TEXT NOT NULL, segment INTEGER NOT NULL, offset INTEGER NOT NULL);
CREATE TABLE run_returns (run INTEGER PRIMARY KEY, first TEXT, simple BLOB NOT NULL);
CREATE TABLE trials (
    trial BLOB NOT NULL, session INTEGER NOT NULL, market INTEGER NOT NULL, n_configs INTEGER NOT NULL, sharpe REAL,
    n_returns INTEGER, run INTEGER NOT NULL, is_done INTEGER NOT NULL, PRIMARY KEY (trial, session)) WITHOUT ROWID;
CREATE TABLE families (family INTEGER PRIMARY KEY, n_trials INTEGER NOT NULL);
CREATE TABLE trial_agg (
    family INTEGER NOT NULL, n_returns INTEGER NOT NULL, n INTEGER NOT NULL, total REAL NOT NULL, squares REAL NOT NULL,
    PRIMARY KEY (family, n_returns)) WITHOUT ROWID;
CREATE TABLE strat_agg ({TOTALS}) WITHOUT ROWID;
CREATE TABLE strat_markets (
    strategy INTEGER NOT NULL, market INTEGER NOT NULL, PRIMARY KEY (strategy, market)) WITHOUT ROWID;
CREATE TABLE holdout_opens (
    market INTEGER NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL, n_before INTEGER NOT NULL,
    session INTEGER NOT NULL, seal TEXT NOT NULL, ts TEXT NOT NULL, UNIQUE (market, first, last, n_before));
CREATE TABLE heads (
    session INTEGER NOT NULL, event TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (session, event)) WITHOUT ROWID;
"""

RUNS_BY_ID = "CREATE UNIQUE INDEX runs_by_id ON runs (run_id);"

# Created after the tables are filled, in one pass.
INDEXES = f"""
CREATE INDEX runs_by_strategy ON runs (strategy, status, sharpe_ratio);
CREATE INDEX ranked_runs ON runs (strategy, market, trial, status, sharpe_ratio, {", ".join(AVERAGED)}, n_returns,
    sharpe_per_bar, candle_interval, setting, first, last) WHERE {IS_RANKED.replace("runs.", "")};
CREATE INDEX trials_by_session ON trials (session);
CREATE INDEX strategies_by_mean ON strat_agg (family, setting, mean DESC, n DESC, sha256);
"""

BULK = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-262144; PRAGMA temp_store=MEMORY;"
SHARED = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;"

_KEYS_PER_QUERY = 500


def select_in(base: sqlite3.Connection, query: str, keys: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Run a query with any number of keys for its `IN (?)` clause, and yield its rows."""
    remaining = list(keys)
    for at in range(0, len(remaining), _KEYS_PER_QUERY):
        some = remaining[at : at + _KEYS_PER_QUERY]
        yield from base.execute(query.replace("(?)", f"({','.join('?' * len(some))})"), some)
