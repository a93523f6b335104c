"""Parsers of the sources on recorded responses."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from arena_items import AS_OF, FETCHED, fixture, zipped

from openoutcry.arena.snapshots.snapshot_times import format_time, parse_time
from openoutcry.arena.snapshots.theaters import default_table
from openoutcry.arena.sources import financial_risk, gdelt, icalendar, kalshi, rss, usgs, wikipedia

pytestmark = pytest.mark.once


def test_a_feed_of_rss_gives_articles_in_plain_text() -> None:
    parsed = rss.parse(fixture("rss.xml"), FETCHED, "Paper")
    first = parsed.items[0]
    assert (first.title, first.summary) == ("Talks with Iran resume & go on", "Delegations met. They meet again.")
    assert (first.source_name, first.url) == ("Paper", "https://news.example.org/a-1")
    assert first.published_at == parse_time("2026-05-08T11:30:00Z")
    assert [each.title for each in parsed.items] == [first.title, "Undated", "From tomorrow", "Summer time"]
    # An invalid link, a duplicate article, a missing date and a future date.
    assert parsed.lost == {"article": 1, "duplicate": 1, "date": 2}
    assert parsed.items[3].published_at == parse_time("2026-05-08T10:00:00Z")


def test_r19_an_article_with_a_missing_or_future_date_is_dated_when_first_seen() -> None:
    dates = {each.title: each.published_at for each in rss.parse(fixture("rss.xml"), FETCHED, "Paper").items}
    assert dates["Undated"] == dates["From tomorrow"] == FETCHED
    early = rss.parse(fixture("rss.xml"), FETCHED + timedelta(microseconds=5), "Paper").items[1]
    assert early.published_at == FETCHED


def test_a_feed_of_atom_gives_articles() -> None:
    (article,) = rss.parse(fixture("atom.xml"), FETCHED, "Paper").items
    assert (article.title, article.summary) == ("Ships pass the Taiwan Strait", "Two of them.")
    assert article.published_at == parse_time("2026-05-08T11:40:00Z")


def test_an_articles_id_depends_on_its_feed() -> None:
    names = [rss.parse(fixture("rss.xml"), FETCHED, feed).items[0].id for feed in ("Paper", "Paper", "Other")]
    assert names[0] == names[1] != names[2]


def test_gdelts_search_gives_articles_and_its_errors_are_unreadable() -> None:
    parsed = gdelt.parse_articles(fixture("gdelt_articles.json"), FETCHED)
    assert [(each.source_type, each.source_name, each.title) for each in parsed.items] == [
        ("gdelt", "paper.example.org", "Port of Yemen reopens"),
        ("gdelt", "paper.example.org", "Strange date"),
    ]
    assert parsed.items[0].published_at == parse_time("2026-05-08T11:30:00Z")
    assert parsed.lost == {"article": 1, "date": 1}
    refused = gdelt.parse_articles(b"Please limit requests to one every 5 seconds.", FETCHED)
    assert not refused.is_readable


def test_gdelts_event_file_gives_root_events_and_their_side() -> None:
    #
    parsed = gdelt.parse_events(zipped(fixture("gdelt_export.CSV")), FETCHED)
    found = [(each.country, each.is_hostile) for each in parsed.items]
    assert found == [("IR", True), ("IR", True), ("IR", False), ("UP", False), ("FR", True)]
    assert {each.added_at for each in parsed.items} == {parse_time("2026-05-08T11:45:00Z")}
    assert parsed.lost == {"event": 1}
    # An event cannot be added after the response.
    assert gdelt.parse_events(zipped(fixture("gdelt_export.CSV")), AS_OF - timedelta(hours=1)).items == []


@pytest.mark.parametrize(
    ("hostile", "cooperative", "lean"),
    [(0, 0, "none"), (4, 2, "hostile"), (3, 2, "mixed"), (2, 4, "cooperative"), (1, 0, "hostile"), (1, 1, "mixed")],
)
def test_events_lean_to_the_side_with_twice_the_events(hostile: int, cooperative: int, lean: str) -> None:
    assert gdelt.lean(hostile, cooperative) == lean


def test_event_files_on_other_hosts_are_ignored() -> None:
    assert gdelt.export_url(fixture("gdelt_lastupdate.txt")) == (
        "http://data.gdeltproject.org/gdeltv2/20260508114500.export.CSV.zip"
    )
    elsewhere = fixture("gdelt_lastupdate.txt").replace(b"data.gdeltproject.org", b"127.0.0.1")
    assert gdelt.export_url(elsewhere) is None


def test_the_edit_ratio_is_relative_to_four_weeks() -> None:
    edits = wikipedia.parse_edits(fixture("wikipedia_edits.json"), FETCHED).items
    assert len(edits) == 28
    ratio = wikipedia.edit_ratio(edits, AS_OF)
    # 8 of 28 edits are in the last of 112 six-hour intervals.
    assert ratio == wikipedia.ActivityRatio(Decimal("32.00"), True)
    # Repeated edits count once.
    assert wikipedia.edit_ratio([*edits, *edits], AS_OF) == ratio
    # Fewer than five recent edits are not a spike.
    few = wikipedia.edit_ratio(edits[:4], AS_OF)
    assert few == wikipedia.ActivityRatio(Decimal("112.00"), False)
    assert wikipedia.edit_ratio([], AS_OF) is None


def test_r19_an_edit_after_the_response_is_skipped() -> None:
    parsed = wikipedia.parse_edits(fixture("wikipedia_edits.json"), FETCHED - timedelta(hours=2))
    assert (len(parsed.items), parsed.lost["revision"]) == (24, 4)


def test_a_missing_page_or_a_page_without_views_gives_nothing() -> None:
    missing = wikipedia.parse_edits(fixture("wikipedia_missing.json"), FETCHED)
    assert (missing.items, missing.lost["missing"], missing.is_readable) == ([], 1, True)
    none = wikipedia.parse_views(fixture("wikipedia_no_views.json"), FETCHED)
    assert (none.items, wikipedia.view_ratio(none.items)) == ([], None)


def test_r19_views_count_only_completed_days() -> None:
    parsed = wikipedia.parse_views(fixture("wikipedia_views.json"), FETCHED)
    assert max(each.until for each in parsed.items) == AS_OF.replace(hour=0)
    assert parsed.lost == {"day": 1}
    # 5,000 views on the last of 28 days, and 1,000 on each other day.
    assert wikipedia.view_ratio(parsed.items) == wikipedia.ActivityRatio(Decimal("4.38"), True)


def test_usgs_gives_earthquakes_with_longitude_first() -> None:
    parsed = usgs.parse(fixture("usgs.geojson"), FETCHED)
    assert [each.id for each in parsed.items] == ["seismic:us7000a001", "seismic:ci4000b002", "seismic:us7000g007"]
    first, second, third = parsed.items
    assert (first.lon, first.lat, first.depth_km) == (Decimal("51.4"), Decimal("35.3"), Decimal(10))
    assert format_time(first.occurred_at) == "2026-05-08T11:00:00Z"
    assert (second.lon, second.place) == (Decimal("-116.7952"), "")
    assert third.depth_km is None
    # A missing magnitude, an explosion, a deleted entry and a future time.
    assert parsed.lost == {"quake": 4}


def test_kalshi_in_dollars_gives_open_markets() -> None:
    raw = fixture("kalshi_dollars.json")
    parsed = kalshi.parse(raw, FETCHED, default_table())
    first, second, third = parsed.items
    assert first.market_id == "kalshi:KXIRANSTRIKE-26-MAY"
    assert (first.yes_bid, first.yes_ask, first.yes_mid_price) == (Decimal("0.6"), Decimal("0.67"), Decimal("0.635"))
    # 4,918.41 contracts at the mid.
    assert first.volume_24h_usd == Decimal("3123.19")
    assert (first.as_of, first.close_time) == (FETCHED, parse_time("2026-05-31T14:00:00Z"))
    assert (first.question, first.theaters) == ("Will Iran be struck by May 31?", ("iran",))
    # 0 and 1 mean no offers, so mid and dollar volume are None.
    assert (second.yes_bid, second.yes_ask) == (0, 1)
    assert (second.yes_mid_price, second.volume_24h_usd) == (None, None)
    # A mid of five decimals is rounded, half to even.
    assert third.yes_mid_price == Decimal("0.1268")
    # A market without a theater is listed and counted; a decided market and an invalid id are skipped.
    assert third.theaters == ()
    assert +parsed.lost == {"unmapped": 1, "market": 2}
    assert kalshi.next_cursor(raw) == "CgwI"


def test_kalshi_in_cents_gives_the_same_prices() -> None:
    raw = fixture("kalshi_cents.json")
    first, crossed, one_sided = kalshi.parse(raw, FETCHED, default_table()).items
    assert (first.yes_bid, first.yes_ask, first.yes_mid_price) == (Decimal("0.6"), Decimal("0.67"), Decimal("0.635"))
    assert (crossed.yes_mid_price, crossed.yes_bid) == (None, Decimal("0.7"))
    assert (one_sided.yes_mid_price, one_sided.yes_bid) == (None, None)
    assert kalshi.next_cursor(raw) == ""


def test_a_calendar_gives_events_with_a_zone() -> None:
    #
    parsed = icalendar.parse(fixture("calendar.ics"), FETCHED)
    council, vote = parsed.items
    assert council.title == "Security Council, briefing on Yemen"
    assert (format_time(council.scheduled_at), council.published_at) == (
        "2026-05-09T14:00:00Z",
        parse_time("2026-05-01T09:00:00Z"),
    )
    assert (format_time(vote.scheduled_at), vote.published_at) == ("2026-05-10T18:00:00Z", None)
    # No time zone, an all-day event, a weekly event, a cancelled event.
    assert parsed.lost == {"event": 4}
    # An announcement after the fetch is ignored.
    assert icalendar.parse(fixture("calendar.ics"), parse_time("2026-04-01T00:00:00Z")).items[0].published_at is None


def test_calendar_lines_may_end_with_crlf() -> None:
    plain = fixture("calendar.ics")
    assert icalendar.parse(plain.replace(b"\n", b"\r\n"), FETCHED) == icalendar.parse(plain, FETCHED)


def test_an_unknown_risk_value_is_skipped() -> None:
    parsed = financial_risk.parse(b'{"iran": "HIGH", "yemen": "TERRIBLE"}')
    assert (parsed.items, parsed.lost["risk"]) == ([("iran", "HIGH")], 5)
