"""`GET /markets`, `/intel`, `/leaderboard`, `/agents`."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor, said

from openoutcry.arena.timestamps import CADENCE, HOUR, format_timestamp, parse_timestamp

pytestmark = pytest.mark.once


def test_a_snapshot_has_the_same_bytes_for_every_client_and_after_a_restart(ground: Floor) -> None:
    #
    key = {"Authorization": f"bearer {ground.keys['one']}"}
    first = ground.client.get(f"{BASE}/intel", headers={"Accept-Encoding": "identity"})
    assert first.headers["Cache-Control"] == "no-cache"
    digest = hashlib.sha256(first.content).hexdigest()
    assert first.headers["ETag"] == f'"{digest}"'
    moment = ground.as_of
    assert first.headers["Content-Location"] == f"{BASE}/intel?as_of={moment}"
    again = ground.client.get(f"{BASE}/intel", params={"as_of": moment}, headers=key)
    assert (again.content, again.headers["ETag"]) == (first.content, first.headers["ETag"])
    assert again.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    plain = f"{BASE}/intel?as_of={moment.replace('Z', '+00:00')}"
    assert ground.client.get(plain).content == first.content, "an unencoded plus sign is decoded as a space"
    known = ground.client.get(f"{BASE}/intel", headers={"If-None-Match": f'"x", W/"{digest}"'})
    assert (known.status_code, known.content) == (304, b"")
    ground.arena.close()
    with floor(ground.arena.folder) as anew:
        anew.clock[0] = ground.clock[0]
        assert anew.client.get(f"{BASE}/intel").content == first.content
        reply = json.loads(first.content)
        assert reply["schema_version"] == "0.2.0"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("gzip;q=0.5, br", "br"),
        ("*", "br"),
        ("br;q=0, *;q=0.1", "zstd"),
        ("identity", None),
        ("gzip;q=0", None),
        ("deflate", None),
        ("gzip;q=x", None),
    ],
)
def test_a_snapshot_is_sent_in_the_accepted_content_coding(ground: Floor, accepted: str, coding: str | None) -> None:
    #
    with ground.client.stream("GET", f"{BASE}/intel", headers={"Accept-Encoding": accepted}) as answer:
        raw = b"".join(answer.iter_raw())
        assert answer.headers.get("Content-Encoding") == coding
        assert answer.headers["Vary"] == "Accept-Encoding"
    if coding == "gzip":
        assert hashlib.sha256(gzip.decompress(raw)).hexdigest() in answer.headers["ETag"]
        with pytest.raises(zlib.error):
            zlib.decompress(raw)


def test_an_unpublished_snapshot_is_not_found(ground: Floor, tmp_path: Path) -> None:
    #
    with floor(tmp_path / "empty") as empty:
        answer = empty.client.get(f"{BASE}/intel")
        assert said(answer)[:2] == (503, "snapshot_unavailable")
        assert answer.headers["Retry-After"] == "60"
    moment = ground.as_of
    for wrong in ("2026-05-08", "x", "2026-05-08T12:00:00", "2026-05-08T12:00:00+02:00", ""):
        assert said(ground.client.get(f"{BASE}/intel", params={"as_of": wrong})) == (400, "invalid_payload", "as_of")
    for unknown in ("2030-01-01T00:00:00Z", "2026-05-08T12:01:00Z", "2026-05-08T12:00:00.000001Z"):
        assert said(ground.client.get(f"{BASE}/intel", params={"as_of": unknown}))[:2] == (404, "unknown_snapshot")
    ground.clock[0] = parse_timestamp("t", moment) + 2 * CADENCE
    assert ground.client.get(f"{BASE}/intel").status_code == 200
    ground.clock[0] += 1
    assert said(ground.client.get(f"{BASE}/intel"))[:2] == (503, "snapshot_unavailable")
    assert ground.client.get(f"{BASE}/intel", params={"as_of": moment}).status_code == 200


def test_an_invalid_key_is_refused_and_no_key_is_accepted(ground: Floor) -> None:
    #
    """Anonymous reads are allowed; reads with an invalid key are not."""
    for path in ("/markets", "/intel", "/leaderboard"):
        assert ground.client.get(BASE + path).status_code == 200
        for wrong in ("Bearer x", "Basic x", "Bearer", ""):
            answer = ground.client.get(BASE + path, headers={"Authorization": wrong})
            assert said(answer)[:2] == (401, "bad_auth")
            assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_markets_are_open_then_closed_then_settled(ground: Floor) -> None:
    #
    reply = ground.client.get(f"{BASE}/markets").json()
    assert reply["as_of"] == ground.as_of
    cutoffs = [(each["decision_cutoff"], each["market_id"]) for each in reply["markets"]]
    assert cutoffs == sorted(cutoffs)
    for each in reply["markets"]:
        assert parse_timestamp("t", each["settlement_at"]) - parse_timestamp("t", each["decision_cutoff"]) == 2 * HOUR
        assert each["question"].startswith("Synthetic")
        assert each["yes_bid"] <= each["yes_mid_price"] <= each["yes_ask"]
    first = reply["markets"][0]["market_id"]
    ground.clock[0] = parse_timestamp("t", reply["markets"][0]["decision_cutoff"])
    assert ground.markets()[0] == first, "a market is open at the cutoff itself"
    ground.clock[0] += 1
    assert ground.markets("closed") == [first]
    ground.resolve(first, "yes", "determined")
    assert ground.markets("closed") == [first], "a day without dispute"
    ground.clock[0] += 24 * HOUR
    assert first in ground.markets("settled")
    ground.resolve(first, None, "disputed")
    assert first in ground.markets("closed")
    ground.resolve(first, "no", "amended")
    settled = ground.client.get(f"{BASE}/markets", params={"status": "settled"}).json()["markets"]
    assert {each["market_id"]: each["outcome"] for each in settled}[first] == "no"
    ground.resolve(first, None, "void")
    settled = ground.client.get(f"{BASE}/markets", params={"status": "settled"}).json()["markets"]
    assert {each["market_id"]: each["outcome"] for each in settled}[first] == "void"
    assert said(ground.client.get(f"{BASE}/markets", params={"status": "Open"})) == (400, "invalid_payload", "status")
    assert ground.client.get(f"{BASE}/markets", params={"theater": "atlantis"}).json()["markets"] == []
    iran = ground.client.get(f"{BASE}/markets", params={"theater": "iran", "status": "closed"}).json()["markets"]
    assert all("iran" in each["theaters"] for each in iran)


def test_a_closed_market_does_not_reopen(ground: Floor) -> None:
    #
    """Its decisions are public by then."""
    from openoutcry.arena.store.entry_writes import MarketListing, PublishSnapshot

    reply = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    cutoff = parse_timestamp("t", reply["decision_cutoff"])
    ground.clock[0] = cutoff + 1
    edge = cutoff + CADENCE - cutoff % CADENCE
    later = MarketListing(reply["market_id"], "kalshi", "?", ("iran",), cutoff + 50 * HOUR, cutoff + 52 * HOUR)
    bodies = dict.fromkeys(("identity", "gzip", "br", "zstd"), b"{}")
    ground.arena.writer.write(PublishSnapshot(edge, bodies, [later], ground.clock[0]))
    assert reply["market_id"] in ground.markets("closed")


def test_boards_show_nothing_before_the_cutoff_and_rank_after_it(ground: Floor) -> None:
    #
    markets = ground.markets()
    for slug, share in (("good", 0.9), ("bad", 0.2)):
        ground.register(slug, display_name=slug.title(), contact_email=f"{slug}@example.org")
        ground.submit(slug, *((market, share) for market in markets))
    before = ground.client.get(f"{BASE}/leaderboard").json()
    assert [row["n_scored"] for row in before["rows"]] == [0, 0, 0]
    ground.clock[0] = (
        parse_timestamp("t", ground.client.get(f"{BASE}/markets").json()["markets"][-1]["decision_cutoff"]) + 1
    )
    for market in markets:
        ground.resolve(market, "yes")
    rows = ground.client.get(f"{BASE}/leaderboard").json()["rows"]
    assert [(row["slug"], row["rank"], row["n_scored"]) for row in rows] == [
        ("good", 1, 8),
        ("bad", 2, 8),
        ("one", None, 0),
    ]
    assert rows[0]["brier"] == pytest.approx(0.01)
    assert rows[0]["brier_skill_score_vs_50"] == pytest.approx(1 - 0.01 / 0.25)
    assert rows[2]["brier"] is None
    profile = ground.client.get(f"{BASE}/agents/GOOD").json()
    assert profile["recent_decisions"][0]["n_hidden"] == 0
    assert len(profile["recent_decisions"][0]["decisions"]) == 8
    assert "example.org" not in json.dumps(profile)
    assert said(ground.client.get(f"{BASE}/agents/nobody"))[:2] == (404, "unknown_agent")
    page = ground.client.get(f"{BASE}/leaderboard", params={"limit": 1}).json()
    assert ([row["slug"] for row in page["rows"]], page["next_cursor"]) == (["good"], "1")
    page = ground.client.get(f"{BASE}/leaderboard", params={"limit": 1, "cursor": 1, "min_n": 1}).json()
    assert ([row["slug"] for row in page["rows"]], page["next_cursor"]) == (["bad"], None)
    for wrong in ({"limit": 0}, {"limit": 501}, {"limit": "x"}, {"cursor": -1}):
        assert said(ground.client.get(f"{BASE}/leaderboard", params=wrong)) == (
            400,
            "invalid_payload",
            next(iter(wrong)),
        )
    ground.resolve(markets[0], "no", "amended")
    again = ground.client.get(f"{BASE}/leaderboard").json()["rows"]
    assert again[0]["brier"] == pytest.approx((7 * 0.01 + 0.81) / 8), "an amendment recomputes the scores"


def test_an_unknown_route_returns_an_error_in_the_common_form(ground: Floor) -> None:
    #
    assert said(ground.client.get("/v2/competition/nothing"))[:2] == (404, "not_found")
    wrong = ground.client.post(f"{BASE}/markets")
    assert said(wrong)[:2] == (405, "method_not_allowed")
    assert "GET" in wrong.headers["Allow"]
    assert said(ground.client.get(f"{BASE}/decisions"))[:2] == (405, "method_not_allowed")
    assert said(ground.client.get("/registry/consistency"))[:2] == (400, "invalid_payload")


def test_an_internal_error_reveals_nothing_of_the_request(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    #
    monkeypatch.setattr(ground.arena.state, "markets", None)
    assert said(ground.client.get(f"{BASE}/markets"))[:2] == (500, "internal_error")


def test_timestamps_are_formatted_in_utc() -> None:
    #
    assert format_timestamp(parse_timestamp("t", "2026-05-08T12:00:00.5+00:00")) == "2026-05-08T12:00:00.500000Z"
