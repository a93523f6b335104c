"""A live season fetches sources before each snapshot, publishes on time, and can be replayed from its captures."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

import httpx
from arena_items import AS_OF, PLAN, fixture, recorded
from sqlalchemy import select

from openoutcry.arena.season_scheduler import LEAD, SeasonScheduler, to_microseconds
from openoutcry.arena.sources.captures import STATE_FILE, replay
from openoutcry.arena.sources.live_season import LiveSeason
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.tables import snapshots
from openoutcry.arena.timestamps import CADENCE, SECOND

pytestmark = pytest.mark.once


class LiveArena:
    """An arena with a controlled clock and recorded sources that count requests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.at, self.n_requests, self.is_down = folder, to_microseconds(AS_OF) - 5 * 60 * SECOND, 0, False
        self.arena = Arena(folder / "arena", clock=lambda: self.at)
        self.begin()

    def begin(self) -> None:
        transport = httpx.MockTransport(self.answer)
        live = LiveSeason(PLAN, self.folder / "captures", self.time, transport)
        self.season = SeasonScheduler(self.arena, live.snapshot, live.prepare, lambda: self.at)

    def time(self) -> datetime:
        return AS_OF + timedelta(microseconds=self.at - to_microseconds(AS_OF))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.n_requests += 1
        return httpx.Response(503) if self.is_down else recorded(request)

    def go(self, moment: int) -> None:
        """Advance the clock to a time, with a tick every 25 seconds."""
        while self.at < moment:
            self.at = min(moment, self.at + 25 * SECOND)
            self.season.tick()

    def published(self) -> list[int]:
        return sorted(self.arena.state.snapshots)


@pytest.fixture
def world(tmp_path: Path) -> LiveArena:
    return LiveArena(tmp_path)


def test_r15_sources_are_fetched_before_a_snapshot_and_it_is_published_on_time(world: LiveArena) -> None:
    edge = to_microseconds(AS_OF)
    world.go(edge - LEAD - SECOND)
    assert (world.n_requests, world.published()) == (0, [])
    world.go(edge - SECOND)
    n_requests = world.n_requests
    assert n_requests > 0
    assert world.published() == []
    world.go(edge)
    assert (world.n_requests, world.published()) == (n_requests, [edge])
    assert len(world.arena.state.markets) > 0


def test_r16_captures_reproduce_the_published_bytes(world: LiveArena) -> None:
    world.go(to_microseconds(AS_OF) + 2 * CADENCE)
    bodies = [each.body for each in replay(world.folder / "captures")]
    with world.arena.reading.connect() as connection:
        kept = connection.execute(select(snapshots.c.body).order_by(snapshots.c.as_of)).scalars()
        assert bodies == [bytes(body) for body in kept]
    assert len(bodies) == 3


def test_r14_and_r20_without_a_source_no_snapshot_is_published_then_or_later(
    world: LiveArena, caplog: pytest.LogCaptureFixture
) -> None:
    edge = to_microseconds(AS_OF)
    world.go(edge)
    world.is_down = True
    caplog.clear()
    world.go(edge + CADENCE)
    first, lost, last = (words.partition(": ")[2] for words in caplog.messages)
    assert first == "no usable response: gdelt, kalshi, rss, usgs, wikipedia"
    assert "1 kalshi.no_answer" in lost
    assert last == "no snapshot published, because no source responded", "logged for the operator"
    kept = (world.folder / "captures" / STATE_FILE).stat().st_mtime_ns
    caplog.clear()
    world.go(edge + 2 * CADENCE - LEAD - SECOND)
    assert caplog.messages == [], "once per snapshot time, at any number of ticks"
    assert (world.folder / "captures" / STATE_FILE).stat().st_mtime_ns == kept
    world.is_down = False
    world.go(edge + 2 * CADENCE)
    assert world.published() == [edge, edge + 2 * CADENCE]


def test_a_restart_between_fetch_and_publication_continues_from_the_captures(world: LiveArena) -> None:
    edge = to_microseconds(AS_OF)
    world.go(edge + CADENCE - SECOND)
    n_requests = world.n_requests
    world.begin()
    world.go(edge + CADENCE)
    # The restart was at the snapshot time without an earlier tick, so that snapshot is missed.
    assert world.published() == [edge]
    world.at -= 2 * SECOND
    world.begin()
    world.go(edge + CADENCE - SECOND)
    world.go(edge + CADENCE)
    assert (world.n_requests, world.published()) == (n_requests, [edge, edge + CADENCE])


def test_a_failing_fetch_is_not_retried_for_the_same_snapshot(world: LiveArena) -> None:
    broken: list[datetime] = []

    def prepare(edge: datetime) -> None:
        broken.append(edge)
        raise OSError("the disk is full")

    season = SeasonScheduler(world.arena, lambda _: None, prepare, lambda: world.at)
    world.at = to_microseconds(AS_OF) - SECOND
    with pytest.raises(OSError, match="the disk is full"):
        season.tick()
    season.tick()
    assert broken == [AS_OF]


def test_a_calendar_is_read_before_each_snapshot_and_captured(
    world: LiveArena, caplog: pytest.LogCaptureFixture
) -> None:
    """A replay reads the operator's calendar as it was at each snapshot."""
    file, folder, edge = world.folder / "events.ics", world.folder / "captures", to_microseconds(AS_OF)
    file.write_bytes(fixture("calendar.ics"))
    plan = replace(PLAN, calendar=None, files={"calendar": file})
    live = LiveSeason(plan, folder, world.time, httpx.MockTransport(world.answer))
    world.season = SeasonScheduler(world.arena, live.snapshot, live.prepare, lambda: world.at)
    world.go(edge)
    file.write_bytes(file.read_bytes().replace(b"SUMMARY:Vote", b"SUMMARY:Vote moved"))
    world.go(edge + CADENCE)
    caplog.clear()
    file.unlink()
    world.go(edge + 2 * CADENCE)
    assert [each for each in caplog.messages if "using the previous content" in each and "No such file" in each]
    assert len(world.published()) == 3
    votes = [
        [each["title"] for each in json.loads(made.body)["items"] if each.get("title", "").startswith("Vote")]
        for made in replay(folder)
    ]
    assert votes == [["Vote"], ["Vote moved"], ["Vote moved"]]
