"""Merkle tree of the log in the database: full tiles, read on demand."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import Connection, func, select

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.log_proofs import leaf_hash
from openoutcry.arena.log.log_records import Link
from openoutcry.arena.log.tiles import WIDTH
from openoutcry.arena.store.tables import meta, records, tiles

LEVELS = 2
"""Number of stored tile levels; higher levels are few hashes, computed from these."""
CHECKPOINT = "checkpoint"
"""Key in `meta` of the last signed checkpoint, which detects missing records at the end of the log."""


def full_tiles(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield level and index of each tile that becomes full as a log grows."""
    for level in range(LEVELS):
        width = WIDTH ** (level + 1)
        yield from ((level, place) for place in range(begin // width, end // width))


def read_log(connection: Connection) -> tuple[native.MerkleTree, Link]:
    """Return the Merkle tree without leaves of full tiles, and the last record link."""
    last = connection.execute(select(func.max(records.c.seq))).scalar()
    size = 0 if last is None else int(last) + 1
    n_full = size // WIDTH
    roots = [_hashes(connection, 1, place) for place in range(n_full // WIDTH)]
    rest = range(n_full - n_full % WIDTH, n_full)
    roots += [native.MerkleTree(_hashes(connection, 0, place)).root() for place in rest]
    query = select(records.c.record).where(records.c.seq >= n_full * WIDTH).order_by(records.c.seq)
    texts = [bytes(text) for text in connection.execute(query).scalars()]
    tree = native.MerkleTree.of_tiles(b"".join(roots), b"".join(map(leaf_hash, texts)))
    if not texts and size:
        texts = [bytes(connection.execute(select(records.c.record).where(records.c.seq == last)).scalar_one())]
    return tree, Link(size, sha256(texts[-1]).hexdigest()) if texts else Link()


def tiles_under(connection: Connection, tree: native.MerkleTree, *leaves: int) -> dict[int, bytes]:
    """Return the level-0 tiles that proofs of these leaves still need."""
    return {leaf // WIDTH: _hashes(connection, 0, leaf // WIDTH) for leaf in leaves if 0 <= leaf < tree.n_cold}


def stored_checkpoint(connection: Connection) -> str | None:
    """Return the checkpoint that the last transaction stored."""
    note = connection.execute(select(meta.c.value).where(meta.c.key == CHECKPOINT)).scalar()
    return None if note is None else str(note)


def read_tile(connection: Connection, place: int) -> bytes:
    """Return the leaf hashes of a full tile."""
    return _hashes(connection, 0, place)


def _hashes(connection: Connection, level: int, place: int) -> bytes:
    query = select(tiles.c.hashes).where(tiles.c.level == level, tiles.c.place == place)
    return bytes(connection.execute(query).scalar_one())
