"""The log's tree in the database: full tiles, written once and read on demand."""

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
"""Levels that are kept; the others are few hashes of those."""
CHECKPOINT = "checkpoint"
"""Key of `meta` of what was signed last: records that are missing at the end are missed by it."""


def full_tiles(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield level and place of each tile that becomes full as a log grows."""
    for level in range(LEVELS):
        width = WIDTH ** (level + 1)
        yield from ((level, place) for place in range(begin // width, end // width))


def read_log(connection: Connection) -> tuple[native.MerkleTree, Link]:
    """Return the tree of a log without the leaves of its full tiles, and its end."""
    last = connection.execute(select(func.max(records.c.seq))).scalar()
    size = 0 if last is None else int(last) + 1
    n_full = size // WIDTH
    roots = [_hashes(connection, 1, place) for place in range(n_full // WIDTH)]
    rest = range(n_full - n_full % WIDTH, n_full)
    roots += [native.MerkleTree(_hashes(connection, 0, place)).root() for place in rest]
    asked = select(records.c.record).where(records.c.seq >= n_full * WIDTH).order_by(records.c.seq)
    texts = [bytes(text) for text in connection.execute(asked).scalars()]
    tree = native.MerkleTree.of_tiles(b"".join(roots), b"".join(map(leaf_hash, texts)))
    if not texts and size:
        texts = [bytes(connection.execute(select(records.c.record).where(records.c.seq == last)).scalar_one())]
    return tree, Link(size, sha256(texts[-1]).hexdigest()) if texts else Link()


def tiles_under(connection: Connection, tree: native.MerkleTree, *leaves: int) -> dict[int, bytes]:
    """Return tiles that a proof about leaves needs and a tree does without."""
    return {leaf // WIDTH: _hashes(connection, 0, leaf // WIDTH) for leaf in leaves if 0 <= leaf < tree.n_cold}


def kept_checkpoint(connection: Connection) -> str | None:
    """Return the checkpoint of the last transaction."""
    told = connection.execute(select(meta.c.value).where(meta.c.key == CHECKPOINT)).scalar()
    return None if told is None else str(told)


def read_tile(connection: Connection, place: int) -> bytes:
    """Return the leaf hashes of a full tile."""
    return _hashes(connection, 0, place)


def _hashes(connection: Connection, level: int, place: int) -> bytes:
    asked = select(tiles.c.hashes).where(tiles.c.level == level, tiles.c.place == place)
    return bytes(connection.execute(asked).scalar_one())
