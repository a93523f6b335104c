"""A live season: real sources, asked shortly before every edge."""

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

_LOGGER = logging.getLogger("openoutcry.arena")


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class LiveSeason:
    """Asks the sources of a plan before every edge, and makes its snapshot.

    Args:
        plan: What to ask, of whom.
        folder: Where captures are kept; `captures.replay` makes the same snapshots of them. A new `Live` goes on where
            the last one stopped.
        clock: Tells the time.
        transport: How requests are made; `httpx`'s own by default.

    Raises:
        SnapshotError: The folder holds something else.
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
        # An edge may have been captured by who was stopped before it: it is made of that, and asked for no second time.
        self._observer = resume(folder, before=clock())
        self._observation: Observation | None = None
        self._kept: Observation | None = None

    def prepare(self, edge: datetime) -> None:
        """Ask all sources for an edge that has not come yet, and keep what they say."""
        found = load_captures(self._folder, edge)
        if found is None:
            fetcher = Fetcher(self._client, self._clock, self._observer.known, until=edge)
            found = fetch_all(fetcher, self._curated(edge))
            save(self._folder, edge, found)
        seen = self._observation = self._observer.observe(edge, found)
        # The operator is told of what went wrong; who reads a snapshot sees it in the snapshot.
        if seen.failed:
            _LOGGER.warning("%s: did not answer: %s", format_time(edge), ", ".join(sorted(seen.failed)))
        if any(seen.lost.values()):
            lost = ", ".join(f"{n} {why}" for why, n in sorted(seen.lost.items()) if n)
            _LOGGER.warning("%s: left out: %s", format_time(edge), lost)

    def _curated(self, edge: datetime) -> Plan:
        """Return the plan with the operator's files as they are, or were last."""
        try:
            self._plan = self._plan.reload()
        except OSError as error:
            why = f"'{error.filename}': {error.strerror}"
            _LOGGER.warning("%s: as it was read last: %s", format_time(edge), why)
        return self._plan

    def snapshot(self, edge: datetime) -> Snapshot | None:
        """Return the snapshot of an edge.

        None where it was not prepared, or no source answered.
        """
        seen = self._observation
        if seen is None or seen.as_of != edge:
            return None
        # A season asks every second until something is published: kept and told is each edge once.
        if self._kept is not seen:
            save_state(self._folder, self._observer)
            self._kept = seen
            if seen.is_down:
                _LOGGER.warning("%s: nothing is published, since no source answered", format_time(edge))
        return None if seen.is_down else build(edge, seen.seen)
