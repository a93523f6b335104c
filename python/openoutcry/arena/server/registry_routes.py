"""The public log: checkpoints, tiles, proofs and revealed decisions."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.log_proofs import Proof
from openoutcry.arena.log.signed_notes import Checkpoint, VerifierKey
from openoutcry.arena.log.tiles import Tile, entry_bundle
from openoutcry.arena.protocol import ArenaError, is_submission_id
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.read_queries import public_markets, record_texts
from openoutcry.arena.store.tables import records, submissions
from openoutcry.arena.store.tile_store import read_tile, tiles_under
from openoutcry.openoutcry_py import OpenOutcryError

HASH = 32
"""Size of a hash in bytes."""


class Registry:
    """Reads the public part of an arena's log.

    Args:
        arena: An open arena.
        settings: The clock.
    """

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena, self._settings = arena, settings

    @property
    def key(self) -> VerifierKey:
        """The public key that verifies checkpoints."""
        return self._arena.key.verifier

    @property
    def checkpoint(self) -> str:
        """The newest checkpoint; it covers committed records only."""
        return self._arena.writer.checkpoint

    def tile(self, path: str) -> bytes:
        """Return a tile of hashes or a bundle of records by its path below `tile/`.

        Raises:
            ArenaError: `not_found`: the log has no such tile.
        """
        try:
            tile = Tile.parse(path)
        except OpenOutcryError as error:
            raise _missing(f"tile/{path}") from error
        if not tile.is_complete_at(self._size()):
            raise _missing(f"tile/{path}")
        tree = self._arena.writer.log.tree
        if tile.level is not None and (tile.level > 0 or tile.first >= tree.n_cold):
            return tree.tile(tile.level, tile.index, tile.width)
        with self._arena.reading.connect() as connection:
            if tile.level == 0:
                return read_tile(connection, tile.index)[: HASH * tile.width]
            return entry_bundle(record_texts(connection, tile.first, tile.first + tile.width))

    def proof(self, submission_id: str) -> tuple[Proof, bytes, list[dict[str, Any]]]:
        """Return the inclusion proof, record and revealed decisions of a submission."""
        if not is_submission_id(submission_id):
            raise _missing(f"submission {submission_id[:32]}")
        with self._arena.reading.connect() as connection:
            query = select(submissions.c.seq, submissions.c.opened, records.c.record).join(
                records, records.c.seq == submissions.c.seq
            )
            row = connection.execute(query.where(submissions.c.submission_id == submission_id)).first()
            checkpoint = self.checkpoint
            if row is None or row.seq >= _size(checkpoint):
                raise _missing(f"submission {submission_id[:32]}")
            tree, size = self._arena.writer.log.tree, _size(checkpoint)
            tiles = tiles_under(connection, tree, row.seq, size - 1)
            public = public_markets(connection, self._settings.clock())
        opened = [each for each in json.loads(row.opened) if each["market_id"] in public]
        proof = Proof.of(tree, row.seq, size, checkpoint, tiles)
        return proof, bytes(row.record), opened

    def consistency(self, old: int, new: int) -> list[str]:
        """Return the consistency proof between two sizes of the log, as hex hashes."""
        if not 1 <= old <= new <= self._size():
            wanted = f"sizes from 1 to {self._size()}, the first no greater than the second, are required"
            raise ArenaError("invalid_payload", f"{wanted}; received {old} and {new}", "from")
        tree = self._arena.writer.log.tree
        with self._arena.reading.connect() as connection:
            tiles = tiles_under(connection, tree, old - 1, new - 1)
        return [each.hex() for each in tree.consistency(old, new, tiles)]

    def has(self, checkpoint: Checkpoint) -> bool:
        """Return whether a checkpoint is a prefix of the log."""
        newest = Checkpoint.parse(self.checkpoint)
        if not 0 < checkpoint.size <= newest.size:
            return False
        proof = [bytes.fromhex(each) for each in self.consistency(checkpoint.size, newest.size)]
        return native.merkle_is_consistent(checkpoint.size, newest.size, checkpoint.root, newest.root, proof)

    def _size(self) -> int:
        # The tree may already contain records that are not committed yet; the checkpoint does not.
        return _size(self.checkpoint)


def _size(checkpoint: str) -> int:
    return int(checkpoint.split("\n", 2)[1])


def _missing(what: str) -> ArenaError:
    return ArenaError("not_found", f"an entry of the log is required; received {what!r}")
