"""What the index keeps of trials, so that none counts twice."""

from __future__ import annotations

import sqlite3

# Sorted once, by what all that follows takes them by.
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

# A trial counts where it was first made, by the most configurations that any run of it stands for.
_FAMILIES = """
INSERT INTO families SELECT family, SUM(more) FROM (
    SELECT COALESCE((SELECT market FROM trials WHERE trials.trial = made.trial ORDER BY run LIMIT 1), market) AS market,
        MAX(0, (SELECT MAX(n_configs) FROM new WHERE new.trial = made.trial)
            - COALESCE((SELECT MAX(n_configs) FROM trials WHERE trials.trial = made.trial), 0)) AS more
    FROM (SELECT trial, MIN(run), market FROM new GROUP BY trial) AS made) AS counted
JOIN markets ON markets.id = counted.market GROUP BY family
ON CONFLICT (family) DO UPDATE SET n_trials = n_trials + excluded.n_trials
"""

# Of its ratios the first one counts. The order is that of the log, for sums of floats depend on it.
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


def count(base: sqlite3.Connection, begin: int, end: int) -> None:
    """Count the trials that runs are of, by the first and the last run that is new."""
    base.execute(_NEW)
    base.execute(_TAKEN, {"begin": begin, "end": end})
    for statement in (_FAMILIES, _RATIOS, _TRIALS, "DELETE FROM new"):
        base.execute(statement)
