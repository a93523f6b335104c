"""Online backup of an arena in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree

from sqlalchemy import select

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.log_writer import checkpoint_of_records
from openoutcry.arena.log.signed_notes import SignerKey
from openoutcry.arena.store.arena_store import COSIGNATURES, FILE, KEY
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.read_queries import record_texts
from openoutcry.arena.store.tables import meta, tiles
from openoutcry.arena.store.tile_store import CHECKPOINT, full_tiles
from openoutcry.errors import refusal


def backup(folder: Path, out: Path) -> int:
    """Copy an arena to a new folder, verify the copy and return its number of records.

    Args:
        folder: Folder of an arena in a SQLite file; it may be served meanwhile.
        out: An empty or missing folder. `arena serve` can serve the copy from it.

    Raises:
        OpenOutcryError: `argument_invalid`: the arena is missing, or `out` is not empty. `value_invalid`: the copy is
            not a complete log; it is kept for inspection.
    """
    if not (folder / FILE).exists() or not (folder / KEY).exists():
        raise refusal("argument_invalid", f"a folder with `{FILE}` and `{KEY}` is required; received '{folder}'")
    if out.exists() and any(out.iterdir()):
        raise refusal("argument_invalid", f"a backup must go to an empty folder; received '{out}'")
    out.mkdir(parents=True, exist_ok=True)
    out.chmod(0o700)
    _write(out / FILE, b"")
    with closing(sqlite3.connect(folder / FILE)) as source, closing(sqlite3.connect(out / FILE)) as copy:
        n_before = _size(source)
        # SQLite's online backup is consistent even if the source is written meanwhile.
        source.backup(copy)
    _write(out / KEY, (folder / KEY).read_bytes())
    if (folder / COSIGNATURES).exists():
        copytree(folder / COSIGNATURES, out / COSIGNATURES)
    n_records = _checked(out)
    if n_records < n_before:
        raise refusal("value_invalid", f"a copy of all records, {n_before}, is required; received {n_records}")
    return n_records


def _checked(folder: Path) -> int:
    """Verify the pages, chain, tiles, checkpoint and key of a copy.

    Return its number of records.
    """
    key = SignerKey.parse((folder / KEY).read_text(encoding="utf-8").strip())
    database = Database.in_file(folder / FILE)
    try:
        with database.reading.connect() as connection:
            integrity = connection.exec_driver_sql("PRAGMA integrity_check").scalar_one()
            texts = list(record_texts(connection))
            stored_tiles = {(row.level, row.place): bytes(row.hashes) for row in connection.execute(select(tiles))}
            signed = connection.execute(select(meta.c.value).where(meta.c.key == CHECKPOINT)).scalar()
    finally:
        database.close()
    audit, tree = native.LogAudit(b"".join(text + b"\n" for text in texts)), native.MerkleTree()
    tree.append(texts)
    faults = [] if integrity == "ok" else [str(integrity)]
    faults += [f"record {line}: {why}" for line, why in audit.faults()]
    if stored_tiles != {(level, place): tree.tile(level, place) for level, place in full_tiles(0, len(texts))}:
        faults.append("the stored tiles do not match the records")
    if not texts or str(key.verifier).encode() not in texts[0]:
        faults.append("the key belongs to another log")
    if not faults and signed != checkpoint_of_records(key, texts):
        faults.append("the stored checkpoint does not match the records")
    if faults:
        raise refusal("value_invalid", f"a copy of a complete log is required; received one with a fault: {faults[0]}")
    return len(texts)


def _size(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
