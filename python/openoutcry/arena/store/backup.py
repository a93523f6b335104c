"""A copy of an arena in a file, taken while it may be served."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.notes import SignerKey
from openoutcry.arena.store.arena import COSIGNATURES, FILE, KEY
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
    """Read a copy back: its pages, its chain, and that the hashes it keeps are of its records."""
    key = SignerKey.parse((folder / KEY).read_text(encoding="utf-8").strip())
    with closing(sqlite3.connect(folder / FILE)) as copy:
        told = copy.execute("PRAGMA integrity_check").fetchone()[0]
        lines = b"".join(bytes(text) + b"\n" for (text,) in copy.execute("SELECT record FROM records ORDER BY seq"))
        leaves = b"".join(bytes(each) for (each,) in copy.execute("SELECT leaves FROM hashes ORDER BY tile"))
    audit = native.LogAudit(lines)
    first = lines.partition(b"\n")[0]
    faults = [] if told == "ok" else [str(told)]
    faults += [f"record {line}: {why}" for line, why in audit.faults()]
    if native.MerkleTree(leaves).root() != audit.root(len(audit)):
        faults.append("the hashes that are kept are of other records")
    if str(key.verifier).encode() not in first:
        faults.append("the key is of another log")
    if faults:
        raise refusal("value_invalid", f"a copy of a whole log is required; received one where {faults[0]}")
    return len(audit)


def _size(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
