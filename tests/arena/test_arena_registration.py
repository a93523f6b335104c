"""Registration, API keys and rate limits."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor, said

from openoutcry.arena.protocol import ArenaError, slug_of
from openoutcry.arena.server import rate_limit
from openoutcry.arena.server.auth import Authenticator
from openoutcry.arena.server.rate_limit import SlidingWindow
from openoutcry.arena.server.server_settings import parse_networks
from openoutcry.arena.timestamps import DAY, MINUTE, SECOND

pytestmark = pytest.mark.once


def register(ground: Floor, **headers: str) -> Any:
    slug = f"agent-{len(ground.arena.state.agents)}"
    return ground.client.post(f"{BASE}/register", json={"slug": slug}, headers=headers)


def test_a_key_is_shown_once_and_stored_as_its_hash(ground: Floor) -> None:
    #
    answer = ground.client.post(f"{BASE}/register", json={"slug": "One_1-x", "contact_email": "secret@example.org"})
    reply = answer.json()
    assert (answer.status_code, reply["slug"]) == (201, "one_1-x")
    assert answer.headers["Cache-Control"] == "no-store"
    assert re.fullmatch(r"tarena_[A-Za-z0-9_-]{43,}", reply["api_key"])
    assert reply["next_steps"]
    ground.arena.close()
    kept = b"".join(path.read_bytes() for path in ground.arena.folder.iterdir())
    assert reply["api_key"].encode() not in kept
    with sqlite3.connect(ground.arena.folder / "arena.sqlite") as base:
        digest = base.execute("SELECT key_sha256 FROM agents WHERE slug = 'one_1-x'").fetchone()[0]
        records = b"".join(row[0] for row in base.execute("SELECT record FROM records"))
    assert digest == hashlib.sha256(reply["api_key"].encode()).digest()
    assert digest.hex().encode() not in records, "the log contains a fingerprint, which is no credential"
    assert b"example.org" not in records


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"slug": ""}, "slug"),
        ({"slug": "-a"}, "slug"),
        ({"slug": "a" * 41}, "slug"),
        ({"slug": "a\n"}, "slug"),
        ({"slug": "\u212aey"}, "slug"),
        ({"slug": 7}, "slug"),
        ({}, "slug"),
        ({"slug": "a", "display_name": "x" * 81}, "display_name"),
        ({"slug": "a", "display_name": 1}, "display_name"),
        ({"slug": "a", "display_name": "a\tb"}, "display_name"),
        ({"slug": "a", "display_name": "a\x7fb"}, "display_name"),
        ({"slug": "a", "display_name": "a\u202eb"}, "display_name"),
        ({"slug": "a", "display_name": "a\u200bb"}, "display_name"),
        ({"slug": "a", "display_name": "a\u200db"}, "display_name"),
        ({"slug": "a", "display_name": "a\u2028b"}, "display_name"),
        ({"slug": "a", "display_name": "\u3164"}, "display_name"),
        ({"slug": "a", "display_name": "!\u0301?"}, "display_name"),
        ({"slug": "a", "contact_email": "nobody"}, "contact_email"),
        ({"slug": "a", "contact_email": f"{'x' * 200}@example.org"}, "contact_email"),
    ],
)
def test_an_invalid_registration_is_refused(ground: Floor, body: dict[str, Any], field: str) -> None:
    #
    """The Kelvin sign, whose lower case is an ASCII k, is refused."""
    assert said(ground.client.post(f"{BASE}/register", json=body)) == (422, "invalid_registration", field)


@given(st.text(max_size=45))
def test_a_slug_is_ascii(text: str) -> None:
    #
    slug = slug_of(text)
    assert slug is None or (text.isascii() and re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", slug) is not None)


def test_a_slug_belongs_to_its_first_agent(ground: Floor) -> None:
    #
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda _: ground.client.post(f"{BASE}/register", json={"slug": "same"}).status_code, range(32))
        )
    assert sorted(answers) == [201] + [409] * 31
    assert said(ground.client.post(f"{BASE}/register", json={"slug": "SAME"})) == (409, "slug_taken", "slug")
    assert said(ground.client.post(f"{BASE}/register", content=b"{"))[:2] == (400, "invalid_payload")


def test_registrations_per_address_are_limited_and_failures_do_not_count(tmp_path: Path) -> None:
    #
    proxies = parse_networks(("10.0.0.0/8",))
    with floor(tmp_path, register_cap=2, proxies=proxies) as ground:
        assert ground.client.post(f"{BASE}/register", json={"slug": "-"}).status_code == 422
        assert register(ground).status_code == 201
        assert ground.client.post(f"{BASE}/register", json={"slug": "agent-0"}).status_code == 409
        assert register(ground).status_code == 201
        refused = register(ground, **{"X-Forwarded-For": "192.0.2.9"})
        assert said(refused)[:2] == (429, "rate_limited"), "only known proxies are trusted"
        wait = int(refused.headers["Retry-After"])
        assert wait == -(-(DAY - ground.clock[0] % DAY) // SECOND)
        ground.clock[0] += wait * SECOND
        with ThreadPoolExecutor(8) as pool:
            bodies = [{"slug": f"p{at}"} for at in range(16)]
            codes = list(pool.map(lambda body: ground.client.post(f"{BASE}/register", json=body).status_code, bodies))
        assert sorted(codes) == [201] * 2 + [429] * 14


def test_addresses_of_an_ipv6_network_share_a_bucket_and_proxies_are_trusted(tmp_path: Path) -> None:
    #
    """IPv6 counts by /64; the address is the one that the last trusted proxy saw."""
    from starlette.testclient import TestClient

    from openoutcry.arena.app import create_app

    with floor(tmp_path, register_cap=1, proxies=parse_networks(("2001:db8:ffff::/48", "10.0.0.0/8"))) as ground:
        app = create_app(ground.arena, ground.settings)

        def code(host: str, forwarded: str | None = None) -> int:
            client = TestClient(app, client=(host, 1))
            slug = f"s{len(ground.arena.state.agents)}"
            headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
            return client.post(f"{BASE}/register", json={"slug": slug}, headers=headers).status_code

        assert [code("2001:db8::1"), code("2001:db8::2"), code("2001:db8:0:1::1")] == [201, 429, 201]
        assert [code("10.0.0.1", "192.0.2.1"), code("10.0.0.2", "192.0.2.1")] == [201, 429]
        assert [code("10.0.0.1", "6.6.6.6, 192.0.2.1"), code("10.0.0.1", "192.0.2.2, 10.0.0.9")] == [429, 201]
        assert [code("::ffff:192.0.2.2"), code("10.0.0.1")] == [429, 201]
        assert [code("10.0.0.1", "192.0.2.3:4711"), code("10.0.0.1", "192.0.2.3:4712")] == [201, 429], "with a port"
        assert [code("10.0.0.1", "[2001:db8:7::1]:9"), code("10.0.0.1", "2001:db8:7::2")] == [201, 429]
        assert [code("::ffff:10.0.0.1", "192.0.2.5"), code("10.0.0.1", "192.0.2.5")] == [201, 429], "a mapped proxy"
        assert [code("10.0.0.8", "192.0.2.9, unknown"), code("10.0.0.8", "192.0.2.9, _x")] == [201, 429], (
            "not an address"
        )


def test_repeated_forwarding_headers_are_joined(tmp_path: Path) -> None:
    #
    """A proxy may add its own header line after a forged one of its client."""
    from starlette.requests import HTTPConnection

    with floor(tmp_path, proxies=parse_networks(("10.0.0.0/8",))) as ground:
        authenticator = Authenticator(ground.settings, ground.arena.state)
        lines = [(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", b"192.0.2.1")]
        scope = {"type": "http", "client": ("10.0.0.1", 1), "headers": lines}
        assert authenticator.address_bucket(HTTPConnection(scope)) == "192.0.2.1"


def test_requests_without_a_valid_key_count_by_address(tmp_path: Path) -> None:
    #
    """Invalid keys, missing keys and registrations count, whatever their result."""
    with floor(tmp_path, rate_anon=6) as ground:
        wrong = {"Authorization": "Bearer tarena_none"}
        codes = [ground.client.get(f"{BASE}/markets", headers=wrong).status_code for _ in range(2)]
        codes += [ground.client.post(f"{BASE}/decisions", headers=wrong).status_code]
        codes += [ground.client.post(path).status_code for path in (f"{BASE}/decisions", f"{BASE}/keys/rotate")]
        codes += [ground.client.post(f"{BASE}/register", content=b"{").status_code]
        assert codes == [401] * 5 + [400]
        for method, path in (("GET", "markets"), ("POST", "decisions"), ("POST", "register"), ("POST", "keys/rotate")):
            answer = ground.client.request(method, f"{BASE}/{path}", headers=wrong)
            assert said(answer)[:2] == (429, "rate_limited"), path


def test_the_least_recently_seen_client_is_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    #
    """A flood of addresses neither fills the memory nor resets the limit of an active client."""
    monkeypatch.setattr(rate_limit, "MAX_NAMES", 100)
    window, through = SlidingWindow(3), 0
    for at in range(10_000):
        window.hit(at, at)
        if at % 50 == 0:
            through += refused(window, at) is None
    assert through == 3
    assert len(window._hits) == 100


def test_a_rotated_key_replaces_the_old_one_at_once(ground: Floor) -> None:
    old = ground.keys["one"]
    answer = ground.client.post(f"{BASE}/keys/rotate", headers={"Authorization": f"Bearer {old}"})
    ground.keys["one"] = answer.json()["api_key"]
    assert ground.submit("one", (ground.markets()[0], 0.5)).status_code == 200
    assert said(ground.client.post(f"{BASE}/keys/rotate", headers={"Authorization": f"Bearer {old}"}))[0] == 401
    assert ground.client.post(f"{BASE}/keys/rotate").status_code == 401


def test_a_suspended_agent_cannot_submit(ground: Floor) -> None:
    #
    from openoutcry.arena.store.entry_writes import SuspendAgent

    ground.arena.writer.write(SuspendAgent("one", True, "a test", ground.clock[0]))
    assert said(ground.submit("one", (ground.markets()[0], 0.5)))[:2] == (403, "suspended")
    assert ground.client.post(f"{BASE}/register", json={"slug": "one"}).status_code == 409
    ground.arena.writer.write(SuspendAgent("one", False, "a test", ground.clock[0]))
    assert ground.submit("one", (ground.markets()[0], 0.5)).status_code == 200


def test_the_61st_request_of_a_minute_is_admitted_after_retry_after(tmp_path: Path) -> None:
    #
    """Invalid requests count, rate-limited ones do not."""
    with floor(tmp_path, rate_key=60) as ground:
        ground.publish()
        ground.register("one")
        with ThreadPoolExecutor(16) as pool:
            codes = list(pool.map(lambda _: ground.post("one", b"{").status_code, range(80)))
        assert sorted(codes) == [400] * 60 + [429] * 20
        refused = ground.post("one", b"{")
        assert said(refused)[:2] == (429, "rate_limited")
        ground.clock[0] += int(refused.headers["Retry-After"]) * SECOND
        assert ground.post("one", b"{").status_code == 400
        assert ground.client.get(f"{BASE}/markets").status_code == 200, "other clients have their own limit"


def refused(window: SlidingWindow, moment: int) -> int | None:
    try:
        window.hit("a", moment)
    except ArenaError as error:
        return error.retry_after
    return None


@given(st.lists(st.integers(0, 20 * SECOND), max_size=60), st.integers(1, 5))
def test_no_minute_exceeds_the_limit_and_waiting_helps(gaps: list[int], most: int) -> None:
    #
    window, now, through = SlidingWindow(most), 0, list[int]()
    for gap in gaps:
        now += gap
        wait = refused(window, now)
        if wait is not None:
            assert wait >= 1
            now += wait * SECOND
            assert refused(window, now) is None, "a client that waits for `retry_after` is admitted"
        through.append(now)
    for at, moment in enumerate(through):
        assert sum(moment - MINUTE < each <= moment for each in through[: at + 1]) <= most


@pytest.mark.parametrize("name", ["\u0639\u0644\u06cc", "7", "O'Neill \U0001f98a", "Zo\u0065\u0308", "\u674e"])
def test_a_display_name_may_use_any_alphabet(name: str, ground: Floor) -> None:
    #
    ground.register("named", display_name=f" {name} ")
    assert ground.client.get(f"{BASE}/agents/named").json()["display_name"] == name


def test_a_blank_display_name_is_none(ground: Floor) -> None:
    #
    ground.register("named", display_name=" \u3000 ")
    assert ground.client.get(f"{BASE}/agents/named").json()["display_name"] is None
