"""Ledger runs for tests, built without a backtest."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from openoutcry.ledger import Ledger, LedgerRun, Market, ReturnMoments, RunMetricsSummary, trial_key

WINDOW = ("2020-01-01", "2020-12-31")


def ticking_clock() -> Callable[[], str]:
    """Return a clock that advances by a second per call."""
    ticks = count()

    def clock() -> str:
        at = next(ticks)
        return f"2024-01-{1 + at // 86_400:02}T{at // 3_600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z"

    return clock


def ledger_at(folder: Path, session: str = "s1", **options: Any) -> Ledger:
    """Return a ledger with a test clock."""
    return Ledger(folder, session=session, clock=ticking_clock(), **options)


def market(name: str = "m", anchors: tuple[int, ...] = ()) -> Market:
    """Return a market with a fingerprint derived from its name."""
    return Market(sha256(name.encode()).hexdigest(), name, ("A", "B"), 252.0, anchors)


def id_of(number: int) -> str:
    """Return the run ID for a number."""
    return str(UUID(int=number))


def ledger_run(number: int, sharpe: float | None = 1.0, **options: Any) -> LedgerRun:
    """Return a run for a number; options set `strategy`, `market`, `window`, `status` and fields of the run."""
    strategy = options.pop("strategy", {"name": "trend", "params": {"n": number}})
    where, status = options.pop("market", market()), options.pop("status", "done")
    n_returns = options.pop("n_returns", 250)
    window = options.pop("window", WINDOW)
    trial = options.pop("trial", None) or trial_key(strategy, where.fingerprint, window, {}, "1")
    metrics: dict[str, Any] = {"sharpe_ratio": sharpe, "max_drawdown": 0.25} | options.pop("metrics", {})
    if status == "failed":
        metrics, sharpe = {}, None
    summary = RunMetricsSummary(id_of(number), status, "1d", **metrics)
    moments = None if sharpe is None else ReturnMoments(n_returns, sharpe / 16.0, 0.0, 3.0)
    given = {"interval": "1d", "engine_version": "1", "track": moments, "kind": "trial"} | options
    return LedgerRun(id_of(number), trial, strategy, where, window, summary, **given)


def returns(n: int = 5) -> np.ndarray[Any, Any]:
    """Return some returns."""
    return np.linspace(-0.01, 0.02, n)


def tables(ledger: Ledger) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of the index by table."""
    base = ledger.connection()
    names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: sorted(base.execute(f"SELECT * FROM {name}"), key=repr) for name in names}
