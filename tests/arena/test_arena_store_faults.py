"""An entry that cannot be written fails alone and leaves no trace."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("ulid")

from arena_in_process import Floor, floor
from ulid import ULID

from openoutcry.arena import verifier
from openoutcry.arena.season_export import export
from openoutcry.arena.store.backup import backup
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.entry_writes import RegisterAgent, StateChange
from openoutcry.arena.store.submission_writes import SubmitDecisions
from openoutcry.arena.store.write_batch import UlidGenerator
from openoutcry.arena.submission_schema import Decided, Submission, parse_submission
from openoutcry.arena.timestamps import HOUR

pytestmark = pytest.mark.once


def test_only_the_operator_can_read_an_arenas_files(tmp_path: Path) -> None:
    #
    """The tables and their backup contain decisions and salts before they are public."""
    with floor(tmp_path / "new" / "arena") as ground:
        ground.publish()
        paths = [ground.arena.folder, *ground.arena.folder.iterdir()]
        modes = {path.name: path.stat().st_mode & 0o077 for path in paths}
        backup(ground.arena.folder, tmp_path / "copy")
    assert {"arena", "arena.sqlite", "arena.sqlite-wal", "log.key"} <= set(modes)
    assert set(modes.values()) == {0}
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "copy").iterdir()} == {0}


def test_submission_ids_increase_after_a_restart_with_a_clock_set_back(tmp_path: Path) -> None:
    #
    """Later ids are greater, which the paging of the registry relies on."""
    names = list[str]()
    for back in range(3):
        with floor(tmp_path) as ground:
            if back == 0:
                ground.publish()
            ground.register(f"agent-{back}")
            ground.clock[0] += (1 - back) * HOUR
            names.append(ground.submit(f"agent-{back}", (ground.markets()[0], 0.5)).json()["submission_id"])
    assert names == sorted(set(names))


class BlockingEntry(StateChange):
    """An entry that blocks the writer, so that later entries share the next transaction."""

    def __init__(self) -> None:
        self.has_started, self.may_go = threading.Event(), threading.Event()

    def plan(self, batch: Any) -> None:
        self.has_started.set()
        self.may_go.wait(10)


def together(ground: Floor, *entries: Any) -> list[Any]:
    """Write entries in one transaction; return their results or errors."""
    writer, blocking = ground.arena.writer, BlockingEntry()

    async def write() -> list[Any]:
        outcomes = asyncio.gather(*map(writer.write_async, entries), return_exceptions=True)
        # All entries are queued now.
        await asyncio.sleep(0)
        blocking.may_go.set()
        return await outcomes

    holder = threading.Thread(target=writer.write, args=(blocking,))
    holder.start()
    blocking.has_started.wait(10)
    outcomes = asyncio.run(write())
    holder.join()
    return outcomes


def submitting(ground: Floor, slug: str, reasoning: str | None = None) -> SubmitDecisions:
    """Return a submission entry that bypasses the checks of the route."""
    read = parse_submission(json.dumps(ground.body(slug, (ground.markets()[0], 0.25))).encode())
    decided = Decided(read.decisions[0].market_id, "0.25", None, reasoning)
    known = Submission(slug, read.snapshot_as_of, (decided,), read.body_sha256)
    return SubmitDecisions(ground.arena.state.agents[slug], known, ground.clock[0])


def test_an_entry_that_cannot_be_written_fails_alone(tmp_path: Path) -> None:
    """Two entries with text that cannot be encoded share a transaction with valid entries."""
    with floor(tmp_path) as ground:
        ground.publish()
        for slug in ("one", "two", "three"):
            ground.register(slug)
        size = ground.arena.writer.log.end.seq
        outcomes = together(
            ground,
            submitting(ground, "one"),
            RegisterAgent("four", "\ud800", None, ground.clock[0]),
            submitting(ground, "two", "\ud800"),
            RegisterAgent("five", "Five", None, ground.clock[0]),
            submitting(ground, "three"),
        )
        assert [type(each).__name__ for each in outcomes] == [
            "SubmissionReply",
            "ArenaError",
            "ArenaError",
            "str",
            "SubmissionReply",
        ]
        assert [outcomes[place].code for place in (1, 2)] == ["internal_error"] * 2
        assert ground.arena.writer.log.end.seq == size + 3
        assert sorted(ground.arena.state.agents) == ["five", "one", "three", "two"]
        # The failed entries left nothing behind, so the same agents can write again.
        assert ground.submit("two", (ground.markets()[0], 0.5)).status_code == 200
        ground.register("four")
        export(ground.arena, tmp_path / "export", ground.clock[0])
    assert verifier.main(["export", str(tmp_path / "export")]) == 0


def test_ids_increase_even_if_the_clock_runs_backwards() -> None:
    #
    """ULIDs are 26 characters of Crockford's base 32, starting with the millisecond."""
    ids, moment = UlidGenerator(), 1_778_241_600_000_000
    moments = [moment] * 50 + [moment + 1_000_000, moment, moment - 10**9, moment + 2_000_000]
    outcomes = [ids.next(each) for each in moments]
    assert outcomes == sorted(set(outcomes))
    assert {len(each) for each in outcomes} == {26}
    assert all(set(each) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for each in outcomes)
    assert [ULID.from_str(each).milliseconds for each in outcomes[:51]] == [each // 1000 for each in moments[:51]]
    assert ULID.from_str(outcomes[-1]).milliseconds == moment // 1000 + 2000


def test_a_locked_database_is_an_error_in_time_that_names_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENOUTCRY_LOCK_SECONDS", "0.2")
    path = tmp_path / "arena.sqlite"
    database = Database.in_file(path)
    database.migrate()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError) as caught, database.writing.begin():
        pass
    other.close()
    database.close()
    named = f"process {os.getpid()}" if sys.platform == "linux" else "a process that the system does not name"
    assert any(named in note and str(path) in note for note in caught.value.__notes__)
