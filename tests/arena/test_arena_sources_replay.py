"""From captures to snapshots: observer state, missing sources, exact replay."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from arena_items import AS_OF, FETCHED, capture, fixture, news, quake, responses, zipped
from command_line import typed
from hypothesis import given, settings
from hypothesis import strategies as st

from openoutcry.arena.snapshots.item_kinds import SnapshotError, TheaterIntel
from openoutcry.arena.snapshots.snapshot_builder import build
from openoutcry.arena.snapshots.snapshot_times import parse_time
from openoutcry.arena.snapshots.theaters import default_table, default_table_bytes
from openoutcry.arena.snapshots.time_leaks import LeakError
from openoutcry.arena.sources import observer
from openoutcry.arena.sources.captures import folder_name, load, replay, resume, save, save_state
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.observer import FETCHED_SOURCES as SOURCES
from openoutcry.arena.sources.observer import Observation, Observer
from openoutcry.arena.sources.theater_assessment import SourceItems, assess

pytestmark = pytest.mark.once
STEP = timedelta(minutes=10)


def theater(observed: Observation, name: str) -> dict[str, Any]:
    (found,) = [
        each.item for each in observed.seen if isinstance(each.item, TheaterIntel) and each.item.theater == name
    ]
    return found.to_json()


def without(captures: Iterable[Capture], source: str) -> list[Capture]:
    return [replace(each, status=500) if each.source == source else each for each in captures]


def titles(observed: Observation) -> set[object]:
    return {each.item.to_json().get("title") for each in observed.seen}


def test_r17_a_theater_aggregates_the_sources() -> None:
    observed = Observer().observe(AS_OF, responses())
    assert theater(observed, "iran") == {
        "id": "theater_intel:iran",
        "kind": "theater_intel",
        "theater": "iran",
        "gdelt_lean": "hostile",
        "gdelt_hostile_count": 2,
        "gdelt_cooperative_count": 1,
        "wiki_spike": True,
        "wiki_max_ratio": 32,
        "financial_risk": "HIGH",
        "news_count": 1,
        "seismic_alert": True,
        "as_of": "2026-05-08T12:00:00Z",
    }
    yemen = theater(observed, "yemen")
    assert (yemen["gdelt_lean"], yemen["wiki_spike"], yemen["wiki_max_ratio"]) == ("none", None, None)
    assert (yemen["financial_risk"], yemen["news_count"], yemen["seismic_alert"]) == ("UNKNOWN", 1, False)


@pytest.mark.parametrize(
    ("source", "nulls"),
    [
        ("gdelt", ["gdelt_lean", "gdelt_hostile_count", "gdelt_cooperative_count"]),
        ("wikipedia", ["wiki_spike", "wiki_max_ratio"]),
        ("usgs", ["seismic_alert"]),
        ("kalshi", []),
    ],
)
def test_a_failed_source_gives_null_fields_and_the_snapshot_is_built(source: str, nulls: list[str]) -> None:
    observed = Observer().observe(AS_OF, without(responses(), source))
    assert observed.failed == (source,)
    assert observed.lost[f"{source}.no_answer"] > 0
    assert not observed.is_down
    found = theater(observed, "iran")
    assert [name for name, value in found.items() if value is None] == nulls
    assert build(AS_OF, observed.seen).n_items > 6


def test_the_news_count_is_null_only_if_feeds_and_search_both_fail() -> None:
    assert theater(Observer().observe(AS_OF, without(responses(), "rss")), "yemen")["news_count"] == 1
    neither = [each for each in without(responses(), "rss") if each.part != "articles"]
    assert theater(Observer().observe(AS_OF, neither), "yemen")["news_count"] is None


def test_r14_the_failure_of_all_sources_is_reported() -> None:
    silent = [replace(each, status=0) if each.source in SOURCES else each for each in responses()]
    for captures in (silent, []):
        observed = Observer().observe(AS_OF, captures)
        assert observed.is_down
        assert observed.failed == SOURCES


def test_a_response_in_another_format_is_a_failure() -> None:
    observed = Observer().observe(AS_OF, [replace(each, body=b"<html>Down for repairs") for each in responses()])
    assert set(observed.failed) == set(SOURCES)


def test_an_article_keeps_its_first_version_and_expires_three_days_after_its_last_listing() -> None:
    #
    observer = Observer()
    first = observer.observe(AS_OF, responses())
    changed = [
        replace(each, body=each.body.replace(b"Undated", b"Changed"), fetched_at=FETCHED + STEP) for each in responses()
    ]
    second = observer.observe(AS_OF + STEP, changed)
    assert "Undated" in titles(first) & titles(second)
    assert "Changed" not in titles(second)
    undated = [each for each in second.seen if getattr(each.item, "title", None) == "Undated"]
    # Time and first-seen time are those of the first response.
    assert [(each.first_seen_at, each.item.time) for each in undated] == [(FETCHED, FETCHED)]
    third = observer.observe(AS_OF + timedelta(hours=72), [])
    assert "Undated" in titles(third)
    assert "Undated" not in titles(observer.observe(AS_OF + timedelta(hours=72) + STEP, []))


def test_an_earthquake_keeps_its_first_version_until_it_is_withdrawn() -> None:
    observer = Observer()
    observer.observe(AS_OF, responses())
    day = fixture("usgs.geojson")
    revised = [capture("usgs", "day", day.replace(b'"mag": 4.3', b'"mag": 3.1'), FETCHED + STEP)]
    second = observer.observe(AS_OF + STEP, revised)
    assert Decimal("4.3") in {getattr(each.item, "magnitude", None) for each in second.seen}
    assert theater(second, "iran")["seismic_alert"] is True
    # A failed response lists none, but the state keeps them.
    assert theater(observer.observe(AS_OF + 2 * STEP, []), "iran")["seismic_alert"] is None
    again = [replace(revised[0], fetched_at=FETCHED + 3 * STEP)]
    assert theater(observer.observe(AS_OF + 3 * STEP, again), "iran")["seismic_alert"] is True
    gone = day.replace(b'"status": "automatic"', b'"status": "deleted"')
    withdrawn = [capture("usgs", "day", gone, FETCHED + 4 * STEP)]
    assert theater(observer.observe(AS_OF + 4 * STEP, withdrawn), "iran")["seismic_alert"] is False


@pytest.mark.parametrize(("age", "counts"), [(timedelta(hours=24), 0), (timedelta(hours=24) - timedelta(seconds=1), 1)])
def test_news_and_earthquakes_count_for_a_day(age: timedelta, counts: int) -> None:
    shaken = quake(age=age, magnitude=Decimal(4), lat=Decimal(32), lon=Decimal(53))
    facts = SourceItems(news=(news(age=age, title="In Tehran"), news(title="Elsewhere")), quakes=(shaken,), events=())
    iran = next(each for each in assess(facts, default_table(), AS_OF) if each.theater == "iran")
    assert (iran.news_count, iran.seismic_alert) == (counts, bool(counts))
    assert not any(
        each.news_count or each.seismic_alert for each in assess(facts, default_table(), AS_OF) if each != iran
    )


def test_scheduled_events_are_listed_from_a_month_before_until_they_start() -> None:
    begins = {"Security Council, briefing on Yemen": "2026-05-09T14:00:00Z", "Vote": "2026-05-10T18:00:00Z"}
    for as_of, shown in (
        ("2026-04-09T13:50:00Z", set()),
        ("2026-04-09T14:00:00Z", {"Security Council, briefing on Yemen"}),
        ("2026-05-09T14:00:00Z", set(begins)),
        ("2026-05-09T14:10:00Z", {"Vote"}),
    ):
        observed = Observer().observe(parse_time(as_of), responses(parse_time(as_of)))
        assert titles(observed) & set(begins) == shown


def test_events_count_for_a_day_and_once() -> None:
    observer = Observer()
    for n in range(3):
        at = n * STEP
        observed = observer.observe(AS_OF + at, responses(FETCHED + at))
        assert theater(observed, "iran")["gdelt_hostile_count"] == 2
    for minutes, count in ((23 * 60 + 40, 2), (23 * 60 + 50, 0)):
        as_of = AS_OF + timedelta(minutes=minutes)
        observed = observer.observe(as_of, [capture("gdelt", "events", zipped(b""), as_of)])
        # The events were added at 11:45.
        assert theater(observed, "iran")["gdelt_hostile_count"] == count


def test_prices_are_current_and_closed_markets_are_dropped() -> None:
    observer = Observer()

    def markets(at: timedelta, captures: list[Capture]) -> list[str]:
        return [
            each.item.id for each in observer.observe(AS_OF + at, captures).seen if each.item.kind == "market_state"
        ]

    assert len(markets(timedelta(0), responses())) == 3
    assert markets(STEP, []) == []
    late = timedelta(days=30)
    assert markets(late, responses(AS_OF + late)) == ["market_state:kalshi:KXUSAIRANAGREEMENT-27"]


def test_r18_markets_that_close_last_are_dropped_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "MAX_MARKETS", 2)
    observed = Observer().observe(AS_OF, responses())
    found = [each.item.id.rpartition(":")[2] for each in observed.seen if each.item.kind == "market_state"]
    assert found == ["KXRAINNYC-26MAY09", "KXIRANSTRIKE-26-MAY"]
    assert observed.lost["kalshi.over_limit"] == 1


def test_r18_the_maximum_number_of_markets_leaves_room_for_news() -> None:
    assert observer.MAX_MARKETS + 6 < 200


def test_a_304_response_reuses_the_last_body() -> None:
    observer = Observer()
    first = observer.observe(AS_OF, responses())
    unchanged = [replace(each, status=304, body=b"") if each.url else each for each in responses(FETCHED + STEP)]
    second = observer.observe(AS_OF + STEP, unchanged)
    assert second.failed == ()
    assert titles(second) == titles(first)
    assert {url: each.body for url, each in observer.known.items()} == {
        each.url: each.body for each in responses() if each.url
    }
    # An observer without the last response has no body.
    assert Observer().observe(AS_OF + STEP, unchanged).is_down


def test_r19_a_capture_after_the_snapshot_time_is_refused_without_a_state_change() -> None:
    observer = Observer()
    late = capture("rss", "Paper", fixture("rss.xml"), AS_OF + timedelta(microseconds=1))
    with pytest.raises(LeakError, match="a capture of rss must not be after 2026-05-08T12:00:00Z"):
        observer.observe(AS_OF, [*responses(), late])
    assert observer.known == {}
    assert "Undated" not in titles(observer.observe(AS_OF, []))


def test_snapshot_times_must_increase() -> None:
    observer = Observer()
    observer.observe(AS_OF, responses())
    with pytest.raises(SnapshotError, match="snapshot times must increase"):
        observer.observe(AS_OF, responses())


def season(folder: Path) -> list[bytes]:
    """Save the captures of three snapshot times, the second without responses, and return the snapshots."""
    observer, bodies = Observer(), []
    for n in range(3):
        as_of, captures = AS_OF + n * STEP, responses(FETCHED + n * STEP)
        if n == 1:
            captures = [replace(each, status=0, body=b"", error="down") for each in captures]
        if n == 2:
            captures = [replace(each, body=each.body.replace(b"Undated", b"Changed")) for each in captures]
        save(folder, as_of, captures)
        observed = observer.observe(as_of, captures)
        if not observed.is_down:
            bodies.append(build(as_of, observed.seen).body)
    return bodies


def test_r16_a_replay_gives_the_same_bytes_and_r20_no_snapshot_without_responses(tmp_path: Path) -> None:
    published = season(tmp_path)
    replayed = list(replay(tmp_path))
    assert [each.body for each in replayed] == published
    assert [each.as_of for each in replayed] == [AS_OF, AS_OF + 2 * STEP]


def test_r14_captures_without_any_response_are_refused(tmp_path: Path) -> None:
    for n in range(3):
        silent = [replace(each, status=0, body=b"", error="no route") for each in responses(FETCHED + n * STEP)]
        save(tmp_path / "captures", AS_OF + n * STEP, silent)
    wanted = "a snapshot time with a response of a source is required"
    expected = f"{wanted}; received 3 without a response of gdelt, kalshi, rss, usgs"
    with pytest.raises(SnapshotError, match=f"^{expected}, wikipedia$"):
        list(replay(tmp_path / "captures"))
    done = typed("arena", "replay-season", tmp_path / "captures", "--out", tmp_path / "again")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert expected in done.stderr
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("n_saved", [0, 1, 2, 3])
def test_r16_a_resumed_observer_continues_identically(n_saved: int, tmp_path: Path) -> None:
    season(tmp_path)
    whole = Observer()
    for n, (as_of, captures) in enumerate(load(tmp_path), 1):
        whole.observe(as_of, captures)
        if n == n_saved:
            save_state(tmp_path, whole)
    resumed = resume(tmp_path)
    assert resumed.state == whole.state
    as_of = AS_OF + 9 * STEP
    assert resumed.observe(as_of, responses(as_of)) == whole.observe(as_of, responses(as_of))
    # The state file is not a snapshot time, and no temporary file is left.
    assert len(list(replay(tmp_path))) == 2
    assert len(list(tmp_path.iterdir())) == 3 + (n_saved > 0)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"as_of": "now"}'])
def test_an_invalid_state_file_is_refused(raw: bytes, tmp_path: Path) -> None:
    save(tmp_path, AS_OF, responses())
    (tmp_path / "memory.json").write_bytes(raw)
    with pytest.raises(SnapshotError, match=r"a valid `memory\.json` is required"):
        resume(tmp_path)


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_r16_the_order_of_captures_changes_no_byte(random: random.Random) -> None:
    captures = responses()
    random.shuffle(captures)
    shuffled = build(AS_OF, Observer().observe(AS_OF, captures).seen)
    assert shuffled.body == build(AS_OF, Observer().observe(AS_OF, responses()).seen).body


def test_r16_a_replay_uses_the_captured_table_of_theaters(tmp_path: Path) -> None:
    table = default_table_bytes().replace(b'"theaters": ["iran"]', b'"theaters": ["yemen"]')
    save(tmp_path, AS_OF, [*responses(), capture("theaters", "table", table)])
    (snapshot,) = replay(tmp_path)
    markets = [each for each in json.loads(snapshot.body)["items"] if each["kind"] == "market_state"]
    assert {"kalshi:KXIRANSTRIKE-26-MAY": ["yemen"]}.items() <= {m["market_id"]: m["theaters"] for m in markets}.items()


def test_captures_are_readable_files_and_load_unchanged(tmp_path: Path) -> None:
    given_ = [*responses(), capture("rss", "Other/Paper", b"\x00", headers={"etag": "1"}, error="broken", status=0)]
    place = save(tmp_path, AS_OF, given_)
    assert place.name == folder_name(AS_OF) == "2026-05-08T12-00-00Z"
    assert {"rss.0.raw", "rss.0.json", "rss.1.raw", "usgs.0.json"} <= {each.name for each in place.iterdir()}
    ((as_of, captures),) = load(tmp_path)
    assert as_of == AS_OF
    assert sorted(captures, key=repr) == sorted(given_, key=repr)


def test_r20_captures_are_saved_once_and_atomically(tmp_path: Path) -> None:
    save(tmp_path, AS_OF, responses())
    with pytest.raises(SnapshotError, match="a snapshot time without captures is required"):
        save(tmp_path, AS_OF, [])

    def broken() -> Iterable[Capture]:
        yield responses()[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, AS_OF + STEP, broken())
    assert [each.name for each in tmp_path.iterdir()] == [folder_name(AS_OF)]


@pytest.mark.parametrize("name", ["rss.0.raw", "rss.0.json"])
def test_an_incomplete_folder_is_refused(name: str, tmp_path: Path) -> None:
    place = save(tmp_path, AS_OF, responses())
    (place / name).write_bytes(b"{}") if name.endswith("json") else (place / name).unlink()
    with pytest.raises(SnapshotError, match="2026-05-08T12-00-00Z cannot be read"):
        list(replay(tmp_path))
