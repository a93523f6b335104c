"""Research sessions: start, resume and replay, all through the same loop."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger import Ledger
from openoutcry.records.chained_log import ChainedLog
from openoutcry.records.file_lock import lock_file
from openoutcry.research.finalize import finalize_session
from openoutcry.research.loop import ResearchLoop
from openoutcry.research.proposal_requests import Proposer
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.sealed_holdout import HoldoutVault
from openoutcry.research.selection_luck import PriorTrials
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_context import SessionContext
from openoutcry.research.session_journal import BLOBS, SESSION_END, SESSION_START, Blobs, DivergedError, Journal
from openoutcry.research.session_records import JOURNAL, RecordedSession, session_of
from openoutcry.research.session_start import MarketSource, SessionSpec, market_card, session_spec_of, start_payload
from openoutcry.research.strategy_builder import StrategyBuilder
from openoutcry.research.trial import Result
from openoutcry.research.trial_store import LedgerTrialStore, NullTrialStore, TrialStore, prior_trials_of
from openoutcry.research.walkforward_validation import ValidationSetup, validation_setup

Load = Callable[[], Dataset]


@dataclass(frozen=True)
class Workspace:
    """Folder, ledger and callbacks of a session.

    Attributes:
        folder: Folder of journal, candidates and report.
        ledger: Ledger across sessions; None to record nothing.
        source: Name or path of the market, recorded in the journal.
        periods_per_year: Bars per year to load it with, if given.
        provider: Name of the proposer, recorded in the journal.
        reading: Options of the reader to load it with, by name, recorded in the journal.
        cancelled: Set it to stop after the current round.
        on_event: Called with each event and its payload.
    """

    folder: Path
    ledger: Ledger | None = None
    source: str = ""
    provider: str = ""
    periods_per_year: float | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_event: Callable[[str, Mapping[str, Any]], object] = lambda event, payload: None

    @property
    def journal(self) -> Path:
        """Path of the journal."""
        return self.folder / JOURNAL

    @property
    def blobs(self) -> Path:
        """Folder of prompts and return series."""
        return self.journal.parent / BLOBS


def research(load: Load, proposer: Proposer, config: ResearchConfig, workspace: Workspace) -> Result:
    """Run a session and return its result.

    Args:
        load: Loads the market; called again for the holdout, which is not kept in memory.
        proposer: Source of proposals.
        config: Configuration of the session.
        workspace: Folder, ledger and callbacks.

    Raises:
        OpenOutcryError: the market is too short for its folds, or an argument is invalid.
    """
    session_id = str(uuid.uuid4())
    vault, setup = _split_market(load, config)
    trial_store, prior_trials = _open_trial_store(workspace, session_id, config, vault, setup)
    workspace.journal.parent.mkdir(parents=True, exist_ok=True)
    source = MarketSource(workspace.source, workspace.periods_per_year, setup.dataset.name, workspace.reading)
    spec = SessionSpec(session_id, config, prior_trials, source, workspace.provider, _identity(workspace.ledger))
    with _session_lock(workspace, session_id), ChainedLog(workspace.journal, session=session_id) as log:
        return _run_session(
            _PreparedSession(spec, vault, setup), proposer, workspace, trial_store, Journal(log, (), workspace.on_event)
        )


def resume(load: Load, proposer: Proposer, workspace: Workspace, session_id: str | None = None) -> Result:
    """Resume an interrupted session after its last complete event.

    Recorded events are recomputed and must be equal; after them the session is live.

    Args:
        load: Loads the market of the session.
        proposer: Source of the remaining proposals.
        workspace: Folder, ledger and callbacks.
        session_id: Its ID or a prefix; None for the last session.

    Raises:
        OpenOutcryError: there is no such session, it has ended, or it is not the one that the ledger anchors.
        DivergedError: a recorded event is not reproduced.
    """
    recorded = session_of(workspace.journal, session_id)
    if recorded.is_over:
        raise refusal(
            "argument_invalid", f"an interrupted session is required; received {recorded.session_id}, which ended"
        )
    spec = session_spec_of(recorded)
    if spec.ledger != _identity(workspace.ledger):
        wanted = "a session must resume with the ledger that it started with"
        raise refusal("argument_invalid", f"{wanted}; received another one, or none")
    vault, setup = _split_market(load, spec.config)
    trial_store, prior_trials = _open_trial_store(workspace, recorded.session_id, spec.config, vault, setup)
    # Interrupted before the ledger anchored its start, it must start as it would now.
    is_new = len(recorded.events) == 1 and prior_trials == spec.prior_trials
    if workspace.ledger is not None:
        _check_anchor(workspace.ledger, recorded, SESSION_START, 0, or_none=is_new)
    with (
        _session_lock(workspace, recorded.session_id),
        ChainedLog(workspace.journal, session=recorded.session_id) as log,
    ):
        journal = Journal(log, recorded.events, workspace.on_event)
        return _run_session(_PreparedSession(spec, vault, setup), proposer, workspace, trial_store, journal)


def replay(load: Load, workspace: Workspace, session_id: str | None = None) -> Result:
    """Recompute a session from its recorded proposals and compare every event.

    Nothing is written, and no model is called. Prompts and return series must match their hashes. With a ledger in
    `workspace`, the journal must match the anchors of the ledger, which also protects what a replay cannot recompute,
    such as the count of prior trials.

    Args:
        load: Loads the market of the session.
        workspace: Folder of the journal, and the ledger.
        session_id: Its ID or a prefix; None for the last session.

    Raises:
        OpenOutcryError: there is no such session, or the journal was altered.
        DivergedError: the first event that differs.
    """
    recorded = session_of(workspace.journal, session_id)
    spec = session_spec_of(recorded)
    journal = Journal(None, recorded.events, workspace.on_event)
    prepared = _PreparedSession(spec, *_split_market(load, spec.config))
    result = _run_session(prepared, FixedProposer([]), workspace, NullTrialStore(), journal)
    journal.check_end()
    _check_blobs(recorded, Blobs(workspace.blobs))
    if workspace.ledger is not None:
        _check_anchor(workspace.ledger, recorded, SESSION_START, 0)
        _check_anchor(workspace.ledger, recorded, SESSION_END, -2)
    return result


def recorded_setup(load: Load, recorded: RecordedSession) -> ValidationSetup:
    """Return the validation inputs of a recorded session, for its report."""
    return _split_market(load, session_spec_of(recorded).config)[1]


@dataclass(frozen=True)
class _PreparedSession:
    """A session specification with its market, split into research window and holdout."""

    spec: SessionSpec
    vault: HoldoutVault
    setup: ValidationSetup


def _run_session(
    prepared: _PreparedSession, proposer: Proposer, workspace: Workspace, trial_store: TrialStore, journal: Journal
) -> Result:
    spec, setup, builder = prepared.spec, prepared.setup, _builder_of(prepared.spec)
    context = SessionContext(
        spec.session_id,
        spec.config,
        setup,
        market_card(setup, spec.source.name),
        proposer,
        builder,
        spec.prior_trials,
        trial_store,
        Blobs(None if journal.is_read_only else workspace.blobs),
        cancelled=workspace.cancelled,
    )
    start = start_payload(spec, prepared.vault, setup, builder)
    journal.record(SESSION_START, start)
    trial_store.anchor(SESSION_START, journal.head)
    return finalize_session(context, journal, ResearchLoop(context, journal), prepared.vault, start)


def _builder_of(spec: SessionSpec) -> StrategyBuilder:
    return StrategyBuilder(spec.config, spec.gates_version)


def _split_market(load: Load, config: ResearchConfig) -> tuple[HoldoutVault, ValidationSetup]:
    vault = HoldoutVault(load, config.split)
    return vault, validation_setup(vault.research(), vault.research_end, config.split, (config.costs, config.limits))


def _open_trial_store(
    workspace: Workspace, session_id: str, config: ResearchConfig, vault: HoldoutVault, setup: ValidationSetup
) -> tuple[TrialStore, PriorTrials]:
    if workspace.ledger is None:
        return NullTrialStore(), PriorTrials()
    ledger = Ledger(workspace.ledger.folder, session=session_id)
    return LedgerTrialStore(ledger, setup, config, workspace.folder), prior_trials_of(ledger, setup, vault)


def _identity(ledger: Ledger | None) -> str | None:
    """Return a hash that identifies a ledger without revealing its path."""
    return None if ledger is None else hashlib.sha256(str(ledger.folder.resolve()).encode()).hexdigest()


@contextmanager
def _session_lock(workspace: Workspace, session_id: str) -> Iterator[None]:
    """Lock the session against other writers."""
    path = workspace.journal.parent / f"{session_id}.lock"
    with lock_file(path, "a session that no other process runs is required", seconds=0.0):
        yield
    path.unlink(missing_ok=True)


def _check_blobs(recorded: RecordedSession, blobs: Blobs) -> None:
    for event in recorded.events:
        payload = event["payload"]
        for digest in (payload.get("prompt_sha256"), payload.get("shown_sha256")):
            if digest is not None:
                blobs.get(digest)
        if event["event"] == "trial":
            blobs.get(payload["oos"]["returns_sha256"])


def _check_anchor(ledger: Ledger, recorded: RecordedSession, event: str, index: int, *, or_none: bool = False) -> None:
    """Check the hash of an event in a journal against its anchor in the ledger."""
    noted = ledger.anchored(event, recorded.session_id)
    if noted == recorded.events[index]["hash"] or (noted is None and or_none):
        return
    found = "a session without an anchor" if noted is None else f"another journal at `{event}`"
    wanted = f"the journal of session {recorded.session_id[:8]} must match its anchor in the ledger"
    raise refusal("state_mismatch", f"{wanted}; received {found}")


__all__ = ["DivergedError", "Workspace", "recorded_setup", "replay", "research", "resume"]
