"""Conversion of trials to ledger runs."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from openoutcry.ledger import LedgerRun, Market, ReturnMoments, RunMetricsSummary, rules_of
from openoutcry.ledger.run_summary import interval_of
from openoutcry.ledger.strategy_notes import REASONS
from openoutcry.research.proposal_checks import digest_of
from openoutcry.research.sealed_holdout import Verdict
from openoutcry.research.walkforward_validation import ValidationResult, ValidationSetup


@dataclass(frozen=True)
class TrialMetadata:
    """Description of a trial, independent of its result.

    Attributes:
        session_id: ID of its session.
        key: SHA-256 of all inputs that the result depends on.
        identity: Content that identifies the strategy.
        description: One-line description.
        source: Source of generated code.
        isolation: Sandbox tier of generated code.
        reasons: Messages of the acceptance gates that it failed.
    """

    session_id: str
    key: str
    identity: Mapping[str, Any]
    description: str = ""
    source: str | None = None
    isolation: str | None = None
    reasons: tuple[str, ...] = ()


def trial_key_of(identity: Mapping[str, Any], setup: ValidationSetup, n_inner: int = 1) -> str:
    """Return the SHA-256 of all inputs that the result of a trial depends on.

    Args:
        identity: Content that identifies the strategy.
        setup: Market, folds, costs and limits.
        n_inner: Configurations that are tuned in sample.
    """
    return digest_of(
        {
            "strategy": dict(identity),
            "dataset": setup.dataset.fingerprint,
            "folds": [[*fold.train, *fold.test] for fold in setup.folds],
            "costs": setup.costs.to_dict(),
            "limits": setup.limits.to_dict(),
            "engine": engine_version(),
            "inner": n_inner,
        }
    )


def entry_of(metadata: TrialMetadata, setup: ValidationSetup, validation: ValidationResult) -> LedgerRun:
    """Return the ledger run of a trial."""
    oos, run_id = validation.oos, run_id_of(metadata.session_id, metadata.key)
    assert oos.summary is not None, "the score is that of test runs"
    entry = _entry(metadata, setup, replace(oos.summary, id=run_id))
    return replace(
        entry,
        track=None if oos.moments is None else ReturnMoments(*astuple(oos.moments)),
        returns=oos.returns,
        first=oos.dates[0],
        n_configs=validation.n_configs,
        # The stitched returns skip the first bar of each test, so that `first` alone does not date them.
        notes={**entry.notes, "returns": "excess", "tests": [[fold.first, fold.last] for fold in oos.folds]},
    )


def failed_entry(metadata: TrialMetadata, setup: ValidationSetup, detail: str) -> LedgerRun:
    """Return the ledger run of a trial that raised; it counts and is not ranked."""
    run_id = run_id_of(metadata.session_id, metadata.key)
    summary = RunMetricsSummary(run_id, "failed", interval_of(setup.dataset.dates))
    return replace(_entry(metadata, setup, summary), error=(detail.splitlines() or [""])[0][:500])


def holdout_entry(
    metadata: TrialMetadata, setup: ValidationSetup, verdict: Verdict, window: tuple[str, str]
) -> LedgerRun:
    """Return the ledger run of a holdout result.

    It refers to a trial that is already counted, on other bars.
    """
    run_id = run_id_of(metadata.session_id, f"holdout {metadata.key}")
    if verdict.summary is None:
        summary, error = (
            RunMetricsSummary(run_id, "failed", interval_of(setup.dataset.dates)),
            verdict.fault or "unknown",
        )
    else:
        summary, error = replace(verdict.summary, id=run_id), None
    entry = _entry(metadata, setup, summary)
    return replace(entry, kind="holdout", window=window, holdout_touched=True, error=error)


def _entry(metadata: TrialMetadata, setup: ValidationSetup, summary: RunMetricsSummary) -> LedgerRun:
    dates, source = setup.dataset.dates, metadata.source
    return LedgerRun(
        summary.id,
        metadata.key,
        dict(metadata.identity),
        Market.of(setup.dataset),
        # To the end of the data that the session could see, which may be after the last test.
        (dates[setup.folds[0].test[0]], dates[-1]),
        summary,
        kind="trial",
        interval=summary.candle_interval,
        rules=rules_of(setup.costs, setup.limits, 0),
        engine_version=engine_version(),
        description=metadata.description,
        source=source,
        source_sha=None if source is None else hashlib.sha256(source.encode()).hexdigest(),
        isolation=metadata.isolation,
        notes={REASONS: list(metadata.reasons)} if metadata.reasons else {},
    )


def run_id_of(session_id: str, key: str) -> str:
    """Return the run ID of a trial, equal in every replay of the session."""
    return str(uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_OID, session_id), key))


def engine_version() -> str:
    """Return the versions of package and contract that the numbers depend on."""
    import openoutcry

    return f"openoutcry {openoutcry.__version__}, contract {openoutcry.CONTRACT_VERSION}"
