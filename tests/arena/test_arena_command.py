"""`openoutcry arena` end to end: a new user registers, submits and verifies a receipt."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from arena_process import served
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
httpx = pytest.importorskip("httpx")

pytestmark = pytest.mark.once


def test_a_new_user_registers_submits_and_verifies_a_receipt_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    #
    with served(tmp_path, "--register-cap", "1") as url:
        key = typed("arena", "register", "My-Agent", "--url", url, cwd=tmp_path).stdout.strip()
        assert re.fullmatch(r"tarena_[A-Za-z0-9_-]{43}", key)
        again = typed("arena", "register", "my-agent", "--url", url, cwd=tmp_path)
        assert (again.returncode, "slug_taken" in again.stderr) == (2, True)
        given = {"X-Forwarded-For": "192.0.2.7"}
        elsewhere = httpx.post(f"{url}/v2/competition/register", json={"slug": "other"}, headers=given)
        assert elsewhere.status_code == 429, "without --proxy, X-Forwarded-For of the same machine is not trusted"
        monkeypatch.setenv("OPENOUTCRY_ARENA_KEY", key)
        first = {"market_id": "kalshi:KXIRANSTRIKE-DEMO1", "yes_probability": 0.04, "confidence": 0.82}
        unknown = {"market_id": "kalshi:KXNOSUCH", "yes_probability": 0.5}
        (tmp_path / "decisions.json").write_text(json.dumps([first, unknown]))
        words = ("arena", "submit", "my-agent", "decisions.json", "--url", url)
        done = typed(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "accepted: 1 of 2" in done.stdout
        assert "rejected: kalshi:KXNOSUCH: unknown_market" in done.stdout
        (receipt,) = tmp_path.glob("*.receipt.json")
        reply = json.loads(receipt.read_text())
        assert reply["submission_id"] == receipt.name.partition(".")[0]
        # `--as-of` because the newest snapshot may have changed.
        same = (*words, "--as-of", reply["snapshot_as_of"])
        again = typed(*same, cwd=tmp_path)
        assert (again.returncode, again.stdout) == (0, done.stdout)
        (tmp_path / "decisions.json").write_text(json.dumps([first]))
        refused = typed(*same, cwd=tmp_path)
        assert (refused.returncode, "duplicate_market" in refused.stderr) == (2, True)
        # Refused before the request: an accepted submission must not lose its receipt.
        for path in (receipt, tmp_path / "none" / "receipt.json"):
            refused = typed(*words, "--receipt", str(path), cwd=tmp_path)
            assert (refused.returncode, "a new file" in refused.stderr) == (2, True)
    exported = typed("arena", "export", "season", "--data-dir", "arena", cwd=tmp_path)
    # One more record if a snapshot was published meanwhile.
    assert re.fullmatch(r"exported: [5-8] records to season\n", exported.stdout)
    checked = typed("arena", "verify", "season", cwd=tmp_path)
    assert (checked.returncode, checked.stdout) == (0, "ok\n")
    vkey = (tmp_path / "season" / "vkey").read_text().strip()
    file = Path(__file__).resolve().parents[2] / "python" / "openoutcry" / "arena" / "verifier.py"
    command = [sys.executable, "-I", "-S", str(file), "receipt", str(receipt), "--vkey", vkey]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env={})
    assert (alone.returncode, alone.stdout) == (0, "ok\n"), alone.stderr
    log = tmp_path / "season" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b"my-agent", b"my-agenx"))
    assert typed("arena", "verify", "season", cwd=tmp_path).returncode == 1


def test_a_missing_server_is_reported_in_one_line(tmp_path: Path) -> None:
    done = typed("arena", "register", "one", "--url", "http://127.0.0.1:1", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: an Arena server at http://127.0.0.1:1 is required; received")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 no file was created
