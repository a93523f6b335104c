"""Snapshot builder: order and limit, no look-ahead, reproducible bytes, times."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from dataclasses import replace
from datetime import timedelta
from math import exp

import pytest
from arena_items import AS_OF, FETCHED, HOUR, built, event, market, news, quake, seen, theaters
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.snapshots.compression import precompress
from openoutcry.arena.snapshots.item_kinds import Item, News, SnapshotError
from openoutcry.arena.snapshots.item_ranking import WEIGHTS, score, select_items
from openoutcry.arena.snapshots.snapshot_builder import SCHEMA_VERSION, build
from openoutcry.arena.snapshots.time_leaks import LeakError, ObservedItem

pytestmark = pytest.mark.once
brotli = pytest.importorskip("brotli")
zstandard = pytest.importorskip("zstandard")
LATE = timedelta(microseconds=1)


def ids(items: list[dict[str, object]]) -> list[object]:
    return [each["id"] for each in items if each["kind"] != "theater_intel"]


def test_r17_a_snapshot_has_its_schema_and_time_and_one_item_per_theater() -> None:
    snapshot = build(AS_OF, seen(news(), market(), event(), quake(), *theaters()))
    read = json.loads(snapshot.body)
    assert list(read) == ["schema_version", "as_of", "items"]
    assert (read["schema_version"], read["as_of"]) == (SCHEMA_VERSION, "2026-05-08T12:00:00Z")
    assert SCHEMA_VERSION == "0.2.0"
    assert sorted(each["theater"] for each in read["items"] if each["kind"] == "theater_intel") == sorted(THEATERS)
    assert (snapshot.n_items, snapshot.n_dropped) == (10, 0)
    assert snapshot.sha256 == hashlib.sha256(snapshot.body).hexdigest()


@given(st.randoms(use_true_random=False))
def test_r16_the_order_of_the_items_changes_no_byte(random: random.Random) -> None:
    items = [news(str(n), HOUR * (n % 3)) for n in range(9)] + [market(f"KX{n}") for n in range(5)] + [event(), quake()]
    everything = seen(*items, *theaters())
    shuffled = everything[:]
    random.shuffle(shuffled)
    assert build(AS_OF, shuffled).body == build(AS_OF, everything).body


@pytest.mark.parametrize("off", [timedelta(minutes=5), timedelta(seconds=1), LATE])
def test_r15_a_snapshot_time_is_a_multiple_of_ten_minutes(off: timedelta) -> None:
    with pytest.raises(SnapshotError, match="multiple of ten minutes"):
        build(AS_OF + off, seen(*theaters()))


@pytest.mark.parametrize(
    "item", [news(age=-LATE), quake(age=-LATE), market(as_of=AS_OF + LATE), event(published_at=AS_OF + LATE)]
)
def test_r19_an_item_later_than_the_snapshot_is_named_and_the_build_fails(item: Item) -> None:
    with pytest.raises(LeakError, match=item.id):
        build(AS_OF, seen(news("other"), item, *theaters()))


def test_r19_an_item_first_seen_after_the_snapshot_is_named_and_the_build_fails() -> None:
    with pytest.raises(LeakError, match=r"first_seen_at of 'news:1'"):
        build(AS_OF, [*seen(*theaters()), ObservedItem(news(), AS_OF + LATE)])
    assert build(AS_OF, [*seen(*theaters()), ObservedItem(news(age=timedelta(0)), AS_OF)]).n_items == 7


def test_r19_a_dropped_item_is_checked_too() -> None:
    crowd = [news(str(n)) for n in range(300)]
    with pytest.raises(LeakError):
        build(AS_OF, [*seen(*crowd, *theaters()), ObservedItem(news("late", HOUR * 1000), AS_OF + LATE)])


def test_r18_the_score_is_weight_times_exponential_decay() -> None:
    for item, age in ((news(age=HOUR), 1), (quake(age=HOUR * 7), 7), (event(), 0), (market(), 0)):
        assert float(score(item, AS_OF)) == pytest.approx(exp(-age / 24) * float(WEIGHTS[type(item)]), rel=1e-14)
    assert score(event(published_at=AS_OF - HOUR), AS_OF) < score(event(), AS_OF)
    # A negative age counts as 0; the look-ahead check still refuses the item.
    assert score(news(age=-HOUR), AS_OF) == score(news(age=timedelta(0)), AS_OF)


def test_r18_ties_are_sorted_by_newer_time_and_then_by_id() -> None:
    same = [news("b"), news("a"), news("c")]
    assert ids(built(*same, news("z", HOUR - LATE))) == ["news:z", "news:a", "news:b", "news:c"]
    # Negative ages have the same weight.
    future = seen(news("a", timedelta(0)), news("b", -LATE), news("c", -2 * LATE))
    assert [each.item.id for each in select_items(future, AS_OF)] == ["news:c", "news:b", "news:a"]


def test_r18_at_most_200_items_and_markets_and_theaters_are_not_dropped() -> None:
    old = market("KXOLD", as_of=AS_OF - timedelta(days=60))
    items = [news(f"{n:03}", HOUR * n) for n in range(250)] + [old]
    snapshot = build(AS_OF, seen(*items, *theaters()))
    shown = json.loads(snapshot.body)["items"]
    assert len(shown) == 200
    assert snapshot.n_dropped == 57
    assert {"market_state", "theater_intel"} <= {each["kind"] for each in shown}
    assert [each["id"] for each in shown if each["kind"] == "news"] == [f"news:{n:03}" for n in range(193)]
    # After sixty days its score is lowest: it is not dropped, and comes last.
    assert shown[-1]["id"] == old.id


def test_r18_more_than_200_markets_and_theaters_are_refused() -> None:
    markets = [market(f"KX{n}") for n in range(195)]
    assert len(built(*markets[:194], news())) == 200
    with pytest.raises(SnapshotError, match="at most 200; received 201"):
        built(*markets)


def test_ids_are_unique() -> None:
    with pytest.raises(SnapshotError, match="'news:1' more than once"):
        built(news(), news(title="Other"))


def test_r17_each_theater_has_one_item() -> None:
    for given_ in (theaters()[1:], [*theaters(), replace(theaters()[0], id="theater_intel:again")], []):
        with pytest.raises(SnapshotError, match="one `theater_intel` per theater"):
            build(AS_OF, seen(*given_))


def test_r17_an_item_of_another_kind_is_refused() -> None:
    class GraphDigest(News):
        kind = "graph_digest"

    made = GraphDigest("graph_digest:1", "rss", "Paper", "Title", "", "https://example.org/1", FETCHED)
    with pytest.raises(SnapshotError, match="public kind; received GraphDigest"):
        built(made)


def test_r16_compressed_bytes_are_the_same_each_time_and_hold_the_body() -> None:
    body = build(AS_OF, seen(*[news(str(n)) for n in range(50)], *theaters())).body
    one, two = precompress(body), precompress(body)
    assert one == two
    assert one.etag == f'"{hashlib.sha256(body).hexdigest()}"'
    assert one.encodings["identity"] == body
    assert gzip.decompress(one.encodings["gzip"]) == body
    assert brotli.decompress(one.encodings["br"]) == body
    assert zstandard.ZstdDecompressor().decompress(one.encodings["zstd"]) == body
    assert one.encodings["gzip"][4:8] == bytes(4)
    assert all(len(each) < len(body) / 3 for name, each in one.encodings.items() if name != "identity")
