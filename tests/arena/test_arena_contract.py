"""The server conforms to its OpenAPI document: every documented status is reached with its schema."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor
from arena_openapi_client import Contract, ContractClient

from openoutcry.arena.protocol import STATUS
from openoutcry.arena.store.entry_writes import SuspendAgent
from openoutcry.arena.timestamps import parse_timestamp

pytestmark = pytest.mark.once

# Error codes of each status.
TABLE = {
    400: {"invalid_payload"},
    401: {"bad_auth"},
    403: {"suspended"},
    404: {"unknown_snapshot", "unknown_agent", "not_found"},
    405: {"method_not_allowed"},
    409: {"slug_taken", "idempotency_conflict"},
    410: {"decision_cutoff_passed"},
    413: {"payload_too_large"},
    415: {"unsupported_media_type"},
    422: {"duplicate_market", "stale_snapshot", "invalid_registration"},
    429: {"rate_limited"},
    500: {"internal_error"},
    503: {"snapshot_unavailable", "unavailable"},
}


@pytest.fixture
def contract(monkeypatch: pytest.MonkeyPatch) -> list[Contract]:
    """Return the list that gets the OpenAPI document at the first request."""
    known = list[Contract]()
    monkeypatch.setattr(ContractClient, "known", known)
    return known


def walk(ground: Floor) -> None:
    """Send requests that cause every documented status that a client can cause."""
    client, own = ground.client, {"Authorization": f"Bearer {ground.keys['one']}"}
    registered = {"Content-Type": "text/plain"}
    big = b" " * ((1 << 20) + 1)
    for path, slug in (("register", None), ("decisions", "one")):
        headers = {} if slug is None else own
        for body, more in ((b"{", {}), (big, {}), (b"{}", registered)):
            client.post(f"{BASE}/{path}", content=body, headers=headers | more)
    client.post(f"{BASE}/register", json={"slug": "-"})
    client.post(f"{BASE}/register", json={"slug": "one"})
    client.post(f"{BASE}/decisions", json={})
    client.post(f"{BASE}/keys/rotate")
    ground.keys["one"] = client.post(f"{BASE}/keys/rotate", headers=own).json()["api_key"]
    first, second, *_ = client.get(f"{BASE}/markets").json()["markets"]
    receipt = ground.post("one", ground.body("one", (first["market_id"], 0.5)), **{"Idempotency-Key": "a"}).json()
    ground.post("one", ground.body("one", (second["market_id"], 0.5)), **{"Idempotency-Key": "a"})
    ground.submit("one", (first["market_id"], 0.5))
    ground.submit("one", (first["market_id"], 0.5), snapshot_as_of="2020-01-01T00:00:00Z")
    for path in ("markets?status=x", "leaderboard?limit=0", "intel?as_of=x", "intel?as_of=2020-01-01T00:00:00Z"):
        client.get(f"{BASE}/{path}")
    for path in ("markets", "leaderboard", "agents/one", "intel"):
        client.get(f"{BASE}/{path}", headers={"Authorization": "Bearer x"})
        client.get(f"{BASE}/{path}")
    client.get(f"{BASE}/agents/nobody")
    client.get(f"{BASE}/intel", headers={"If-None-Match": "*"})
    size = receipt["tree_size"]
    for path in ("vkey", "checkpoint", f"tile/entries/000.p/{size}", "tile/x", "proof/x", "cosignatures/00000000"):
        client.get(f"/registry/{path}")
    for accept in ("application/json", "text/plain"):
        client.get(f"/registry/proof/{receipt['submission_id']}", headers={"Accept": accept})
    client.get(f"/registry/consistency?from=1&to={size}")
    client.get("/registry/consistency?from=0&to=1")
    for note in ("x", receipt["checkpoint"], " " * (1 << 20)):
        client.post("/registry/cosignatures", content=note)
    ground.clock[0] = parse_timestamp("t", first["decision_cutoff"]) + 1
    client.get(f"{BASE}/intel")
    ground.submit("one", (first["market_id"], 0.5))
    ground.arena.writer.write(SuspendAgent("one", True, "a test", ground.clock[0]))
    ground.submit("one", (second["market_id"], 0.5))


def exceed_limits(ground: Floor) -> None:
    """Send more requests than the rate limits allow."""
    own = {"Authorization": f"Bearer {ground.register('one')}"}
    ground.client.post(f"{BASE}/register", json={"slug": "two"})
    for _ in range(2):
        for path in ("markets", "leaderboard", "agents/one", "intel"):
            ground.client.get(f"{BASE}/{path}")
        for path in ("decisions", "keys/rotate"):
            ground.client.post(f"{BASE}/{path}", headers=own)


def test_every_documented_status_is_reached_with_its_schema(
    contract: list[Contract], ground: Floor, tmp_path: Path
) -> None:
    #
    """Except for server errors and a full disk."""
    walk(ground)
    with floor(tmp_path / "limits", rate_key=1, rate_anon=1, register_cap=1) as other:
        other.publish()
        exceed_limits(other)
    (found,) = contract
    named = {
        (path, method, status)
        for path, operations in found.document["paths"].items()
        for method, operation in operations.items()
        for status in operation["responses"]
    }
    # Responses to known witnesses have their own tests.
    apart = {("/registry/cosignatures", "post", "200"), ("/registry/cosignatures/{key_id}", "get", "200")}
    not_caused = {each for each in named if each[2] == "500" or (each[1] == "post" and each[2] == "503")}
    # No path value is malformed: an invalid slug is an unknown agent.
    not_caused.add((f"{BASE}/agents/{{slug}}", "get", "400"))
    assert sorted(named - found.seen - apart - not_caused) == []


def test_error_codes_match_the_protocol() -> None:
    #
    codes: dict[int, set[str]] = {}
    for code, status in STATUS.items():
        codes.setdefault(status, set()).add(code)
    assert codes == TABLE


def test_no_response_schema_is_an_empty_object(contract: list[Contract], ground: Floor) -> None:
    ground.client.get(f"{BASE}/markets")
    for path, reply in contract[0].document["paths"].items():
        for operation in reply.values():
            for status, response in operation["responses"].items():
                for kind in response.get("content", {}).values():
                    assert set(kind["schema"]) - {"title"} > set(), (path, status)
                    assert kind["schema"] != {"type": "object"}, (path, status)


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner))
"""Any JSON value, including NaN and lone surrogates."""


def test_any_body_gets_a_documented_response(ground: Floor) -> None:
    #
    """Bodies with one arbitrary member never cause status 500."""
    market = ground.markets()[0]
    bodies: dict[str, Any] = {
        "decisions": ground.body(
            "one", {"market_id": market, "yes_probability": 2, "confidence": 0.5, "reasoning": ""}
        ),
        "register": {"slug": "-", "display_name": "x", "contact_email": "a@example.org"},
    }
    names = [("register", name) for name in bodies["register"]] + [("decisions", name) for name in bodies["decisions"]]
    names += [("decisions", f"decisions.0.{name}") for name in bodies["decisions"]["decisions"][0]]
    n_examples = 3000 if os.environ.get("OPENOUTCRY_FULL") else 80

    @settings(max_examples=n_examples)
    @given(st.sampled_from(names), JSON)
    def send(place: tuple[str, str], value: Any) -> None:
        path, name = place
        body = dict(bodies[path])
        if name.startswith("decisions.0."):
            body["decisions"] = [body["decisions"][0] | {name.removeprefix("decisions.0."): value}]
        else:
            body[name] = value
        headers = {"Authorization": f"Bearer {ground.keys['one']}"}
        answer = ground.client.post(f"{BASE}/{path}", content=json.dumps(body), headers=headers)
        assert answer.status_code != 500

    send()


def test_any_path_or_query_gets_a_documented_response(ground: Floor) -> None:
    #
    """Arbitrary path and query values never cause status 500."""
    paths = _get_paths(ground)
    n_examples = 3000 if os.environ.get("OPENOUTCRY_FULL") else 120

    @settings(max_examples=n_examples)
    @given(st.sampled_from(paths), st.text(min_size=1, max_size=20) | st.integers().map(str))
    def send(path: str, value: str) -> None:
        answer = ground.client.get(path.replace("VALUE", quote(value, safe="")))
        assert answer.status_code != 500

    send()


def _get_paths(ground: Floor) -> list[str]:
    """Return the GET paths, each with `VALUE` in place of one path part or query parameter."""
    found = []
    for path, reply in ground.client.contract.document["paths"].items():
        if "get" in reply:
            found += [re.sub(r"\{\w+\}", "VALUE", path)] if "{" in path else []
            parameters = [each for each in reply["get"].get("parameters", ()) if each["in"] == "query"]
            found += [f"{path}?{each['name']}=VALUE" for each in parameters]
    return found
