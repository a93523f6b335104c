"""Inclusion proofs of records, as text (c2sp.org/tlog-proof@v1) and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.signed_notes import Checkpoint, VerifierKey, decode_base64, encode_base64, open_checkpoint
from openoutcry.errors import refusal

_HEAD = "c2sp.org/tlog-proof@v1"


def leaf_hash(entry: bytes) -> bytes:
    """Return the leaf hash of a record (RFC 9162)."""
    return sha256(b"\0" + entry).digest()


@dataclass(frozen=True)
class Proof:
    """An inclusion proof: sibling hashes (32 bytes) from the leaf up, a checkpoint."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: str

    @classmethod
    def of(
        cls,
        tree: native.MerkleTree,
        index: int,
        size: int,
        checkpoint: str,
        tiles: Mapping[int, bytes] | None = None,
    ) -> Proof:
        """Return the inclusion proof of a record for a checkpoint.

        Args:
            tree: Merkle tree of at least `size` records.
            index: Index of the record.
            size: Tree size of the checkpoint.
            checkpoint: Signed checkpoint note.
            tiles: Tiles of this record and of the last record, if the tree does not hold them.

        Raises:
            OpenOutcryError: `argument_invalid`: `size` or `index` is not in the tree.
        """
        return cls(index, tuple(tree.inclusion(index, size, tiles)), checkpoint)

    def text(self) -> str:
        """Return the proof as `tlog-proof`."""
        lines = [_HEAD, f"index {self.index}", *map(encode_base64, self.hashes)]
        return "\n".join(lines) + "\n\n" + self.checkpoint

    @classmethod
    def parse(cls, text: str) -> Proof:
        """Parse a proof from text. Extra data is ignored.

        Raises:
            OpenOutcryError: `argument_invalid`: the text is not a proof.
        """
        head, blank, checkpoint = text.partition("\n\n")
        lines = head.split("\n")
        if len(lines) > 1 and lines[1].startswith("extra "):
            decode_base64(lines.pop(1).removeprefix("extra "))
        index = re.fullmatch(r"index (0|[1-9][0-9]{0,15})", lines[1]) if len(lines) > 1 else None
        if not blank or lines[0] != _HEAD or index is None:
            raise refusal(
                "argument_invalid",
                f"a proof with the first line `{_HEAD}` and an index is required; received {text[:80]!r}",
            )
        hashes = tuple(map(decode_base64, lines[2:]))
        if sizes := [len(each) for each in hashes if len(each) != 32]:
            raise refusal("argument_invalid", f"hashes of 32 bytes are required; received one of {sizes[0]}")
        return cls(int(index[1]), hashes, checkpoint)

    def members(self) -> dict[str, Any]:
        """Return the proof as JSON fields of a receipt."""
        size = Checkpoint.parse(self.checkpoint).size
        proof = [each.hex() for each in self.hashes]
        return {"leaf_index": self.index, "tree_size": size, "checkpoint": self.checkpoint, "proof": proof}

    def verify(self, entry: bytes, key: VerifierKey) -> Checkpoint:
        """Return the checkpoint, if the proof shows that it includes an entry.

        Raises:
            OpenOutcryError: `argument_invalid`: the checkpoint is not signed by the key, or the proof is invalid.
        """
        found = open_checkpoint(self.checkpoint, key)
        if not native.merkle_is_included(self.index, found.size, leaf_hash(entry), self.hashes, found.root):
            raise refusal(
                "argument_invalid", f"a proof that leads to the root is required; received one of record {self.index}"
            )
        return found
