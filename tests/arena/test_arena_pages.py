"""HTML pages: well formed, linked, and correct in every state."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("jinja2")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor
from arena_pages import HTML, NOTHING, crawl, page

from openoutcry.arena import verifier
from openoutcry.arena.log.signed_notes import WITNESS, SignerKey
from openoutcry.arena.pages import agent_pages, log_pages, svg_charts
from openoutcry.arena.store.entry_writes import CloseDay, MarketListing, PublishSnapshot, SuspendAgent
from openoutcry.arena.timestamps import CADENCE, DAY, HOUR, day_of
from openoutcry.report.text_format import number

pytestmark = pytest.mark.once


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    with floor(tmp_path / "arena") as found:
        yield found


def season(ground: Floor, *outcomes: str | None) -> None:
    """Submit decisions of three agents on all markets, and settle the markets after the last cutoff."""
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


def test_every_page_is_well_formed_and_every_link_works(ground: Floor) -> None:
    """Pages have one h1, captions, labels and scopes; the season is empty, open and settled."""
    crawl(ground, *NOTHING)
    season(ground)
    found = crawl(ground, *NOTHING)
    assert {"/agents/one", f"/snapshots/{ground.as_of}", "/markets/kalshi:KXIRANSTRIKE-DEMO1"} <= set(found)
    ground.clock[0] += 8 * DAY
    for market in ground.markets("closed"):
        ground.resolve(market, "no")
    ground.arena.writer.write(CloseDay(day_of(ground.clock[0] - DAY), ground.clock[0]))
    assert len(crawl(ground, *NOTHING)) > 30


def test_the_address_of_an_anchor_shows_its_row(ground: Floor) -> None:
    #
    """Also for a submission at the end of a day whose record and id belong to the next day."""
    ground.publish()
    ground.register("one")
    end = ground.clock[0] - ground.clock[0] % DAY + DAY
    for step, market in zip((0, -1), ground.markets()[2:], strict=False):
        ground.clock[0] = end + step
        reply = ground.submit("one", (market, 0.5)).json()
        path, _, row = reply["anchor"]["anchor_url"].partition("#")
        found = page(ground, path)
        assert {row, reply["submission_id"]} <= set(found.ids)
        assert reply["anchor"]["submission_sha256"] in found.words
    ground.clock[0] = end
    ground.arena.writer.write(CloseDay("2026-05-08", end))
    closed, today = page(ground, "/registry?date=2026-05-08"), page(ground, "/registry?date=2026-05-09")
    record = ground.client.get("/registry/checkpoint").text.split("\n")
    assert record[2] in today.text, "an open day shows the newest root"
    assert "not closed yet" in today.said
    assert "not closed yet" not in closed.said
    note = re.search(r"openoutcry\.arena/local\n(\d+)\n\S+\n\n— \S+ \S+\n", closed.text)
    assert note is not None
    size, _ = verifier.open_checkpoint(note[0], verifier.parse_key(str(ground.arena.key.verifier)))
    assert size == int(record[1]) - 1, "the day's own record is not included"
    for wrong, status in (("2026-05-07", 404), ("2026-05-10", 404), ("2026-13-01", 400), ("x", 400)):
        page(ground, f"/registry?date={wrong}", status)
    assert {"row-2026-05-08", "row-2026-05-09"} <= set(page(ground, "/registry").ids)


def test_the_submissions_of_a_day_are_paged(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_pages, "ROWS", 3)
    ground.publish()
    ground.register("one")
    made = [ground.submit("one", (market, 0.5)).json()["submission_id"] for market in ground.markets()]
    shown, path = [], "/registry?date=2026-05-08"
    while path:
        found = page(ground, path)
        shown.append([each for each in found.ids if each in made])
        path = next((each for each in found.links if "before=" in each), "")
    assert shown == [made[:4:-1], made[4:1:-1], made[1::-1]]


def test_a_submission_verifies_offline_with_the_commands_of_its_page(ground: Floor, tmp_path: Path) -> None:
    #
    """After all cutoffs. Before, only the agent has all salts."""
    ground.publish()
    ground.register("one")
    name = ground.submit("one", *((market, 0.5) for market in ground.markets()[:2])).json()["submission_id"]
    vkey = str(ground.arena.key.verifier)
    assert "Until the cutoff only the agent has all salts" in page(ground, f"/submissions/{name}").said
    ground.clock[0] += 8 * DAY
    found = page(ground, f"/submissions/{name}")
    command = next(each for each in found.words if each.startswith("curl"))
    *fetched, checked = command.split("\n")
    assert checked == f"python3 verifier.py receipt receipt.json --vkey '{vkey}'"
    for each in fetched:
        *_, file, link = each.split()
        (tmp_path / file).write_bytes(ground.client.get(link).content)
    words = [sys.executable, "-I", "-S", *shlex.split(checked)[1:]]
    alone = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (alone.returncode, alone.stdout) == (0, "ok\n"), alone.stderr
    links = page(ground, "/registry").links
    for name in ("verifier.py", "rescoring.py"):
        served = next(each for each in links if each.startswith(f"/static/{name[:-2]}"))
        assert ground.client.get(served).content == Path(verifier.__file__).with_name(name).read_bytes()


def test_the_pages_state_the_limits_of_the_server(tmp_path: Path) -> None:
    with floor(tmp_path, rate_key=7, stale_after=CADENCE) as ground:
        ground.publish()
        assert "7 requests a minute." in page(ground, "/first-agent").said
        ground.clock[0] += CADENCE
        assert "more than 10 minutes old" in page(ground, "/").said
    with floor(tmp_path / "none") as ground:
        assert "requests a minute" not in page(ground, "/first-agent").said


def test_the_leaderboard_page_matches_the_protocol(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    #
    """Rows by rank, other columns best first, with paging."""
    monkeypatch.setattr(agent_pages, "PAGE", 4)
    season(ground, "no", "no", "yes", "no", "no", "yes", "no", "no")
    for place in range(7):
        ground.register(f"idle-{place}")
    rows = ground.client.get(f"{BASE}/leaderboard").json()["rows"]

    def shown(path: str) -> list[str]:
        found: list[str] = []
        while path:
            now = page(ground, path)
            found += [link.removeprefix("/agents/") for link in now.links if link.startswith("/agents/")]
            path = next((reply["href"] for _, reply in now.tags if reply.get("rel") == "next"), "")
        return found

    assert shown("/") == [row["slug"] for row in rows]
    by_brier = sorted((row for row in rows if row["brier"] is not None), key=lambda row: row["brier"])
    assert shown("/?sort=brier")[:3] == [row["slug"] for row in by_brier]
    assert len(shown("/?min_n=8")) == 3
    theater = ground.client.get(f"{BASE}/leaderboard?theater=iran&min_n=1").json()["rows"]
    assert shown("/?theater=iran&min_n=1") == [row["slug"] for row in theater]
    found = page(ground, "/?sort=brier&sort=roi")
    sorted_by = [reply["aria-sort"] for tag, reply in found.tags if tag == "th" and "aria-sort" in reply]
    assert sorted_by == ["descending"], "a header button overrides the form's hidden field"
    assert [reply["href"] for tag, reply in found.tags if reply.get("rel") == "next"] == ["/?sort=roi&page=2"]


def test_every_state_of_an_agent_is_shown(ground: Floor) -> None:
    """No agent, no score, provisional, tied, suspended, reference always 50, stale snapshot."""
    assert "No snapshot is published yet" in page(ground, "/").said
    assert "No agent is registered yet" in page(ground, "/").said
    season(ground)
    assert "No agent has a score yet" in page(ground, "/").said
    assert "more than 20 minutes old" not in page(ground, "/").said
    markets = ground.markets()
    ground.register("four")
    ground.submit("four", *({"market_id": each, "yes_probability": 0.2} for each in markets))
    ground.clock[0] += 8 * DAY
    ground.resolve(markets[0], "no", "determined")
    found = page(ground, "/").said
    assert "more than 20 minutes old" in found
    assert "provisional 1 not final" in found
    assert "No agent has a score yet" in found
    assert "1 more decision on markets whose result is known but not final" in page(ground, "/agents/one").said
    ground.resolve(markets[0], "no")
    found = page(ground, "/").said
    assert "compares with a constant forecast of 50%" in found
    assert found.count("tied") == 2, "one and four"
    ground.arena.writer.write(SuspendAgent("one", True, "a test", ground.clock[0]))
    assert "suspended" in page(ground, "/").words
    assert "its decisions are not scored" in page(ground, "/agents/one").said


def test_an_agent_is_found_by_its_slug_in_any_case(ground: Floor) -> None:
    ground.publish()
    ground.register("long-" + "x" * 35, display_name="W" * 80)
    ground.register("rtl", display_name="\u0633\u0648\u0642")
    answer = ground.client.get("/agents?slug=%20RTL%20", headers=HTML, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/agents/rtl")
    found = page(ground, "/")
    assert {"W" * 80, "\u0633\u0648\u0642"} <= set(found.words)
    assert "<bdi>\u0633\u0648\u0642</bdi>" in found.text
    assert page(ground, "/agents/RTL").said.startswith("\u0633\u0648\u0642")


def test_a_snapshot_shows_its_log_record_in_any_order_of_requests(ground: Floor) -> None:
    #
    """Its leaf is the record with its hash."""
    moments = [ground.publish()]
    for place in range(3):
        ground.register(f"agent-{place}")
        moments.append(ground.publish())
    for moment in (moments[2], moments[0], moments[3], ground.publish()):
        found = page(ground, f"/snapshots/{moment}")
        record = next(each for each in found.words if each.startswith('{"as_of"'))
        assert json.loads(record)["as_of"] == moment
        assert json.loads(record)["sha256"] in found.words
        assert str(json.loads(record)["seq"]) in found.words


def test_a_market_page_shows_its_result(ground: Floor) -> None:
    season(ground, "yes", None)
    markets = ground.markets("settled") + ground.markets("closed")
    assert "YES" in page(ground, f"/markets/{markets[0]}").words
    found = page(ground, f"/markets/{markets[1]}").said
    assert "no result yet" in found
    assert "3 agents decided. The mean probability is 0.500." in found


@pytest.mark.parametrize(
    ("status", "outcome", "expected"),
    [
        ("void", None, "void"),
        ("scalar", None, "void"),
        ("disputed", None, "disputed"),
        ("determined", "no", "NO, not final"),
        ("finalized", "yes", "YES"),
    ],
)
def test_every_page_shows_the_same_result_of_a_market(
    ground: Floor, status: str, outcome: str | None, expected: str
) -> None:
    #
    """The pages of the market, the market list, the agent and the submission."""
    ground.publish()
    ground.register("one")
    market = ground.markets()[0]
    name = ground.submit("one", (market, 0.5)).json()["submission_id"]
    ground.clock[0] += 8 * DAY
    ground.resolve(market, outcome, status)
    state = "closed" if status in ("disputed", "determined") else "settled"
    for path in (f"/markets/{market}", f"/markets?status={state}", "/agents/one", f"/submissions/{name}"):
        assert expected in page(ground, path).words, path


def test_the_calibration_is_a_chart_and_a_table(ground: Floor) -> None:
    #
    """The chart and the table have the same numbers."""
    season(ground, "no", "no", "yes", "no", "yes", "no", "no", "no")
    found = page(ground, "/agents/one")
    assert "Probability of YES, observed frequency of YES, and count: 0.20 came true 0.25 (8)." in found.said
    assert "0.2 to 0.3 8 0.20 25%" in found.said


def test_the_registry_lists_the_witnesses(tmp_path: Path) -> None:
    #
    """With the size of each witness's newest cosigned checkpoint."""
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


def test_intervals_are_shown_and_drawn_with_enough_markets(ground: Floor) -> None:
    #
    """Intervals of skill and rank, as text and as a chart."""
    as_of = ground.clock[0] - ground.clock[0] % CADENCE
    ids = [f"kalshi:M{place}" for place in range(12)]
    listings = [MarketListing(each, "kalshi", each, ("iran",), as_of + HOUR, as_of + 3 * HOUR, "0.5") for each in ids]
    items = [
        {"id": each, "kind": "market_state", "exchange": "kalshi", "market_id": each, "question": each}
        | {"yes_mid_price": 0.5, "yes_bid": None, "yes_ask": None, "volume_24h_usd": None, "theaters": ["iran"]}
        | {"as_of": ground.demo.began_at.isoformat(), "close_time": "2026-05-08T15:00:00Z"}
        for each in ids
    ]
    body = json.dumps({"schema_version": "0.2.0", "as_of": "2026-05-08T12:00:00Z", "items": items}).encode()
    bodies = dict.fromkeys(("identity", "gzip", "br", "zstd"), body)
    ground.arena.writer.write(PublishSnapshot(as_of, bodies, listings, as_of))
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


def test_a_column_of_intervals_includes_zero_and_clips_outliers() -> None:
    near = [(0.1, 0.0, 0.2), (0.2, None, None), (-0.1, -0.3, 0.1), (None, None, None)]
    low, high = svg_charts.bounds([*near, (-40.0, -90.0, 3.0)])
    assert (-0.5 < low < -0.3, 0.2 < high < 0.5) == (True, True)
    assert svg_charts.bounds([]) == pytest.approx((-0.058, 0.058))
    assert svg_charts.interval((None, None, None), (low, high)) == ""
    assert 'cx="0%"' in svg_charts.interval((-40.0, -90.0, 3.0), (low, high)), "at the end, not outside"
    drawn = [svg_charts.interval(each, (low, high)) for each in near[:3]]
    assert ["oo-whisker" in each for each in drawn] == [True, False, True]
    sure = [svg_charts.interval(each, (-1.0, 1.0)) for each in ((0.2, 0.1, 0.3), (-0.2, -0.3, -0.1), (0.1, -0.1, 0.3))]
    assert [re.findall("c-[a-z]+", each) for each in sure] == [["c-agent"], ["c-delayed"], ["c-benchmark"]]
