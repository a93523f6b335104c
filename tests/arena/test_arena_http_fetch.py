"""HTTP requests to sources: bounded, conditional, never raising (no network: `httpx.MockTransport`)."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from arena_items import AS_OF, FETCHED, PLAN, URL, fixture, recorded

from openoutcry.arena.snapshots.theaters import default_table_bytes
from openoutcry.arena.sources import gdelt, http_fetch, kalshi, wikipedia
from openoutcry.arena.sources.collector import fetch_all
from openoutcry.arena.sources.http_fetch import Capture, Fetcher, make_client
from openoutcry.arena.sources.observer import FETCHED_SOURCES as SOURCES
from openoutcry.arena.sources.observer import Observer
from openoutcry.arena.sources.source_plan import default_plan, read_plan

pytestmark = pytest.mark.once
httpx = pytest.importorskip("httpx")


def make_fetcher(handler: Callable[[httpx.Request], httpx.Response], **known: Capture) -> Fetcher:
    client = make_client(httpx.MockTransport(handler))
    return Fetcher(client, lambda: FETCHED, {each.url: each for each in known.values()})


def test_a_capture_stores_the_response_and_the_request_has_a_user_agent() -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=b"body", headers={"etag": '"1"', "set-cookie": "a=b"})

    found = make_fetcher(handler).get("rss", "Paper", URL)
    assert found == Capture("rss", "Paper", URL, FETCHED, 200, {"etag": '"1"'}, b"body")
    assert "openoutcry-arena/" in requests[0].headers["user-agent"]
    assert "if-none-match" not in requests[0].headers


def test_a_known_response_makes_the_request_conditional() -> None:
    known = Capture("rss", "Paper", URL, FETCHED, 200, {"etag": '"1"', "last-modified": "yesterday"}, b"old")

    def handler(request: httpx.Request) -> httpx.Response:
        assert (request.headers["if-none-match"], request.headers["if-modified-since"]) == ('"1"', "yesterday")
        return httpx.Response(304)

    fetcher = make_fetcher(handler, known=known)
    found = fetcher.get("rss", "Paper", URL)
    assert (found.status, found.body, found.error) == (304, b"", None)
    assert fetcher.body(found) == b"old"


def failing(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    return handler


@pytest.mark.parametrize(
    "handler",
    [
        failing(httpx.ConnectError("no route")),
        failing(httpx.ReadTimeout("slow")),
        failing(httpx.RemoteProtocolError("garbage")),
        lambda _: httpx.Response(302, headers={"location": URL}),
        lambda _: httpx.Response(302, headers={"location": "https://[bad"}),
        lambda _: httpx.Response(302, headers={"location": "file:///etc/passwd"}),
        lambda _: httpx.Response(200, content=b"no gzip", headers={"content-encoding": "gzip"}),
    ],
)
def test_a_failed_request_is_a_capture(handler: Callable[[httpx.Request], httpx.Response]) -> None:
    found = make_fetcher(handler).get("rss", "Paper", URL)
    assert (found.status, found.body) == (0, b"")
    assert found.error


def test_a_response_has_a_size_limit_after_decompression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_fetch, "MAX_BYTES", 10_000)
    bomb = gzip.compress(bytes(1_000_000))
    found = make_fetcher(lambda _: httpx.Response(200, content=bomb, headers={"content-encoding": "gzip"})).get(
        "a", "b", URL
    )
    assert (found.status, found.body) == (0, b"")
    assert "at most 10000 bytes" in str(found.error)


def test_a_slow_response_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.monotonic()]
    monkeypatch.setattr(http_fetch.time, "monotonic", lambda: now[0])

    def drops() -> Iterator[bytes]:
        while True:
            now[0] += 1
            yield b"."

    fetcher = make_fetcher(lambda _: httpx.Response(200, content=drops()))
    assert "complete within 10 seconds" in str(fetcher.get("rss", "Paper", URL).error)


def test_all_requests_together_have_a_time_limit() -> None:
    fetcher = make_fetcher(failing(AssertionError("no request must be sent")))
    fetcher.seconds = 0
    assert fetcher.get("rss", "Paper", URL).error == "the time limit of all requests has passed"


def test_r19_a_response_after_the_snapshot_time_is_discarded() -> None:
    times = iter([FETCHED, FETCHED, AS_OF, AS_OF, AS_OF + timedelta(seconds=1), AS_OF + timedelta(seconds=1)])
    client = make_client(httpx.MockTransport(lambda _: httpx.Response(200, content=fixture("rss.xml"))))
    fetcher = Fetcher(client, lambda: next(times), until=AS_OF)
    found = [fetcher.get("rss", f"Paper {n}", URL) for n in range(3)]
    assert [(each.status, each.fetched_at <= AS_OF) for each in found] == [(200, True), (200, True), (0, False)]
    # One slow request does not make the source fail.
    observed = Observer().observe(AS_OF, found)
    assert observed.lost["rss.no_answer"] == 1
    assert "rss" not in observed.failed


def test_a_clock_without_a_zone_is_refused() -> None:
    fetcher = Fetcher(make_client(httpx.MockTransport(lambda _: httpx.Response(200))), lambda: datetime(2026, 5, 8))
    with pytest.raises(ValueError, match="must have a time zone"):
        fetcher.get("rss", "Paper", URL)


def test_kalshi_is_fetched_page_by_page() -> None:
    requests = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(parse_qs(request.url.query.decode()))
        return httpx.Response(200, content=fixture("kalshi_cents.json" if len(requests) > 2 else "kalshi_dollars.json"))

    found = kalshi.fetch(make_fetcher(handler), PLAN)
    assert [each.part for each in found] == ["KXIRANSTRIKE"] * 3
    assert [each.get("cursor") for each in requests] == [None, ["CgwI"], ["CgwI"]]
    assert requests[0] == {"limit": ["1000"], "series_ticker": ["KXIRANSTRIKE"], "status": ["open"]}


def test_endless_pagination_is_bounded() -> None:
    found = kalshi.fetch(make_fetcher(lambda _: httpx.Response(200, content=fixture("kalshi_dollars.json"))), PLAN)
    assert len(found) == kalshi.MAX_PAGES
    edits = wikipedia.fetch(
        make_fetcher(lambda _: httpx.Response(200, content=fixture("wikipedia_edits.json"))), ["Iran"]
    )
    assert [each.part for each in edits] == ["edits:Iran"] * wikipedia.MAX_PAGES + ["views:Iran"]


def test_all_sources_are_fetched_and_captures_have_a_fixed_order() -> None:
    found = fetch_all(make_fetcher(recorded), PLAN)
    assert found == fetch_all(make_fetcher(recorded), PLAN)
    assert {each.source for each in found} == {*SOURCES, "calendar", "risk", "theaters"}
    assert [each.source for each in found] == sorted(each.source for each in found)
    observed = Observer().observe(FETCHED, found)
    assert observed.failed == ()
    assert observed.lost["wikipedia.no_answer"] == 18


def test_a_failing_source_does_not_affect_others() -> None:
    def risk(name: str) -> str:
        raise LookupError(name)

    def handler(request: httpx.Request) -> httpx.Response:
        if "kalshi" in request.url.host:
            raise httpx.ConnectError("no route")
        return recorded(request)

    found = fetch_all(make_fetcher(handler), replace(PLAN, risk=risk, table=b"no table", query="yemen"))
    errors = {each.source: each.error for each in found if each.status == 0}
    assert errors == {"kalshi": "ConnectError: no route", "risk": "LookupError: iran"}
    assert {each.url.partition("?")[0] for each in found} >= {gdelt.SEARCH}
    observed = Observer().observe(FETCHED, found)
    assert observed.failed == ("kalshi",)
    assert (observed.lost["theaters.unreadable"], observed.lost["kalshi.no_answer"]) == (1, 1)


def test_the_default_plan_is_valid_and_an_invalid_plan_is_refused() -> None:
    plan = default_plan()
    assert plan.feeds
    assert plan.series
    assert (plan.table, plan.risk("iran")) == (default_table_bytes(), "UNKNOWN")
    for wrong in (b"", b"[]", b'{"feeds": []}', b'{"feeds": {}, "series": 5}'):
        with pytest.raises(ValueError, match="plan cannot be read"):
            read_plan(wrong)


FEEDS, SERIES = {"Paper": "https://example.org/feed.xml"}, ["KXIRANSTRIKE"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            {"feeds": {"a": "file:///etc/passwd"}},
            'feeds must .* http or https URLs; received "file:///etc/passwd" for "a"',
        ),
        ({"feeds": {"a": "https://"}}, "feeds must have http or https URLs"),
        ({"feeds": {"a": "https:///feed.xml"}}, "feeds must have http or https URLs"),
        ({"feeds": {"a": "https://[::1"}}, "feeds must have http or https URLs"),
        ({"feeds": {"a": "https://example.org/a b"}}, "feeds must have http or https URLs"),
        ({"series": "KXA"}, '`series` must be a list; received "KXA"'),
        ({"series": ["kxa"]}, 'series must be Kalshi series tickers such as KXIRANSTRIKE; received "kxa"'),
        ({"series": ["KXA&status=closed"]}, "series must be Kalshi series tickers"),
        ({"query": 5}, "`query` must be a string or null; received 5"),
        ({"query": " "}, '`query` must be non-empty or left out; received " "'),
        ({"querry": "iran"}, 'fields must be among feeds, series, query, calendar, theaters; received "querry"'),
        ({"feeds": {}, "series": []}, "a feed, a series or a query is required; received none"),
        ({"calendar": 3}, "`calendar` must be a string or null; received 3"),
        ({"calendar": "none.ics"}, "a readable file is required; received '.*none.ics': No such file"),
        ({"calendar": "junk"}, "`calendar` must be an iCalendar file; received '.*junk'"),
        ({"theaters": "junk"}, "the table of theaters cannot be read"),
    ],
)
def test_a_plan_with_an_invalid_field_is_refused(more: dict[str, Any], expected: str, tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk")
    raw = json.dumps({"feeds": FEEDS, "series": SERIES} | more).encode()
    with pytest.raises(ValueError, match=f"^the plan cannot be read: {expected}"):
        read_plan(raw, tmp_path)


def test_the_calendar_and_table_of_a_plan_are_reloaded(tmp_path: Path) -> None:
    (tmp_path / "events.ics").write_bytes(fixture("calendar.ics"))
    (tmp_path / "table.json").write_bytes(default_table_bytes())
    expected = {"feeds": FEEDS, "series": SERIES, "calendar": "events.ics", "theaters": str(tmp_path / "table.json")}
    plan = read_plan(json.dumps(expected).encode(), tmp_path)
    assert (plan.calendar, plan.table) == (fixture("calendar.ics"), default_table_bytes())
    (tmp_path / "events.ics").write_bytes(b"BEGIN:VCALENDAR")
    assert plan.reload() == replace(plan, calendar=b"BEGIN:VCALENDAR")
    for each in ({"series": []}, {"feeds": {}}, {"feeds": {}, "series": [], "query": "iran"}):
        assert read_plan(json.dumps({"feeds": FEEDS, "series": SERIES} | each).encode()).calendar is None
