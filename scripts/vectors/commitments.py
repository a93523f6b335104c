"""Cases of `commitments.json`: the exact bytes of every commitment, written with `hashlib` alone.

No case calls the package: the bytes follow `docs/commitments.md`, and the tests compare the package with them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from hashlib import sha256
from math import isnan, nan
from pathlib import Path
from typing import Any

from vectors.cases import Case

VECTORS = Path(__file__).resolve().parents[2] / "contract" / "vectors"
KEY = bytes(range(32))
REPORT_SIGNATURE = (
    "8025d01fd509f2ec7966dc81b07476848f9975e397c6847496b93bd8c92dea81"
    "6edc39b698f9cef4ae95eb71e20f3227c26b90c524d5618cdf5467225556050f"
)
SPEC = (
    '{"beta_spread":0.3,"degrees":6,"delisting_rate":0,"dividend_yield":0.02,"family":"factor","halt_rate":0,'
    '"has_bars":true,"late_listings":0,"leverage":-0.4,"market_jumps":{"mean":-3,"rate":0.798,"sd":1.5},'
    '"market_vol":0.098,"n_days":60,"n_sectors":5,"n_symbols":3,"overnight":0.25,"own_degrees":6,'
    '"own_jumps":{"mean":-0.5,"rate":2,"sd":3.726},"own_swings":[{"half_life":5,"sd":0.278},'
    '{"half_life":80,"sd":0.16}],"own_vol":0.16,"own_vol_spread":0.25,"risk_price":6,"sector_vol":0.069,'
    '"split_above":400,"swings":[{"half_life":5,"sd":0.2},{"half_life":80,"sd":0.19}],"tick":0.01,"version":1,'
    '"volume_noise":0.3,"volume_reaction":0.18,"volume_slope":0.45}'
)
MARKET: dict[str, Any] = {
    "dates": ["2024-01-02", "2024-01-03", "2024-01-04"],
    "symbols": ["BBB", "Ünï"],
    "periods_per_year": 252.0,
    "close": [[10.0, 20.0], [5.5, nan], [6.0, nan]],
    "open": [[10.0, 20.0], [5.25, nan], [5.75, nan]],
    "high": [[10.5, 20.0], [5.75, nan], [6.0, nan]],
    "low": [[9.5, 20.0], [5.0, nan], [5.5, nan]],
    "volume": [[500.0, nan], [0.0, nan], [700.0, nan]],
    "dividends": [[0.0, nan], [0.5, nan], [nan, nan]],
    "splits": [[1.0, nan], [2.0, nan], [nan, nan]],
    "tradable": [[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]],
    "delistings": [[nan, nan], [nan, nan], [nan, -0.25]],
    "risk_free": [0.0, 0.0001, -0.0001],
    "fundamentals": [
        {"symbol": "Ünï", "available_at": "2024-01-02", "name": "eps", "value": 2.0},
        {"symbol": "BBB", "available_at": "2024-01-03", "name": "eps", "value": 1.5},
        {"symbol": "BBB", "available_at": "2024-01-02", "name": "eps", "value": 1.25},
        {"symbol": "BBB", "available_at": "2024-01-04", "name": "book", "value": 40.0},
    ],
    "news": [
        {"symbol": "Ünï", "available_at": "2024-01-02", "headline": "first"},
        {"symbol": "BBB", "available_at": "2024-01-03", "headline": "late"},
        {"symbol": "BBB", "available_at": "2024-01-02", "headline": "says “b”"},
        {"symbol": "BBB", "available_at": "2024-01-02", "headline": "also a"},
    ],
}
FEATURES: list[dict[str, Any]] = [
    {"name": "mood", "scope": "symbol", "values": [[0.5, -1.0], [0.25, 2.0], [0.0, nan]]},
    {"name": "vix", "scope": "market", "values": [[15.0], [16.5], [15.25]]},
]
CANDIDATE: dict[str, Any] = {
    "library": "trend", "params": {"fast": 20, "slow": 100}, "market": "fx", "holdout": None, "digest": "0" * 64,
}  # fmt: skip
SUITE: dict[str, Any] = {
    "suite_version": "1.0",
    "name": "one market",
    "edition": "1",
    "lookback": 10,
    "seeds": [4, 1],
    "markets": [{"name": "fx", "fingerprint": "0" * 64, "windows": [["2020-01-01", "2020-04-01"]]}],
    "costs": {
        "borrow_bps": 25, "capital": 1000000, "cash_bps": 0, "fee_bps": 1, "financing_bps": 100, "impact_bps": 0,
        "slippage_bps": 2, "slippage_jitter": 1,
    },
    "limits": {"allow_short": False, "maintenance_margin": 0, "max_gross": 1, "max_weight": 1},
}  # fmt: skip
SUITE_DEFAULTS: dict[str, Any] = {
    "benchmarks": ["buy-and-hold", "cash"],
    "draws": {},
    "gates": {},
    "limits": SUITE["limits"] | {"max_participation": None},
    "luck_floor": {"agents": 200, "seed": 0},
}
TABLES = ("close", "open", "high", "low", "volume", "dividends", "splits", "tradable", "delistings")
MISSING = {"dividends": 0.0, "splits": 1.0}


def case(name: str, about: str, given: Any, content: bytes) -> Case:
    """Return a case: the bytes, in hexadecimal, and their SHA-256."""
    return {
        "name": name, "about": about, "given": given,
        "expected": {"bytes": content.hex(), "sha256": sha256(content).hexdigest()},
    }  # fmt: skip


def length(number: int) -> bytes:
    """Return a length or an integer in 8 bytes, least first."""
    return number.to_bytes(8, "little")


def parts(*each: bytes) -> bytes:
    """Return every part behind its length."""
    return b"".join(length(len(part)) + part for part in each)


def canonical(value: Any) -> bytes:
    """Return canonical JSON; the numbers of these cases are integers or the same in Python and RFC 8785."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def keys() -> Iterable[Case]:
    """Yield the hashes of scenarios and of slippage noise."""
    spec_digest = sha256(SPEC.encode()).digest()
    yield case("scenario_spec", "the digest of a spec", {"spec": SPEC}, SPEC.encode())
    seeded = parts(b"openoutcry/scenario/v1", b"train", length(7))
    yield case("scenario_seed", "the key of a seed in a split", {"split": "train", "seed": "7"}, seeded)
    sealed = parts(b"openoutcry/scenario-commitment/v1", KEY, spec_digest)
    yield case("scenario_commitment", "the commitment to a scenario", {"key": KEY.hex(), "spec": SPEC}, sealed)
    seeded = b"openoutcry/fill-key/v1\0" + length(7)
    yield case("fill_seed", "the fill key of a seed", {"seed": "7"}, seeded)
    sealed = b"openoutcry/fill-commitment/v1\0" + KEY
    yield case("fill_commitment", "the commitment to a fill key", {"key": KEY.hex()}, sealed)


def field(name: str, values: list[Any]) -> bytes:
    """Return a field of a market: name, number of values and values."""
    content = parts(name.encode()) + length(len(values))
    for value in values:
        if isinstance(value, str):
            content += parts(value.encode())
        else:
            content += bytes.fromhex("000000000000f87f") if isnan(value) else struct.pack("<d", value)
    return content


def market_bytes(market: dict[str, Any]) -> bytes:
    """Return the canonical bytes of a market."""
    content = b"openoutcry/dataset/v1\0" + field("dates", market["dates"]) + field("symbols", market["symbols"])
    content += field("periods_per_year", [market["periods_per_year"]])
    for name in TABLES:
        for row in market[name]:
            content += field(name, [MISSING.get(name, value) if isnan(value) else value for value in row])
    content += field("risk_free", market["risk_free"])

    def place(item: dict[str, Any]) -> float:
        return float(market["symbols"].index(item["symbol"]))

    for item in sorted(market["fundamentals"], key=lambda item: (place(item), item["name"], item["available_at"])):
        content += field("fundamental", [item["available_at"], item["name"]])
        content += field("value", [place(item), item["value"]])
    for item in sorted(market["news"], key=lambda item: (place(item), item["available_at"])):
        content += field("news", [item["available_at"], item["headline"]]) + field("symbol", [place(item)])
    return content


def markets() -> Iterable[Case]:
    """Yield the fingerprint of a market with every column, and the digest of a suite."""
    tables = {
        name: [[None if isnan(value) else value for value in row] for row in MARKET[name]]
        for name in TABLES
    }  # fmt: skip
    yield case("market", "the fingerprint of a market", {"dataset": MARKET | tables}, market_bytes(MARKET))
    content, given = market_bytes(MARKET), []
    for each in FEATURES:
        content += field("feature", [each["name"], each["scope"]])
        content += field("values", [value for row in each["values"] for value in row])
        shown = [[None if isnan(value) else value for value in row] for row in each["values"]]
        given.append(each | {"values": shown})
    yield case("market_with_features", "the fingerprint of a market with features", {"features": given}, content)
    fields = {name: value for name, value in CANDIDATE.items() if name != "digest"}
    yield case("candidate", "the digest of a candidate's file", {"candidate": CANDIDATE}, canonical(fields))
    content = b"openoutcry/suite/1\n" + canonical(SUITE | SUITE_DEFAULTS)
    yield case("suite", "the digest of a suite", {"suite": SUITE}, content)


def records() -> Iterable[Case]:
    """Yield every link of the record `faulty` of `record.json`, its digest and the message of its signature."""
    record = json.loads((VECTORS / "record.json").read_text(encoding="utf-8"))["faulty"]
    (run,) = record["runs"]

    def place(name: str) -> dict[str, str]:
        return {"record": "faulty", "place": name}

    link = canonical({"domain": "openoutcry/record/1", "header": run["header"]})
    yield case("record_header", "the first link of a run", place("header"), link)
    for index, step in enumerate([*run["steps"], run["end"]]):
        previous = sha256(link).hexdigest()
        link = canonical({name: value for name, value in step.items() if name != "link"} | {"previous": previous})
        if index in {0, 1, len(run["steps"])}:
            name = "record_end" if "terminated" in step else f"record_step_{index}"
            about = "the link of " + ("the end" if "terminated" in step else f"step {index}")
            yield case(name, about, place(name.removeprefix("record_").replace("_", " ")), link)
    agent = {name: record[name] for name in ("agent_id", "in_sample_trials", "record_version")}
    agent |= {"domain": "openoutcry/record/1/agent", "harness": [run["harness"]], "runs": [sha256(link).hexdigest()]}
    yield case("record_digest", "the digest of a record", place("record"), canonical(agent))
    message = b"openoutcry/record/1/signature\0" + sha256(canonical(agent)).digest()
    yield signature("record_signature", "the signature of a record", place("record"), message, record["signature"])


def signature(name: str, about: str, given: Any, message: bytes, signed: dict[str, str]) -> Case:
    """Return a case of an Ed25519 signature: the signed bytes, the key and the signature."""
    expected = {"message": message.hex(), "public_key": signed["public_key"], "signature": signed["signature"]}
    return {"name": name, "about": about, "given": given, "expected": expected}


def reports() -> Iterable[Case]:
    """Yield the digest of a conformance report, and its signature by the key of 32 zero bytes."""
    report = {"agent": 'a "program"', "passed": True}
    content = canonical({"domain": "openoutcry/conformance/1", "report": report})
    yield case("conformance_report", "the digest of a conformance report", {"report": report}, content)
    message = b"openoutcry/conformance/1/signature\0" + sha256(content).digest()
    signed = {
        "public_key": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
        "signature": REPORT_SIGNATURE,
    }
    given = {"report": report, "private_key": "00" * 32}
    yield signature("conformance_signature", "the signature of a conformance report", given, message, signed)


def arena() -> Iterable[Case]:
    """Yield the hashes of the log of the Arena."""
    stated = {
        "market_id": "kalshi:A-1", "yes_probability": "0.62", "confidence": "0.5", "reasoning": "says “maybe”",
        "salt": KEY.hex(),
    }  # fmt: skip
    silent = stated | {"market_id": "kalshi:B-2", "confidence": None, "reasoning": None, "salt": KEY[::-1].hex()}
    bodies = [canonical(each | {"v": 1}) for each in (stated, silent)]
    yield case("arena_decision", "the commitment to a decision", stated, bodies[0])
    yield case("arena_decision_without_reason", "the commitment to a bare decision", silent, bodies[1])
    members = {
        "submission_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "agent_slug": "ada",
        "received_at": "2026-05-08T12:03:00.500000Z", "snapshot_as_of": "2026-05-08T12:00:00Z",
        "snapshot_sha256": "11" * 32, "seq": 5, "prev_sha256": "22" * 32,
    }  # fmt: skip
    commitments = sorted(sha256(body).hexdigest() for body in bodies)
    record = canonical(members | {"commitments": commitments, "type": "submission", "v": 1})
    given = members | {"decisions": [stated, silent]}
    yield case("arena_submission", "the `prev_sha256` of the record after a submission", given, record)
    yield case("arena_leaf", "the leaf of that record", {"record": record.decode()}, b"\0" + record)
    left, right = b"\x11" * 32, b"\x22" * 32
    yield case("arena_node", "a node over two hashes", {"left": left.hex(), "right": right.hex()}, b"\1" + left + right)
    name = "arena.example/log"
    content = name.encode() + b"\n\1" + KEY
    yield case("arena_log_key", "the key id: the first four bytes", {"name": name, "public_key": KEY.hex()}, content)
    key = "oo_example"
    yield case("arena_api_key", "the `key_sha256` of an API key", {"key": key}, sha256(key.encode()).digest())


def logs() -> Iterable[Case]:
    """Yield the hash of a record of ledger or journal, and the seal of a holdout."""
    record = {
        "event": "note", "payload": {"text": "é", "n": 3}, "prev_hash": "0" * 64, "seq": 0, "session_id": "s-1",
        "ts": "2026-05-08T12:00:00.000000Z", "v": 1,
    }  # fmt: skip
    yield case("log_record", "the hash of a record of a ledger or a research journal", record, canonical(record))
    shortlist = [{"key": "momentum-20", "rank": 1}, {"key": "carry", "rank": 2}]
    yield case("holdout_shortlist", "the `commit` of a holdout", {"candidates": shortlist}, canonical(shortlist))
    seal = {"dataset_sha256": "33" * 32, "window": ["2024-01-02", "2024-06-28"]}
    seal |= {"commit": sha256(canonical(shortlist)).hexdigest()}
    yield case("holdout_seal", "the digest of a holdout, which the ledger holds", seal, canonical(seal))


def all_cases() -> list[Case]:
    """Return the cases."""
    return [*keys(), *markets(), *records(), *reports(), *arena(), *logs()]
