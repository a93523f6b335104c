"""Leaderboards and proofs at boundary times and under concurrency."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, said

from openoutcry.arena import verifier
from openoutcry.arena.scoring import Parameters
from openoutcry.arena.server import board_cache
from openoutcry.arena.store import write_batch, write_queue
from openoutcry.arena.store.initialization import SetScoringRules
from openoutcry.arena.timestamps import DAY, SECOND, format_timestamp, parse_timestamp

pytestmark = pytest.mark.once


def test_a_result_is_final_on_the_board_when_its_market_is_settled(ground: Floor) -> None:
    #
    """After a day without dispute, to the microsecond."""
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    ground.submit("one", (market["market_id"], 0.5))
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"]) + SECOND
    ground.resolve(market["market_id"], "yes", "determined")
    ground.clock[0] += DAY - 1
    for n in (0, 1):
        row = ground.client.get(f"{BASE}/leaderboard").json()["rows"][0]
        assert (row["n_scored"], row["n_provisional"]) == (n, 1 - n)
        assert ground.markets("settled") == [market["market_id"]] * n
        ground.clock[0] += 1


def test_a_market_counts_in_the_season_in_which_it_was_final(ground: Floor) -> None:
    #
    """One quarter, and all time; an amendment in a later quarter does not move a market."""
    first, second, *_ = ground.client.get(f"{BASE}/markets").json()["markets"]
    ground.submit("one", (first["market_id"], 0.5), (second["market_id"], 0.25))
    ground.clock[0] = parse_timestamp("t", second["decision_cutoff"]) + 1
    ground.resolve(first["market_id"], "yes")
    ground.clock[0] = parse_timestamp("t", "2026-08-01T00:00:00Z")
    ground.resolve(first["market_id"], "no", "amended")
    ground.resolve(second["market_id"], "no")

    def row(season: str) -> tuple[int, float | None]:
        reply = ground.client.get(f"{BASE}/leaderboard", params={"season": season}).json()
        assert reply["season"] == season
        return reply["rows"][0]["n_scored"], reply["rows"][0]["brier"]

    assert [row(season) for season in ("2026Q2", "2026Q3")] == [(1, 0.25), (1, 0.0625)]
    assert row("all") == (2, (0.25 + 0.0625) / 2)
    page = ground.client.get("/", params={"season": "2026Q2"}, headers={"Accept": "text/html"}).text
    assert "Leaderboard in 2026Q2" in page
    assert "0.250" in page


def test_an_unknown_region_or_season_is_refused(ground: Floor) -> None:
    #
    """An unknown name does not mean all, and is not cached."""
    for name, value in (("theater", "atlantis"), ("theater", ""), ("season", "2026Q1"), ("season", "x")):
        reply = ground.client.get(f"{BASE}/leaderboard", params={name: value})
        assert said(reply) == (400, "invalid_payload", name)
    assert ground.client.get(f"{BASE}/leaderboard?season=all&theater=iran").json()["theater"] == "iran"


def test_a_board_is_recomputed_after_changes_but_not_for_a_submission(
    ground: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    #
    """A submission enters a board at its cutoff."""
    made = list[Any]()
    first = board_cache.select
    monkeypatch.setattr(board_cache, "select", lambda facts: made.append(0) or first(facts))
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]

    def rows(n_made: int) -> list[dict[str, Any]]:
        reply: list[dict[str, Any]] = ground.client.get(f"{BASE}/leaderboard").json()["rows"]
        assert len(made) == n_made
        return reply

    assert [row["slug"] for row in rows(1)] == ["one"]
    ground.submit("one", (market["market_id"], 0.5))
    rows(1)
    ground.register("two")
    assert [row["slug"] for row in rows(2)] == ["one", "two"]
    ground.resolve(market["market_id"], "yes")
    assert [row["n_scored"] for row in rows(3)] == [0, 0]
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"]) + 1
    assert [row["n_scored"] for row in rows(4)] == [1, 0]
    rows(4)
    ground.clock[0] += board_cache.LATEST_WRITTEN
    rows(5)


def test_a_board_computed_during_a_commit_is_not_cached(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    #
    """A board computed during a commit must not be served as the board after it."""
    rows_before_commit = list[list[str]]()
    first = write_queue.full_tiles

    def between(*reply: int) -> Any:
        # The log contains the record, and the tables do not yet.
        if not rows_before_commit:
            rows_before_commit.append([row["slug"] for row in ground.client.get(f"{BASE}/leaderboard").json()["rows"]])
        return first(*reply)

    monkeypatch.setattr(write_queue, "full_tiles", between)
    ground.register("two")
    assert rows_before_commit == [["one"]]
    assert [row["slug"] for row in ground.client.get(f"{BASE}/leaderboard").json()["rows"]] == ["one", "two"]


def test_a_board_being_computed_is_served_in_its_last_version(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    #
    """A slow computation does not block other requests."""
    found = board_cache.Boards(ground.arena, ground.settings)
    before, first = found.board(), board_cache.board
    meanwhile = list[Any]()

    def slowly(*reply: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            meanwhile.append(pool.submit(found.board).result(30))
        return first(*reply)

    monkeypatch.setattr(board_cache, "board", slowly)
    ground.register("two")
    assert [row.slug for row in found.board().rows] == ["one", "two"]
    assert meanwhile == [before]


def test_the_openapi_document_has_the_pattern_of_a_season(ground: Floor) -> None:
    """The parameter has the pattern and the default of the server."""
    parameters = ground.client.get("/openapi.json").json()["paths"][f"{BASE}/leaderboard"]["get"]["parameters"]
    (season,) = (each["schema"] for each in parameters if each["name"] == "season")
    assert season["pattern"] == "^(all|[0-9]{4}Q[1-4])$"
    assert season["default"] == "all"


def test_a_board_uses_the_newest_rules(ground: Floor) -> None:
    #
    """Also if nothing else has changed."""
    assert ground.client.get(f"{BASE}/leaderboard").json()["scoring_version"] == "1"
    rules = replace(Parameters(), fee_model="none").to_record()
    ground.arena.writer.write(SetScoringRules("2", rules, b"[]", ground.clock[0]))
    reply = ground.client.get(f"{BASE}/leaderboard").json()
    assert (reply["scoring_version"], reply["fee_model"]) == ("2", "none")


def test_setting_the_clock_back_does_not_reopen_a_market(ground: Floor) -> None:
    #
    """A passed cutoff stays passed; otherwise public decisions could be copied."""
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    ground.register("two")
    ground.submit("one", (market["market_id"], 0.25))
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"]) + SECOND
    assert "0.25" in ground.client.get(f"{BASE}/agents/one").text
    ground.clock[0] -= 6 * SECOND
    assert said(ground.submit("two", (market["market_id"], 0.25)))[:2] == (410, "decision_cutoff_passed")


def test_a_proof_matches_its_checkpoint_under_concurrent_writes(ground: Floor) -> None:
    #
    """A record written during the computation of a proof does not invalidate it."""
    reply = ground.submit("one", (ground.markets()[0], 0.5)).json()
    key = verifier.parse_key(str(ground.arena.key.verifier))
    path = f"/registry/proof/{reply['submission_id']}"

    def fetch(_: int) -> dict[str, Any]:
        body: dict[str, Any] = ground.client.get(path).json()
        return body

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(lambda: [ground.register(f"a{at}") for at in range(40)])
        found = [fetch(at) for at in range(40)]
        writing.result()
    for each in found:
        size, _ = verifier.open_checkpoint(each["checkpoint"], key)
        assert size == each["tree_size"]
        verifier.check_receipt(reply | each | {"record": reply["record"], "salts": reply["salts"]}, key)


def test_evicted_cache_entries_are_reloaded(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    #
    """Also with concurrent submissions of more agents than the cache holds."""
    monkeypatch.setattr(write_batch, "MAX_CACHED", 0)
    ground.register("two")
    markets = ground.markets()
    names = [("one", "two")[at % 2] for at in range(32)]
    with ThreadPoolExecutor(32) as pool:
        codes = list(pool.map(lambda name: ground.submit(name, (markets[0], 0.5)).status_code, names))
    assert sorted(codes) == [200] * 2 + [422] * 30


def test_setting_the_clock_back_does_not_break_a_board(ground: Floor) -> None:
    #
    """A decision is received after its snapshot, whatever the clock says."""
    ground.publish()
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    ground.clock[0] = parse_timestamp("t", ground.as_of) - SECOND
    assert ground.submit("one", (market["market_id"], 0.5)).json()["received_at"] >= ground.as_of
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"]) + 1
    ground.resolve(market["market_id"], "yes")
    assert ground.client.get(f"{BASE}/leaderboard").json()["rows"][0]["n_scored"] == 1
    assert format_timestamp(ground.clock[0]) > ground.as_of


def test_invalid_requests_to_the_log_are_refused(ground: Floor) -> None:
    #
    """Every error has the common form."""
    size = ground.arena.writer.log.end.seq
    for path in (
        f"tile/0/000.p/{size + 1}",
        "tile/0/001",
        "tile/x",
        "tile/entries/000",
        "tile/0/000.p/0",
        "proof/01X",
        "proof/%00",
    ):
        assert said(ground.client.get(f"/registry/{path}"))[:2] == (404, "not_found")
    for old, new in ((0, 1), (2, 1), (1, size + 1), (-1, 1), (1, 10**30)):
        answer = ground.client.get("/registry/consistency", params={"from": old, "to": new})
        assert said(answer)[:2] == (400, "invalid_payload")
