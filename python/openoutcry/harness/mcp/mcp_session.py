"""One session of a client: its episode and its record."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from openoutcry.harness.mcp.live_record import LiveRecord
from openoutcry.harness.mcp.market_exposure import Exposure, ExposureLog
from openoutcry.harness.mcp.market_selection import Market
from openoutcry.harness.mcp.mcp_episode import Episode
from openoutcry.harness.mcp.record_folder import MARKETS, RecordFolder
from openoutcry.openoutcry_py import OpenOutcryError

_LOG = logging.getLogger(__name__)

_FAULT = "the record could not be written, see the server's log; `score` and the end of the server try again"


@dataclass(frozen=True)
class Source:
    """The origin of a session's market.

    Args:
        name: Name for clients.
        market: The named market; None for a synthetic one.
        key: Masking key of the session.
    """

    name: str
    market: Market | None = None
    key: bytes = b""

    @property
    def is_masked(self) -> bool:
        """Whether it is a named market that the session sees masked."""
        return self.market is not None and self.market.mask is not None

    @property
    def is_named(self) -> bool:
        """Whether the market can be loaded from the name in the record."""
        return self.market is not None and self.market.mask is None


@dataclass
class Session:
    """An episode of a client.

    Args:
        name: Session id.
        episode: The episode.
        source: Origin of its market.
        exposure: Bars that it shows; None for a market that no other session can show.
        used: Time of the last call.
        is_closed: Whether it is closed and waits only for its record to be written.
    """

    name: str
    episode: Episode
    source: Source
    exposure: Exposure | None
    used: float
    is_closed: bool = False
    _live: LiveRecord | None = None
    _n_trials: int | None = None
    _digest: str | None = None
    _is_saved: bool = False

    @property
    def state(self) -> dict[str, Any]:
        """The fields that every response contains."""
        return {"session": self.name, "done": self.episode.done, "n_left": self.episode.n_left}

    def step(self, decision: str, records: RecordFolder | None, exposures: ExposureLog) -> dict[str, Any]:
        """Execute a decision, write it to the record and return the result."""
        result = self.episode.step(decision)
        if records is not None:
            if self._live is None:
                self._live = records.start(self.name, self.episode, self._trials(exposures))
            self._live.write(decision)
        return result

    def save(self, records: RecordFolder | None, exposures: ExposureLog) -> bool:
        """Write the record, and return whether no record remains to be written.

        A synthetic market is frozen with it, since it cannot be regenerated. A masked market is frozen at the end of
        the server, since other sessions still trade the same prices.
        """
        if records is None or not self.episode.n_made or self._is_saved:
            return True
        if self._live is not None:
            self._live.end()
            self._live = None
        try:
            self._digest = records.save(self.name, self.episode.backtest, self._trials(exposures))
            if self.source.market is None:
                records.freeze(self.episode.dataset)
        except (OSError, OpenOutcryError):
            _LOG.exception("the record of an episode could not be written")
            return False
        self._is_saved = True
        return True

    def record(self, records: RecordFolder) -> dict[str, str | None]:
        """Return file and digest of a finished record, or why there is none."""
        if not self._is_saved:
            return {"file": None, "digest": None, "market": None, "fault": _FAULT}
        market = None if self.source.is_named else f"{MARKETS}/{self.episode.dataset.fingerprint}.json"
        return {"file": records.path(self.name).name, "digest": self._digest, "market": market, "fault": None}

    def _trials(self, exposures: ExposureLog) -> int:
        """Return the number of other episodes that showed bars of this one."""
        if self._n_trials is not None:
            return self._n_trials
        n_trials = 0 if self.exposure is None else exposures.n_overlapping(self.exposure)
        if self.episode.done or self.is_closed:
            self._n_trials = n_trials
        return n_trials
