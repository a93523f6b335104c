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
from openoutcry.research.finalize import close
from openoutcry.research.ledger_memory import LedgerRecall, NoRecall, Recall, memory_of
from openoutcry.research.loop import Rounds
from openoutcry.research.proposal_requests import Proposer
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.sealed_holdout import HoldoutVault
from openoutcry.research.selection_luck import Memory
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_context import Setting
from openoutcry.research.session_journal import BLOBS, SESSION_END, SESSION_START, Blobs, DivergedError, Journal
from openoutcry.research.session_records import JOURNAL, Recorded, session_of
from openoutcry.research.session_start import Source, Told, market_card, start_of, told_of
from openoutcry.research.strategy_builder import Workshop
from openoutcry.research.trial import Result
from openoutcry.research.walkforward_validation import Ground, ground_of

Load = Callable[[], Dataset]


@dataclass(frozen=True)
class Place:
    """Folder, ledger and callbacks of a session.

    Attributes:
        folder: Folder of journal, candidates and report.
        ledger: Ledger across sessions; None to record nothing.
        source: Name or path of the market, recorded in the journal.
        periods_per_year: Bars per year to load it with, if given.
        provider: Name of the proposer, recorded in the journal.
        cancelled: Set it to stop after the current round.
        on_event: Called with each event and its payload.
    """

    folder: Path
    ledger: Ledger | None = None
    source: str = ""
    provider: str = ""
    periods_per_year: float | None = None
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


def research(load: Load, proposer: Proposer, config: ResearchConfig, place: Place) -> Result:
    """Run a session and return its result.

    Args:
        load: Loads the market; called again for the holdout, which is not kept in memory.
        proposer: Source of proposals.
        config: Configuration of the session.
        place: Folder, ledger and callbacks.

    Raises:
        OpenOutcryError: the market is too short for its folds, or an argument is invalid.
    """
    session_id = str(uuid.uuid4())
    vault, ground = _divided(load, config)
    recall, memory = _recalled(place, session_id, config, vault, ground)
    place.journal.parent.mkdir(parents=True, exist_ok=True)
    source = Source(place.source, place.periods_per_year, ground.dataset.name)
    told = Told(session_id, config, memory, source, place.provider, _identity(place.ledger))
    with _alone(place, session_id), ChainedLog(place.journal, session=session_id) as log:
        return _conducted(_Begun(told, vault, ground), proposer, place, recall, Journal(log, (), place.on_event))


def resume(load: Load, proposer: Proposer, place: Place, session_id: str | None = None) -> Result:
    """Resume an interrupted session after its last complete event.

    Recorded events are recomputed and must be equal; after them the session is live.

    Args:
        load: Loads the market of the session.
        proposer: Source of the remaining proposals.
        place: Folder, ledger and callbacks.
        session_id: Its ID or a prefix; None for the last session.

    Raises:
        OpenOutcryError: there is no such session, it has ended, or it is not the one that the ledger anchors.
        DivergedError: a recorded event is not reproduced.
    """
    stood = session_of(place.journal, session_id)
    if stood.is_over:
        raise refusal(
            "argument_invalid", f"an interrupted session is required; received {stood.session_id}, which ended"
        )
    told = told_of(stood)
    if told.ledger != _identity(place.ledger):
        wanted = "a session must resume with the ledger that it started with"
        raise refusal("argument_invalid", f"{wanted}; received another one, or none")
    vault, ground = _divided(load, told.config)
    recall, memory = _recalled(place, stood.session_id, told.config, vault, ground)
    # Interrupted before the ledger anchored its start, it must start as it would now.
    is_new = len(stood.events) == 1 and memory == told.memory
    if place.ledger is not None:
        _check_anchor(place.ledger, stood, SESSION_START, 0, or_none=is_new)
    with _alone(place, stood.session_id), ChainedLog(place.journal, session=stood.session_id) as log:
        journal = Journal(log, stood.events, place.on_event)
        return _conducted(_Begun(told, vault, ground), proposer, place, recall, journal)


def replay(load: Load, place: Place, session_id: str | None = None) -> Result:
    """Recompute a session from its recorded proposals, and check that every event is equal.

    Nothing is written, and no model is called. Prompts and return series must match their hashes. With a ledger in
    `place`, the journal must match the anchors of the ledger, which also protects what a replay cannot recompute, such
    as the count of prior trials.

    Args:
        load: Loads the market of the session.
        place: Folder of the journal, and the ledger.
        session_id: Its ID or a prefix; None for the last session.

    Raises:
        OpenOutcryError: there is no such session, or the journal was altered.
        DivergedError: the first event that differs.
    """
    stood = session_of(place.journal, session_id)
    told = told_of(stood)
    journal = Journal(None, stood.events, place.on_event)
    begun = _Begun(told, *_divided(load, told.config))
    result = _conducted(begun, FixedProposer([]), place, NoRecall(), journal)
    journal.check_end()
    _check_blobs(stood, Blobs(place.blobs))
    if place.ledger is not None:
        _check_anchor(place.ledger, stood, SESSION_START, 0)
        _check_anchor(place.ledger, stood, SESSION_END, -2)
    return result


def ground_again(load: Load, stood: Recorded) -> Ground:
    """Return the validation inputs of a recorded session, for its report."""
    return _divided(load, told_of(stood).config)[1]


@dataclass(frozen=True)
class _Begun:
    """A session specification with its market, split into research window and holdout."""

    told: Told
    vault: HoldoutVault
    ground: Ground


def _conducted(begun: _Begun, proposer: Proposer, place: Place, recall: Recall, journal: Journal) -> Result:
    told, ground, workshop = begun.told, begun.ground, Workshop(begun.told.config)
    is_kept = not (isinstance(recall, NoRecall) and journal.is_replaying)
    setting = Setting(
        told.session_id,
        told.config,
        ground,
        market_card(ground, told.source.name),
        proposer,
        workshop,
        told.memory,
        recall,
        Blobs(place.blobs if is_kept else None),
        cancelled=place.cancelled,
    )
    start = start_of(told, begun.vault, ground, workshop)
    journal.tell(SESSION_START, start)
    recall.anchor(SESSION_START, journal.head)
    return close(setting, journal, Rounds(setting, journal), begun.vault, start)


def _divided(load: Load, config: ResearchConfig) -> tuple[HoldoutVault, Ground]:
    vault = HoldoutVault(load, config.split)
    return vault, ground_of(vault.research(), vault.research_end, config.split, (config.costs, config.limits))


def _recalled(
    place: Place, session_id: str, config: ResearchConfig, vault: HoldoutVault, ground: Ground
) -> tuple[Recall, Memory]:
    if place.ledger is None:
        return NoRecall(), Memory()
    ledger = Ledger(place.ledger.folder, session=session_id)
    return LedgerRecall(ledger, ground, config, place.folder), memory_of(ledger, ground, vault)


def _identity(ledger: Ledger | None) -> str | None:
    """Return a hash that identifies a ledger without revealing its path."""
    return None if ledger is None else hashlib.sha256(str(ledger.folder.resolve()).encode()).hexdigest()


@contextmanager
def _alone(place: Place, session_id: str) -> Iterator[None]:
    """Lock the session against other writers."""
    with (place.journal.parent / f"{session_id}.lock").open("wb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ModuleNotFoundError:
            # Windows has no `fcntl`.
            pass
        except OSError as error:
            wanted = "a session that no other process runs is required"
            raise refusal("argument_invalid", f"{wanted}; received {session_id}, which is running") from error
        yield
    Path(file.name).unlink(missing_ok=True)


def _check_blobs(stood: Recorded, blobs: Blobs) -> None:
    for event in stood.events:
        payload = event["payload"]
        for digest in (payload.get("prompt_sha256"), payload.get("shown_sha256")):
            if digest is not None:
                blobs.get(digest)
        if event["event"] == "trial":
            blobs.get(payload["oos"]["returns_sha256"])


def _check_anchor(ledger: Ledger, stood: Recorded, event: str, place: int, *, or_none: bool = False) -> None:
    """Check the hash of an event in a journal against its anchor in the ledger."""
    noted = ledger.anchored(event, stood.session_id)
    if noted == stood.events[place]["hash"] or (noted is None and or_none):
        return
    found = "a session without an anchor" if noted is None else f"another journal at `{event}`"
    wanted = f"the journal of session {stood.session_id[:8]} must match its anchor in the ledger"
    raise refusal("state_mismatch", f"{wanted}; received {found}")


__all__ = ["DivergedError", "Place", "ground_again", "replay", "research", "resume"]
