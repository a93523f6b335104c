"""In-memory writer of the log: appends records and signs checkpoints."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.log_records import Link, Record, seal
from openoutcry.arena.log.signed_notes import Checkpoint, SignerKey
from openoutcry.errors import refusal


@dataclass(frozen=True)
class Batch:
    """Records appended together, and the checkpoint after them."""

    start: Link
    records: tuple[Record, ...]
    root: bytes
    checkpoint: str

    @cached_property
    def checkpoint_json(self) -> str:
        """The checkpoint as a JSON string."""
        return json.dumps(self.checkpoint, ensure_ascii=False)

    @property
    def end(self) -> Link:
        """The end of the log after the batch."""
        return self.records[-1].link if self.records else self.start


class LogWriter:
    """The end of a log, in memory. The caller stores the batches that it returns.

    Args:
        key: Key that signs checkpoints; its name is the log's origin.
        tree: Merkle tree of the existing records; empty by default.
        end: End of the log, with as many records as `tree`.
    """

    def __init__(self, key: SignerKey, tree: native.MerkleTree | None = None, end: Link | None = None) -> None:
        self._key, self._lock = key, threading.Lock()
        self.tree = native.MerkleTree() if tree is None else tree
        self.end = Link() if end is None else end
        if len(self.tree) != self.end.seq:
            wanted = f"`end` must match the size of the tree, {len(self.tree)}"
            raise refusal("argument_invalid", f"{wanted}; received {self.end.seq}")

    def append(self, entries: Iterable[Mapping[str, Any]]) -> Batch:
        """Append entries (`type` and the fields of that type) as records.

        Raises:
            OpenOutcryError: `argument_invalid`: an entry is invalid; nothing is appended.
        """
        with self._lock:
            records, end = [], self.end
            for entry in entries:
                records.append(seal(entry, end))
                end = records[-1].link
            return self._append_records(records)

    def extend(self, records: Sequence[Record]) -> Batch:
        """Append sealed records, the first of which continues the end of the log.

        Raises:
            OpenOutcryError: `argument_invalid`: the first `seq` is not the next one; nothing is appended.
        """
        with self._lock:
            if records and records[0].seq != self.end.seq:
                wanted = f"a record with `seq` {self.end.seq} is required"
                raise refusal("argument_invalid", f"{wanted}; received {records[0].seq}")
            return self._append_records(records)

    def _append_records(self, records: Sequence[Record]) -> Batch:
        self.tree.append([record.text for record in records])
        start, self.end = self.end, records[-1].link if records else self.end
        root = self.tree.root()
        return Batch(start, tuple(records), root, sign_checkpoint(self._key, self.end.seq, root))

    def undo(self, batch: Batch) -> None:
        """Remove the last batch, which could not be stored and was never published.

        Raises:
            OpenOutcryError: `argument_invalid`: `batch` is not the last one.
        """
        with self._lock:
            if batch.end != self.end:
                raise refusal(
                    "argument_invalid",
                    f"the last batch is required; received the batch that ends at record {batch.end.seq}",
                )
            self.tree.truncate(batch.start.seq)
            self.end = batch.start

    def receipt(self, batch: Batch, record: Record, opened: str) -> str:
        """Return the receipt of a submission, as JSON.

        Args:
            batch: The last batch.
            record: The submission's record, in `batch`.
            opened: The submission's revealed form, as JSON.
        """
        size = batch.end.seq
        proof = ",".join([f'"{each.hex()}"' for each in self.tree.inclusion(record.seq, size)])
        inclusion = f'"leaf_index":{record.seq},"tree_size":{size},"checkpoint":{batch.checkpoint_json}'
        return f'{{"record":{record.text.decode()},"salts":{opened},{inclusion},"proof":[{proof}]}}'


def sign_checkpoint(key: SignerKey, size: int, root: bytes) -> str:
    """Return the signed checkpoint of a tree size and root."""
    return key.sign(Checkpoint(key.verifier.name, size, root).text())


def checkpoint_of_records(key: SignerKey, records: Sequence[bytes]) -> str:
    """Return the signed checkpoint of a log, computed from all its records."""
    tree = native.MerkleTree()
    tree.append(records)
    return sign_checkpoint(key, len(tree), tree.root())
