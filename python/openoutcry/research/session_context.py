"""Configuration and collaborators of a session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openoutcry.research.ledger_memory import Recall
from openoutcry.research.proposal_requests import MarketCard, Proposer
from openoutcry.research.selection_luck import Memory
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_journal import Blobs
from openoutcry.research.strategy_builder import Workshop
from openoutcry.research.walkforward_validation import Ground


@dataclass(frozen=True)
class Setting:
    """Configuration and collaborators of a session.

    Attributes:
        session_id: ID of the session.
        config: Its configuration.
        ground: Research window with folds, costs and limits.
        card: Market facts that a proposer sees.
        proposer: Source of proposals.
        workshop: Builds strategies from proposals.
        memory: Prior trials of the ledger.
        recall: Store of trials.
        blobs: Store of prompts and return series.
        clock: Returns the time in seconds.
        cancelled: Set it, from any thread, to stop after the current round.
    """

    session_id: str
    config: ResearchConfig
    ground: Ground
    card: MarketCard
    proposer: Proposer
    workshop: Workshop
    memory: Memory
    recall: Recall
    blobs: Blobs
    clock: Callable[[], float] = time.monotonic
    cancelled: threading.Event = field(default_factory=threading.Event)
