"""The demo season: open at any start time, complete, labelled as synthetic, and reproducible."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from arena_items import AS_OF

from openoutcry.arena.demo_season import LABEL, PRACTICE, QUESTIONS, Demo
from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.snapshots.item_kinds import KINDS
from openoutcry.arena.snapshots.market_items import read_markets
from openoutcry.arena.snapshots.snapshot_times import UTC, last_snapshot_time
from openoutcry.arena.sources.captures import replay, save
from openoutcry.arena.sources.observer import Observer

pytestmark = pytest.mark.once


STARTS = ["2024-02-29T23:59:59", "2026-05-08T12:00:00", "2026-12-31T23:50:00.000001", "2099-01-01T00:00:00"]


@pytest.mark.parametrize("start_time", [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in STARTS])
def test_demo_markets_are_open_at_any_start_time(start_time: datetime) -> None:
    snapshot = Demo(start_time).first()
    assert snapshot.as_of == last_snapshot_time(start_time)
    rows = read_markets(snapshot.body)
    assert len(rows) == len(QUESTIONS)
    assert all(row.decision_cutoff > start_time + timedelta(hours=3) for row in rows)
    assert not any(row.degraded for row in rows)


def test_practice_cutoffs_are_within_an_hour_and_two_hours_before_the_close() -> None:
    #
    """A second start has new markets."""
    start_time = AS_OF + timedelta(minutes=9, microseconds=7)
    rows = read_markets(Demo(start_time, is_practice=True).first().body)
    after = [(row.decision_cutoff - start_time.replace(microsecond=0)).total_seconds() for row in rows]
    assert after == list(PRACTICE)
    assert {row.settlement_at - row.decision_cutoff for row in rows} == {timedelta(hours=2)}
    assert not any(row.degraded for row in rows)
    repeated = read_markets(Demo(start_time + timedelta(minutes=1), is_practice=True).first().body)
    assert {row.market_id for row in rows}.isdisjoint(row.market_id for row in repeated)


def test_the_demo_has_every_kind_and_theater_and_is_labelled_synthetic() -> None:
    demo = Demo(AS_OF)
    items = json.loads(demo.first().body)["items"]
    assert set(Counter(each["kind"] for each in items)) == {kind.kind for kind in KINDS}
    assert {row.primary_theater for row in read_markets(demo.first().body)} == set(THEATERS)
    reply = {"news": "title", "market_state": "question", "scheduled_event": "title", "seismic": "place"}
    assert all(each[reply[each["kind"]]].startswith(LABEL) for each in items if each["kind"] in reply)
    observed = Observer().observe(AS_OF, demo.captures(AS_OF))
    assert (observed.failed, observed.lost) == ((), {})
    assert all(each is not None for item in items for each in item.values())


def test_the_same_start_time_gives_the_same_season(tmp_path: Path) -> None:
    start_time = AS_OF + timedelta(minutes=3, seconds=7)
    assert Demo(start_time).first().body == Demo(start_time).first().body
    times = [AS_OF + timedelta(minutes=10) * n for n in range(8)]
    for time in times:
        save(tmp_path, time, Demo(start_time).captures(time))
    snapshots = list(replay(tmp_path))
    assert [each.as_of for each in snapshots] == times
    assert snapshots[0].body == Demo(start_time).first().body
    # Prices change between hours; articles do not.
    prices = {tuple(row.yes_mid_price for row in read_markets(each.body)) for each in snapshots}
    assert len(prices) > 1


PAGE = Path(__file__).parents[2] / "docs" / "arena-snapshots.md"


def test_the_docs_show_one_item_of_every_kind_as_served() -> None:
    shown = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```$", PAGE.read_text("utf-8"), re.S | re.M)]
    assert {each["kind"] for each in shown} == {kind.kind for kind in KINDS}
    served = json.loads(Demo(AS_OF).first().body)["items"]
    assert [each for each in shown if each not in served] == []
    assert all(list(each) == list(next(item for item in served if item == each)) for each in shown)
