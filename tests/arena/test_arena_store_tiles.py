"""After a restart a log holds no leaves and computes all proofs from its stored tiles."""

from __future__ import annotations

import asyncio
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import Floor, floor
from arena_logs import tiles_of
from sqlalchemy import insert

from openoutcry.arena import verifier
from openoutcry.arena.log.log_proofs import leaf_hash
from openoutcry.arena.log.signed_notes import Checkpoint, open_checkpoint
from openoutcry.arena.season_export import export
from openoutcry.arena.server.registry_routes import Registry
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.database import MIGRATIONS, NEWEST, Database
from openoutcry.arena.store.entry_writes import RegisterAgent
from openoutcry.arena.store.tables import METADATA, records, tiles
from openoutcry.arena.store.tile_store import full_tiles, read_log
from openoutcry.openoutcry_py import MerkleTree, OpenOutcryError

pytestmark = pytest.mark.once


def registered(ground: Floor, first: int, n: int) -> None:
    """Register agents, many per transaction."""

    async def write() -> None:
        entries = (RegisterAgent(f"a{at}", None, None, ground.clock[0]) for at in range(first, first + n))
        await asyncio.gather(*map(ground.arena.writer.write_async, entries))

    asyncio.run(write())


def public(ground: Floor, size: int) -> dict[str, Any]:
    """Return the registry's tiles and consistency proofs for the first records of a log."""
    get = ground.client.get
    responses: dict[str, Any] = {tile.path: get(f"/registry/tile/{tile.path}").content for tile in tiles_of(size)}
    for old in (1, 5, 256, 300, 512, size):
        responses[f"from {old}"] = get("/registry/consistency", params={"from": old, "to": size}).json()
    return responses


def test_proofs_are_the_same_after_a_restart(tmp_path: Path) -> None:
    with floor(tmp_path) as ground:
        ground.publish()
        key = ground.register("one")
        reply = ground.submit("one", (ground.markets()[0], 0.25)).json()
        registered(ground, 0, 600)
        size = ground.arena.writer.log.end.seq
        before, checkpoint = public(ground, size), ground.arena.writer.checkpoint
    with floor(tmp_path) as ground:
        assert ground.arena.writer.log.tree.n_cold == 512
        assert (ground.arena.writer.checkpoint, public(ground, size)) == (checkpoint, before)
        proof = ground.client.get(f"/registry/proof/{reply['submission_id']}").json()
        receipt = proof | {"record": reply["record"], "salts": reply["salts"]}
        verifier.check_receipt(receipt, verifier.parse_key(str(ground.arena.key.verifier)))
        registered(ground, 600, 300)
        grown = public(ground, ground.arena.writer.log.end.seq)
    with floor(tmp_path) as ground:
        assert ground.arena.writer.log.tree.n_cold == 768
        assert public(ground, ground.arena.writer.log.end.seq) == grown
        assert ground.client.get("/registry/tile/0/002.p/9").content == grown["0/002"][: 9 * 32]
        # An older checkpoint can still be cosigned, although its leaves are not in memory.
        seen = open_checkpoint(checkpoint, ground.arena.key.verifier)
        registry = Registry(ground.arena, ground.settings)
        assert seen.size == size < 768
        assert registry.has(seen)
        assert not registry.has(Checkpoint(seen.origin, size, bytes(32)))
        assert not registry.has(Checkpoint(seen.origin, 10_000, seen.root))
        ground.keys["one"] = key
        assert ground.submit("one", (ground.markets()[1], 0.25)).json()["leaf_index"] == size + 300
        export(ground.arena, tmp_path / "export", ground.clock[0])
    assert verifier.main(["export", str(tmp_path / "export")]) == 0


@pytest.mark.parametrize("size", [0, 1, 256, 300, 65_536, 65_536 + 256, 65_536 + 700])
def test_a_tree_is_loaded_from_its_tiles(tmp_path: Path, size: int) -> None:
    texts = [str(at).encode() for at in range(size)]
    whole = MerkleTree(b"".join(map(leaf_hash, texts)))
    database = Database.in_file(tmp_path / "arena.sqlite")
    database.migrate()
    with database.writing.begin() as connection:
        if texts:
            rows = [{"seq": at, "type": "day", "record": text} for at, text in enumerate(texts)]
            connection.execute(insert(records), rows)
        for level, place in full_tiles(0, size):
            connection.execute(insert(tiles).values(level=level, place=place, hashes=whole.tile(level, place)))
        tree, end = read_log(connection)
    database.close()
    assert (len(tree), tree.root(), tree.n_cold) == (size, whole.root(), size - size % 256)
    assert end == (size, sha256(texts[-1]).hexdigest() if texts else "0" * 64)
    if size > 256:
        with pytest.raises(OpenOutcryError, match=f"`leaf` must be from {tree.n_cold} to {size}; received 7"):
            tree.inclusion(7)
        with pytest.raises(OpenOutcryError, match=r"`tiles\[0\]` must be a tile of the log"):
            tree.inclusion(7, size, {0: bytes(256 * 32)})
        given = {place: whole.tile(0, place) for place in {0, (size - 1) // 256} if place < tree.n_cold // 256}
        assert tree.inclusion(7, size, given) == whole.inclusion(7, size)


def test_an_arena_with_missing_last_records_does_not_open(tmp_path: Path) -> None:
    """The last checkpoint covers all acknowledged records, so a database with missing records is refused."""
    with floor(tmp_path) as ground:
        ground.publish()
        ground.register("one")
    with sqlite3.connect(tmp_path / "arena.sqlite") as base:
        base.execute("DELETE FROM records WHERE seq = (SELECT max(seq) FROM records)")
    base.close()
    with pytest.raises(OpenOutcryError, match="value_invalid: the records of the last checkpoint are required"):
        Arena(tmp_path)


def test_the_migrations_create_the_tables_of_the_schema(tmp_path: Path) -> None:
    #
    """Tables and indexes match; a database of the newest version is not changed."""
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    database = Database.in_file(tmp_path / "base.sqlite")
    database.migrate()
    with database.reading.connect() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() == NEWEST
        assert compare_metadata(context, METADATA) == []
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == NEWEST
    database.migrate()
    database.close()
