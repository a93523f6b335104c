"""What a session works with."""

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
    """What a session works with.

    Attributes:
        session_id: Its name.
        config: What it was told.
        ground: The research window with its folds.
        card: What a proposer may know of the market.
        proposer: What proposes.
        workshop: What turns proposals into strategies.
        memory: What the ledger remembers.
        recall: Where trials are written to, and looked up.
        blobs: Where prompts and returns are kept.
        clock: Tells the time in seconds.
        cancelled: Set, from any thread, to stop after the round.
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
