"""Markets of a snapshot with missing fields, and theaters."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from arena_items import AS_OF, market, news, seen, theaters
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.snapshots.item_kinds import SnapshotError
from openoutcry.arena.snapshots.market_items import market_from_item, read_markets
from openoutcry.arena.snapshots.snapshot_builder import build
from openoutcry.arena.snapshots.snapshot_times import parse_time
from openoutcry.arena.snapshots.theaters import default_table, default_table_bytes, read_table, theater_of_region

pytestmark = pytest.mark.once
TWO_HOURS = timedelta(hours=2)
ROW = "market_id exchange question yes_mid_price decision_cutoff settlement_at theaters primary_theater yes_bid yes_ask"


def test_r08_rows_are_sorted_by_cutoff_and_then_by_id() -> None:
    later = AS_OF + timedelta(days=9)
    items = [market("KXB"), market("KXA"), market("KXC", close_time=later), market("KX0", close_time=later)]
    rows = read_markets(build(AS_OF, seen(*items, news(), *theaters())).body)
    assert [row.market_id for row in rows] == ["kalshi:KXA", "kalshi:KXB", "kalshi:KX0", "kalshi:KXC"]
    assert " ".join(rows[0].to_json()) == ROW


def test_r10_the_cutoff_is_two_hours_before_the_close() -> None:
    item = market(theaters=("israel", "iran"), yes_bid=Decimal("0.1234"))
    row = market_from_item(json.loads(json.dumps(item.to_json())), AS_OF)
    assert row.settlement_at == item.close_time
    assert row.decision_cutoff == item.close_time - TWO_HOURS
    assert (row.question, row.theaters, row.primary_theater) == ("Is it?", ("israel", "iran"), "israel")
    assert (row.yes_bid, row.degraded) == (Decimal("0.1234"), ())


@pytest.mark.parametrize("close", [None, 5, "soon", "2026-05-31T14:00:00", "0001-01-01T01:00:00Z"])
def test_r11_without_a_close_the_cutoff_is_two_weeks_after_the_snapshot(close: object) -> None:
    row = market_from_item(market().to_json() | {"close_time": close}, AS_OF)
    assert row.decision_cutoff == AS_OF + timedelta(days=14)
    assert row.settlement_at == row.decision_cutoff + TWO_HOURS
    assert row.degraded == ("close_time",)


def test_r11_an_old_item_takes_its_question_from_the_id_and_theaters_from_the_table() -> None:
    old = {"kind": "market_state", "market_id": "kalshi:KXUSAIRANAGREEMENT-27", "yes_mid_price": "?"}
    row = market_from_item(old, AS_OF)
    assert row.question == row.market_id
    assert row.theaters == ("iran",)
    assert row.yes_mid_price is None
    assert row.degraded == ("question", "close_time", "theaters")
    assert market_from_item(old | {"market_id": "kalshi:KXRAINNYC-26"}, AS_OF).primary_theater is None
    # An empty list in the snapshot is kept.
    assert market_from_item(old | {"theaters": []}, AS_OF).theaters == ()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
TIMES = st.datetimes().map(lambda at: at.isoformat() + "Z")
NAMES = ["question", "close_time", "theaters", "yes_mid_price", "yes_bid", "yes_ask"]


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, ANYTHING) | {"close_time": ANYTHING | TIMES}))
def test_r40_whatever_an_item_holds_the_cutoff_is_two_hours_before_settlement(item: dict[str, Any]) -> None:
    row = market_from_item(item | {"market_id": "kalshi:KXA"}, AS_OF)
    assert row.settlement_at - row.decision_cutoff == TWO_HOURS
    assert set(row.theaters) <= set(THEATERS)
    parse_time(str(row.to_json()["decision_cutoff"]))


def test_an_item_with_an_invalid_market_id_is_skipped() -> None:
    body = {"as_of": "2026-05-08T12:00:00Z", "items": [{"kind": "market_state", "market_id": "kalshi:kx"}, 5, {}]}
    assert read_markets(json.dumps(body).encode()) == []


@pytest.mark.parametrize(
    ("ticker", "expected"),
    [
        ("KXIRANSTRIKE-26-MAY", ("iran",)),
        ("KXUSAIRANAGREEMENT-27", ("iran",)),
        ("KXISRAELIRAN-26", ("iran", "israel")),
        ("KXHEZBOLLAHX", ("israel",)),
        ("KXPUTIN-26", ("ukraine",)),
        ("KXCHINAINVADE-26", ("taiwan",)),
        ("KXDPRKTEST-26", ("korea",)),
        ("KXREDSEA-26", ("yemen",)),
        ("KXMIRANDA-26", ()),
        ("KXRAINNYC-IRAN", ()),
        ("XKXIRAN", ()),
    ],
)
def test_q6_the_full_series_of_a_ticker_determines_its_theaters(ticker: str, expected: tuple[str, ...]) -> None:
    assert default_table().theaters_of_ticker(ticker) == expected


def test_other_region_names_map_to_theaters() -> None:
    named = {
        name: theater_of_region(name) for name in ("Russia", "china", "DPRK", "lebanon", "yemen", "mars", "\u212aorea")
    }
    expected = {"Russia": "ukraine", "china": "taiwan", "DPRK": "korea", "lebanon": "israel", "yemen": "yemen"}
    assert named == expected | {"mars": None, "\u212aorea": None}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"theaters": ["yemen"]', '"theaters": ["mars"]'),
        ('"theaters": ["iran", "israel"]', '"theaters": ["iran", "iran"]'),
        ("[12, 41.5, 19, 54.6]", "[12, 54.6, 19, 41.5]"),
        ("KXISRAELIRAN", "(KXISRAELIRAN"),
        ('"fips": ["YM"],', ""),
        ("{", ""),
    ],
)
def test_an_invalid_table_is_refused(old: str, new: str) -> None:
    text = default_table_bytes().decode()
    assert old in text
    with pytest.raises(SnapshotError, match="table of theaters cannot be read"):
        read_table(text.replace(old, new, 1).encode())
