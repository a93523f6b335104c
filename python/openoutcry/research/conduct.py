"""Sessions of research, begun, resumed or replayed, by the same loop."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry.chain import ChainedLog
from openoutcry.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.jail import this_host
from openoutcry.ledger import Ledger
from openoutcry.research.checking import digest_of
from openoutcry.research.closing import close
from openoutcry.research.config import ResearchConfig
from openoutcry.research.entries import engine_version
from openoutcry.research.gates import GATES_VERSION
from openoutcry.research.holdout import HoldoutVault
from openoutcry.research.journal import BLOBS, Blobs, DivergedError, Journal
from openoutcry.research.luck import Memory
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.proposing import MarketCard, Proposer
from openoutcry.research.recall import LedgerRecall, NoRecall, Recall, memory_of
from openoutcry.research.records import JOURNAL, Recorded, session_of
from openoutcry.research.session import SESSION_VERSION, Rounds, Setting
from openoutcry.research.trial import Result
from openoutcry.research.validation import Ground, ground_of
from openoutcry.research.workshop import Workshop

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
    vault, ground = _opened(load, config)
    recall, memory = _recalled(place, session_id, config, vault, ground)
    place.journal.parent.mkdir(parents=True, exist_ok=True)
    data = _Data(place.source, place.periods_per_year, ground.dataset.name)
    told = _Told(session_id, config, memory, data, place.provider, _identity(place.ledger))
    with _alone(place, session_id), ChainedLog(place.journal, session=session_id) as log:
        return _conducted(told, (vault, ground), proposer, place, recall, Journal(log))


def resume(load: Load, proposer: Proposer, place: Place, session_id: str | None = None) -> Result:
    """Go on with a session that was cut, from its last whole event.

    What stands is made again, and must come out the same; from there on the session is live.

    Args:
        load: Loads the market of the session.
        proposer: What proposes from here on.
        place: Where it works.
        session_id: Its name, or the beginning of it; None for the last.

    Raises:
        OpenOutcryError: there is no such session, or it is over.
        DivergedError: what stands does not come out the same.
    """
    stood = session_of(place.journal, session_id)
    if stood.is_over:
        raise refusal(
            "argument_invalid", f"a session that was cut is required; received {stood.session_id}, which ended"
        )
    told = _told(stood)
    if told.ledger != _identity(place.ledger):
        wanted = "a session must go on with the ledger that it began with"
        raise refusal("argument_invalid", f"{wanted}; received another one, or none")
    vault, ground = _opened(load, told.config)
    recall, _ = _recalled(place, stood.session_id, told.config, vault, ground)
    with _alone(place, stood.session_id), ChainedLog(place.journal, session=stood.session_id) as log:
        return _conducted(told, (vault, ground), proposer, place, recall, Journal(log, stood.events))


def replay(load: Load, place: Place, session_id: str | None = None) -> Result:
    """Make a session again from its proposals, and see that all comes out the same.

    Nothing is written, and nobody is asked. What proposers were shown and the returns of trials must be there as their
    hashes say.

    Args:
        load: Loads the market of the session.
        place: Where its journal is.
        session_id: Its name, or the beginning of it; None for the last.

    Raises:
        OpenOutcryError: there is no such session, or the journal was tampered with.
        DivergedError: the first event that comes out differently.
    """
    stood = session_of(place.journal, session_id)
    told = _told(stood)
    vault, ground = _opened(load, told.config)
    journal = Journal(None, stood.events)
    result = _conducted(told, (vault, ground), FixedProposer([]), place, NoRecall(), journal)
    journal.check_end()
    _check_blobs(stood, Blobs(place.blobs))
    return result


@dataclass(frozen=True)
class _Told:
    """What a session is, apart from where it works."""

    session_id: str
    config: ResearchConfig
    memory: Memory
    data: _Data
    provider: str
    ledger: str | None


@dataclass(frozen=True)
class _Data:
    """How the market is found again, and what it was called."""

    source: str
    periods_per_year: float | None
    name: str


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


def _told(stood: Recorded) -> _Told:
    start = stood.start
    if start.get("version") != SESSION_VERSION:
        wanted = f"a session of version {SESSION_VERSION} is required"
        raise refusal("argument_invalid", f"{wanted}; received {start.get('version')!r}")
    config, memory = ResearchConfig.of_json(start["config"]), Memory.of_json(start["memory"])
    data = _Data(str(start["data"]), start["periods_per_year"], str(start["market"]["name"]))
    return _Told(stood.session_id, config, memory, data, str(start["provider"]), start["ledger"])


def _opened(load: Load, config: ResearchConfig) -> tuple[HoldoutVault, Ground]:
    vault = HoldoutVault(load, config.split)
    return vault, ground_of(vault.research(), vault.research_end, config.split, (config.costs, config.limits))


def _recalled(
    place: Place, session_id: str, config: ResearchConfig, vault: HoldoutVault, ground: Ground
) -> tuple[Recall, Memory]:
    if place.ledger is None:
        return NoRecall(), Memory()
    ledger = Ledger(place.ledger.folder, session=session_id)
    return LedgerRecall(ledger, ground, config, place.folder), memory_of(ledger, ground, vault)


def _conducted(
    told: _Told,
    opened: tuple[HoldoutVault, Ground],
    proposer: Proposer,
    place: Place,
    recall: Recall,
    journal: Journal,
) -> Result:
    vault, ground = opened
    workshop = Workshop(told.config)
    start = _start(told, vault, ground, workshop)
    is_kept = not (isinstance(recall, NoRecall) and journal.is_replaying)
    seconds, began = told.config.budgets.seconds, time.monotonic()
    setting = Setting(
        told.session_id,
        told.config,
        ground,
        _card(ground, told.data.name),
        proposer,
        workshop,
        told.memory,
        recall,
        Blobs(place.blobs if is_kept else None),
        is_over=lambda: seconds is not None and time.monotonic() - began >= seconds,
        cancelled=place.cancelled,
        on_event=place.on_event,
    )
    journal.tell("session_start", start)
    place.on_event("session_start", start)
    return close(setting, journal, Rounds(setting, journal), vault, start)


def _card(ground: Ground, name: str) -> MarketCard:
    market = ground.dataset
    spans = tuple((market.dates[fold.test[0]], market.dates[fold.test[1] - 1]) for fold in ground.folds)
    first, last = market.dates[0], market.dates[-1]
    return MarketCard(name, market.symbols, first, last, market.n_bars, market.periods_per_year, spans)


def _start(told: _Told, vault: HoldoutVault, ground: Ground, workshop: Workshop) -> dict[str, Any]:
    market = ground.dataset
    return {
        "version": SESSION_VERSION,
        "config": told.config.to_json(),
        "gates_version": GATES_VERSION,
        "engine": engine_version(),
        "catalogue_sha256": digest_of(workshop.catalogue),
        "data": told.data.source,
        "periods_per_year": told.data.periods_per_year,
        "ledger": told.ledger,
        "provider": told.provider,
        "market": {
            "name": told.data.name,
            "symbols": list(market.symbols),
            "n_bars": market.n_bars,
            "first": market.dates[0],
            "last": market.dates[-1],
            "fingerprint": market.fingerprint,
            "whole_fingerprint": vault.fingerprint,
        },
        "folds": [{"train": list(fold.train), "test": list(fold.test)} for fold in ground.folds],
        "holdout": None if vault.window is None else list(vault.window),
        "memory": told.memory.to_json(),
        "aside": {
            "git": _git(),
            "tier": this_host().tier.name,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pid": os.getpid(),
        },
    }


def ground_again(load: Load, stood: Recorded) -> Ground:
    """Return what a recorded session was made on, for its report."""
    return _opened(load, _told(stood).config)[1]


def _git() -> dict[str, Any] | None:
    """Return the commit of the working folder; None where there is none."""
    try:
        commit = _output("git", "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_output("git", "status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _output(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10.0, check=True)
    return done.stdout.strip()


__all__ = ["DivergedError", "Place", "ground_again", "replay", "research", "resume"]
