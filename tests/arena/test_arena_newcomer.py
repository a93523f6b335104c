"""End to end as a new user: the commands of the first-agent page, the bash agent, the rank and the receipt."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from arena_process import between, served
from browser import chromium
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx")

import httpx

from openoutcry.arena.demo_season import QUESTIONS
from openoutcry.arena.timestamps import HOUR, now, parse_timestamp

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq"),
]

ROOT = Path(__file__).resolve().parents[2]
BASE = "/v2/competition"


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    reply = [str(word) for word in words]
    return subprocess.run(reply, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def ranked(url: str, slug: str) -> dict[str, Any]:
    """Return the row of an agent once it has a rank."""
    deadline = time.monotonic() + 90.0
    while True:
        rows = httpx.get(f"{url}{BASE}/leaderboard").json()["rows"]
        found: dict[str, Any] = next(row for row in rows if row["slug"] == slug)
        if found["rank"] is not None or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


@contextmanager
def breaking(url: str) -> Iterator[str]:
    """Proxy a server and break the connection of its first receipt after the submission."""
    broken = list[bool]()

    def hand(path: str, forward: Callable[[], httpx.Response]) -> tuple[int, bytes] | None:
        response = forward()
        if path.endswith("/decisions") and response.is_success and not broken:
            broken.append(True)
            return None
        return response.status_code, response.content

    with between(url, hand) as place:
        yield place
    assert broken == [True]


def paste(page: Any, folder: Path) -> str:
    """Run the commands of the first-agent page as shown, and return their output."""
    shown = page.locator(".commands code").all_inner_texts()
    assert len(shown) == 4
    done = subprocess.run(
        ["bash"], cwd=folder, input="\n".join(shown) + "\n", capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def first_steps(page: Any, url: str, folder: Path) -> dict[str, Any]:
    """Follow the page (register, read, decide, check) and return the receipt."""
    page.goto(f"{url}/first-agent")
    shown = paste(page, folder)
    receipt: dict[str, Any] = json.loads((folder / "receipt.json").read_text())
    key = (folder / "my-agent.key").read_text().strip()
    assert key in shown, "the key is shown"
    assert receipt["submission_id"] in shown
    assert shown.endswith("\nok\n"), "the verifier served by the server"
    assert (folder / "my-agent.key").stat().st_mode & 0o077 == 0
    page.reload()
    assert "SLUG=my-agent-2" in page.locator(".commands code").first.inner_text(), "the next user gets another slug"
    return receipt


def run_agent(url: str, folder: Path, first: dict[str, Any]) -> dict[str, Any]:
    """Run the bash agent twice, once over a breaking connection, and return its last receipt."""
    agent = ("bash", ROOT / "examples" / "arena-agent.sh")
    with breaking(url) as place:
        done = run(*agent, place, "my-agent", cwd=folder)
    assert (done.returncode, done.stderr.replace("curl: (52) Empty reply from server\n", "")) == (0, "")
    assert re.match(rf"accepted: [1-8] of [1-{len(QUESTIONS)}]\n", done.stdout)
    (kept,) = folder.glob("my-agent.*.receipt.json")
    receipt: dict[str, Any] = json.loads(kept.read_text())
    assert kept.name == f"my-agent.{receipt['submission_id']}.receipt.json", "no receipt is overwritten"
    assert done.stdout.endswith(f"receipt: ./{kept.name}\n")
    assert {each["reason"] for each in receipt["rejected"]} <= {"decision_cutoff_passed", "duplicate_market"}
    is_same = first["snapshot_as_of"] == receipt["snapshot_as_of"]
    assert is_same == ("duplicate_market" in done.stdout), "the page's decision was on the same snapshot"
    again = run(*agent, url, "my-agent", cwd=folder)
    # A repeated submission returns the same receipt, unless a market has closed since.
    assert again.returncode == 0 or "duplicate_market" in again.stderr
    for name in folder.glob("my-agent.*.receipt.json"):
        receipt = max(receipt, json.loads(name.read_text()), key=lambda each: str(each["submission_id"]))
    (folder / "elsewhere").mkdir()
    taken = run(*agent, url, "my-agent", "elsewhere", cwd=folder)
    assert (taken.returncode, taken.stderr.partition(":")[0]) == (1, "slug_taken")
    return receipt


def test_a_new_user_gets_a_rank_with_the_page_and_the_bash_agent(tmp_path: Path) -> None:
    #
    """Decisions are stored, settled, scored and verified offline."""
    pytest.importorskip("playwright")
    with served(tmp_path, "--practice") as url, chromium() as browser:
        page = browser.new_page()
        newest = run_agent(url, tmp_path, first_steps(page, url, tmp_path))
        markets = httpx.get(f"{url}{BASE}/markets").json()["markets"]
        for market in markets:
            cutoff = parse_timestamp("t", market["decision_cutoff"])
            assert parse_timestamp("t", market["settlement_at"]) - cutoff == 2 * HOUR, "in practice seasons too"
        opened = {each["market_id"]: each["yes_probability"] for each in newest["salts"]}
        first = next(each for each in markets if each["market_id"] in opened)
        words = ("arena", "resolve", first["market_id"], "finalized", "--outcome", "yes")
        assert typed(*words, cwd=tmp_path).returncode == 0
        if now() <= parse_timestamp("t", first["decision_cutoff"]):
            row = httpx.get(f"{url}{BASE}/leaderboard").json()["rows"][0]
            assert row["n_scored"] == 0, "a result reveals nothing before the cutoff"
        row = ranked(url, "my-agent")
        assert (row["rank"], row["n_scored"]) == (1, 1)
        assert row["brier"] == pytest.approx((float(opened[first["market_id"]]) - 1) ** 2)
        vkey = httpx.get(f"{url}/registry/vkey").text.strip()
        page.goto(url)
        line = page.locator("tbody tr", has_text="my-agent")
        assert line.locator(".rank").inner_text() == "1"
        assert line.locator("[data-label=Brier]").inner_text() == f"{row['brier']:.3f}"
        page.get_by_role("link", name="my-agent").click()
        page.get_by_role("heading", name="Scores", exact=True).wait_for()
        # Two if a snapshot was published meanwhile and the agent decided again.
        assert 1 <= page.locator("[data-label=Result]", has_text="YES").count() <= 2
    file = ROOT / "python" / "openoutcry" / "arena" / "verifier.py"
    (tmp_path / "last.json").write_text(json.dumps(newest))
    words = (sys.executable, "-I", "-S", file, "receipt", "last.json", "--vkey", vkey)
    alone = run(*words, cwd=tmp_path)
    assert (alone.returncode, alone.stdout) == (0, "ok\n"), alone.stderr
    newest["salts"][0]["yes_probability"] = "0.999"
    (tmp_path / "forged.json").write_text(json.dumps(newest))
    assert run(*words[:5], "forged.json", "--vkey", vkey, cwd=tmp_path).returncode == 1
