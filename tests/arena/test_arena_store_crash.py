"""Acknowledged records survive a crash; a full disk acknowledges nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor

import openoutcry
from openoutcry import OpenOutcryError
from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.season_export import export
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import ResolveMarket, RotateKey, SuspendAgent
from openoutcry.arena.timestamps import HOUR, format_timestamp

pytestmark = pytest.mark.once

N_KILLS = 100 if os.environ.get("OPENOUTCRY_FULL") else 2
# Registers and submits from several threads as fast as possible, and prints acknowledged records.
WRITER = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from arena_in_process import floor

with floor(Path(sys.argv[1])) as ground:
    if ground.arena.state.latest is None:
        ground.publish()
    ground.clock[0] = ground.arena.state.latest + 1
    market = ground.markets()[0]

    def go(name):
        ground.register(name)
        answer = ground.submit(name, (market, 0.5))
        reply = answer.json()
        # One write call, so that lines of several threads do not mix.
        os.write(1, "{submission_id} {leaf_index}\\n".format(**reply).encode())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(go, (f"{sys.argv[2]}-{at}" for at in range(10_000))))
"""


def test_no_acknowledged_record_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    # G5, R-28.
    """SIGKILL at random times, repeatedly on the same file."""
    drawn, acknowledged = random.Random(8), dict[str, int]()
    # The package of this process, wherever it is installed.
    paths = (Path(__file__).parents[1] / "support", Path(openoutcry.__file__).parents[1])
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    for turn in range(N_KILLS):
        words = [sys.executable, "-c", WRITER, str(tmp_path / "arena"), f"t{turn}"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(drawn.random() * 0.4)
            process.send_signal(signal.SIGKILL)
            lines = [first, *process.stdout.read().splitlines(keepends=True)]
        # A truncated line was not acknowledged.
        acknowledged |= {name: int(at) for name, at in (line.split() for line in lines if line.endswith("\n"))}
    assert len(acknowledged) >= N_KILLS
    with Arena(tmp_path / "arena") as arena:
        export(arena, tmp_path / "export", 0)
        vkey = str(arena.key.verifier)
    assert verifier.main(["export", str(tmp_path / "export"), "--vkey", vkey]) == 0
    with sqlite3.connect(tmp_path / "arena" / "arena.sqlite") as base:
        kept = dict(base.execute("SELECT submission_id, seq FROM submissions"))
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert {name: at for name, at in acknowledged.items() if kept.get(name) != at} == {}


def test_a_full_disk_acknowledges_nothing_and_the_log_continues_later(tmp_path: Path) -> None:
    #
    """An error and no receipt; with free space the log continues."""
    with floor(tmp_path) as ground:
        ground.publish()
        ground.register("one")
        market = ground.markets()[0]
        connection = ground.arena.writer.connection()
        n_pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={n_pages}")
        connection.rollback()
        size = ground.arena.writer.log.end.seq
        answers = []
        for at in range(200):
            answers.append(
                ground.client.post("/v2/competition/register", json={"slug": f"a{at}", "display_name": "x" * 80})
            )
            if answers[-1].status_code != 201:
                break
        assert answers[-1].status_code == 503
        assert answers[-1].json()["error"] == "unavailable"
        assert answers[-1].headers["Retry-After"]
        n_kept = len(answers) - 1
        assert ground.arena.writer.log.end.seq == size + n_kept
        # The failure closed the connection that had the page limit.
        assert ground.submit("one", (market, 0.5)).status_code == 200
        export(ground.arena, tmp_path / "export", ground.clock[0])
    assert verifier.main(["export", str(tmp_path / "export")]) == 0


def test_one_of_32_concurrent_equal_decisions_is_accepted(tmp_path: Path) -> None:
    #
    """Under concurrency."""
    with floor(tmp_path) as ground:
        ground.publish()
        ground.register("one")
        market = ground.markets()[0]
        with ThreadPoolExecutor(32) as pool:
            codes = list(pool.map(lambda at: ground.submit("one", (market, at / 100)).status_code, range(32)))
        assert sorted(codes) == [200] + [422] * 31
        same = ground.body("one", (ground.markets()[1], 0.5))
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: ground.post("one", same, **{"Idempotency-Key": "k"}), range(16)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["submission_id"] for answer in answers}) == 1


def test_an_arena_continues_after_a_restart(tmp_path: Path) -> None:
    with floor(tmp_path) as ground:
        ground.publish()
        key = ground.register("one")
        ground.submit("one", (ground.markets()[0], 0.5))
        end, root = ground.arena.writer.log.end, ground.arena.writer.log.tree.root()
        checkpoint = ground.arena.writer.checkpoint
    with floor(tmp_path) as ground:
        assert (ground.arena.writer.log.end, ground.arena.writer.log.tree.root()) == (end, root)
        assert ground.arena.writer.checkpoint == checkpoint
        ground.clock[0] = ground.arena.state.latest or 0
        ground.keys["one"] = key
        assert ground.submit("one", (ground.markets()[0], 0.5)).json()["error"] == "duplicate_market"
        assert ground.submit("one", (ground.markets()[1], 0.5)).json()["leaf_index"] == end.seq


def test_a_key_rotated_by_another_process_is_invalid(tmp_path: Path) -> None:
    """The old key is invalid at once, even before the server has reloaded the state."""
    with floor(tmp_path) as ground, Arena(tmp_path) as operator:
        ground.publish()
        ground.register("one")
        ground.keys["one"], old = operator.writer.write(RotateKey("one", ground.clock[0])), ground.keys["one"]
        given = {"Authorization": f"Bearer {old}"}
        body = ground.body("one", (ground.markets()[0], 0.5))
        for _ in range(2):
            answer = ground.client.post(f"{BASE}/decisions", json=body, headers=given)
            assert (answer.status_code, answer.json()["error"]) == (401, "bad_auth")
        ground.register("two")
        assert ground.submit("one", (ground.markets()[0], 0.5)).status_code == 200


def test_a_market_published_by_another_process_is_secret_too(tmp_path: Path) -> None:
    #
    """A process with an outdated state reveals no decision."""
    with floor(tmp_path) as ground, Arena(tmp_path) as other:
        late = Floor(other, ground.clock, ground.demo, ground.settings)
        ground.publish()
        ground.register("one")
        receipt = ground.submit("one", (ground.markets()[0], 0.123456)).json()
        late.arena.state.agents.update(ground.arena.state.agents)
        assert late.arena.state.markets == {}
        for path in (f"{BASE}/agents/one", "/agents/one", f"/registry/proof/{receipt['submission_id']}"):
            answer = late.client.get(path)
            assert "0.123456" not in answer.text, path
        export(other, tmp_path / "export", ground.clock[0])
        assert b"0.123456" not in (tmp_path / "export" / "reveals.jsonl").read_bytes()


def test_a_log_without_its_key_does_not_open(tmp_path: Path) -> None:
    #
    """No new key replaces a lost one."""
    with floor(tmp_path):
        pass
    (tmp_path / "log.key").rename(tmp_path / "kept")
    with pytest.raises(OpenOutcryError, match=r"`log.key`, the key of the existing log, is required"):
        Arena(tmp_path)
    assert not (tmp_path / "log.key").exists()
    (tmp_path / "kept").rename(tmp_path / "log.key")
    with floor(tmp_path) as ground:
        ground.publish()


def test_a_key_cannot_sign_a_second_history(tmp_path: Path) -> None:
    #
    """An empty database next to an existing key, for example without `--database`, starts no second log."""
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    with floor(tmp_path / "arena", url) as ground:
        ground.publish()
        size = ground.arena.writer.log.end.seq
    with pytest.raises(OpenOutcryError, match=r"the database of the log signed by .* is required"):
        Arena(tmp_path / "arena")
    with floor(tmp_path / "arena", url) as ground:
        assert ground.arena.writer.log.end.seq == size


@pytest.mark.parametrize("has_log", [False, True])
def test_a_killed_first_start_is_resumed(has_log: bool, tmp_path: Path) -> None:
    # G5.
    """The key exists before the log and is final once the log has records."""
    with floor(tmp_path) as ground:
        vkey = str(ground.arena.key.verifier)
    (tmp_path / "log.key").rename(tmp_path / "log.tmp")
    if not has_log:
        for each in tmp_path.glob("arena.sqlite*"):
            each.unlink()
    with floor(tmp_path) as ground:
        assert (str(ground.arena.key.verifier) == vkey) is has_log
        ground.publish()
    assert (tmp_path / "log.key").exists()
    assert not (tmp_path / "log.tmp").exists()


def test_setting_the_clock_back_does_not_decrease_log_times(ground: Floor, tmp_path: Path) -> None:
    #
    """Log times never decrease, also after writes of another process and after a restart."""
    ground.register("two")
    ground.clock[0] += 7 * HOUR
    ground.register("late")
    newest = ground.clock[0]
    ground.clock[0] -= 3 * HOUR
    folder = ground.arena.folder
    market = ground.markets()[0]
    with Arena(folder) as operator:
        operator.writer.write(SuspendAgent("two", True, "a test", ground.clock[0]))
        operator.writer.write(ResolveMarket(market, "finalized", "yes", None, "operator", ground.clock[0]))
    ground.register("three")
    # The log's time is past this cutoff.
    first = "kalshi:KXIRANSTRIKE-DEMO1"
    assert ground.submit("one", (first, 0.5)).json()["error"] == "decision_cutoff_passed"
    assert ground.submit("one", ("kalshi:KXISRAELIRANTALKS-DEMO1", 0.5)).status_code == 200
    export(ground.arena, tmp_path / "export", newest)
    assert audit(tmp_path / "export") == []
    lines = [json.loads(line) for line in (tmp_path / "export" / "log.jsonl").read_bytes().splitlines()]
    assert [each.get("at") or each["received_at"] for each in lines[-5:]] == [format_timestamp(newest)] * 5


def test_an_operator_writes_while_a_server_runs(tmp_path: Path) -> None:
    #
    """`arena resolve` is another process; the server continues after its record and uses its result."""
    with floor(tmp_path) as ground, Arena(tmp_path) as operator:
        first = ground.publish()
        market = ground.markets()[0]
        operator.writer.write(ResolveMarket(market, "finalized", "yes", None, "operator", ground.clock[0]))
        key = ground.register("one")
        assert ground.markets("settled") == [market]
        operator.writer.write(SuspendAgent("one", True, "a test", ground.clock[0]))
        assert ground.submit("one", (ground.markets()[0], 0.5)).json()["error"] == "suspended"
        operator.writer.write(SuspendAgent("one", False, "a test", ground.clock[0]))
        assert ground.submit("one", (ground.markets()[0], 0.5)).json()["leaf_index"] == 7
        assert (operator.state.agents.keys(), ground.as_of) == ({"one"}, first)
        assert ground.keys["one"] == key
        export(operator, tmp_path / "export", ground.clock[0])
        assert operator.writer.log.tree.root(6) == ground.arena.writer.log.tree.root(6)
    assert verifier.main(["export", str(tmp_path / "export")]) == 0
