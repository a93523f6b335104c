"""A newcomer's path, on a server in a process of its own: the agent in bash, the result, the rank, the receipt."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from arena_served import served
from commands import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx")

import httpx

from openoutcry.arena.demo import QUESTIONS
from openoutcry.arena.times import HOUR, moment_of, now

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq"),
]

ROOT = Path(__file__).resolve().parents[1]
BASE = "/v2/competition"


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    told = [str(word) for word in words]
    return subprocess.run(told, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def ranked(url: str, slug: str) -> dict[str, Any]:
    """Return the row of an agent once it has a rank."""
    deadline = time.monotonic() + 90.0
    while True:
        rows = httpx.get(f"{url}{BASE}/leaderboard").json()["rows"]
        found: dict[str, Any] = next(row for row in rows if row["slug"] == slug)
        if found["rank"] is not None or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def test_a_newcomer_gets_a_rank_with_the_agent_in_bash_and_verifies_the_receipt(tmp_path: Path) -> None:
    """R-28, R-40, R-42, R-43, R-44: whatever is told is kept, settled and checked by files alone."""
    with served(tmp_path, "--sandbox") as url:
        agent = ("bash", ROOT / "examples" / "arena-agent.sh", url)
        done = run(*agent, "my-agent", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(rf"accepted: [1-8] of [1-{len(QUESTIONS)}]\n(.+: decision_cutoff_passed\n)*", done.stdout)
        receipt = json.loads((tmp_path / "my-agent.receipt.json").read_text())
        opened = {each["market_id"]: each["yes_probability"] for each in receipt["salts"]}
        assert (tmp_path / "my-agent.key").stat().st_mode & 0o077 == 0
        again = run(*agent, "my-agent", cwd=tmp_path)
        is_newer = httpx.get(f"{url}{BASE}/markets").json()["as_of"] != receipt["snapshot_as_of"]
        assert is_newer or (again.returncode, "duplicate_market" in again.stderr) == (1, True)
        (tmp_path / "elsewhere").mkdir()
        taken = run(*agent, "my-agent", "elsewhere", cwd=tmp_path)
        assert (taken.returncode, taken.stderr.partition(":")[0]) == (1, "slug_taken")
        markets = httpx.get(f"{url}{BASE}/markets").json()["markets"]
        for market in markets:
            cutoff = moment_of("t", market["decision_cutoff"])
            assert moment_of("t", market["settlement_at"]) - cutoff == 2 * HOUR, "R-40, in practice too"
        first = next(each for each in markets if each["market_id"] in opened)
        words = ("arena", "resolve", first["market_id"], "finalized", "--outcome", "yes")
        assert typed(*words, cwd=tmp_path).returncode == 0
        if now() <= moment_of("t", first["decision_cutoff"]):
            row = httpx.get(f"{url}{BASE}/leaderboard").json()["rows"][0]
            assert row["n_scored"] == 0, "R-32: a result opens nothing before the cutoff"
        row = ranked(url, "my-agent")
        assert (row["rank"], row["n_scored"]) == (1, 1)
        assert row["brier"] == pytest.approx((float(opened[first["market_id"]]) - 1) ** 2)
        vkey = httpx.get(f"{url}/registry/vkey").text.strip()
        page = httpx.get(f"{url}/", headers={"Accept": "text/html"})
        if page.status_code != 404:
            assert "my-agent" in page.text
    file = ROOT / "python" / "openoutcry" / "arena" / "verifier.py"
    words = (sys.executable, "-I", "-S", file, "receipt", "my-agent.receipt.json", "--vkey", vkey)
    alone = run(*words, cwd=tmp_path)
    assert (alone.returncode, alone.stdout) == (0, "ok\n"), alone.stderr
    receipt["salts"][0]["yes_probability"] = "0.999"
    (tmp_path / "forged.json").write_text(json.dumps(receipt))
    assert run(*words[:5], "forged.json", "--vkey", vkey, cwd=tmp_path).returncode == 1


def test_the_bot_decides_on_the_newest_snapshot_once_and_keeps_its_receipt(tmp_path: Path) -> None:
    """R-26, R-36: the key is for its owner's eyes, and a snapshot is decided on once."""
    with served(tmp_path) as url:
        words = (sys.executable, ROOT / "examples" / "arena_bot.py", "My-Bot", "--url", url)
        done = [run(*words, cwd=tmp_path) for _ in range(2)]
    assert [each.returncode for each in done] == [0, 0], done[0].stderr
    receipts = [json.loads(line) for line in (tmp_path / "my-bot.receipts.jsonl").read_text().splitlines()]
    assert len({each["snapshot_as_of"] for each in receipts}) == len(receipts)
    assert receipts[0]["n_markets_accepted"] == len(QUESTIONS)
    assert f"{len(QUESTIONS)} of {len(QUESTIONS)}" in done[0].stdout
    assert "accepted on" in done[1].stdout
    assert (tmp_path / "my-bot.key").stat().st_mode & 0o077 == 0
