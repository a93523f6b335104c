"""One session of a client: its episode, and what becomes of its record."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from openoutcry.harness.mcp.live_record import Live
from openoutcry.harness.mcp.market_exposure import Sight, Sights
from openoutcry.harness.mcp.market_selection import Market
from openoutcry.harness.mcp.mcp_episode import Episode
from openoutcry.harness.mcp.record_folder import MARKETS, Records
from openoutcry.openoutcry_py import OpenOutcryError

_LOG = logging.getLogger(__name__)

_FAULT = (
    "it could not be written, and the server's log says why; `score` tries again, and so does the end of the server"
)


@dataclass(frozen=True)
class Source:
    """Where the market of a session is from.

    Args:
        name: What clients call it.
        market: The named market; None for a synthetic one.
        key: Key of its disguise.
    """

    name: str
    market: Market | None = None
    key: bytes = b""

    @property
    def is_disguised(self) -> bool:
        """Whether it is a named market that the session sees in disguise."""
        return self.market is not None and self.market.mask is not None

    @property
    def is_named(self) -> bool:
        """Whether whoever has the record finds the market by itself."""
        return self.market is not None and self.market.mask is None


@dataclass
class Session:
    """An episode of a client.

    Args:
        name: Its id.
        episode: The episode.
        source: Where its market is from.
        sight: What it can show; None of a market that no other session is shown.
        used: When it was last called.
        is_left: Whether it was given up, and only waits for its record to be kept.
    """

    name: str
    episode: Episode
    source: Source
    sight: Sight | None
    used: float
    is_left: bool = False
    _live: Live | None = None
    _n_trials: int | None = None
    _digest: str | None = None
    _is_kept: bool = False

    @property
    def state(self) -> dict[str, Any]:
        """What every answer says of it."""
        return {"session": self.name, "done": self.episode.done, "n_left": self.episode.n_left}

    def step(self, decision: str, records: Records | None, sights: Sights) -> dict[str, Any]:
        """Carry out a decision, note it in the record, and return what came of it."""
        came = self.episode.step(decision)
        if records is not None:
            if self._live is None:
                self._live = records.start(self.name, self.episode, self._trials(sights))
            self._live.tell(decision)
        return came

    def keep(self, records: Records | None, sights: Sights) -> bool:
        """Keep the record, and return whether there is none that is still to be kept.

        A market that nobody could draw again is kept with it, but not one in disguise, whose path is that of others.
        """
        if records is None or not self.episode.n_made or self._is_kept:
            return True
        if self._live is not None:
            self._live.end()
            self._live = None
        try:
            self._digest = records.keep(self.name, self.episode.decided, self._trials(sights))
            if self.source.market is None:
                records.freeze(self.episode.dataset)
        except (OSError, OpenOutcryError):
            _LOG.exception("the record of an episode could not be written")
            return False
        self._is_kept = True
        return True

    def record(self, records: Records) -> dict[str, str | None]:
        """Return where the record of an episode that is over is, or why there is none."""
        if not self._is_kept:
            return {"file": None, "digest": None, "market": None, "fault": _FAULT}
        market = None if self.source.is_named else f"{MARKETS}/{self.episode.dataset.fingerprint}.json"
        return {"file": records.path(self.name).name, "digest": self._digest, "market": market, "fault": None}

    def _trials(self, sights: Sights) -> int:
        """Return how many other episodes have shown bars of this one, until it ended."""
        if self._n_trials is not None:
            return self._n_trials
        n_trials = 0 if self.sight is None else sights.others(self.sight)
        if self.episode.done or self.is_left:
            self._n_trials = n_trials
        return n_trials
