"""Trial counts and Sharpe ratio moments of the index, counting each trial once."""

from __future__ import annotations

import sqlite3

# Sorted once by the key that the following statements use.
_NEW = """
CREATE TEMP TABLE IF NOT EXISTS new (
    trial BLOB NOT NULL, session INTEGER NOT NULL, run INTEGER NOT NULL, market INTEGER NOT NULL,
    n_configs INTEGER NOT NULL, sharpe REAL, n_returns INTEGER, is_done INTEGER NOT NULL,
    PRIMARY KEY (trial, session, run)) WITHOUT ROWID
"""

_TAKEN = """
INSERT INTO new SELECT trial, session, id, market, n_configs,
    CASE WHEN n_returns IS NULL THEN NULL ELSE sharpe_per_bar END, n_returns, status = 'done' FROM runs
WHERE id BETWEEN :begin AND :end ORDER BY trial, session, id
"""

# A trial counts for the market of its first run, with the maximum `n_configs` of its runs.
_FAMILIES = """
INSERT INTO families SELECT family, SUM(more) FROM (
    SELECT COALESCE((SELECT market FROM trials WHERE trials.trial = made.trial ORDER BY run LIMIT 1), market) AS market,
        MAX(0, (SELECT MAX(n_configs) FROM new WHERE new.trial = made.trial)
            - COALESCE((SELECT MAX(n_configs) FROM trials WHERE trials.trial = made.trial), 0)) AS more
    FROM (SELECT trial, MIN(run), market FROM new GROUP BY trial) AS made) AS counted
JOIN markets ON markets.id = counted.market GROUP BY family
ON CONFLICT (family) DO UPDATE SET n_trials = n_trials + excluded.n_trials
"""

# The first ratio of a trial counts. Rows are in log order, because sums of floats depend on the order.
_RATIOS = """
INSERT INTO trial_agg SELECT family, n_returns, 1, sharpe, sharpe * sharpe FROM (
    SELECT MIN(run) AS first, trial, market, n_returns, sharpe FROM new WHERE sharpe IS NOT NULL GROUP BY trial) AS made
JOIN markets ON markets.id = made.market
WHERE NOT EXISTS (SELECT 1 FROM trials WHERE trials.trial = made.trial AND sharpe IS NOT NULL) ORDER BY first
ON CONFLICT (family, n_returns) DO UPDATE SET n = n + 1, total = total + excluded.total,
    squares = squares + excluded.squares
"""

_TRIALS = """
INSERT INTO trials SELECT trial, session, market, n_configs, sharpe, n_returns, run, is_done FROM new
WHERE TRUE ORDER BY trial, session, run
ON CONFLICT (trial, session) DO UPDATE SET n_configs = MAX(n_configs, excluded.n_configs),
    n_returns = CASE WHEN sharpe IS NULL AND excluded.sharpe IS NOT NULL THEN excluded.n_returns ELSE n_returns END,
    sharpe = COALESCE(sharpe, excluded.sharpe),
    run = CASE WHEN excluded.is_done AND NOT is_done THEN excluded.run ELSE run END,
    is_done = MAX(is_done, excluded.is_done)
"""


def count_trials(base: sqlite3.Connection, begin: int, end: int) -> None:
    """Add the trials of new runs, given by the first and the last row ID."""
    base.execute(_NEW)
    base.execute(_TAKEN, {"begin": begin, "end": end})
    for statement in (_FAMILIES, _RATIOS, _TRIALS, "DELETE FROM new"):
        base.execute(statement)
