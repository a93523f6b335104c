"""`openoutcry arena watch`: each change is told once, and a server that is away ends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

import httpx
from arena_in_process import Floor, floor
from command_line import typed

from openoutcry.arena.arena_client import ArenaClient
from openoutcry.arena.event_stream import Watch, format_event
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.timestamps import HOUR

pytestmark = pytest.mark.once


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    with floor(tmp_path) as made:
        made.publish()
        yield made


def asked(ground: Floor, request: httpx.Request) -> httpx.Response:
    """Answer a request as the server in the test's own process does."""
    told = ground.client.request(request.method, str(request.url), headers=dict(request.headers))
    return httpx.Response(told.status_code, headers=dict(told.headers), content=told.content)


def watch(ground: Floor, slug: str | None = None) -> Watch:
    return Watch(
        ArenaClient("http://testserver", transport=httpx.MockTransport(lambda each: asked(ground, each))), slug
    )


def test_the_first_look_tells_how_things_stand_and_the_next_what_is_new(ground: Floor) -> None:
    ground.register("ada")
    looking = watch(ground, "ada")
    markets = ground.client.get("/v2/competition/markets").json()["markets"]
    first, standing = looking.poll()
    assert first == {
        "event": "snapshot",
        "as_of": ground.as_of,
        "n_open": len(markets),
        "next_cutoff": markets[0]["decision_cutoff"],
    }
    assert (standing["event"], standing["agent"], standing["n_submissions"], standing["brier"]) == (
        "standing",
        "ada",
        0,
        None,
    )
    assert looking.poll() == []
    ground.submit("ada", (markets[0]["market_id"], 0.1))
    assert [(each["event"], each["n_submissions"]) for each in looking.poll()] == [("standing", 1)]
    assert looking.poll() == []
    newest = ground.publish()
    assert [each["as_of"] for each in looking.poll()] == [newest]


def test_a_result_is_told_once_and_again_when_it_is_amended(ground: Floor) -> None:
    ground.register("ada")
    market = ground.markets()[0]
    ground.submit("ada", (market, 0.1))
    looking = watch(ground, "ada")
    looking.poll()
    ground.clock[0] += 24 * HOUR
    ground.publish()
    ground.resolve(market, "no")
    told = [each for each in looking.poll() if each["event"] != "snapshot"]
    assert told[0] == {"event": "settled", "market_id": market, "outcome": "no"}
    assert (told[1]["n_scored"], told[1]["brier"]) == (1, pytest.approx(0.01))
    assert looking.poll() == []
    ground.resolve(market, "yes", "amended")
    told = looking.poll()
    assert [(each["event"], each.get("outcome")) for each in told] == [("settled", "yes"), ("standing", None)]
    assert told[1]["brier"] == pytest.approx(0.81)


def test_a_server_that_is_away_is_told_of_once_and_what_it_has_then_after_it_is_back(ground: Floor) -> None:
    is_down = [False]

    def answer(request: httpx.Request) -> httpx.Response:
        if is_down[0]:
            raise httpx.ConnectError("no route")
        return asked(ground, request)

    looking = Watch(ArenaClient("http://testserver", transport=httpx.MockTransport(answer)))
    looking.poll()
    is_down[0] = True
    assert looking.poll() == [{"event": "away", "detail": "no route"}]
    assert looking.poll() == []
    ground.publish()
    is_down[0] = False
    assert [each["event"] for each in looking.poll()] == ["back", "snapshot"]


def test_who_is_asked_to_wait_is_told_how_long_and_who_is_unknown_is_refused(tmp_path: Path) -> None:
    with floor(tmp_path, rate_anon=3) as ground:
        ground.publish()
        looking = watch(ground)
        assert len(looking.poll()) == 1
        (away,) = looking.poll()
        assert away["detail"].startswith("rate_limited: at most 3 requests in any 60 s are required")
        assert away["detail"].endswith(f"; retry in {looking.pause} s")
        assert (looking.poll(), looking.pause) == ([], looking.pause), "it is told once"
        ground.clock[0] += HOUR
        assert (looking.poll(), looking.pause) == ([{"event": "back"}], 0)
        ground.clock[0] += HOUR
        with pytest.raises(ArenaError, match="unknown_agent"):
            watch(ground, "nobody").poll()


def test_an_arena_without_a_snapshot_is_told_as_such(tmp_path: Path) -> None:
    with floor(tmp_path) as ground:
        looking = watch(ground)
        (found,) = looking.poll()
        assert format_event(found) == "snapshot none: 0 markets open"
        assert looking.poll() == []


def test_a_look_that_is_not_answered_is_an_error(tmp_path: Path) -> None:
    done = typed("arena", "watch", "--once", "--url", "http://127.0.0.1:1", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: a server of the Arena at http://127.0.0.1:1 is required; received ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"event": "snapshot", "as_of": "T", "n_open": 1, "next_cutoff": "U"},
            "snapshot T: 1 market open, the next until U",
        ),
        ({"event": "snapshot", "as_of": "T", "n_open": 0, "next_cutoff": None}, "snapshot T: 0 markets open"),
        ({"event": "settled", "market_id": "kalshi:A", "outcome": "void"}, "settled  kalshi:A: void"),
        ({"event": "away", "detail": "no route"}, "away     no route"),
        ({"event": "back"}, "back"),
        (
            {"event": "standing", "agent": "ada", "rank": 1, "n_submissions": 2000, "n_scored": 0}
            | {"brier": 0.01, "brier_skill_score": None, "roi": 0.0},
            "standing ada: rank 1, n_submissions 2,000, n_scored 0, brier 0.0100, brier_skill_score none, roi 0.0000",
        ),
    ],
)
def test_a_change_is_a_line(change: dict[str, Any], words: str) -> None:
    assert format_event(change) == words
