"""What the writer cannot write fails by itself, and nothing of it is kept."""

from __future__ import annotations

import asyncio
import json
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
from openoutcry.arena.store.entry_writes import RegisterAgent, Told
from openoutcry.arena.store.submission_writes import SubmitDecisions
from openoutcry.arena.store.write_batch import UlidGenerator
from openoutcry.arena.submission_schema import Decided, Submission, parse_submission
from openoutcry.arena.timestamps import HOUR

pytestmark = pytest.mark.once


def test_what_an_arena_keeps_is_for_its_operator_alone(tmp_path: Path) -> None:
    """R-32: decisions and their salts are in the tables, before anybody may see them; and in a backup of them."""
    with floor(tmp_path / "new" / "arena") as ground:
        ground.publish()
        paths = [ground.arena.folder, *ground.arena.folder.iterdir()]
        modes = {path.name: path.stat().st_mode & 0o077 for path in paths}
        backup(ground.arena.folder, tmp_path / "copy")
    assert {"arena", "arena.sqlite", "arena.sqlite-wal", "log.key"} <= set(modes)
    assert set(modes.values()) == {0}
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "copy").iterdir()} == {0}


def test_names_of_submissions_go_on_after_a_restart_with_a_clock_set_back(tmp_path: Path) -> None:
    """R-28: a later one is greater, as pages that are read by name rely on."""
    names = list[str]()
    for back in range(3):
        with floor(tmp_path) as ground:
            if back == 0:
                ground.publish()
            ground.register(f"agent-{back}")
            ground.clock[0] += (1 - back) * HOUR
            names.append(ground.submit(f"agent-{back}", (ground.markets()[0], 0.5)).json()["submission_id"])
    assert names == sorted(set(names))


class Waiting(Told):
    """An entry that holds the writer, so that what comes meanwhile shares the next transaction."""

    def __init__(self) -> None:
        self.has_begun, self.may_go = threading.Event(), threading.Event()

    def plan(self, batch: Any) -> None:
        self.has_begun.set()
        self.may_go.wait(10)


def together(ground: Floor, *entries: Any) -> list[Any]:
    """Write entries in one transaction; return what each is told, or its error."""
    writer, waiting = ground.arena.writer, Waiting()

    async def write() -> list[Any]:
        told = asyncio.gather(*map(writer.write_async, entries), return_exceptions=True)
        # All of them are queued then.
        await asyncio.sleep(0)
        waiting.may_go.set()
        return await told

    holder = threading.Thread(target=writer.write, args=(waiting,))
    holder.start()
    waiting.has_begun.wait(10)
    told = asyncio.run(write())
    holder.join()
    return told


def submitting(ground: Floor, slug: str, reasoning: str | None = None) -> SubmitDecisions:
    """Return a submission that came past the checks of the route, whatever its text."""
    read = parse_submission(json.dumps(ground.body(slug, (ground.markets()[0], 0.25))).encode())
    decided = Decided(read.decisions[0].market_id, "0.25", None, reasoning)
    known = Submission(slug, read.snapshot_as_of, (decided,), read.body_sha256)
    return SubmitDecisions(ground.arena.state.agents[slug], known, ground.clock[0])


def test_an_entry_that_nobody_foresaw_fails_alone(tmp_path: Path) -> None:
    """One that cannot be encoded, between others of the same transaction."""
    with floor(tmp_path) as ground:
        ground.publish()
        for slug in ("one", "two", "three"):
            ground.register(slug)
        size = ground.arena.writer.log.end.seq
        told = together(
            ground,
            submitting(ground, "one"),
            RegisterAgent("four", "\ud800", None, ground.clock[0]),
            submitting(ground, "two", "\ud800"),
            RegisterAgent("five", "Five", None, ground.clock[0]),
            submitting(ground, "three"),
        )
        assert [type(each).__name__ for each in told] == ["Answered", "ArenaError", "ArenaError", "str", "Answered"]
        assert [told[place].code for place in (1, 2)] == ["internal_error"] * 2
        assert ground.arena.writer.log.end.seq == size + 3
        assert sorted(ground.arena.state.agents) == ["five", "one", "three", "two"]
        # What failed has left nothing behind: the same agent may do the same, and well.
        assert ground.submit("two", (ground.markets()[0], 0.5)).status_code == 200
        ground.register("four")
        export(ground.arena, tmp_path / "export", ground.clock[0])
    assert verifier.main(["export", str(tmp_path / "export")]) == 0


def test_an_id_is_greater_than_all_before_whatever_the_clock_does() -> None:
    """R-28: 26 characters of Crockford's base 32, first the millisecond."""
    ids, moment = UlidGenerator(), 1_778_241_600_000_000
    moments = [moment] * 50 + [moment + 1_000_000, moment, moment - 10**9, moment + 2_000_000]
    told = [ids.next(each) for each in moments]
    assert told == sorted(set(told))
    assert {len(each) for each in told} == {26}
    assert all(set(each) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for each in told)
    assert [ULID.from_str(each).milliseconds for each in told[:51]] == [each // 1000 for each in moments[:51]]
    assert ULID.from_str(told[-1]).milliseconds == moment // 1000 + 2000
