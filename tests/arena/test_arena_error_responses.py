"""Error responses state what is required and what was received, in the protocol's form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor

pytestmark = pytest.mark.once

MARKET = "kalshi:KXIRANSTRIKE-DEMO1"
FOREIGN = re.compile(
    r"Input should|Field required|valid (string|integer)|pydantic|validation|\b(str|int|float|dict|list|NoneType)\b"
    r"|Not Found|Not Allowed|Error\b|Traceback",
    re.ASCII,
)
"""Text of a library or of Python itself."""
AT_LEAST = "a number of at least 0 is required; received -1.5"
FEWER = f'an integer with fewer digits is required; received "{"9" * 79}'


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    with floor(tmp_path_factory.mktemp("refusing")) as found:
        found.publish()
        found.register("one")
        yield found


def detail(answer: Any, status: int, field: str | None) -> str:
    reply = answer.json()
    assert (answer.status_code, reply["field"]) == (status, field), answer.text
    assert set(reply) == {"error", "detail", "field"}
    assert re.search(r"\brequired\b|must be", reply["detail"]), reply["detail"]
    assert "received" in reply["detail"], reply["detail"]
    assert not FOREIGN.search(reply["detail"].replace("a list", "")), reply["detail"]
    return str(reply["detail"])


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        ({"schema_version": 1}, "schema_version", "a string is required; received 1"),
        ({"agent_slug": None}, "agent_slug", "a string is required; received null"),
        ({"snapshot_as_of": []}, "snapshot_as_of", "a string is required; received []"),
        ({"decisions": {"a": 1}}, "decisions", "a list is required; received an object"),
        ({"decisions": []}, "decisions", "a list of at least 1 is required; received []"),
        ({"decisions": [3] * 501}, "decisions", "a list of at most 500 is required; received a list of 501"),
        ({"decisions": [3]}, "decisions[0]", "an object is required; received 3"),
        ({"yes_probability": "0.4"}, "decisions[0].yes_probability", 'a number is required; received "0.4"'),
        ({"yes_probability": True}, "decisions[0].yes_probability", "a number is required; received true"),
        (
            {"yes_probability": -0.5},
            "decisions[0].yes_probability",
            "a number of at least 0 is required; received -0.5",
        ),
        ({"yes_probability": 2}, "decisions[0].yes_probability", "a number of at most 1 is required; received 2"),
        ({"confidence": []}, "decisions[0].confidence", "a number is required; received []"),
        ({"reasoning": {"a": 1}}, "decisions[0].reasoning", "a string is required; received an object"),
        (
            {"market_id": "x" * 300},
            "decisions[0].market_id",
            f'a string of at most 256 characters is required; received "{"x" * 79}',
        ),
    ],
    ids=str,
)
def test_an_invalid_submission_names_the_requirement_and_the_value(
    change: dict[str, Any], field: str, expected: str, ground: Floor
) -> None:
    body = ground.body("one", (MARKET, 0.5))
    (body if set(change) & set(body) else body["decisions"][0]).update(change)
    assert detail(ground.post("one", body), 400, field) == expected


@pytest.mark.parametrize("name", ["schema_version", "agent_slug", "submitted_at", "snapshot_as_of", "decisions"])
def test_a_missing_member_is_named(name: str, ground: Floor) -> None:
    body = ground.body("one", (MARKET, 0.5))
    del body[name]
    assert detail(ground.post("one", body), 400, name) == "a value is required; received none"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"\xff", b'{"a":1,"a":2}', b'{"a":NaN}', b"[" * 1000])
def test_a_body_that_is_no_object_is_refused(body: bytes, ground: Floor) -> None:
    reply = detail(ground.post("one", body), 400, None)
    assert not re.search("EOF|expected|escape", reply), "text of a parser"
    detail(ground.client.post(f"{BASE}/register", content=body), 400, None)


@pytest.mark.parametrize(
    ("query", "field", "expected"),
    [
        ("leaderboard?limit=0", "limit", 'a number of at least 1 is required; received "0"'),
        ("leaderboard?limit=501", "limit", 'a number of at most 500 is required; received "501"'),
        ("leaderboard?limit=1.5", "limit", 'an integer is required; received "1.5"'),
        (
            f"leaderboard?min_n={'9' * 5000}",
            "min_n",
            f'an integer with fewer digits is required; received "{"9" * 79}',
        ),
        ("leaderboard?season=2026Q5", "season", "one of all, 2026Q2 is required; received '2026Q5'"),
        (
            "leaderboard?theater=mars",
            "theater",
            'one of iran, israel, ukraine, taiwan, korea or yemen is required; received "mars"',
        ),
        ("/registry/consistency?to=1", "from", "a value is required; received none"),
        ("markets?status=x", "status", "a status of open, closed, settled is required; received 'x'"),
    ],
)
def test_an_invalid_query_names_the_requirement_and_the_value(
    query: str, field: str, expected: str, ground: Floor
) -> None:
    answer = ground.client.get(query if query.startswith("/") else f"{BASE}/{query}")
    assert detail(answer, 400, field) == expected


def test_an_unknown_path_or_method_is_refused(ground: Floor) -> None:
    for path in ("/nope", f"{BASE}/nope"):
        reply = detail(ground.client.get(path), 404, None)
        assert reply == f"a path of this server is required; received '{path}'"
    for method, path, allowed in (
        ("POST", f"{BASE}/markets", "GET, HEAD"),
        ("DELETE", f"{BASE}/intel", "GET, HEAD"),
        ("PUT", f"{BASE}/decisions", "POST"),
        ("GET", f"{BASE}/register", "POST"),
        ("POST", "/", "GET, HEAD"),
    ):
        answer = ground.client.request(method, path)
        reply = detail(answer, 405, None)
        assert reply == f"{allowed.replace(', ', ' or ')} is required for this path; received {method}"
        assert answer.headers["Allow"] == allowed, "RFC 9110, 15.5.6"


def test_an_invalid_registration_names_the_received_value(ground: Floor) -> None:
    for body, field in (
        ({}, "slug"),
        ({"slug": "a b"}, "slug"),
        ({"slug": "ok", "contact_email": "x"}, "contact_email"),
    ):
        reply = detail(ground.client.post(f"{BASE}/register", json=body), 422, field)
        assert reply.endswith(f"; received {json.dumps(body.get(field))}")


def test_head_responses_equal_get_responses_without_the_body(ground: Floor) -> None:
    """RFC 9110, 9.3.2, for every documented route, the pages and error responses."""
    ground.submit("one", (MARKET, 0.4))
    named = {"slug": "one", "path": "0/000", "submission_id": "0" * 26, "key_id": "00000000"}
    document = ground.client.get("/openapi.json").json()["paths"]
    paths = [path.format_map(named) for path, reply in document.items() if "get" in reply]
    assert len(paths) == 10
    pages = ["/", "/markets", f"/markets/{MARKET}", "/agents/one", "/snapshots", "/registry", "/docs", "/openapi.json"]
    for path in [*paths, *pages, "/registry/consistency?from=1&to=3", "/nope", "/agents?slug=one"]:
        full = ground.client.get(path, follow_redirects=False)
        head = ground.client.head(path, follow_redirects=False)
        assert (head.status_code, head.content) == (full.status_code, b""), path
        assert dict(head.headers) == dict(full.headers), path
    answer = ground.client.head(f"{BASE}/decisions")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
