"""Checkpoints that witnesses have cosigned: the newest of each, as files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from openoutcry.arena.log.signed_notes import Checkpoint, Note, Signature, SignerKey, VerifierKey, open_checkpoint
from openoutcry.arena.protocol import ArenaError
from openoutcry.openoutcry_py import OpenOutcryError

_LONGEST = 10_000


class Cosignatures:
    """Takes cosigned checkpoints of a log, and keeps the newest of each witness.

    Args:
        folder: Where they are kept, a file a witness by the ID of its key.
        key: What the log signs with.
        witnesses: Who may cosign.
    """

    def __init__(self, folder: Path, key: SignerKey, witnesses: Sequence[VerifierKey]) -> None:
        self._folder, self._key, self._witnesses, self._lock = folder, key, witnesses, threading.Lock()

    def add(self, note: bytes, is_of_log: Callable[[Checkpoint], bool]) -> Checkpoint:
        """Keep what a witness has cosigned, where it is newer than what is kept.

        Args:
            note: What came.
            is_of_log: Whether the log has had a checkpoint.

        Raises:
            ArenaError: `invalid_payload`: it is no checkpoint of the log. `bad_auth`: no known witness has signed it.
        """
        if len(note) > _LONGEST:
            raise ArenaError("payload_too_large", f"a note of at most {_LONGEST:,} bytes is required; received more")
        try:
            text = note.decode()
            found, parsed = open_checkpoint(text, self._key.verifier), Note.parse(text)
        except (OpenOutcryError, UnicodeDecodeError) as error:
            raise ArenaError(
                "invalid_payload", f"a checkpoint that this log has signed is required; {error}"
            ) from error
        if not is_of_log(found):
            raise ArenaError("invalid_payload", f"a checkpoint of this log is required; received that of {found.size}")
        own = [signature for each in self._witnesses for signature in _of(parsed, each)]
        if not own:
            names = ", ".join(each.name for each in self._witnesses) or "nobody"
            raise ArenaError("bad_auth", f"a cosignature of a known witness ({names}) is required; received another")
        with self._lock:
            for signature in own:
                self._keep(signature, parsed, found.size)
        return found

    def _keep(self, signature: Signature, note: Note, size: int) -> None:
        path = self._folder / signature.key_id.hex()
        if path.exists() and Checkpoint.parse(path.read_text(encoding="utf-8")).size > size:
            return
        self._folder.mkdir(exist_ok=True)
        begun = path.with_suffix(".tmp")
        # The log's own signature and the witness's, and no other.
        begun.write_text(self._key.sign(note.text) + signature.line(), encoding="utf-8")
        begun.replace(path)

    def __getitem__(self, key_id: str) -> str:
        """Return the newest note of a witness, by the ID of its key."""
        known = {each.key_id.hex() for each in self._witnesses}
        if key_id in known and (self._folder / key_id).exists():
            return (self._folder / key_id).read_text(encoding="utf-8")
        raise ArenaError("not_found", f"a witness that has cosigned is required; received {key_id[:32]!r}")


def _of(note: Note, witness: VerifierKey) -> list[Signature]:
    """Return the cosignature of a witness, where it has signed."""
    try:
        return [note.verify(witness)]
    except OpenOutcryError:
        return []
