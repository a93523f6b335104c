"""An arena in PostgreSQL behaves like one in SQLite; skipped without PostgreSQL."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import Floor, floor
from arena_postgres import postgres
from sqlalchemy import func, select

from openoutcry.arena import verifier
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.season_export import export
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.entry_writes import RegisterAgent, ResolveMarket
from openoutcry.arena.store.tables import records

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture
def url(server: str) -> str:
    """Create an empty database and return its URL."""
    from sqlalchemy import create_engine

    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        n = connection.exec_driver_sql("SELECT count(*) FROM pg_database").scalar_one()
        connection.exec_driver_sql(f"CREATE DATABASE arena_{n}")
    engine.dispose()
    return server.replace("/postgres?", f"/arena_{n}?")


def started(ground: Floor) -> list[str]:
    """Publish and register two agents; return the markets."""
    ground.publish()
    for slug in ("one", "two"):
        ground.register(slug)
    return ground.markets()


def test_a_season_continues_after_a_restart(tmp_path: Path, url: str) -> None:
    with floor(tmp_path, url) as ground:
        markets = started(ground)
        first = ground.as_of
        reasoning = {"market_id": markets[0], "yes_probability": 0.25, "reasoning": "é \0 \U0001f600"}
        body = json.dumps(ground.body("one", reasoning, (markets[1], 0.5)))
        reply = ground.post("one", body, **{"Idempotency-Key": "a"})
        again = ground.post("one", body, **{"Idempotency-Key": "a"})
        assert (reply.status_code, again.content) == (200, reply.content)
        verifier.check_receipt(reply.json(), verifier.parse_key(str(ground.arena.key.verifier)))
        ground.publish()
        assert ground.submit("one", (markets[0], 0.75)).status_code == 200
        assert ground.submit("one", (markets[0], 0.5), snapshot_as_of=first).json()["error"] == "duplicate_market"
        checkpoint, keys = ground.arena.writer.checkpoint, ground.keys
    with floor(tmp_path, url) as ground:
        ground.keys, ground.clock[0] = keys, ground.arena.state.latest or 0
        assert ground.arena.writer.checkpoint == checkpoint
        assert ground.submit("one", (markets[0], 0.75)).json()["error"] == "duplicate_market"
        assert ground.client.get(f"/registry/proof/{reply.json()['submission_id']}").status_code == 200
        ground.resolve(markets[0], "yes")
        assert ground.client.get("/v2/competition/leaderboard").status_code == 200
        export(ground.arena, tmp_path / "export", ground.clock[0])
    assert verifier.main(["export", str(tmp_path / "export")]) == 0


def test_two_processes_write_one_log(tmp_path: Path, url: str) -> None:
    #
    """An operator's command and the server append to the same log in turn."""
    with floor(tmp_path, url) as ground, Arena(tmp_path, url) as operator:
        markets = started(ground)
        operator.writer.write(ResolveMarket(markets[0], "finalized", "yes", None, "operator", ground.clock[0]))
        assert ground.submit("one", (markets[0], 0.5)).status_code == 410

        def register(at: int) -> None:
            writer = (ground.arena if at % 2 else operator).writer
            writer.write(RegisterAgent(f"a{at}", None, None, ground.clock[0]))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(register, range(40)))
        export(operator, tmp_path / "export", ground.clock[0])
        assert ground.arena.writer.write(RegisterAgent("last", None, None, ground.clock[0]))
        with ground.arena.reading.connect() as connection:
            size = connection.execute(select(func.count()).select_from(records)).scalar_one()
            # A transaction reads one consistent snapshot.
            operator.writer.write(RegisterAgent("later", None, None, ground.clock[0]))
            assert connection.execute(select(func.count()).select_from(records)).scalar_one() == size
    assert verifier.main(["export", str(tmp_path / "export")]) == 0


def test_a_failing_entry_fails_alone_and_a_lost_connection_is_reopened(tmp_path: Path, url: str) -> None:
    with floor(tmp_path, url) as ground:
        markets = started(ground)

        async def write() -> list[object]:
            entries = [RegisterAgent(f"b{at}", "\ud800" if at == 2 else None, None, 0) for at in range(5)]
            return await asyncio.gather(*map(ground.arena.writer.write_async, entries), return_exceptions=True)

        reply = asyncio.run(write())
        assert [isinstance(each, ArenaError) for each in reply] == [False, False, True, False, False]
        with ground.arena.reading.connect() as connection:
            terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            connection.exec_driver_sql(f"{terminate} AND datname = current_database()")
        size = ground.arena.writer.log.end.seq
        lost = ground.submit("one", (markets[0], 0.5))
        assert (lost.status_code, lost.json()["error"]) == (503, "unavailable")
        assert ground.submit("one", (markets[0], 0.5)).json()["leaf_index"] == size


def test_a_write_waits_for_a_limited_time_and_names_the_holder_of_the_lock(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from sqlalchemy import create_engine

    monkeypatch.setenv("OPENOUTCRY_LOCK_SECONDS", "0.2")
    other = create_engine(url)
    with floor(tmp_path, url) as ground, other.begin() as holder:
        process = holder.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        holder.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('openoutcry.arena'))")
        with pytest.raises(ArenaError, match="a working database is required"):
            ground.arena.writer.write(RegisterAgent("late", None, None, 0))
        assert f"process {process} of the database for this machine held it" in caplog.text
        holder.rollback()
        assert ground.arena.writer.write(RegisterAgent("late", None, None, 0))
    other.dispose()
