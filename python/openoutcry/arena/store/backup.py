"""A copy of an arena in a file, taken while it may be served."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree

from sqlalchemy import select

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.log_writer import checkpoint_of
from openoutcry.arena.log.signed_notes import SignerKey
from openoutcry.arena.store.arena_store import COSIGNATURES, FILE, KEY
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.read_queries import record_texts
from openoutcry.arena.store.tables import meta, tiles
from openoutcry.arena.store.tile_store import CHECKPOINT, full_tiles
from openoutcry.errors import refusal


def backup(folder: Path, out: Path) -> int:
    """Copy an arena to a new folder, check the copy, and return its records.

    Args:
        folder: Of an arena in a SQLite file.
        out: Must be empty, or not be there. It is a folder of an arena then, which can be served.

    Raises:
        OpenOutcryError: `argument_invalid`: there is no such arena, or the folder is not empty. `value_invalid`: the
            copy is not a whole log; it is left for a look at it.
    """
    if not (folder / FILE).exists() or not (folder / KEY).exists():
        raise refusal("argument_invalid", f"an arena in a file is required; received '{folder}'")
    if out.exists() and any(out.iterdir()):
        raise refusal("argument_invalid", f"a backup must go to an empty folder; received '{out}'")
    out.mkdir(parents=True, exist_ok=True)
    out.chmod(0o700)
    _write(out / FILE, b"")
    with closing(sqlite3.connect(folder / FILE)) as source, closing(sqlite3.connect(out / FILE)) as copy:
        n_before = _size(source)
        # SQLite's own way: a copy of one moment, whatever is written meanwhile.
        source.backup(copy)
    _write(out / KEY, (folder / KEY).read_bytes())
    if (folder / COSIGNATURES).exists():
        copytree(folder / COSIGNATURES, out / COSIGNATURES)
    n_records = _checked(out)
    if n_records < n_before:
        raise refusal("value_invalid", f"a copy of {n_before} records is required; received {n_records}")
    return n_records


def _checked(folder: Path) -> int:
    """Read a copy back, and return its records: its pages, chain, tiles and key."""
    key = SignerKey.parse((folder / KEY).read_text(encoding="utf-8").strip())
    database = Database.in_file(folder / FILE)
    try:
        with database.reading.connect() as connection:
            told = connection.exec_driver_sql("PRAGMA integrity_check").scalar_one()
            texts = list(record_texts(connection))
            kept = {(row.level, row.place): bytes(row.hashes) for row in connection.execute(select(tiles))}
            signed = connection.execute(select(meta.c.value).where(meta.c.key == CHECKPOINT)).scalar()
    finally:
        database.close()
    audit, tree = native.LogAudit(b"".join(text + b"\n" for text in texts)), native.MerkleTree()
    tree.append(texts)
    faults = [] if told == "ok" else [str(told)]
    faults += [f"record {line}: {why}" for line, why in audit.faults()]
    if kept != {(level, place): tree.tile(level, place) for level, place in full_tiles(0, len(texts))}:
        faults.append("the tiles that are kept are of other records")
    if not texts or str(key.verifier).encode() not in texts[0]:
        faults.append("the key is of another log")
    if not faults and signed != checkpoint_of(key, texts):
        faults.append("the checkpoint that is kept is of other records")
    if faults:
        raise refusal("value_invalid", f"a copy of a whole log is required; received one where {faults[0]}")
    return len(texts)


def _size(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
