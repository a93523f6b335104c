"""Untrusted bytes: no input makes a parser raise, and a hostile item costs only itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any

import pytest
from arena_items import AS_OF, FETCHED, capture, fixture, responses, zipped
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena.snapshots.item_kinds import Item
from openoutcry.arena.snapshots.snapshot_builder import build
from openoutcry.arena.snapshots.theaters import default_table
from openoutcry.arena.sources import financial_risk, gdelt, icalendar, kalshi, rss, usgs, wikipedia
from openoutcry.arena.sources.observer import Observer
from openoutcry.arena.sources.parse_result import Parsed
from openoutcry.arena.sources.text_sanitizer import clean_text, html_to_text, http_url

pytestmark = pytest.mark.once

PARSERS: dict[str, tuple[Callable[[bytes], Parsed[Any]], bytes]] = {
    "rss": (lambda raw: rss.parse(raw, FETCHED, "Paper"), fixture("rss.xml")),
    "atom": (lambda raw: rss.parse(raw, FETCHED, "Paper"), fixture("atom.xml")),
    "gdelt_articles": (lambda raw: gdelt.parse_articles(raw, FETCHED), fixture("gdelt_articles.json")),
    "gdelt_events": (lambda raw: gdelt.parse_events(raw, FETCHED), zipped(fixture("gdelt_export.CSV"))),
    "wikipedia_edits": (lambda raw: wikipedia.parse_edits(raw, FETCHED), fixture("wikipedia_edits.json")),
    "wikipedia_views": (lambda raw: wikipedia.parse_views(raw, FETCHED), fixture("wikipedia_views.json")),
    "usgs": (lambda raw: usgs.parse(raw, FETCHED), fixture("usgs.geojson")),
    "kalshi": (lambda raw: kalshi.parse(raw, FETCHED, default_table()), fixture("kalshi_dollars.json")),
    "kalshi_cents": (lambda raw: kalshi.parse(raw, FETCHED, default_table()), fixture("kalshi_cents.json")),
    "calendar": (lambda raw: icalendar.parse(raw, FETCHED), fixture("calendar.ics")),
    "risk": (financial_risk.parse, b'{"iran": "HIGH"}'),
}
BIDI = "\u202e\u2066\u200f\ufeff"
# Values planted at any place of a JSON response.
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["9" * 400, "1e999", "-1", "\ud800", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", [], {}, [[]]]),
)


@pytest.mark.parametrize("name", PARSERS)
@given(raw=st.binary(max_size=300))
def test_no_bytes_make_a_parser_raise(name: str, raw: bytes) -> None:
    PARSERS[name][0](raw)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_no_damage_to_a_valid_response_makes_a_parser_raise(name: str, data: st.DataObject) -> None:
    parse, raw = PARSERS[name]
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 40)))
    for item in parse(raw[:start] + data.draw(st.binary(max_size=10)) + raw[end:]).items:
        if isinstance(item, Item):
            json.dumps(item.to_json(), allow_nan=False).encode()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in places(each, (*path, key)))]


def planted(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = planted(value[path[0]], path[1:], odd)
    return changed


@pytest.mark.parametrize("name", [name for name, (_, raw) in PARSERS.items() if raw[:1] == b"{"])
@given(data=st.data())
def test_no_planted_json_value_makes_a_parser_raise(name: str, data: st.DataObject) -> None:
    parse, raw = PARSERS[name]
    read = json.loads(raw)
    changed = planted(read, data.draw(st.sampled_from(places(read))), data.draw(ODD))
    for item in parse(json.dumps(changed).encode()).items:
        if isinstance(item, Item):
            json.dumps(item.to_json(), allow_nan=False).encode()


def feed_of(*items: str) -> bytes:
    return f'<rss version="2.0"><channel><title>x</title>{"".join(items)}</channel></rss>'.encode()


def entry(title: str, url: str = "https://example.org/x", date: str = "Fri, 08 May 2026 11:00:00 GMT") -> str:
    return f"<item><title>{title}</title><link>{url}</link><guid>{title[:9]}</guid><pubDate>{date}</pubDate></item>"


@pytest.mark.parametrize(
    "bad",
    [
        entry("Runs", "javascript:alert(1)"),
        entry("Data", "data:text/html,hi"),
        entry("Long", "https://example.org/" + "a" * 5000),
        entry("Blank", "https://exam ple.org/"),
        entry(BIDI),
        entry("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "<item/>",
    ],
)
def test_a_hostile_article_costs_only_itself(bad: str) -> None:
    parsed = rss.parse(feed_of(entry("Before", "https://example.org/1"), bad, entry("After")), FETCHED, "Paper")
    assert [each.title for each in parsed.items] == ["Before", "After"]
    assert parsed.lost["article"] == 1


@pytest.mark.parametrize(
    "date", ["Fri, 99 May 2026 11:00:00 GMT", "32 Foo 0000", "9" * 5000, "2999-01-01T00:00:00Z", ""]
)
def test_a_bad_date_costs_only_the_date(date: str) -> None:
    (article,) = rss.parse(feed_of(entry("Title", date=date)), FETCHED, "Paper").items
    assert article.published_at == FETCHED


def test_a_long_feed_gives_a_bounded_number_of_articles() -> None:
    many = feed_of(*(entry(f"{n:05}") for n in range(1000)))
    assert len(rss.parse(many, FETCHED, "Paper").items) == rss.MAX_ENTRIES


def test_deep_nesting_costs_only_the_response() -> None:
    for deep in (b"[" * 200_000, b'{"a":' * 200_000, b"<a>" * 5_000):
        for parse, _ in PARSERS.values():
            assert parse(deep).items == []


def test_expanding_and_external_entities_are_not_followed(tmp_path: Any) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do-not-show", encoding="utf-8")
    grows = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x" * 10}">' for n in range(9))
    head = f'<!DOCTYPE rss [{grows}<!ENTITY file SYSTEM "{secret.as_uri()}">]>'
    raw = (head + feed_of(entry("&e8;&file;"), entry("Other", "https://example.org/2")).decode()).encode()
    parsed = rss.parse(raw, FETCHED, "Paper")
    assert "do-not-show" not in repr(parsed)
    assert len(repr(parsed)) < 5000


def test_a_decompression_bomb_is_read_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gdelt, "MAX_CSV_BYTES", 1000)
    row = fixture("gdelt_export.CSV").splitlines()[0] + b"\n"
    parsed = gdelt.parse_events(zipped(row * 100_000), FETCHED)
    assert 0 < len(parsed.items) <= 1000 // len(row)


def test_text_becomes_one_line_without_reordering_characters() -> None:
    assert html_to_text("<p>a<br>b</p><style>c</style>&amp;&#8238;d", 100) == "a b &d"
    assert clean_text(f"a\t\r\n b{BIDI}\x00\x1b[31m\u2028c\ud800\ue000", 100) == "a b[31m c"
    # Persian joiners are kept, and combining accents are composed.
    assert clean_text("\u0645\u06cc\u200c\u062e e\u0301", 100) == "\u0645\u06cc\u200c\u062e \u00e9"
    assert clean_text("a" * 50 + " " + "b" * 50, 51) == "a" * 50
    assert html_to_text(None, 10) == html_to_text(5, 10) == ""


@given(st.text(), st.integers(1, 50))
def test_any_text_becomes_valid_for_an_item(text: str, most: int) -> None:
    for shown in (html_to_text(text, most), clean_text(text, most)):
        assert len(shown) <= most
        assert shown == shown.strip()
        shown.encode()


@pytest.mark.parametrize("piece", ["<", "<a ", "&", "<!--", "<![", "<!DOCTYPE", "</", "<a b='", "<script>", "&#9"])
def test_markup_is_read_in_linear_time(piece: str) -> None:
    # A quadratic parser would not finish here.
    assert len(html_to_text(piece * 1_000_000, 100)) <= 100
    parsed = rss.parse(feed_of(*(entry(f"{n}" + escape(piece * 3000)) for n in range(15))), FETCHED, "Paper")
    assert len(parsed.items) == 15


def test_a_character_reference_with_thousands_of_digits_is_unchanged() -> None:
    assert html_to_text("<b>a</b> &#" + "9" * 5000 + ";", 6) == "a &#99"


@pytest.mark.parametrize("address", ["https://example.org/a?b=c#d", "http://example.org"])
def test_only_http_and_https_urls_are_links(address: str) -> None:
    assert http_url(f" {address}\n") == address
    for bad in ("", None, 5, "//example.org", "HTTPS://", address.replace("http", "gopher"), f"{address}\u202e"):
        assert http_url(bad) is None


def test_a_hostile_feed_loses_only_its_own_items() -> None:
    clean = Observer().observe(AS_OF, responses())
    hostile = [
        capture("rss", "Evil", fixture("rss.xml").replace(b"Talks", b"Lies")),
        capture("rss", "Broken", b"\x00<rss"),
        capture("usgs", "more", b"[" * 100_000),
        capture("kalshi", "EVIL", b'{"markets": [{"ticker": "KXA", "close_time": "9999-12-31T23:59:59Z"}]}'),
    ]
    mixed = Observer().observe(AS_OF, [*hostile, *responses()])
    assert mixed.failed == clean.failed == ()
    intel = {each.item.id for each in clean.seen if each.item.kind == "theater_intel"}
    assert {each for each in clean.seen if each.item.id not in intel} <= set(mixed.seen)
    build(AS_OF, mixed.seen)
