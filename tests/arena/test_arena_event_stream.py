"""`openoutcry arena watch` reports each change once and continues while the server is unavailable."""

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


def forward(ground: Floor, request: httpx.Request) -> httpx.Response:
    """Forward a request to the server in this process."""
    reply = ground.client.request(request.method, str(request.url), headers=dict(request.headers))
    return httpx.Response(reply.status_code, headers=dict(reply.headers), content=reply.content)


def watch(ground: Floor, slug: str | None = None) -> Watch:
    return Watch(
        ArenaClient("http://testserver", transport=httpx.MockTransport(lambda each: forward(ground, each))), slug
    )


def test_the_first_poll_returns_the_state_and_later_polls_the_changes(ground: Floor) -> None:
    ground.register("ada")
    watcher = watch(ground, "ada")
    markets = ground.client.get("/v2/competition/markets").json()["markets"]
    first, standing = watcher.poll()
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
    assert watcher.poll() == []
    ground.submit("ada", (markets[0]["market_id"], 0.1))
    assert [(each["event"], each["n_submissions"]) for each in watcher.poll()] == [("standing", 1)]
    assert watcher.poll() == []
    newest = ground.publish()
    assert [each["as_of"] for each in watcher.poll()] == [newest]


def test_a_result_is_reported_once_and_again_when_amended(ground: Floor) -> None:
    ground.register("ada")
    market = ground.markets()[0]
    ground.submit("ada", (market, 0.1))
    watcher = watch(ground, "ada")
    watcher.poll()
    ground.clock[0] += 24 * HOUR
    ground.publish()
    ground.resolve(market, "no")
    reply = [each for each in watcher.poll() if each["event"] != "snapshot"]
    assert reply[0] == {"event": "settled", "market_id": market, "outcome": "no"}
    assert (reply[1]["n_scored"], reply[1]["brier"]) == (1, pytest.approx(0.01))
    assert watcher.poll() == []
    ground.resolve(market, "yes", "amended")
    reply = watcher.poll()
    assert [(each["event"], each.get("outcome")) for each in reply] == [("settled", "yes"), ("standing", None)]
    assert reply[1]["brier"] == pytest.approx(0.81)


def test_an_unavailable_server_is_reported_once_and_changes_after_it_returns(ground: Floor) -> None:
    is_down = [False]

    def answer(request: httpx.Request) -> httpx.Response:
        if is_down[0]:
            raise httpx.ConnectError("no route")
        return forward(ground, request)

    watcher = Watch(ArenaClient("http://testserver", transport=httpx.MockTransport(answer)))
    watcher.poll()
    is_down[0] = True
    assert watcher.poll() == [{"event": "away", "detail": "no route"}]
    assert watcher.poll() == []
    ground.publish()
    is_down[0] = False
    assert [each["event"] for each in watcher.poll()] == ["back", "snapshot"]


def test_a_rate_limit_sets_the_pause_and_an_unknown_agent_is_refused(tmp_path: Path) -> None:
    with floor(tmp_path, rate_anon=3) as ground:
        ground.publish()
        watcher = watch(ground)
        assert len(watcher.poll()) == 1
        (away,) = watcher.poll()
        assert away["detail"].startswith("rate_limited: at most 3 requests in any 60 s are required")
        assert away["detail"].endswith(f"; retry in {watcher.pause} s")
        assert (watcher.poll(), watcher.pause) == ([], watcher.pause), "reported once"
        ground.clock[0] += HOUR
        assert (watcher.poll(), watcher.pause) == ([{"event": "back"}], 0)
        ground.clock[0] += HOUR
        with pytest.raises(ArenaError, match="unknown_agent"):
            watch(ground, "nobody").poll()


def test_an_arena_without_a_snapshot_is_reported(tmp_path: Path) -> None:
    with floor(tmp_path) as ground:
        watcher = watch(ground)
        (found,) = watcher.poll()
        assert format_event(found) == "snapshot none: 0 markets open"
        assert watcher.poll() == []


def test_a_single_poll_without_a_response_is_an_error(tmp_path: Path) -> None:
    done = typed("arena", "watch", "--once", "--url", "http://127.0.0.1:1", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: an Arena server at http://127.0.0.1:1 is required; received ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"event": "snapshot", "as_of": "T", "n_open": 1, "next_cutoff": "U"},
            "snapshot T: 1 market open, next cutoff U",
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
def test_an_event_is_formatted_as_one_line(change: dict[str, Any], words: str) -> None:
    assert format_event(change) == words
