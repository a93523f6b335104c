"""Secrecy of the pages, escaping of untrusted text, and rate limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("jinja2")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor
from arena_pages import HTML, NOTHING, crawl, page

from openoutcry.arena.store.entry_writes import MarketListing, PublishSnapshot, RegisterAgent
from openoutcry.arena.timestamps import CADENCE, HOUR, MINUTE, parse_timestamp

pytestmark = pytest.mark.once

SHARE, WORDS = 0.387215, "sentinel-of-a-reason"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    with floor(tmp_path / "arena") as found:
        yield found


def test_no_page_shows_a_decision_before_the_cutoff(ground: Floor) -> None:
    #
    """Probability, confidence, reasoning and salt; also after a result, and with the agent's own key."""
    ground.publish()
    ground.register("one")
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    decision = {"market_id": market["market_id"], "yes_probability": SHARE, "confidence": 0.912, "reasoning": WORDS}
    reply = ground.submit("one", decision).json()
    secrets = [str(SHARE), "0.912", WORDS, reply["salts"][0]["salt"]]
    name = reply["submission_id"]
    starts = (*NOTHING, "/agents/one", f"/submissions/{name}", f"/submissions/{name}/receipt.json")
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"])
    for _ in range(2):
        answers = [*crawl(ground, *starts).values()]
        own = {"Authorization": f"Bearer {ground.keys['one']}"}
        answers += [ground.client.get(path, headers=HTML | own) for path in starts]
        shown = b"\n".join(each.content + str(each.headers).encode() for each in answers)
        assert [each for each in secrets if each.encode() in shown] == []
        ground.resolve(market["market_id"], "yes")
    said = page(ground, f"/markets/{market['market_id']}").said
    assert "Hidden until the cutoff" in said, "a result reveals nothing"
    assert "1 of 1 decision is hidden" in page(ground, f"/submissions/{name}").said
    assert "1 decision is hidden" in page(ground, "/agents/one").said
    ground.clock[0] += 1
    for path in ("/agents/one", f"/markets/{market['market_id']}", f"/submissions/{name}"):
        assert {str(SHARE), WORDS} <= set(page(ground, path).words), path


def test_untrusted_text_is_escaped(ground: Floor) -> None:
    """Names, questions, news and reasoning cannot add tags, text direction or non-http links."""
    ground.publish()
    as_of = parse_timestamp("t", ground.as_of) + CADENCE
    ground.clock[0] = as_of
    items: list[dict[str, Any]] = [
        {"id": "n", "kind": "news", "source_type": "rss", "source_name": HOSTILE, "title": HOSTILE, "summary": HOSTILE}
        | {"url": "javascript:alert(3)", "published_at": "2026-05-08T12:00:00Z"},
        {"id": "s", "kind": "seismic", "magnitude": 4.1, "depth_km": None, "lat": 1.0, "lon": 2.0, "place": HOSTILE}
        | {"occurred_at": "2026-05-08T12:00:00Z", "url": "data:text/html,x"},
        {"id": "m", "kind": "market_state", "exchange": "kalshi", "market_id": "kalshi:HOSTILE", "question": HOSTILE}
        | {"yes_mid_price": 0.5, "yes_bid": None, "yes_ask": None, "volume_24h_usd": None, "theaters": ["iran"]}
        | {"as_of": "2026-05-08T12:10:00Z", "close_time": "2026-05-08T15:10:00Z"},
    ]
    body = json.dumps({"schema_version": "0.2.0", "as_of": "2026-05-08T12:10:00Z", "items": items}).encode()
    times = as_of + HOUR, as_of + 3 * HOUR
    listing = MarketListing("kalshi:HOSTILE", "kalshi", HOSTILE, ("iran",), *times, "0.5")
    bodies = dict.fromkeys(("identity", "gzip", "br", "zstd"), body)
    ground.arena.writer.write(PublishSnapshot(as_of, bodies, [listing], as_of))
    ground.register("one", display_name=HOSTILE)
    # Written directly, as if it were registered before such names were refused.
    ground.arena.writer.write(RegisterAgent("two", "\u202egnorw \u2066isolated", None, as_of))
    reason = {"market_id": "kalshi:HOSTILE", "yes_probability": 0.5, "reasoning": HOSTILE}
    name = ground.submit("one", reason).json()["submission_id"]
    ground.clock[0] += 3 * HOUR
    for path in ("/", "/agents/one", "/markets?status=closed", "/markets/kalshi:HOSTILE", f"/submissions/{name}"):
        found = page(ground, path)
        assert HOSTILE in found.words, path
        assert [tag for tag, reply in found.tags if tag == "img" or "onerror" in reply] == []
    snapshot = page(ground, "/snapshots/2026-05-08T12:10:00Z")
    assert snapshot.words.count(HOSTILE) == 5
    assert [link for link in snapshot.links if not link.startswith(("/", "#"))] == []
    board = page(ground, "/").text
    assert "\ufffdgnorw \ufffdisolated" in board
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", board)


def test_a_page_loads_no_external_resource_and_has_no_inline_script(ground: Floor) -> None:
    """Content security policy, and file names with a hash of the content."""
    ground.publish()
    for path in (*NOTHING, "/nothing"):
        answer = ground.client.get(path, headers=HTML)
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    found = page(ground, "/")
    assert [each.rpartition(".")[2] for each in found.assets] == ["css", "svg", "js"]
    for each in found.assets:
        assert re.fullmatch(r"/static/[a-z]+\.[0-9a-f]{16}\.[a-z]+", each)
        answer = ground.client.get(each)
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.content
    page(ground, "/static/arena.css", 404)


def test_an_error_is_a_page_for_browsers_and_json_for_programs(ground: Floor) -> None:
    #
    """Below the protocol's base path errors are always JSON."""
    ground.publish()
    wrong = {"/nothing": 404, "/agents/none": 404, "/markets/kalshi:NONE": 404, "/submissions/0": 404}
    wrong |= {"/snapshots/2026-05-08T12:30:00Z": 404, "/snapshots/x": 404, "/registry/proof/0": 404, "/?page=0": 400}
    wrong |= {"/?min_n=x": 400, "/?theater=mars": 400, "/?sort=x": 400, "/?page=2": 404, "/agents?slug=x": 404}
    wrong |= {
        "/markets?status=x": 400,
        "/?season=2026Q1": 400,
        "/registry?date=2026-05-08&before=%00": 400,
        "/registry/consistency?from=x&to=1": 400,
    }
    for path, status in wrong.items():
        found = page(ground, path, status)
        assert str(status) in found.words
        reply = ground.client.get(path, headers={"Accept": "application/json"})
        assert (reply.status_code, set(reply.json())) == (status, {"error", "detail", "field"})
    assert "No market of an unknown region is open." in page(ground, "/markets?theater=mars").said
    for path in (f"{BASE}/nothing", f"{BASE}/agents/none", f"{BASE}/intel?as_of=x", f"{BASE}/decisions"):
        reply = ground.client.get(path, headers=HTML)
        assert set(reply.json()) == {"error", "detail", "field"}, path
    assert ground.client.post("/", headers=HTML).json()["error"] == "method_not_allowed"


def test_pages_count_against_the_rate_limit(tmp_path: Path) -> None:
    #
    """The error has a Retry-After header."""
    with floor(tmp_path, rate_anon=2) as ground:
        ground.publish()
        page(ground, "/")
        page(ground, "/markets")
        answer = ground.client.get("/", headers=HTML)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
        assert "Too many requests" in answer.text
        assert ground.client.get(page_asset(answer.text)).status_code == 200, "static files do not count"
        ground.clock[0] += MINUTE
        page(ground, "/")


def page_asset(text: str) -> str:
    found = re.search(r'"(/static/[^"]+\.css)"', text)
    assert found is not None
    return found[1]
