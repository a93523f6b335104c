"""Trials as the ledger keeps them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.ledger import LedgerRun, Market, RunMetricsSummary, Track, rules_of
from openoutcry.ledger.run_summary import interval_of
from openoutcry.research.proposal_checks import digest_of
from openoutcry.research.sealed_holdout import Verdict
from openoutcry.research.trial_scores import OosScore
from openoutcry.research.walkforward_validation import Ground, Validated


@dataclass(frozen=True)
class About:
    """What a trial is, whatever came of it.

    Attributes:
        session_id: Who made it.
        key: SHA-256 of all that its result depends on.
        identity: What the strategy is, as content.
        description: What it does, in words.
        source: Its source, where it is code.
        isolation: How that was kept apart.
    """

    session_id: str
    key: str
    identity: Mapping[str, Any]
    description: str = ""
    source: str | None = None
    isolation: str | None = None


def trial_key_of(identity: Mapping[str, Any], ground: Ground, n_inner: int = 1) -> str:
    """Return the SHA-256 of all that the result of a trial depends on.

    Args:
        identity: What the strategy is, as content.
        ground: What it is validated on.
        n_inner: Configurations that are tried in sample.
    """
    return digest_of(
        {
            "strategy": dict(identity),
            "dataset": ground.dataset.fingerprint,
            "folds": [[*fold.train, *fold.test] for fold in ground.folds],
            "costs": ground.costs.to_dict(),
            "limits": ground.limits.to_dict(),
            "engine": engine_version(),
            "inner": n_inner,
        }
    )


def entry_of(about: About, ground: Ground, validated: Validated) -> LedgerRun:
    """Return a trial with what came of it."""
    oos, run_id = validated.oos, run_id_of(about.session_id, about.key)
    return replace(
        _entry(about, ground, summary_of(oos, ground.dataset, run_id)),
        track=None if oos.moments is None else Track(*astuple(oos.moments)),
        returns=oos.returns,
        first=oos.dates[0],
        n_configs=validated.n_configs,
    )


def failed_entry(about: About, ground: Ground, detail: str) -> LedgerRun:
    """Return a trial that broke off: it counts, and is ranked nowhere."""
    run_id = run_id_of(about.session_id, about.key)
    summary = RunMetricsSummary(run_id, "failed", interval_of(ground.dataset.dates))
    return replace(_entry(about, ground, summary), error=(detail.splitlines() or [""])[0][:500])


def holdout_entry(about: About, ground: Ground, verdict: Verdict, window: tuple[str, str]) -> LedgerRun:
    """Return what a candidate did in the holdout.

    It is the trial that has been counted, on other bars.
    """
    summary = RunMetricsSummary(
        run_id_of(about.session_id, f"holdout {about.key}"),
        "done",
        interval_of(ground.dataset.dates),
        sharpe_ratio=verdict.sharpe,
        max_drawdown=verdict.max_drawdown,
        pnl_return=verdict.return_,
    )
    return replace(_entry(about, ground, summary), kind="holdout", window=window, holdout_touched=True)


def _entry(about: About, ground: Ground, summary: RunMetricsSummary) -> LedgerRun:
    dates, source = ground.dataset.dates, about.source
    return LedgerRun(
        summary.id,
        about.key,
        dict(about.identity),
        Market.of(ground.dataset),
        # To the end of what the session could see and was told of, which may be bars after the last test.
        (dates[ground.folds[0].test[0]], dates[-1]),
        summary,
        kind="trial",
        interval=summary.candle_interval,
        rules=rules_of(ground.costs, ground.limits, 0),
        engine_version=engine_version(),
        description=about.description,
        source=source,
        source_sha=None if source is None else hashlib.sha256(source.encode()).hexdigest(),
        isolation=about.isolation,
    )


def run_id_of(session_id: str, key: str) -> str:
    """Return the id of a session's run, the same when it is made again."""
    return str(uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_OID, session_id), key))


def summary_of(oos: OosScore, dataset: Dataset, run_id: str) -> RunMetricsSummary:
    """Return the 17 numbers of a trial, of all its tests one after another."""
    found, undefined = native.summarize(np.ascontiguousarray(oos.returns), periods_per_year=dataset.periods_per_year)
    wins = [profit for profit in oos.profits if profit > 0.0]
    losses = [profit for profit in oos.profits if profit < 0.0]
    numbers: dict[str, Any] = {
        "total_positions": len(oos.profits),
        "win_rate": len(wins) / len(oos.profits) if oos.profits else None,
        "profit_factor": sum(wins) / -sum(losses) if losses else None,
        "sharpe_ratio": oos.sharpe,
        "sortino_ratio": found["sortino"],
        "calmar_ratio": found["calmar"],
        "max_drawdown": oos.max_drawdown,
        "pnl_return": oos.return_,
        "avg_win": sum(wins) / len(wins) if wins else None,
        "avg_loss": sum(losses) / len(losses) if losses else None,
        "max_win": max(wins, default=None),
        "max_loss": min(losses, default=None),
    }
    why = {f"{metric}_ratio": undefined[metric] for metric in ("sharpe", "sortino", "calmar") if metric in undefined}
    return RunMetricsSummary(run_id, "done", interval_of(dataset.dates), **numbers, undefined=why)


def engine_version() -> str:
    """Return the versions of package and contract that numbers depend on."""
    import openoutcry

    return f"openoutcry {openoutcry.__version__}, contract {openoutcry.CONTRACT_VERSION}"
