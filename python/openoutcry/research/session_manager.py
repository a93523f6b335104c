"""Sessions of research, begun, resumed or replayed, by the same loop."""

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
    """Where a session works.

    Attributes:
        folder: Where journal, candidates and report go.
        ledger: What remembers across sessions; None forgets.
        source: What the market is found by, which the journal repeats.
        periods_per_year: Bars a year that it is loaded with, where that was said.
        provider: What the proposer is found by, which the journal repeats.
        cancelled: Set to stop after the round.
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
        """The journal."""
        return self.folder / JOURNAL

    @property
    def blobs(self) -> Path:
        """Prompts and returns beside it."""
        return self.journal.parent / BLOBS


def research(load: Load, proposer: Proposer, config: ResearchConfig, place: Place) -> Result:
    """Go through a session and return what it hands over.

    Args:
        load: Loads the market; called again for the holdout, which is not kept in between.
        proposer: What proposes.
        config: What the session is told.
        place: Where it works.

    Raises:
        OpenOutcryError: the market is too short for its folds, or an argument cannot be used.
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
    """Go on with a session that was cut, from its last whole event.

    What stands is made again, and must come out the same; from there on the session is live.

    Args:
        load: Loads the market of the session.
        proposer: What proposes from here on.
        place: Where it works.
        session_id: Its name, or the beginning of it; None for the last.

    Raises:
        OpenOutcryError: there is no such session, it is over, or not the one that the ledger knows.
        DivergedError: what stands does not come out the same.
    """
    stood = session_of(place.journal, session_id)
    if stood.is_over:
        raise refusal(
            "argument_invalid", f"a session that was cut is required; received {stood.session_id}, which ended"
        )
    told = told_of(stood)
    if told.ledger != _identity(place.ledger):
        wanted = "a session must go on with the ledger that it began with"
        raise refusal("argument_invalid", f"{wanted}; received another one, or none")
    vault, ground = _divided(load, told.config)
    recall, memory = _recalled(place, stood.session_id, told.config, vault, ground)
    # Cut before the ledger could note its beginning, it must begin as it would now.
    is_new = len(stood.events) == 1 and memory == told.memory
    if place.ledger is not None:
        _check_anchor(place.ledger, stood, SESSION_START, 0, or_none=is_new)
    with _alone(place, stood.session_id), ChainedLog(place.journal, session=stood.session_id) as log:
        journal = Journal(log, stood.events, place.on_event)
        return _conducted(_Begun(told, vault, ground), proposer, place, recall, journal)


def replay(load: Load, place: Place, session_id: str | None = None) -> Result:
    """Make a session again from its proposals, and see that all comes out the same.

    Nothing is written, and nobody is asked. What proposers were shown and the returns of trials must be there as their
    hashes say. With a ledger in `place`, the journal must be the one that the ledger has noted: what no replay can make
    again, such as the trials that it counted before, is then as it was written.

    Args:
        load: Loads the market of the session.
        place: Where its journal is.
        session_id: Its name, or the beginning of it; None for the last.

    Raises:
        OpenOutcryError: there is no such session, or the journal was tampered with.
        DivergedError: the first event that comes out differently.
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
    """Return what a recorded session was made on, for its report."""
    return _divided(load, told_of(stood).config)[1]


@dataclass(frozen=True)
class _Begun:
    """A session with its market, divided."""

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
    """Return what tells a ledger from another one, and does not say where it is."""
    return None if ledger is None else hashlib.sha256(str(ledger.folder.resolve()).encode()).hexdigest()


@contextmanager
def _alone(place: Place, session_id: str) -> Iterator[None]:
    """Keep others from writing the session meanwhile."""
    with (place.journal.parent / f"{session_id}.lock").open("wb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ModuleNotFoundError:
            # Windows has none.
            pass
        except OSError as error:
            wanted = "a session that nobody else goes on with is required"
            raise refusal("argument_invalid", f"{wanted}; received {session_id}, which is under way") from error
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
    """See that a journal is at an event what the ledger has noted."""
    noted = ledger.anchored(event, stood.session_id)
    if noted == stood.events[place]["hash"] or (noted is None and or_none):
        return
    found = "a session that the ledger has not noted" if noted is None else f"another journal at `{event}`"
    wanted = f"the journal of session {stood.session_id[:8]} must be the one that the ledger has noted"
    raise refusal("state_mismatch", f"{wanted}; received {found}")


__all__ = ["DivergedError", "Place", "ground_again", "replay", "research", "resume"]
