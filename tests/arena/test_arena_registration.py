"""Who takes part, and how often: R-06, R-35 to R-38, Q-9, and slugs that only look right."""

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


def test_a_key_is_shown_once_and_kept_as_its_hash(ground: Floor) -> None:
    """R-36."""
    answer = ground.client.post(f"{BASE}/register", json={"slug": "One_1-x", "contact_email": "secret@example.org"})
    told = answer.json()
    assert (answer.status_code, told["slug"]) == (201, "one_1-x")
    assert answer.headers["Cache-Control"] == "no-store"
    assert re.fullmatch(r"tarena_[A-Za-z0-9_-]{43,}", told["api_key"])
    assert told["next_steps"]
    ground.arena.close()
    kept = b"".join(path.read_bytes() for path in ground.arena.folder.iterdir())
    assert told["api_key"].encode() not in kept
    with sqlite3.connect(ground.arena.folder / "arena.sqlite") as base:
        digest = base.execute("SELECT key_sha256 FROM agents WHERE slug = 'one_1-x'").fetchone()[0]
        records = b"".join(row[0] for row in base.execute("SELECT record FROM records"))
    assert digest == hashlib.sha256(told["api_key"].encode()).digest()
    assert digest.hex().encode() not in records, "the log has a fingerprint that is no credential"
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
def test_a_registration_of_another_form_is_refused(ground: Floor, body: dict[str, Any], field: str) -> None:
    """R-35: the sign of Kelvin has a small k as its lower case, and is no k."""
    assert said(ground.client.post(f"{BASE}/register", json=body)) == (422, "invalid_registration", field)


@given(st.text(max_size=45))
def test_a_slug_is_of_the_letters_that_everybody_can_type(text: str) -> None:
    """R-35."""
    slug = slug_of(text)
    assert slug is None or (text.isascii() and re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", slug) is not None)


def test_a_slug_is_of_whoever_came_first_and_for_good(ground: Floor) -> None:
    """R-37."""
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda _: ground.client.post(f"{BASE}/register", json={"slug": "same"}).status_code, range(32))
        )
    assert sorted(answers) == [201] + [409] * 31
    assert said(ground.client.post(f"{BASE}/register", json={"slug": "SAME"})) == (409, "slug_taken", "slug")
    assert said(ground.client.post(f"{BASE}/register", content=b"{"))[:2] == (400, "invalid_payload")


def test_an_address_registers_so_often_a_day_and_failures_do_not_count(tmp_path: Path) -> None:
    """R-38."""
    proxies = parse_networks(("10.0.0.0/8",))
    with floor(tmp_path, register_cap=2, proxies=proxies) as ground:
        assert ground.client.post(f"{BASE}/register", json={"slug": "-"}).status_code == 422
        assert register(ground).status_code == 201
        assert ground.client.post(f"{BASE}/register", json={"slug": "agent-0"}).status_code == 409
        assert register(ground).status_code == 201
        refused = register(ground, **{"X-Forwarded-For": "192.0.2.9"})
        assert said(refused)[:2] == (429, "rate_limited"), "who is no proxy is not believed"
        wait = int(refused.headers["Retry-After"])
        assert wait == -(-(DAY - ground.clock[0] % DAY) // SECOND)
        ground.clock[0] += wait * SECOND
        with ThreadPoolExecutor(8) as pool:
            bodies = [{"slug": f"p{at}"} for at in range(16)]
            codes = list(pool.map(lambda body: ground.client.post(f"{BASE}/register", json=body).status_code, bodies))
        assert sorted(codes) == [201] * 2 + [429] * 14


def test_addresses_of_one_network_are_one_and_a_proxy_is_believed(tmp_path: Path) -> None:
    """R-38: IPv6 by its /64; the address that the last proxy saw."""
    from starlette.testclient import TestClient

    from openoutcry.arena.app import create_app

    with floor(tmp_path, register_cap=1, proxies=parse_networks(("2001:db8:ffff::/48", "10.0.0.0/8"))) as ground:
        app = create_app(ground.arena, ground.settings)

        def code(host: str, told: str | None = None) -> int:
            client = TestClient(app, client=(host, 1))
            slug = f"s{len(ground.arena.state.agents)}"
            headers = {} if told is None else {"X-Forwarded-For": told}
            return client.post(f"{BASE}/register", json={"slug": slug}, headers=headers).status_code

        assert [code("2001:db8::1"), code("2001:db8::2"), code("2001:db8:0:1::1")] == [201, 429, 201]
        assert [code("10.0.0.1", "192.0.2.1"), code("10.0.0.2", "192.0.2.1")] == [201, 429]
        assert [code("10.0.0.1", "6.6.6.6, 192.0.2.1"), code("10.0.0.1", "192.0.2.2, 10.0.0.9")] == [429, 201]
        assert [code("::ffff:192.0.2.2"), code("10.0.0.1")] == [429, 201]
        assert [code("10.0.0.1", "192.0.2.3:4711"), code("10.0.0.1", "192.0.2.3:4712")] == [201, 429], "with a port"
        assert [code("10.0.0.1", "[2001:db8:7::1]:9"), code("10.0.0.1", "2001:db8:7::2")] == [201, 429]
        assert [code("::ffff:10.0.0.1", "192.0.2.5"), code("10.0.0.1", "192.0.2.5")] == [201, 429], "a mapped proxy"
        assert [code("10.0.0.8", "192.0.2.9, unknown"), code("10.0.0.8", "192.0.2.9, _x")] == [201, 429], "no address"


def test_each_line_of_the_header_of_proxies_is_read(tmp_path: Path) -> None:
    """R-38: a proxy that adds a line of its own, below the one that its client made up, is believed."""
    from starlette.requests import HTTPConnection

    with floor(tmp_path, proxies=parse_networks(("10.0.0.0/8",))) as ground:
        authenticator = Authenticator(ground.settings, ground.arena.state)
        lines = [(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", b"192.0.2.1")]
        scope = {"type": "http", "client": ("10.0.0.1", 1), "headers": lines}
        assert authenticator.address_bucket(HTTPConnection(scope)) == "192.0.2.1"


def test_whom_nobody_knows_is_counted_by_his_address(tmp_path: Path) -> None:
    """R-06: wrong keys, requests without one and registrations, whatever comes of them."""
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


def test_of_more_names_than_are_remembered_the_quietest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """R-06: a flood of addresses neither fills the memory nor lets those through who keep asking."""
    monkeypatch.setattr(rate_limit, "MAX_NAMES", 100)
    window, through = SlidingWindow(3), 0
    for at in range(10_000):
        window.hit(at, at)
        if at % 50 == 0:
            through += refused(window, at) is None
    assert through == 3
    assert len(window._hits) == 100


def test_a_key_is_replaced_and_the_old_one_dies_at_once(ground: Floor) -> None:
    """Q-9."""
    old = ground.keys["one"]
    answer = ground.client.post(f"{BASE}/keys/rotate", headers={"Authorization": f"Bearer {old}"})
    ground.keys["one"] = answer.json()["api_key"]
    assert ground.submit("one", (ground.markets()[0], 0.5)).status_code == 200
    assert said(ground.client.post(f"{BASE}/keys/rotate", headers={"Authorization": f"Bearer {old}"}))[0] == 401
    assert ground.client.post(f"{BASE}/keys/rotate").status_code == 401


def test_who_is_suspended_does_not_submit(ground: Floor) -> None:
    """R-04."""
    from openoutcry.arena.store.entry_writes import SuspendAgent

    ground.arena.writer.write(SuspendAgent("one", True, "a test", ground.clock[0]))
    assert said(ground.submit("one", (ground.markets()[0], 0.5)))[:2] == (403, "suspended")
    assert ground.client.post(f"{BASE}/register", json={"slug": "one"}).status_code == 409
    ground.arena.writer.write(SuspendAgent("one", False, "a test", ground.clock[0]))
    assert ground.submit("one", (ground.markets()[0], 0.5)).status_code == 200


def test_the_61st_request_of_a_minute_waits_as_long_as_it_is_told(tmp_path: Path) -> None:
    """R-06: what was refused counts, what was turned away does not."""
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
        assert ground.client.get(f"{BASE}/markets").status_code == 200, "others have their own"


def refused(window: SlidingWindow, moment: int) -> int | None:
    try:
        window.hit("a", moment)
    except ArenaError as error:
        return error.retry_after
    return None


@given(st.lists(st.integers(0, 20 * SECOND), max_size=60), st.integers(1, 5))
def test_no_minute_has_more_than_its_requests_and_waiting_helps(gaps: list[int], most: int) -> None:
    """R-06."""
    window, now, through = SlidingWindow(most), 0, list[int]()
    for gap in gaps:
        now += gap
        wait = refused(window, now)
        if wait is not None:
            assert wait >= 1
            now += wait * SECOND
            assert refused(window, now) is None, "whoever waits as long as he is told gets through"
        through.append(now)
    for at, moment in enumerate(through):
        assert sum(moment - MINUTE < each <= moment for each in through[: at + 1]) <= most


@pytest.mark.parametrize("name", ["\u0639\u0644\u06cc", "7", "O'Neill \U0001f98a", "Zo\u0065\u0308", "\u674e"])
def test_a_name_is_in_any_alphabet(name: str, ground: Floor) -> None:
    """R-35."""
    ground.register("named", display_name=f" {name} ")
    assert ground.client.get(f"{BASE}/agents/named").json()["display_name"] == name


def test_a_name_of_spaces_is_none(ground: Floor) -> None:
    """R-35."""
    ground.register("named", display_name=" \u3000 ")
    assert ground.client.get(f"{BASE}/agents/named").json()["display_name"] is None
