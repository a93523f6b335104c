"""Runs for ledgers, made without a backtest."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from openoutcry.ledger import Ledger, LedgerRun, Market, RunMetricsSummary, Track, trial_key

WINDOW = ("2020-01-01", "2020-12-31")


def ticking() -> Callable[[], str]:
    """Return a clock that goes on by a second."""
    ticks = count()

    def tell() -> str:
        at = next(ticks)
        return f"2024-01-{1 + at // 86_400:02}T{at // 3_600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z"

    return tell


def ledger_at(folder: Path, session: str = "s1", **options: Any) -> Ledger:
    """Return a ledger whose clock is its own."""
    return Ledger(folder, session=session, clock=ticking(), **options)


def market(name: str = "m", anchors: tuple[int, ...] = ()) -> Market:
    """Return a market whose fingerprint is of its name."""
    return Market(sha256(name.encode()).hexdigest(), name, ("A", "B"), 252.0, anchors)


def id_of(number: int) -> str:
    """Return the id of the run of a number."""
    return str(UUID(int=number))


def made(number: int, sharpe: float | None = 1.0, **options: Any) -> LedgerRun:
    """Return the run of a number; `strategy`, `market`, `status` and fields of a run may be given."""
    strategy = options.pop("strategy", {"name": "trend", "params": {"n": number}})
    where, status = options.pop("market", market()), options.pop("status", "done")
    n_returns = options.pop("n_returns", 250)
    trial = options.pop("trial", None) or trial_key(strategy, where.fingerprint, WINDOW, {}, "1")
    metrics: dict[str, Any] = {"sharpe_ratio": sharpe, "max_drawdown": 0.25} | options.pop("metrics", {})
    if status == "failed":
        metrics, sharpe = {}, None
    summary = RunMetricsSummary(id_of(number), status, "1d", **metrics)
    track = None if sharpe is None else Track(n_returns, sharpe / 16.0, 0.0, 3.0)
    given = {"interval": "1d", "engine_version": "1", "track": track, "kind": "trial"} | options
    return LedgerRun(id_of(number), trial, strategy, where, WINDOW, summary, **given)


def returns(n: int = 5) -> np.ndarray[Any, Any]:
    """Return some returns."""
    return np.linspace(-0.01, 0.02, n)


def tables(ledger: Ledger) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of the index by table."""
    base = ledger.connection()
    names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: sorted(base.execute(f"SELECT * FROM {name}"), key=repr) for name in names}
