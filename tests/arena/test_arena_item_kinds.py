"""Kinds of items: their JSON fields and their validation."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from arena_items import AS_OF, event, market, news, quake, theaters
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena.protocol import is_market_id
from openoutcry.arena.snapshots.item_kinds import KINDS, Item, SnapshotError, json_number, parse_decimal, round_decimal
from openoutcry.arena.snapshots.snapshot_times import format_time, is_snapshot_time, last_snapshot_time, parse_time

pytestmark = pytest.mark.once

# From the protocol.
MEMBERS = {
    "news": "id kind source_type source_name title summary url published_at",
    "market_state": "id kind exchange market_id yes_mid_price yes_bid yes_ask volume_24h_usd as_of"
    " question close_time theaters",
    "scheduled_event": "id kind title scheduled_at",
    "seismic": "id kind magnitude depth_km lat lon place occurred_at url",
    "theater_intel": "id kind theater gdelt_lean gdelt_hostile_count gdelt_cooperative_count wiki_spike wiki_max_ratio"
    " financial_risk news_count seismic_alert as_of",
}
ONE_OF_EACH: list[Item] = [news(), market(), event(), quake(), theaters()[0]]


@pytest.mark.parametrize("item", ONE_OF_EACH, ids=lambda item: item.kind)
def test_r17_a_kind_has_the_fields_of_the_protocol_in_their_order(item: Item) -> None:
    assert " ".join(item.to_json()) == MEMBERS[item.kind]
    json.dumps(item.to_json(), allow_nan=False)


def test_r17_there_are_five_kinds_and_none_of_the_pro_tier() -> None:
    assert {kind.kind for kind in KINDS} == set(MEMBERS)
    # No other subclass of `Item` exists.
    assert set(Item.__subclasses__()) == set(KINDS)
    assert not {kind.kind for kind in KINDS} & {"graph_digest", "confluence", "surge", "whale_flow"}


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("kalshi:KXIRANSTRIKE-26-MAY", True),
        ("kalshi:A." + "B" * 126, True),
        ("kalshi:A." + "B" * 127, False),
        ("kalshi:kxiran", False),
        ("kalshi:-KX", False),
        ("kalshi:KX\n", False),
        ("kalshi:\u212aX", False),
        ("kalshi:KX\u0661", False),
        ("kalshi:", False),
        ("polymarket:" + "1" * 70, True),
        ("polymarket:" + "1" * 78, True),
        ("polymarket:" + "1" * 79, False),
        ("polymarket:" + "\u0661" * 70, False),
    ],
)
def test_r13_a_market_id_must_match_completely(text: str, is_one: bool) -> None:
    assert is_market_id(text) is is_one


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (news, {"published_at": datetime(2026, 5, 8)}),
        (news, {"url": "javascript:alert(1)"}),
        (news, {"url": "https://example.org/a b"}),
        (news, {"url": "https://example.org/" + "a" * 3000}),
        (news, {"title": ""}),
        (news, {"title": "a\u202eb"}),
        (news, {"title": "a\x00b"}),
        (news, {"title": "a\ud800b"}),
        (news, {"title": "a" * 301}),
        (news, {"source_type": "graph_digest"}),
        (news, {"id": "1"}),
        (market, {"market_id": "polymarket:" + "1" * 70}),
        (market, {"market_id": "kalshi:kx"}),
        (market, {"yes_mid_price": Decimal("1.0001")}),
        (market, {"yes_mid_price": Decimal("0.00005")}),
        (market, {"yes_mid_price": 0.5}),
        (market, {"yes_bid": Decimal("NaN")}),
        (market, {"volume_24h_usd": Decimal(10) ** 12}),
        (market, {"theaters": ("iran", "iran")}),
        (market, {"theaters": ("russia",)}),
        (market, {"close_time": None}),
        (quake, {"lat": Decimal(91)}),
        (quake, {"magnitude": None}),
    ],
)
def test_an_invalid_item_is_refused(make: Any, given: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError, match="must"):
        make(**given)


@pytest.mark.parametrize(
    "given", [{"theater": "russia"}, {"gdelt_lean": "up"}, {"news_count": -1}, {"wiki_spike": 1}, {"news_count": True}]
)
def test_an_invalid_theater_item_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError, match="must be"):
        replace(theaters()[0], **given)


@given(st.integers(0, 10**15))
def test_r17_a_price_survives_a_json_round_trip_exactly(units: int) -> None:
    value = Decimal(units) / 10_000
    text = json.dumps(json_number(value))
    assert Decimal(text) == value
    assert "e" not in text
    assert len(text.partition(".")[2]) <= 4
    # As in RFC 8785: an integral number has no fraction.
    assert not text.endswith(".0")


@pytest.mark.parametrize("value", [True, None, "", "1e3", "nan", "0x1", "\u0661", float("inf"), [], "1" * 16])
def test_a_value_that_is_not_a_number_is_refused(value: object) -> None:
    with pytest.raises(SnapshotError, match="number"):
        parse_decimal(value)


def test_a_number_is_parsed_from_its_decimal_text() -> None:
    assert parse_decimal(0.1) == parse_decimal("0.1000") == Decimal("0.1")
    assert round_decimal(Decimal("0.60505")) == Decimal("0.6050")


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("2026-05-08T12:00:00Z", "2026-05-08T12:00:00Z"),
        ("2026-05-08T12:00:00+00:00", "2026-05-08T12:00:00Z"),
        ("2026-05-08T12:00:00 00:00", "2026-05-08T12:00:00Z"),
        ("2026-05-08T12:00:00.1Z", "2026-05-08T12:00:00.100000Z"),
        ("2026-05-08T12:00:00.1234569Z", "2026-05-08T12:00:00.123456Z"),
    ],
)
def test_r01_a_time_is_parsed_in_utc_and_formatted_with_z(text: str, formatted: str) -> None:
    assert format_time(parse_time(text)) == formatted


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-05-08", "2026-05-08T12:00:00", "2026-05-08T12:00:00+02:00", "2026-13-08T12:00:00Z"),
        *("2026-05-08T12:00:00Z\n", "2026-05-08t12:00:00z", "\u0662026-05-08T12:00:00Z", "2026-05-08T24:00:00Z"),
    ],
)
def test_r01_a_text_that_is_not_a_utc_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        parse_time(text)


def test_r15_snapshot_times_are_multiples_of_ten_minutes_in_utc() -> None:
    assert is_snapshot_time(AS_OF)
    assert is_snapshot_time(AS_OF.astimezone(timezone(timedelta(hours=5, minutes=30))))
    for off in (timedelta(minutes=1), timedelta(seconds=1), timedelta(microseconds=1)):
        assert not is_snapshot_time(AS_OF + off)
        assert last_snapshot_time(AS_OF + off) == AS_OF
