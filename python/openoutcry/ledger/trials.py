"""What the index keeps of trials, so that none counts twice."""

from __future__ import annotations

import sqlite3

_RATIO = "CASE WHEN n_returns IS NULL THEN NULL ELSE sharpe_per_bar END"

# A trial counts where it was first made, by the most configurations that any run of it stands for.
_FAMILIES = """
INSERT INTO families SELECT family, SUM(more) FROM (
    SELECT COALESCE((SELECT market FROM trials WHERE trials.trial = new.trial ORDER BY run LIMIT 1),
            (SELECT market FROM runs WHERE id = new.earliest)) AS market,
        MAX(0, most - COALESCE((SELECT MAX(n_configs) FROM trials WHERE trials.trial = new.trial), 0)) AS more
    FROM (SELECT trial, MAX(n_configs) AS most, MIN(id) AS earliest FROM runs
        WHERE id BETWEEN :begin AND :end GROUP BY trial) AS new) AS counted
JOIN markets ON markets.id = counted.market GROUP BY family
ON CONFLICT (family) DO UPDATE SET n_trials = n_trials + excluded.n_trials
"""

# Of its ratios the first one counts. The order is that of the log, for sums of floats depend on it.
_RATIOS = f"""
INSERT INTO trial_agg SELECT family, n_returns, 1, ratio, ratio * ratio FROM (
    SELECT MIN(id) AS first, trial, market, n_returns, {_RATIO} AS ratio FROM runs
    WHERE id BETWEEN :begin AND :end AND {_RATIO} IS NOT NULL GROUP BY trial) AS new
JOIN markets ON markets.id = new.market
WHERE NOT EXISTS (SELECT 1 FROM trials WHERE trials.trial = new.trial AND sharpe IS NOT NULL) ORDER BY first
ON CONFLICT (family, n_returns) DO UPDATE SET n = n + 1, total = total + excluded.total,
    squares = squares + excluded.squares
"""

_TRIALS = f"""
INSERT INTO trials SELECT trial, session, market, n_configs, {_RATIO}, n_returns, id, status = 'done' FROM runs
WHERE id BETWEEN :begin AND :end ORDER BY trial, session, id
ON CONFLICT (trial, session) DO UPDATE SET n_configs = MAX(n_configs, excluded.n_configs),
    n_returns = CASE WHEN sharpe IS NULL AND excluded.sharpe IS NOT NULL THEN excluded.n_returns ELSE n_returns END,
    sharpe = COALESCE(sharpe, excluded.sharpe),
    run = CASE WHEN excluded.is_done AND NOT is_done THEN excluded.run ELSE run END,
    is_done = MAX(is_done, excluded.is_done)
"""


def count(base: sqlite3.Connection, begin: int, end: int) -> None:
    """Count the trials that runs are of, by the first and the last run that is new."""
    for statement in (_FAMILIES, _RATIOS, _TRIALS):
        base.execute(statement, {"begin": begin, "end": end})
