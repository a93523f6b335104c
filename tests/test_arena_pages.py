"""Pages for people: whole, linked, escaped, honest about every state; R-03, R-28, R-31 to R-34."""

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

from arena_floors import BASE, Floor, floor
from arena_pages import HTML, crawl, page

from openoutcry.arena import verifier
from openoutcry.arena.log.notes import WITNESS, SignerKey
from openoutcry.arena.pages import agents, drawing, logbook
from openoutcry.arena.store.entries import ClosingDay, Listing, Publishing, Suspending
from openoutcry.arena.times import CADENCE, DAY, HOUR, MINUTE, day_of, moment_of
from openoutcry.report.text import number

pytestmark = pytest.mark.once

NOTHING = ("/", "/markets", "/markets?status=closed", "/snapshots", "/registry", "/first-agent", "/docs")
SHARE, WORDS = 0.387215, "sentinel-of-a-reason"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    with floor(tmp_path / "arena") as found:
        yield found


def season(ground: Floor, *outcomes: str | None) -> None:
    """Let three agents decide on all markets, and settle them after the last cutoff."""
    ground.publish()
    for place, slug in enumerate(("one", "two", "three")):
        ground.register(slug, display_name=f"Agent {slug}")
        ground.submit(slug, *({"market_id": each, "yes_probability": 0.2 + 0.3 * place} for each in ground.markets()))
    markets = ground.markets()
    if outcomes:
        ground.clock[0] += 8 * DAY
    for market, outcome in zip(markets, outcomes, strict=False):
        if outcome is not None:
            ground.resolve(market, outcome)


def test_every_page_is_whole_and_every_link_leads_somewhere(ground: Floor) -> None:
    """Well formed, one h1, captions, labels, scopes; empty, open and settled."""
    crawl(ground, *NOTHING)
    season(ground)
    found = crawl(ground, *NOTHING)
    assert {"/agents/one", f"/snapshots/{ground.as_of}", "/markets/kalshi:KXIRANSTRIKE-DEMO1"} <= set(found)
    ground.clock[0] += 8 * DAY
    for market in ground.markets("closed"):
        ground.resolve(market, "no")
    ground.arena.writer.write(ClosingDay(day_of(ground.clock[0] - DAY), ground.clock[0]))
    assert len(crawl(ground, *NOTHING)) > 30


def test_nothing_that_is_decided_is_on_any_page_before_the_cutoff(ground: Floor) -> None:
    """R-32: probability, confidence, reason and salt; also with a result, and with the agent's own key."""
    ground.publish()
    ground.register("one")
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    decision = {"market_id": market["market_id"], "yes_probability": SHARE, "confidence": 0.912, "reasoning": WORDS}
    told = ground.submit("one", decision).json()
    secrets = [str(SHARE), "0.912", WORDS, told["salts"][0]["salt"]]
    name = told["submission_id"]
    starts = (*NOTHING, "/agents/one", f"/submissions/{name}", f"/submissions/{name}/receipt.json")
    ground.clock[0] = moment_of("t", market["decision_cutoff"])
    for _ in range(2):
        answers = [*crawl(ground, *starts).values()]
        own = {"Authorization": f"Bearer {ground.keys['one']}"}
        answers += [ground.client.get(path, headers=HTML | own) for path in starts]
        shown = b"\n".join(each.content + str(each.headers).encode() for each in answers)
        assert [each for each in secrets if each.encode() in shown] == []
        ground.resolve(market["market_id"], "yes")
    said = page(ground, f"/markets/{market['market_id']}").said
    assert "Hidden until the cutoff" in said, "a result opens nothing"
    assert "1 of 1 decision is hidden" in page(ground, f"/submissions/{name}").said
    assert "1 decision is hidden" in page(ground, "/agents/one").said
    ground.clock[0] += 1
    for path in ("/agents/one", f"/markets/{market['market_id']}", f"/submissions/{name}"):
        assert {str(SHARE), WORDS} <= set(page(ground, path).words), path


def test_the_address_of_an_anchor_leads_to_its_row(ground: Floor) -> None:
    """R-28: also of a submission at the very end of a day, whose record and id come in the next."""
    ground.publish()
    ground.register("one")
    end = ground.clock[0] - ground.clock[0] % DAY + DAY
    for step, market in zip((0, -1), ground.markets()[2:], strict=False):
        ground.clock[0] = end + step
        told = ground.submit("one", (market, 0.5)).json()
        path, _, row = told["anchor"]["anchor_url"].partition("#")
        found = page(ground, path)
        assert {row, told["submission_id"]} <= set(found.ids)
        assert told["anchor"]["submission_sha256"] in found.words
    ground.clock[0] = end
    ground.arena.writer.write(ClosingDay("2026-05-08", end))
    closed, today = page(ground, "/registry?date=2026-05-08"), page(ground, "/registry?date=2026-05-09")
    record = ground.client.get("/registry/checkpoint").text.split("\n")
    assert record[2] in today.text, "the newest root is that of a day that goes on"
    assert "not closed yet" in today.said
    assert "not closed yet" not in closed.said
    note = re.search(r"openoutcry\.arena/local\n(\d+)\n\S+\n\n— \S+ \S+\n", closed.text)
    assert note is not None
    size, _ = verifier.open_checkpoint(note[0], verifier.parse_key(str(ground.arena.key.verifier)))
    assert size == int(record[1]) - 1, "the day's record is not among those that it closes"
    for wrong, status in (("2026-05-07", 404), ("2026-05-10", 404), ("2026-13-01", 400), ("x", 400)):
        page(ground, f"/registry?date={wrong}", status)
    assert {"row-2026-05-08", "row-2026-05-09"} <= set(page(ground, "/registry").ids)


def test_the_submissions_of_a_day_are_paged(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logbook, "ROWS", 3)
    ground.publish()
    ground.register("one")
    made = [ground.submit("one", (market, 0.5)).json()["submission_id"] for market in ground.markets()]
    shown, path = [], "/registry?date=2026-05-08"
    while path:
        found = page(ground, path)
        shown.append([each for each in found.ids if each in made])
        path = next((each for each in found.links if "before=" in each), "")
    assert shown == [made[:4:-1], made[4:1:-1], made[1::-1]]


def test_a_submission_verifies_offline_with_what_its_page_tells_to_fetch(ground: Floor, tmp_path: Path) -> None:
    """R-42: once all is open; before, only its agent has the salts."""
    ground.publish()
    ground.register("one")
    name = ground.submit("one", *((market, 0.5) for market in ground.markets()[:2])).json()["submission_id"]
    vkey = str(ground.arena.key.verifier)
    assert "Until the cutoff only the agent has all salts" in page(ground, f"/submissions/{name}").said
    ground.clock[0] += 8 * DAY
    found = page(ground, f"/submissions/{name}")
    command = next(each for each in found.words if each.startswith("curl"))
    fetched, checked = command.split("\n")
    assert checked == f"openoutcry-verify receipt receipt.json --vkey '{vkey}'"
    (tmp_path / "receipt.json").write_bytes(ground.client.get(fetched.split()[-1]).content)
    assert verifier.main(["receipt", str(tmp_path / "receipt.json"), "--vkey", vkey]) == 0


def test_what_others_wrote_is_text(ground: Floor) -> None:
    """Names, questions, news and reasons: no tag, no other direction, no address but of the web."""
    ground.publish()
    as_of = moment_of("t", ground.as_of) + CADENCE
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
    listing = Listing("kalshi:HOSTILE", "kalshi", HOSTILE, ("iran",), *times, "0.5")
    bodies = dict.fromkeys(("identity", "gzip", "br", "zstd"), body)
    ground.arena.writer.write(Publishing(as_of, bodies, [listing], as_of))
    ground.register("one", display_name=HOSTILE)
    ground.register("two", display_name="\u202egnorw \u2066isolated")
    reason = {"market_id": "kalshi:HOSTILE", "yes_probability": 0.5, "reasoning": HOSTILE}
    name = ground.submit("one", reason).json()["submission_id"]
    ground.clock[0] += 3 * HOUR
    for path in ("/", "/agents/one", "/markets?status=closed", "/markets/kalshi:HOSTILE", f"/submissions/{name}"):
        found = page(ground, path)
        assert HOSTILE in found.words, path
        assert [tag for tag, told in found.tags if tag == "img" or "onerror" in told] == []
    snapshot = page(ground, "/snapshots/2026-05-08T12:10:00Z")
    assert snapshot.words.count(HOSTILE) == 5
    assert [link for link in snapshot.links if not link.startswith(("/", "#"))] == []
    board = page(ground, "/").text
    assert "\ufffdgnorw \ufffdisolated" in board
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", board)


def test_a_page_loads_nothing_from_elsewhere_and_no_script_of_its_own(ground: Floor) -> None:
    """The policy, and names of files that change with their content."""
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


def test_a_refusal_is_a_page_for_people_and_json_for_programs(ground: Floor) -> None:
    """R-03: below the protocol's path it is JSON whatever is accepted."""
    ground.publish()
    wrong = {"/nothing": 404, "/agents/none": 404, "/markets/kalshi:NONE": 404, "/submissions/0": 404}
    wrong |= {"/snapshots/2026-05-08T12:30:00Z": 404, "/snapshots/x": 404, "/registry/proof/0": 404, "/?page=0": 400}
    wrong |= {"/?min_n=x": 400, "/?theater=mars": 400, "/?sort=x": 400, "/?page=2": 404, "/agents?slug=x": 404}
    wrong |= {"/markets?status=x": 400, "/registry/consistency?from=x&to=1": 400}
    for path, status in wrong.items():
        found = page(ground, path, status)
        assert str(status) in found.words
        told = ground.client.get(path, headers={"Accept": "application/json"})
        assert (told.status_code, set(told.json())) == (status, {"error", "detail", "field"})
    for path in (f"{BASE}/nothing", f"{BASE}/agents/none", f"{BASE}/intel?as_of=x", f"{BASE}/decisions"):
        told = ground.client.get(path, headers=HTML)
        assert set(told.json()) == {"error", "detail", "field"}, path
    assert ground.client.post("/", headers=HTML).json()["error"] == "method_not_allowed"


def test_pages_are_counted_as_other_requests_are(tmp_path: Path) -> None:
    """R-06: and whoever is turned away is told when to come again."""
    with floor(tmp_path, rate_anon=2) as ground:
        ground.publish()
        page(ground, "/")
        page(ground, "/markets")
        answer = ground.client.get("/", headers=HTML)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
        assert "Too many requests" in answer.text
        assert ground.client.get(page_asset(answer.text)).status_code == 200, "the look of that page comes with it"
        ground.clock[0] += MINUTE
        page(ground, "/")


def page_asset(text: str) -> str:
    found = re.search(r'"(/static/[^"]+\.css)"', text)
    assert found is not None
    return found[1]


def test_the_board_is_that_of_the_protocol_in_every_order(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-33, R-34: rows by rank; by other columns the best first; a page at a time."""
    monkeypatch.setattr(agents, "PAGE", 4)
    season(ground, "no", "no", "yes", "no", "no", "yes", "no", "no")
    for place in range(7):
        ground.register(f"idle-{place}")
    rows = ground.client.get(f"{BASE}/leaderboard").json()["rows"]

    def shown(path: str) -> list[str]:
        found: list[str] = []
        while path:
            now = page(ground, path)
            found += [link.removeprefix("/agents/") for link in now.links if link.startswith("/agents/")]
            path = next((told["href"] for _, told in now.tags if told.get("rel") == "next"), "")
        return found

    assert shown("/") == [row["slug"] for row in rows]
    by_brier = sorted((row for row in rows if row["brier"] is not None), key=lambda row: row["brier"])
    assert shown("/?sort=brier")[:3] == [row["slug"] for row in by_brier]
    assert len(shown("/?min_n=8")) == 3
    theater = ground.client.get(f"{BASE}/leaderboard?theater=iran&min_n=1").json()["rows"]
    assert shown("/?theater=iran&min_n=1") == [row["slug"] for row in theater]
    found = page(ground, "/?sort=brier&sort=roi")
    sorted_by = [told["aria-sort"] for tag, told in found.tags if tag == "th" and "aria-sort" in told]
    assert sorted_by == ["descending"], "a header's button comes after what the form holds"
    assert [told["href"] for tag, told in found.tags if told.get("rel") == "next"] == ["/?sort=roi&page=2"]


def test_every_state_of_an_agent_is_told(ground: Floor) -> None:
    """Nobody, no score, provisional, tie, suspended, always 50, a snapshot that is old."""
    assert "No snapshot is published yet" in page(ground, "/").said
    assert "Nobody has registered yet" in page(ground, "/").said
    season(ground)
    assert "Nobody has a score yet" in page(ground, "/").said
    assert "more than 20 minutes old" not in page(ground, "/").said
    markets = ground.markets()
    ground.register("four")
    ground.submit("four", *({"market_id": each, "yes_probability": 0.2} for each in markets))
    ground.clock[0] += 8 * DAY
    ground.resolve(markets[0], "no", "determined")
    found = page(ground, "/").said
    assert "more than 20 minutes old" in found
    assert "provisional 1 not final" in found
    assert "Nobody has a score yet" in found
    assert "1 more decision on markets whose result is known and not final" in page(ground, "/agents/one").said
    ground.resolve(markets[0], "no")
    found = page(ground, "/").said
    assert "compares with always saying 50%" in found
    assert found.count("tied") == 2, "one and four"
    ground.arena.writer.write(Suspending("one", True, "a test", ground.clock[0]))
    assert "suspended" in page(ground, "/").words
    assert "nothing of it is scored" in page(ground, "/agents/one").said


def test_an_agent_is_found_by_its_slug_however_it_is_written(ground: Floor) -> None:
    ground.publish()
    ground.register("long-" + "x" * 35, display_name="W" * 80)
    ground.register("rtl", display_name="\u0633\u0648\u0642")
    answer = ground.client.get("/agents?slug=%20RTL%20", headers=HTML, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/agents/rtl")
    found = page(ground, "/")
    assert {"W" * 80, "\u0633\u0648\u0642"} <= set(found.words)
    assert "<bdi>\u0633\u0648\u0642</bdi>" in found.text
    assert page(ground, "/agents/RTL").said.startswith("\u0633\u0648\u0642")


def test_a_market_says_what_became_of_it(ground: Floor) -> None:
    season(ground, "yes", None)
    markets = ground.markets("settled") + ground.markets("closed")
    assert "YES" in page(ground, f"/markets/{markets[0]}").words
    found = page(ground, f"/markets/{markets[1]}").said
    assert "no result yet" in found
    assert "3 agents decided. Their mean is 0.500." in found


def test_the_calibration_is_drawn_and_told_as_numbers(ground: Floor) -> None:
    """R-31: the picture, and a table with the same."""
    season(ground, "no", "no", "yes", "no", "yes", "no", "no", "no")
    found = page(ground, "/agents/one")
    assert "Probability of YES, share that came true, and count: 0.20 came true 0.25 (8)." in found.said
    assert "0.2 to 0.3 8 0.20 25%" in found.said


def test_the_registry_tells_who_witnesses(tmp_path: Path) -> None:
    """R-42: and how much of the log each has cosigned, which is there to be fetched."""
    seen, new = (SignerKey(name, bytes([place]) * 32, WITNESS) for place, name in enumerate(("w.example", "v.example")))
    with floor(tmp_path, witnesses=(seen.verifier, new.verifier)) as ground:
        ground.publish()
        note = ground.client.get("/registry/checkpoint").text
        cosigned = note + seen.line(note.partition("\n\n")[0] + "\n", 1_778_000_000)
        assert ground.client.post("/registry/cosignatures", content=cosigned).status_code == 200
        found = page(ground, "/registry")
        size = note.split("\n")[1]
        assert f"w.example {size} {seen.verifier}" in found.said
        assert "v.example \u2013 none: nothing yet" in found.said
        crawl(ground, "/registry")


def test_an_interval_is_told_and_drawn_where_there_are_markets_enough(ground: Floor) -> None:
    """R-33: of skill and of rank, in words and beside them as a picture."""
    as_of = ground.clock[0] - ground.clock[0] % CADENCE
    ids = [f"kalshi:M{place}" for place in range(12)]
    listings = [Listing(each, "kalshi", each, ("iran",), as_of + HOUR, as_of + 3 * HOUR, "0.5") for each in ids]
    items = [
        {"id": each, "kind": "market_state", "exchange": "kalshi", "market_id": each, "question": each}
        | {"yes_mid_price": 0.5, "yes_bid": None, "yes_ask": None, "volume_24h_usd": None, "theaters": ["iran"]}
        | {"as_of": ground.demo.began_at.isoformat(), "close_time": "2026-05-08T15:00:00Z"}
        for each in ids
    ]
    body = json.dumps({"schema_version": "0.2.0", "as_of": "2026-05-08T12:00:00Z", "items": items}).encode()
    bodies = dict.fromkeys(("identity", "gzip", "br", "zstd"), body)
    ground.arena.writer.write(Publishing(as_of, bodies, listings, as_of))
    for slug, share in (("one", 0.2), ("two", 0.6)):
        ground.register(slug)
        ground.submit(slug, *((each, share + place / 100) for place, each in enumerate(ids)))
    ground.clock[0] += DAY
    for place, each in enumerate(ids):
        ground.resolve(each, "no" if place % 4 else "yes")
    row = ground.client.get(f"{BASE}/leaderboard").json()["rows"][0]
    low, high = (number(row[f"brier_skill_score_{end}"], 3, signed=True) for end in ("low", "high"))
    found = page(ground, "/")
    assert f"{low} to {high}" in found.words
    assert f"{row['rank_low']:.0f} to {row['rank_high']:.0f}" in found.words
    assert found.text.count("oo-whisker") == 2
    assert f"{low} to {high}" in page(ground, "/agents/one").words


def test_a_column_of_intervals_has_zero_and_leaves_far_ones_outside() -> None:
    near = [(0.1, 0.0, 0.2), (0.2, None, None), (-0.1, -0.3, 0.1), (None, None, None)]
    low, high = drawing.bounds([*near, (-40.0, -90.0, 3.0)])
    assert (-0.5 < low < -0.3, 0.2 < high < 0.5) == (True, True)
    assert drawing.bounds([]) == pytest.approx((-0.058, 0.058))
    assert drawing.interval((None, None, None), (low, high)) == ""
    assert 'cx="0%"' in drawing.interval((-40.0, -90.0, 3.0), (low, high)), "at the end, not outside"
    drawn = [drawing.interval(each, (low, high)) for each in near[:3]]
    assert ["oo-whisker" in each for each in drawn] == [True, False, True]
    sure = [drawing.interval(each, (-1.0, 1.0)) for each in ((0.2, 0.1, 0.3), (-0.2, -0.3, -0.1), (0.1, -0.1, 0.3))]
    assert [re.findall("c-[a-z]+", each) for each in sure] == [["c-agent"], ["c-delayed"], ["c-benchmark"]]
