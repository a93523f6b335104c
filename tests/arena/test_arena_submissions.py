"""`POST /decisions`, including ambiguous JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, said

from openoutcry.arena import verifier
from openoutcry.arena.store.submission_writes import SubmitDecisions
from openoutcry.arena.timestamps import HOUR, SECOND, format_timestamp, parse_timestamp

pytestmark = pytest.mark.once


def test_a_submission_returns_a_receipt_that_verifies_offline(ground: Floor) -> None:
    #
    markets = ground.markets()
    answer = ground.submit(
        "one", (markets[0], 0.04), {"market_id": markets[1], "yes_probability": 0.5, "confidence": 0.8}
    )
    assert answer.status_code == 200
    reply = answer.json()
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", reply["submission_id"])
    assert reply["received_at"] == format_timestamp(ground.clock[0])
    assert (reply["n_markets_submitted"], reply["n_markets_accepted"], reply["rejected"]) == (2, 2, [])
    day = reply["received_at"][:10]
    assert reply["anchor"]["anchor_url"] == f"/registry?date={day}#row-{day}"
    assert {body["market_id"]: body["yes_probability"] for body in reply["salts"]} == {
        markets[0]: "0.04",
        markets[1]: "0.5",
    }
    key = verifier.parse_key(ground.client.get("/registry/vkey").text.strip())
    verifier.check_receipt(reply, key)
    reply["salts"][0]["yes_probability"] = "0.05"
    with pytest.raises(verifier.CheckError):
        verifier.check_receipt(reply, key)


def test_checks_run_in_the_order_of_the_protocol(ground: Floor) -> None:
    #
    """A bad token with a bad body is 401."""
    market = ground.markets()[0]
    ground.keys["none"] = "tarena_none"
    assert said(ground.post("none", b"{"))[:2] == (401, "bad_auth")
    assert said(ground.post("none", b" " * (1 << 20) + b"{}"))[:2] == (413, "payload_too_large")
    assert said(ground.post("one", b"{", **{"Content-Type": "text/plain"}))[:2] == (415, "unsupported_media_type")
    twice = [(market, 0.1), (market, 0.2)]
    wrong = ground.body("other", *twice, snapshot_as_of="2020-01-01T00:00:00Z")
    assert said(ground.post("one", wrong)) == (401, "bad_auth", "agent_slug")
    wrong["agent_slug"] = "ONE"
    assert said(ground.post("one", wrong)) == (404, "unknown_snapshot", "snapshot_as_of")
    wrong["snapshot_as_of"] = ground.as_of
    assert said(ground.post("one", wrong)) == (422, "duplicate_market", "decisions[1].market_id")
    assert ground.arena.writer.log.end.seq == 4, "nothing is stored"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"schema_version": "0.2.0"}, "schema_version"),
        ({"schema_version": 1}, "schema_version"),
        ({"submitted_at": "2026-05-08T12:01:00"}, "submitted_at"),
        ({"submitted_at": None}, "submitted_at"),
        ({"snapshot_as_of": "now"}, "snapshot_as_of"),
        ({"decisions": []}, "decisions"),
        ({"decisions": [{"market_id": "kalshi:A", "yes_probability": 0.1}] * 501}, "decisions"),
        ({"decisions": {}}, "decisions"),
    ],
)
def test_an_invalid_body_is_refused_with_its_field(ground: Floor, change: dict[str, Any], field: str) -> None:
    #
    body = ground.body("one", (ground.markets()[0], 0.1)) | change
    assert said(ground.post("one", body)) == (400, "invalid_payload", field)


@pytest.mark.parametrize(
    "probability", ['"0.4"', "true", "null", "1.0000001", "-0.1", "NaN", "Infinity", "1e999", "[]"]
)
def test_an_invalid_probability_is_refused(ground: Floor, probability: str) -> None:
    #
    """Numbers are JSON numbers from 0 to 1."""
    text = json.dumps(ground.body("one", (ground.markets()[0], 0.123))).replace("0.123", probability)
    status, code, _ = said(ground.post("one", text))
    assert (status, code) == (400, "invalid_payload")


@pytest.mark.parametrize(
    "market_id",
    [
        "kalshi:kxiran",
        "kalshi:",
        "kalshi:-A",
        "kalshi:A\n",
        f"kalshi:{'A' * 129}",
        "polymarket:123",
        f"polymarket:{'1' * 79}",
        "other:A",
        "kalshi:\u212a",
    ],
)
def test_an_invalid_market_id_is_refused_and_never_truncated(ground: Floor, market_id: str) -> None:
    #
    assert said(ground.submit("one", (market_id, 0.1))) == (400, "invalid_payload", "decisions[0].market_id")


def test_ambiguous_json_is_refused(ground: Floor) -> None:
    #
    """Duplicate keys, lone surrogates and invalid UTF-8."""
    market = ground.markets()[0]
    text = json.dumps(ground.body("one", {"market_id": market, "yes_probability": 0.25, "reasoning": "R"}))
    for wrong in (
        text.replace('"yes_probability": 0.25', '"yes_probability": 0.25, "yes_probability": 0.75').encode(),
        text.replace('"R"', '"\\ud800"').encode(),
        text.replace('"R"', '"\xff"').encode("latin-1"),
        text.encode("utf-16"),
        b"\xef\xbb\xbf" + text.encode(),
        text.encode() + b"{}",
        b"[" * 100_000,
        b"",
    ):
        assert said(ground.post("one", wrong))[:2] == (400, "invalid_payload")
    assert ground.post("one", text).status_code == 200


def test_unknown_fields_are_ignored_and_reasoning_is_truncated_by_code_points(ground: Floor) -> None:
    #
    market = ground.markets()[0]
    decision = {"market_id": market, "yes_probability": -0.0, "reasoning": "\0" + "\U0001f600" * 600, "extra": [1]}
    reply = ground.submit("one", decision, extra={"a": 1}).json()
    assert reply["salts"][0]["reasoning"] == "\U0001f600" * 500
    assert reply["salts"][0]["yes_probability"] == "0"


def test_a_new_decision_on_a_market_requires_a_newer_snapshot(ground: Floor) -> None:
    #
    one, two = ground.markets()[:2]
    first = ground.as_of
    assert ground.submit("one", (one, 0.1)).status_code == 200
    answer = ground.submit("one", (one, 0.2), (two, 0.3)).json()
    assert answer["rejected"] == [{"market_id": one, "reason": "duplicate_market"}]
    ground.publish()
    assert ground.submit("one", (one, 0.4)).status_code == 200
    answer = ground.submit("one", (one, 0.5), snapshot_as_of=first)
    assert said(answer) == (422, "duplicate_market", "decisions")
    third = ground.publish()
    assert ground.submit("one", (two, 0.5)).status_code == 200
    assert ground.submit("one", (two, 0.5), snapshot_as_of=first).json()["rejected"][0]["reason"] == "duplicate_market"
    before = format_timestamp(parse_timestamp("t", third) - 600 * SECOND)
    assert said(ground.submit("one", (two, 0.5), snapshot_as_of=before))[:2] == (422, "stale_snapshot")
    later = format_timestamp(parse_timestamp("t", third) + 600 * SECOND)
    assert said(ground.submit("one", (one, 0.5), snapshot_as_of=later))[:2] == (404, "unknown_snapshot")


def test_earlier_decisions_are_read_once_per_submission(ground: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    #
    """A submission on an old snapshot with many markets does not block the writer."""
    markets, first = ground.markets(), ground.as_of
    assert ground.submit("one", (markets[0], 0.1)).status_code == 200
    ground.publish()
    assert ground.submit("one", *((market, 0.2) for market in markets)).status_code == 200
    read = list[str]()
    once = SubmitDecisions._decided_before
    monkeypatch.setattr(SubmitDecisions, "_decided_before", lambda *reply: read.append("") or once(*reply))
    answer = ground.submit("one", *((market, 0.3) for market in markets), snapshot_as_of=first)
    reasons = [each["reason"] for each in answer.json()["rejected"]]
    assert reasons == ["duplicate_market"] + ["stale_snapshot"] * (len(markets) - 1)
    assert len(read) == 1
    with ground.arena.reading.connect() as connection:
        plan = "EXPLAIN QUERY PLAN SELECT opened FROM submissions WHERE agent = 1 AND as_of = 1"
        assert "submissions_by_snapshot" in str(connection.exec_driver_sql(plan).all())


def test_a_decision_is_accepted_up_to_and_including_the_cutoff(ground: Floor) -> None:
    #
    """410 if all decisions are late; with mixed reasons the status of the first."""
    reply = ground.client.get(f"{BASE}/markets").json()["markets"][0]
    market, cutoff = reply["market_id"], parse_timestamp("t", reply["decision_cutoff"])
    assert parse_timestamp("t", reply["settlement_at"]) - cutoff == 2 * HOUR
    unknown = (f"polymarket:{'1' * 70}", 0.5)
    ground.clock[0] = cutoff
    assert ground.submit("one", (market, 0.1)).status_code == 200
    ground.clock[0] = cutoff + 1
    ground.register("two")
    late = ground.submit("two", (market, 0.1))
    assert said(late) == (410, "decision_cutoff_passed", "decisions")
    assert late.json()["rejected"] == [{"market_id": market, "reason": "decision_cutoff_passed"}]
    assert said(ground.submit("two", unknown))[:2] == (400, "invalid_payload")
    assert said(ground.submit("two", unknown, (market, 0.1)))[:2] == (400, "invalid_payload")
    assert said(ground.submit("two", (market, 0.1), unknown))[:2] == (410, "decision_cutoff_passed")
    other = ground.markets()[0]
    assert ground.submit("two", unknown, (market, 0.1), (other, 0.2)).json()["n_markets_accepted"] == 1


def test_a_repeated_idempotency_key_returns_the_same_response(ground: Floor) -> None:
    #
    body = ground.body("one", (ground.markets()[0], 0.1))
    first = ground.post("one", body, **{"Idempotency-Key": "a"})
    again = ground.post("one", body, **{"Idempotency-Key": "a"})
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    other = ground.body("one", (ground.markets()[1], 0.1))
    assert said(ground.post("one", other, **{"Idempotency-Key": "a"}))[:2] == (409, "idempotency_conflict")
    assert said(ground.post("one", body))[:2] == (422, "duplicate_market")
    assert said(ground.post("one", other, **{"Idempotency-Key": "\t"}))[:2] == (400, "invalid_payload")
    ground.register("two")
    theirs = ground.post("two", ground.body("two", (ground.markets()[0], 0.1)), **{"Idempotency-Key": "a"})
    assert theirs.status_code == 200, "idempotency keys are per agent"


def test_the_slug_must_match_the_key_in_any_case_without_homoglyphs(ground: Floor) -> None:
    #
    """ASCII is lower-cased; the Kelvin sign is not a k."""
    ground.register("kay")
    one, two = ground.markets()[:2]
    assert ground.post("kay", ground.body("KaY", (one, 0.5))).json()["record"]["agent_slug"] == "kay"
    for other in ("one", "\u212aay", "ka", "kay ", ""):
        assert said(ground.post("kay", ground.body(other, (two, 0.5)))) == (401, "bad_auth", "agent_slug")


def test_a_body_is_limited_to_one_mebibyte_of_json(ground: Floor) -> None:
    #
    text = json.dumps(ground.body("one", ("kalshi:NONE", 0.5))).encode()
    whole = text.ljust(1 << 20)
    assert said(ground.post("one", whole))[:2] == (400, "invalid_payload")
    assert said(ground.post("one", whole + b" "))[:2] == (413, "payload_too_large")
    parts = (whole[at : at + 65_536] for at in range(0, len(whole), 65_536))
    headers = {"Authorization": f"Bearer {ground.keys['one']}"}
    chunked = ground.client.post(f"{BASE}/decisions", content=(part * 2 for part in parts), headers=headers)
    assert said(chunked)[:2] == (413, "payload_too_large"), "also without a content length"
    for kind in ("application/json", "Application/JSON; charset=utf-8", ""):
        assert said(ground.post("one", text, **{"Content-Type": kind}))[:2] == (400, "invalid_payload")
    for kind in ("text/plain", "application/jsonx", "application/x-www-form-urlencoded", "json"):
        assert said(ground.post("one", text, **{"Content-Type": kind}))[:2] == (415, "unsupported_media_type")
