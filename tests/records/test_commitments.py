"""Commitments: the package, the vectors and the page state the same bytes, and the page's check needs only Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recorded_run

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry import records
from openoutcry.backtest.strategies.candidate_fields import digest_of_fields
from openoutcry.harness.conformance.conformance_report import digest_of as report_digest
from openoutcry.records.chained_lines import Draft
from openoutcry.research.proposal_checks import digest_of
from openoutcry.research.sealed_holdout import Seal
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.scoring.suite import Suite

pytestmark = pytest.mark.once

# The oldest supported libraries are tested without the extra of the Arena.
pytest.importorskip("cryptography")

from openoutcry.arena import verifier  # noqa: E402
from openoutcry.arena.log.log_proofs import leaf_hash  # noqa: E402
from openoutcry.arena.log.log_records import Link, key_fingerprint, seal_submission  # noqa: E402
from openoutcry.arena.log.signed_notes import VerifierKey  # noqa: E402
from openoutcry.arena.store.entry_writes import key_digest  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "commitments.md").read_text(encoding="utf-8")
VECTORS = ROOT / "contract" / "vectors"
sys.path.insert(0, str(ROOT / "scripts"))

from vectors import commitments  # noqa: E402

Json = dict[str, Any]
CASES: dict[str, Json] = {
    case["name"]: case for case in json.loads((VECTORS / "commitments.json").read_text(encoding="utf-8"))["cases"]
}
SIGNED = {"record_signature", "conformance_signature"}
HASHED = sorted(CASES.keys() - SIGNED)
RECORD = records.RunRecord.from_json(
    native.canonicalize(json.dumps(json.loads((VECTORS / "record.json").read_text(encoding="utf-8"))["faulty"]))
)


def _market(given: Json, features: list[Json]) -> str:
    data = {name: value for name, value in given["dataset"].items() if name not in {"fundamentals", "news"}}
    tables = {name: np.array(data[name], dtype=float) for name in commitments.TABLES}
    tables["tradable"] = tables["tradable"] != 0.0
    known = {name: [tuple(item.values()) for item in given["dataset"][name]] for name in ("fundamentals", "news")}
    values = {each["name"]: np.array(each["values"], dtype=float) for each in features}
    of_market = [each["name"] for each in features if each["scope"] == "market"]
    shown = {name: value[:, 0] if name in of_market else value for name, value in values.items()}
    return oo.Dataset.from_arrays(**(data | tables | known), features=shown).fingerprint


def _link(place: str) -> str:
    (run,) = json.loads(RECORD.to_json())["runs"]
    step = {"header": run, "end": run["end"]} | {f"step {k}": each for k, each in enumerate(run["steps"])}
    return RECORD.digest or "" if place == "record" else step[place]["link"]


def _submission(given: Json) -> tuple[bytes, str]:
    members = ("submission_id", "agent_slug", "received_at", "snapshot_as_of", "snapshot_sha256")
    fields = ("market_id", "yes_probability", "confidence", "reasoning")
    decided = [tuple(each[name] for name in fields) for each in given["decisions"]]
    salts = b"".join(bytes.fromhex(each["salt"]) for each in given["decisions"])
    link = Link(given["seq"], given["prev_sha256"])
    record, _ = seal_submission([given[name] for name in members], decided, link, salts)
    return record.text, record.sha256


def _decision(given: Json) -> str:
    (digest,) = json.loads(_submission(CASES["arena_submission"]["given"] | {"decisions": [given]})[0])["commitments"]
    return digest


def _log_record(given: Json) -> str:
    draft = Draft(given["event"], given["payload"])
    return draft.line((given["seq"], given["prev_hash"]), given["session_id"], given["ts"])[1]


PACKAGE: dict[str, Callable[[Json], str]] = {
    "scenario_spec": lambda given: ScenarioSpec.from_json(given["spec"]).digest,
    "scenario_seed": lambda given: Scenario("calm", int(given["seed"]), split=given["split"]).reveal(),
    "scenario_commitment": lambda given: (
        Scenario.revealed(ScenarioSpec.from_json(given["spec"]), given["key"]).commitment or ""
    ),
    "fill_commitment": lambda given: records.fill_commitment(bytes.fromhex(given["key"])),
    "market": lambda given: _market(given, []),
    "market_with_features": lambda given: _market(CASES["market"]["given"], given["features"]),
    "candidate": lambda given: digest_of_fields(given["candidate"]),
    "suite": lambda given: Suite.from_json(json.dumps(given["suite"])).digest,
    **{name: lambda given: _link(given["place"]) for name in HASHED if name.startswith("record_")},
    "conformance_report": lambda given: report_digest(given["report"]).hex(),
    "arena_decision": _decision,
    "arena_decision_without_reason": _decision,
    "arena_submission": lambda given: _submission(given)[1],
    "arena_leaf": lambda given: leaf_hash(given["record"].encode()).hex(),
    "arena_log_key": lambda given: VerifierKey(given["name"], bytes.fromhex(given["public_key"])).key_id.hex(),
    "arena_api_key": lambda given: key_fingerprint(key_digest(given["key"])),
    "log_record": _log_record,
    "holdout_shortlist": lambda given: digest_of(given["candidates"]),
    "holdout_seal": lambda given: digest_of(
        Seal(given["dataset_sha256"], tuple(given["window"]), given["commit"]).to_json()
    ),
}  # fmt: skip


def test_the_vectors_are_those_of_hashlib_alone() -> None:
    # The script that writes them imports nothing of the package.
    assert list(CASES.values()) == json.loads(json.dumps(commitments.all_cases()))
    for name in HASHED:
        expected = CASES[name]["expected"]
        assert sha256(bytes.fromhex(expected["bytes"])).hexdigest() == expected["sha256"], name


@pytest.mark.parametrize("name", [name for name in HASHED if name not in {"fill_seed", "arena_node"}])
def test_the_package_states_the_hash_of_the_vector(name: str) -> None:
    found, wanted = PACKAGE[name](CASES[name]["given"]), CASES[name]["expected"]["sha256"]
    # The id of the key of a log is the first four bytes.
    assert found == (wanted[:8] if name == "arena_log_key" else wanted)


def test_the_package_draws_and_proves_with_the_hashes_of_the_vectors() -> None:
    key = bytes.fromhex(CASES["fill_seed"]["expected"]["sha256"])
    drawn = sha256(b"openoutcry/fill/v1\0" + key + (20).to_bytes(8, "little") + b"AAA").digest()
    uniform = (int.from_bytes(drawn[:8], "little") >> 11) * 2.0**-53
    assert native.fill_noise(7, 20, "AAA") == uniform == 0.21732766463408715
    left, right = (bytes.fromhex(CASES["arena_node"]["given"][side]) for side in ("left", "right"))
    root = bytes.fromhex(CASES["arena_node"]["expected"]["sha256"])
    assert native.merkle_is_included(0, 2, left, [right], root)
    assert not native.merkle_is_included(0, 2, right, [left], root)


def test_the_package_signs_the_messages_of_the_vectors() -> None:
    record, report = (CASES[name]["expected"] for name in ("record_signature", "conformance_signature"))
    assert json.loads(RECORD.to_json())["signature"] == {
        "algorithm": "ed25519", "public_key": record["public_key"], "signature": record["signature"],
    }  # fmt: skip
    assert RECORD.verify_signature(record["public_key"])
    assert record["message"] == (b"openoutcry/record/1/signature\0" + bytes.fromhex(RECORD.digest or "")).hex()
    digest = bytes.fromhex(CASES["conformance_report"]["expected"]["sha256"])
    assert report["message"] == (b"openoutcry/conformance/1/signature\0" + digest).hex()
    assert native.sign_conformance(digest, bytes(32)).hex() == report["signature"]
    # An implementation of Ed25519 other than the one of the package verifies the messages.
    for each in (record, report):
        key, signature, message = (bytes.fromhex(each[name]) for name in ("public_key", "signature", "message"))
        assert verifier.is_signed(key, message, signature)
        assert not verifier.is_signed(key, message + b"\0", signature)


# The page


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # Isolated and without site-packages: the package cannot be imported.
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_check_of_the_page_needs_hashlib_only(tmp_path: Path) -> None:
    first = blocks()[0]
    assert len(first.strip().splitlines()) <= 10
    assert re.findall(r"^(?:import|from) .*", first, re.MULTILINE) == ["from hashlib import sha256"]
    case = CASES["scenario_commitment"]
    published = case["expected"]["sha256"]
    assert case["given"]["key"] in first
    assert published in first
    done = run(first, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # Another commitment, key or spec fails.
    for text in (published, case["given"]["key"], CASES["scenario_spec"]["expected"]["sha256"]):
        other = f"{(int(text[0], 16) + 1) % 16:x}{text[1:]}"
        assert "AssertionError" in run(first.replace(text, other), tmp_path).stderr, text


def test_the_page_recomputes_a_record_with_the_standard_library(tmp_path: Path) -> None:
    second = blocks()[1]
    assert set(re.findall(r"^(?:import|from) (\w+)", second, re.MULTILINE)) <= {"hashlib", "json", "re", "pathlib"}
    both = records.RunRecord.join("both", [RECORD, RECORD.runs()[0]]).sign(bytes(32))
    for record in (RECORD, both, recorded_run.RECORD, records.RunRecord.join("none", [])):
        record.save(tmp_path / "run.jsonl")
        done = run(second, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), record
    RECORD.save(tmp_path / "run.jsonl")
    text = (tmp_path / "run.jsonl").read_text(encoding="utf-8")
    changes = [('"nav":1.0105140484412405', '"nav":9'), ('_trials":0', '_trials":1'), ('"T2"', '"T3"'), ("buy", "hold")]
    for old, new in changes:
        (tmp_path / "run.jsonl").write_text(text.replace(old, new, 1), encoding="utf-8")
        assert text.replace(old, new, 1) != text
        assert "AssertionError" in run(second, tmp_path).stderr, new


def test_the_page_states_every_domain_of_the_source() -> None:
    domain = re.compile(r"""b?\\?["']openoutcry/([a-z-]+(?:/[a-z]*\d+)?(?:/[a-z]+)*)""")
    files = [*(ROOT / "rust").glob("*/src/**/*.rs"), *(ROOT / "python" / "openoutcry").rglob("*.py")]
    found = {
        each for file in files for each in domain.findall(file.read_text(encoding="utf-8")) if re.search(r"\d", each)
    }
    assert len(found) > 15
    # Formats of files, which begin no hash.
    formats = {"candidate/v1", "snapshot/v1"}
    assert {each for each in found - formats if f"openoutcry/{each}" not in PAGE} == set()
