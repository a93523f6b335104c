"""A live season: fetches real sources before every snapshot time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import httpx

from openoutcry.arena.snapshots.snapshot_builder import Snapshot, build
from openoutcry.arena.snapshots.snapshot_times import UTC, format_time
from openoutcry.arena.sources.captures import load_captures, resume, save, save_state
from openoutcry.arena.sources.collector import fetch_all
from openoutcry.arena.sources.http_fetch import Fetcher, make_client
from openoutcry.arena.sources.observer import Observation
from openoutcry.arena.sources.source_plan import Plan
from openoutcry.untrusted.terminal import readable

_LOGGER = logging.getLogger("openoutcry.arena")


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class LiveSeason:
    """Fetches a plan's sources before every snapshot time and builds the snapshot.

    Args:
        plan: Sources to fetch.
        folder: Season folder for captures. `captures.replay` rebuilds the snapshots from it, and a new `LiveSeason`
            continues from it.
        clock: Returns the current time.
        transport: Transport of `httpx`; the default one if None.

    Raises:
        SnapshotError: The folder holds invalid files.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        clock: Callable[[], datetime] = utc_now,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._plan, self._folder, self._clock = plan, folder, clock
        self._client = make_client(transport)
        # A process stopped before a snapshot time may have stored its captures: they are used, not fetched again.
        self._observer = resume(folder, before=clock())
        self._observation: Observation | None = None
        self._saved: Observation | None = None

    def prepare(self, as_of: datetime) -> None:
        """Fetch all sources for a future snapshot time and store the captures."""
        found = load_captures(self._folder, as_of)
        if found is None:
            fetcher = Fetcher(self._client, self._clock, self._observer.known, until=as_of)
            found = fetch_all(fetcher, self._curated(as_of))
            save(self._folder, as_of, found)
        seen = self._observation = self._observer.observe(as_of, found)
        # For the operator; readers see missing values in the snapshot.
        if seen.failed:
            failed = ", ".join(sorted(seen.failed))
            _LOGGER.warning(readable(f"{format_time(as_of)}: no usable response: {failed}"))
        if any(seen.lost.values()):
            lost = ", ".join(f"{n} {why}" for why, n in sorted(seen.lost.items()) if n)
            _LOGGER.warning(readable(f"{format_time(as_of)}: skipped: {lost}"))

    def _curated(self, as_of: datetime) -> Plan:
        """Return the plan with the operator's files reloaded; the old ones if unreadable."""
        try:
            self._plan = self._plan.reload()
        except OSError as error:
            why = f"cannot reload a file of the plan, using the previous content: '{error.filename}': {error.strerror}"
            _LOGGER.warning(readable(f"{format_time(as_of)}: {why}"))
        return self._plan

    def snapshot(self, as_of: datetime) -> Snapshot | None:
        """Return the snapshot of a time, or None if not prepared or no source responded."""
        seen = self._observation
        if seen is None or seen.as_of != as_of:
            return None
        # The scheduler calls this every second until a snapshot is published; save and log only once.
        if self._saved is not seen:
            save_state(self._folder, self._observer)
            self._saved = seen
            if seen.is_down:
                _LOGGER.warning(readable(f"{format_time(as_of)}: no snapshot published, because no source responded"))
        return None if seen.is_down else build(as_of, seen.seen)
