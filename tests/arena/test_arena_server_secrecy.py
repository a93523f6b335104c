"""Decisions are secret before the cutoff and public after it; exports verify."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor

from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.log.log_records import canonical
from openoutcry.arena.season_export import export
from openoutcry.arena.store.entry_writes import CloseDay
from openoutcry.arena.timestamps import DAY, day_of, parse_timestamp

pytestmark = pytest.mark.once

SHARE, WORDS = 0.387215, "sentinel-of-a-reason"


@pytest.fixture
def ground(ground: Floor) -> Floor:
    ground.register("two")
    return ground


def public_paths(ground: Floor, expected: dict[str, Any]) -> list[str]:
    """Return all public paths with values for their parameters; new parameters must be added here."""
    size, record = ground.arena.writer.log.end.seq, expected["record"]
    parts = {
        "{slug}": ["one", "two"],
        "{submission_id}": [expected["submission_id"]],
        "{name}": [expected["submission_id"], str(record["seq"])],
        "{market_id}": [each["market_id"] for each in expected["salts"]],
        "{as_of}": [ground.as_of],
        "{path:path}": [f"entries/000.p/{size}", f"0/000.p/{size}"],
        "{file}": ["x"],
        "{key_id}": ["00000000"],
    }
    found = [f"/registry?date={record['received_at'][:10]}", f"{BASE}/intel?as_of={ground.as_of}"]
    found += [f"{path}?status={each}" for path in (f"{BASE}/markets", "/markets") for each in ("closed", "settled")]
    found.append(f"/registry/consistency?from=1&to={size}")
    for route in ground.client.app.routes:  # type: ignore[attr-defined]
        if "GET" not in route.methods:
            continue
        paths = [route.path]
        for part in re.findall(r"\{[^}]+\}", route.path):
            paths = [path.replace(part, each) for path in paths for each in parts[part]]
        found += paths
    return found


def public_bytes(ground: Floor, folder: Path, expected: dict[str, Any]) -> bytes:
    """Return all public bytes as served to a guest, to a browser and to another agent."""
    paths = public_paths(ground, expected)
    plain = {"Accept-Encoding": "identity"}
    kinds = (
        plain,
        plain | {"Accept": "text/html"},
        plain | {"Accept": "text/plain", "Authorization": f"Bearer {ground.keys['two']}"},
    )
    answers = [ground.client.get(path, headers=headers) for headers in kinds for path in paths]
    assert 500 not in {answer.status_code for answer in answers}
    assert sum(answer.status_code == 200 for answer in answers) > len(answers) * 0.8
    found = [answer.content + str(answer.headers).encode() for answer in answers]
    # Error responses, too.
    wrong = (ground.body("two", ("kalshi:NONE", 0.5)), ground.body("one", ("kalshi:NONE", 0.5)), {})
    found += [ground.post("two", body).content for body in wrong]
    export(ground.arena, folder, ground.clock[0])
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"\n".join(found + files)


def test_no_public_byte_contains_a_decision_before_the_cutoff(
    ground: Floor, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    #
    """Probability, reasoning and salt in responses, headers, tiles, exports and the server's log."""
    caplog.set_level(logging.DEBUG)
    market = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    decision = {"market_id": market["market_id"], "yes_probability": SHARE, "confidence": 0.912, "reasoning": WORDS}
    reply = ground.submit("one", decision).json()
    secrets = [str(SHARE), "0.912", WORDS, reply["salts"][0]["salt"]]
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"])
    ground.publish()
    ground.clock[0] = parse_timestamp("t", market["decision_cutoff"])
    before = public_bytes(ground, tmp_path / "before", reply) + (caplog.text + "".join(capfd.readouterr())).encode()
    assert [secret for secret in secrets if secret.encode() in before] == []
    own = ground.client.get(f"{BASE}/agents/one", headers={"Authorization": f"Bearer {ground.keys['one']}"})
    other = ground.client.get(f"{BASE}/agents/one")
    assert [each.headers["Cache-Control"] for each in (own, other)] == ["no-store", "no-cache"]
    assert [each.headers["Vary"] for each in (own, other)] == ["Authorization"] * 2
    assert WORDS in own.text, "the agent itself may see it"
    ground.resolve(market["market_id"], "yes")
    again = public_bytes(ground, tmp_path / "resolved", reply)
    assert WORDS.encode() not in again, "a result reveals nothing before the cutoff"
    ground.clock[0] += 1
    after = public_bytes(ground, tmp_path / "after", reply)
    assert [secret for secret in secrets if secret.encode() not in after] == []


@pytest.mark.parametrize("table", ["submissions", "decisions"])
def test_a_failing_database_logs_no_decision(ground: Floor, caplog: pytest.LogCaptureFixture, table: str) -> None:
    #
    """A failing statement is logged without its parameters."""
    connection = ground.arena.writer.connection()
    with connection.begin():
        does = f"BEFORE INSERT ON main.{table} BEGIN SELECT RAISE(FAIL, 'a fault'); END"
        connection.exec_driver_sql(f"CREATE TEMP TRIGGER failing {does}")
    decision = {"market_id": ground.markets()[0], "yes_probability": SHARE, "reasoning": WORDS}
    assert ground.submit("one", decision).status_code in (500, 503)
    assert "a fault" in caplog.text
    assert [secret for secret in (str(SHARE), WORDS) if secret in caplog.text] == []


def test_a_commitment_cannot_be_guessed(ground: Floor) -> None:
    #
    """No combination of market and two-digit probability gives it without the salt."""
    markets = ground.markets()
    reply = ground.submit("one", (markets[3], 0.37)).json()
    commitment = reply["record"]["commitments"][0]
    body = dict(reply["salts"][0])
    assert hashlib.sha256(canonical(body).encode()).hexdigest() == commitment
    for salt in ("", "0" * 64, reply["submission_id"], reply["record"]["prev_sha256"]):
        for market, share in product(markets, range(101)):
            tried = body | {"salt": salt, "market_id": market, "yes_probability": f"{share / 100:g}"}
            assert hashlib.sha256(canonical(tried).encode()).hexdigest() != commitment


def test_the_order_of_commitments_reveals_nothing(ground: Floor) -> None:
    #
    reply = ground.submit("one", *((market, 0.5) for market in ground.markets())).json()
    commitments = reply["record"]["commitments"]
    assert commitments == sorted(commitments)
    assert [body["market_id"] for body in reply["salts"]] != ground.markets(), "8 decisions, ordered by hash"


def test_an_export_verifies_with_both_verifiers_and_has_the_boards_scores(ground: Floor, tmp_path: Path) -> None:
    #
    """Log, revealed decisions, snapshots and days, before and after the cutoffs."""
    markets = ground.markets()
    for slug, share in (("one", 0.8), ("two", 0.3)):
        ground.submit(slug, *((market, share) for market in markets))
    for step, place in enumerate(("early", "late")):
        folder = tmp_path / place
        export(ground.arena, folder, ground.clock[0])
        assert audit(folder, str(ground.arena.key.verifier)) == []
        assert verifier.main(["export", str(folder), "--vkey", str(ground.arena.key.verifier)]) == 0
        opened = [json.loads(line)["opened"] for line in (folder / "reveals.jsonl").read_text().splitlines()]
        assert [len(each) for each in opened] == [8 * step] * 2
        ground.clock[0] += 8 * DAY
        for market in markets:
            ground.resolve(market, "yes")
        ground.arena.writer.write(CloseDay(day_of(ground.clock[0] - DAY), ground.clock[0]))
        assert ground.arena.writer.write(CloseDay(day_of(ground.clock[0] - DAY), ground.clock[0])) is None
    reply = json.loads((tmp_path / "late" / "scores.json").read_text())
    rows = ground.client.get(f"{BASE}/leaderboard").json()["rows"]
    assert [(row["slug"], row["brier"]) for row in reply["rows"]] == [(row["slug"], row["brier"]) for row in rows]
    kept = tmp_path / "early" / "checkpoint"
    assert verifier.main(["consistency", str(kept), str(tmp_path / "late")]) == 0
    (tmp_path / "late" / "log.jsonl").write_bytes(
        b"".join((tmp_path / "late" / "log.jsonl").read_bytes().splitlines(keepends=True)[:-1])
    )
    assert verifier.main(["export", str(tmp_path / "late")]) == 1


def test_a_proof_is_valid_tlog_proof_text(ground: Floor) -> None:
    #
    """`tlog-proof`."""
    from openoutcry.arena.log.log_proofs import Proof

    reply = ground.submit("one", (ground.markets()[0], 0.5)).json()
    answer = ground.client.get(reply["proof_url"], headers={"Accept": "text/plain"})
    checkpoint = Proof.parse(answer.text).verify(canonical(reply["record"]).encode(), ground.arena.key.verifier)
    assert checkpoint.size == reply["tree_size"]
    assert ground.client.get("/registry/proof/0").status_code == 404
    for path in ("0/000", "0/000.p/99", "x/000", "8/000.p/1", "entries/001"):
        assert ground.client.get(f"/registry/tile/{path}").status_code == 404
