"""The season that ships: open whenever it begins, complete, labelled, and the same for the same beginning."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from arena_worlds import AS_OF
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena.demo import LABEL, QUESTIONS, Demo
from openoutcry.arena.snapshots.kinds import KINDS, THEATERS
from openoutcry.arena.snapshots.markets import markets_of
from openoutcry.arena.snapshots.times import UTC, last_edge
from openoutcry.arena.sources.captures import replay, save
from openoutcry.arena.sources.observing import Observer

pytestmark = pytest.mark.once


@given(st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1)))
def test_its_markets_are_open_whenever_it_begins(began: datetime) -> None:
    snapshot = Demo(began.replace(tzinfo=UTC)).first()
    assert snapshot.as_of == last_edge(began.replace(tzinfo=UTC))
    rows = markets_of(snapshot.body)
    assert len(rows) == len(QUESTIONS)
    assert all(row.decision_cutoff > began.replace(tzinfo=UTC) + timedelta(hours=3) for row in rows)
    assert not any(row.degraded for row in rows)


def test_it_has_every_kind_and_every_theater_and_says_that_it_is_made_up() -> None:
    demo = Demo(AS_OF)
    items = json.loads(demo.first().body)["items"]
    assert set(Counter(each["kind"] for each in items)) == {kind.kind for kind in KINDS}
    assert {row.primary_theater for row in markets_of(demo.first().body)} == set(THEATERS)
    told = {"news": "title", "market_state": "question", "scheduled_event": "title", "seismic": "place"}
    assert all(each[told[each["kind"]]].startswith(LABEL) for each in items if each["kind"] in told)
    observed = Observer().observe(AS_OF, demo.captures(AS_OF))
    assert (observed.failed, observed.lost) == ((), {})
    assert all(each is not None for item in items for each in item.values())


def test_the_same_beginning_is_the_same_season(tmp_path: Path) -> None:
    began = AS_OF + timedelta(minutes=3, seconds=7)
    assert Demo(began).first().body == Demo(began).first().body
    edges = [AS_OF + timedelta(minutes=10) * n for n in range(8)]
    for edge in edges:
        save(tmp_path, edge, Demo(began).captures(edge))
    snapshots = list(replay(tmp_path))
    assert [each.as_of for each in snapshots] == edges
    assert snapshots[0].body == Demo(began).first().body
    # Prices move between hours; the articles stay.
    prices = {tuple(row.yes_mid_price for row in markets_of(each.body)) for each in snapshots}
    assert len(prices) > 1
