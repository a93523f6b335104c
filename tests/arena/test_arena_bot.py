"""The template bot decides once per snapshot, retries while the server is unavailable, and reports why it exits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from arena_process import between, served
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx")

import httpx

from openoutcry.arena import verifier
from openoutcry.arena.arena_client import ArenaClient, retry_request, save_receipt
from openoutcry.arena.demo_season import QUESTIONS
from openoutcry.arena.protocol import ArenaError

pytestmark = pytest.mark.once

BOT = Path(__file__).resolve().parents[2] / "examples" / "arena_bot.py"


def bot(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BOT), "My-Bot", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@contextmanager
def faltering(url: str) -> Iterator[str]:
    """Proxy a server: the first response is 503, and the connection of the first receipt breaks."""
    paths = list[str]()

    def hand(path: str, forward: Callable[[], httpx.Response]) -> tuple[int, bytes] | None:
        paths.append(path)
        if len(paths) == 1:
            return 503, b"<html>"
        response = forward()
        is_broken = path.endswith("/decisions") and paths.count(path) == 1
        return None if is_broken else (response.status_code, response.content)

    with between(url, hand) as place:
        yield place


def test_the_bot_decides_once_per_snapshot_retries_and_exits_when_suspended(tmp_path: Path) -> None:
    #
    """One submission per snapshot, a receipt that verifies, a key only its owner can read."""
    with served(tmp_path) as url:
        vkey = httpx.get(f"{url}/registry/vkey").text.strip()
        with faltering(url) as place:
            first = bot(tmp_path, "--url", place)
        assert (first.returncode, first.stderr) == (0, "")
        away, broken, accepted = first.stdout.splitlines()
        assert away.startswith(
            "retry in 1 s: unavailable: a JSON response of an Arena is required; received status 503"
        )
        assert broken.startswith("retry in 1 s: ")
        assert f": {len(QUESTIONS)} of {len(QUESTIONS)}, " in accepted
        again = bot(tmp_path, "--url", url)
        assert (again.returncode, again.stderr) == (0, "")
        receipts = list(tmp_path.glob("*.receipt.json"))
        # Two receipts if a new snapshot was published in between.
        assert len(receipts) == 1 + again.stdout.count("\naccepted on")
        for each in receipts:
            assert verifier.main(["receipt", str(each), "--vkey", vkey]) == 0
            content = json.loads(each.read_text())
            assert each.name == f"{content['submission_id']}.receipt.json"
        assert typed("arena", "suspend", "my-bot", "why", cwd=tmp_path).returncode == 0
        ended = bot(tmp_path, "--url", url)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: suspended: ")
    assert ended.stderr.count("\n") == 1
    assert (tmp_path / "my-bot.key").stat().st_mode & 0o077 == 0


def test_an_invalid_address_is_not_retried(tmp_path: Path) -> None:
    done = bot(tmp_path, "--url", "junk")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("error: ")


def test_pauses_double_up_to_a_minute_and_respect_retry_after() -> None:
    responses = [httpx.Response(503, headers={"Retry-After": "90"}, json={"error": "unavailable", "detail": "full"})]
    responses += [httpx.Response(502, text="<html>")] * 7 + [httpx.Response(200, json={"as_of": None})]
    lines, pauses = list[str](), list[float]()
    with ArenaClient("http://arena", transport=httpx.MockTransport(lambda _: responses.pop(0))) as client:
        assert retry_request(client.markets, lines.append, pauses.append) == {"as_of": None}
    assert pauses == [90, 2, 4, 8, 16, 32, 60, 60]
    assert lines[0] == "retry in 90 s: unavailable: full"
    assert "received status 502 of http://arena/v2/competition/markets" in lines[1]


def test_a_permanent_error_is_not_retried() -> None:
    for answer in (httpx.Response(404, text="<html>"), httpx.Response(403, json={"error": "suspended", "detail": "x"})):
        with (
            ArenaClient("http://arena", transport=httpx.MockTransport(lambda _, answer=answer: answer)) as client,
            pytest.raises(ArenaError, match=r"not_found|suspended"),
        ):
            retry_request(client.markets, pytest.fail, pytest.fail)


def test_an_existing_receipt_is_never_overwritten(tmp_path: Path) -> None:
    receipt = {"submission_id": "01A", "n": 1}
    kept = save_receipt(receipt, tmp_path)
    assert kept == tmp_path / "01A.receipt.json"
    assert save_receipt(receipt | {"n": 2}, tmp_path) == kept
    assert json.loads(kept.read_text()) == receipt
    named = save_receipt(receipt, tmp_path / "mine.json")
    assert named.name == "mine.json"
