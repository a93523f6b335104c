"""Publication of snapshots and closing of days."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("feedparser")

from arena_in_process import BASE, Floor
from arena_items import news, seen, theaters

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.season_scheduler import SeasonScheduler, publish_entry
from openoutcry.arena.snapshots.snapshot_builder import Snapshot, build
from openoutcry.arena.snapshots.time_leaks import LeakError
from openoutcry.arena.timestamps import CADENCE, DAY, MINUTE, format_timestamp, parse_timestamp

pytestmark = pytest.mark.once


def test_a_missed_snapshot_is_never_published(ground: Floor) -> None:
    #
    """After an hour without a tick only the snapshot of the last multiple of ten minutes is published."""
    first = parse_timestamp("t", ground.as_of)
    ground.clock[0] = first + 6 * CADENCE + 3 * MINUTE
    season = SeasonScheduler(ground.arena, ground.demo.snapshot, clock=lambda: ground.clock[0])
    season.tick()
    season.tick()
    assert sorted(ground.arena.state.snapshots) == [first, first + 6 * CADENCE]
    size = ground.arena.writer.log.end.seq
    missed = datetime.fromtimestamp((first + CADENCE) // 10**6, timezone.utc)
    with pytest.raises(ArenaError, match="newer"):
        ground.arena.writer.write(publish_entry(ground.demo.snapshot(missed), ground.clock[0]))
    assert ground.arena.writer.log.end.seq == size
    assert ground.client.get(f"{BASE}/intel", params={"as_of": format_timestamp(first + CADENCE)}).status_code == 404


def test_a_day_is_closed_even_if_no_snapshot_can_be_built(ground: Floor) -> None:
    #
    """A failing source does not prevent closing a day or reloading an operator's writes."""

    def broken(as_of: datetime) -> Snapshot:
        raise OSError(f"no source at {as_of}")

    ground.clock[0] = parse_timestamp("t", ground.as_of) + DAY
    with pytest.raises(OSError, match="no source"):
        SeasonScheduler(ground.arena, broken, clock=lambda: ground.clock[0]).tick()
    assert ground.arena.state.days == {ground.as_of[:10]}


@pytest.mark.parametrize("late", [timedelta(microseconds=1), timedelta(days=1)])
@pytest.mark.parametrize("is_dated", [True, False])
def test_an_item_later_than_its_snapshot_is_never_published(ground: Floor, late: timedelta, is_dated: bool) -> None:
    #
    """An item dated after `as_of`, or first seen after it, prevents the publication."""

    def leaking(as_of: datetime) -> Snapshot:
        item = news(published_at=as_of + late if is_dated else as_of)
        return build(as_of, [*seen(*theaters(as_of), at=as_of), *seen(item, at=as_of if is_dated else as_of + late)])

    first, body = ground.as_of, ground.client.get(f"{BASE}/intel").content
    ground.clock[0] = parse_timestamp("t", first) + CADENCE
    size = ground.arena.writer.log.end.seq
    with pytest.raises(LeakError):
        SeasonScheduler(ground.arena, leaking, clock=lambda: ground.clock[0]).tick()
    assert (ground.as_of, ground.arena.writer.log.end.seq) == (first, size)
    assert ground.client.get(f"{BASE}/intel").content == body
