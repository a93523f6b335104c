"""Configuration and collaborators of a session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openoutcry.research.proposal_requests import MarketCard, Proposer
from openoutcry.research.selection_luck import PriorTrials
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_journal import Blobs
from openoutcry.research.strategy_builder import StrategyBuilder
from openoutcry.research.trial_store import TrialStore
from openoutcry.research.walkforward_validation import ValidationSetup


@dataclass(frozen=True)
class SessionContext:
    """Configuration and collaborators of a session.

    Attributes:
        session_id: ID of the session.
        config: Its configuration.
        setup: Research window with folds, costs and limits.
        card: Market facts that a proposer sees.
        proposer: Source of proposals.
        builder: Builds strategies from proposals.
        prior_trials: Prior trials of the ledger.
        trial_store: Store of trials.
        blobs: Store of prompts and return series.
        clock: Returns the time in seconds.
        cancelled: Set it, from any thread, to stop after the current round.
    """

    session_id: str
    config: ResearchConfig
    setup: ValidationSetup
    card: MarketCard
    proposer: Proposer
    builder: StrategyBuilder
    prior_trials: PriorTrials
    trial_store: TrialStore
    blobs: Blobs
    clock: Callable[[], float] = time.monotonic
    cancelled: threading.Event = field(default_factory=threading.Event)
