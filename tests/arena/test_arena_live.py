"""A live season: sources asked before each edge, snapshots published at it, and made again from what was kept."""

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
from openoutcry.arena.sources.captures import MEMORY, replay
from openoutcry.arena.sources.live_season import Live
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.tables import snapshots
from openoutcry.arena.timestamps import CADENCE, SECOND

pytestmark = pytest.mark.once


class World:
    """An arena, a clock that the test turns, and sources that count who asks."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.at, self.asked, self.is_down = folder, to_microseconds(AS_OF) - 5 * 60 * SECOND, 0, False
        self.arena = Arena(folder / "arena", clock=lambda: self.at)
        self.begin()

    def begin(self) -> None:
        transport = httpx.MockTransport(self.answer)
        live = Live(PLAN, self.folder / "captures", self.time, transport)
        self.season = SeasonScheduler(self.arena, live.snapshot, live.prepare, lambda: self.at)

    def time(self) -> datetime:
        return AS_OF + timedelta(microseconds=self.at - to_microseconds(AS_OF))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        return httpx.Response(503) if self.is_down else recorded(request)

    def go(self, moment: int) -> None:
        """Let the clock run to a moment, a tick every 25 seconds."""
        while self.at < moment:
            self.at = min(moment, self.at + 25 * SECOND)
            self.season.tick()

    def published(self) -> list[int]:
        return sorted(self.arena.state.snapshots)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_r15_sources_are_asked_before_an_edge_and_its_snapshot_is_published_at_it(world: World) -> None:
    edge = to_microseconds(AS_OF)
    world.go(edge - LEAD - SECOND)
    assert (world.asked, world.published()) == (0, [])
    world.go(edge - SECOND)
    asked = world.asked
    assert asked > 0
    assert world.published() == []
    world.go(edge)
    assert (world.asked, world.published()) == (asked, [edge])
    assert len(world.arena.state.markets) > 0


def test_r16_what_was_kept_makes_the_published_bytes_again(world: World) -> None:
    world.go(to_microseconds(AS_OF) + 2 * CADENCE)
    bodies = [each.body for each in replay(world.folder / "captures")]
    with world.arena.reading.connect() as connection:
        kept = connection.execute(select(snapshots.c.body).order_by(snapshots.c.as_of)).scalars()
        assert bodies == [bytes(body) for body in kept]
    assert len(bodies) == 3


def test_r14_and_r20_an_edge_at_which_no_source_answers_has_no_snapshot_then_or_later(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    edge = to_microseconds(AS_OF)
    world.go(edge)
    world.is_down = True
    caplog.clear()
    world.go(edge + CADENCE)
    first, lost, last = (words.partition(": ")[2] for words in caplog.messages)
    assert first == "did not answer: gdelt, kalshi, rss, usgs, wikipedia"
    assert "1 kalshi.no_answer" in lost
    assert last == "nothing is published, since no source answered", "the operator is told"
    kept = (world.folder / "captures" / MEMORY).stat().st_mtime_ns
    caplog.clear()
    world.go(edge + 2 * CADENCE - LEAD - SECOND)
    assert caplog.messages == [], "once an edge, however often it is looked whether there is something to publish"
    assert (world.folder / "captures" / MEMORY).stat().st_mtime_ns == kept
    world.is_down = False
    world.go(edge + 2 * CADENCE)
    assert world.published() == [edge, edge + 2 * CADENCE]


def test_who_is_stopped_between_asking_and_the_edge_goes_on_with_what_was_kept(world: World) -> None:
    edge = to_microseconds(AS_OF)
    world.go(edge + CADENCE - SECOND)
    asked = world.asked
    world.begin()
    world.go(edge + CADENCE)
    # Of the tick of the edge itself, the season was told nothing before: the slot stays empty.
    assert world.published() == [edge]
    world.at -= 2 * SECOND
    world.begin()
    world.go(edge + CADENCE - SECOND)
    world.go(edge + CADENCE)
    assert (world.asked, world.published()) == (asked, [edge, edge + CADENCE])


def test_a_source_of_ours_that_breaks_costs_its_slot_and_is_not_asked_again_for_it(world: World) -> None:
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


def test_a_calendar_is_read_before_each_edge_and_kept_with_its_captures(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """What the operator curates is of the edge, too; a replay reads it as it was then."""
    file, folder, edge = world.folder / "events.ics", world.folder / "captures", to_microseconds(AS_OF)
    file.write_bytes(fixture("calendar.ics"))
    plan = replace(PLAN, calendar=None, files={"calendar": file})
    live = Live(plan, folder, world.time, httpx.MockTransport(world.answer))
    world.season = SeasonScheduler(world.arena, live.snapshot, live.prepare, lambda: world.at)
    world.go(edge)
    file.write_bytes(file.read_bytes().replace(b"SUMMARY:Vote", b"SUMMARY:Vote moved"))
    world.go(edge + CADENCE)
    caplog.clear()
    file.unlink()
    world.go(edge + 2 * CADENCE)
    assert [each for each in caplog.messages if "as it was read last" in each and "No such file" in each]
    assert len(world.published()) == 3
    votes = [
        [each["title"] for each in json.loads(made.body)["items"] if each.get("title", "").startswith("Vote")]
        for made in replay(folder)
    ]
    assert votes == [["Vote"], ["Vote moved"], ["Vote moved"]]
