"""Cosigned checkpoints: the newest of each witness, stored as files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from openoutcry.arena.log.signed_notes import Checkpoint, Note, Signature, SignerKey, VerifierKey, open_checkpoint
from openoutcry.arena.protocol import ArenaError, shown
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.counted_nouns import counted

_MAX_NOTE = 10_000


class Cosignatures:
    """Stores the newest cosigned checkpoint of each known witness.

    Args:
        folder: Folder of the files, named by the key ID of each witness.
        key: The signing key of the log.
        witnesses: Keys of the witnesses that are accepted.
    """

    def __init__(self, folder: Path, key: SignerKey, witnesses: Sequence[VerifierKey]) -> None:
        self._folder, self._key, self._witnesses, self._lock = folder, key, witnesses, threading.Lock()

    def add(self, note: bytes, is_of_log: Callable[[Checkpoint], bool]) -> Checkpoint:
        """Store a cosigned checkpoint unless a newer one is stored.

        Args:
            note: The received signed note.
            is_of_log: Returns whether the log ever had a checkpoint.

        Raises:
            ArenaError: `invalid_payload`: the note is not a checkpoint of the log. `bad_auth`: no known witness signed
                it. `payload_too_large`.
        """
        if len(note) > _MAX_NOTE:
            raise ArenaError("payload_too_large", f"a note of at most {_MAX_NOTE:,} bytes is required; received more")
        try:
            text = note.decode()
            found, parsed = open_checkpoint(text, self._key.verifier), Note.parse(text)
        except (OpenOutcryError, UnicodeDecodeError) as error:
            message = f"a checkpoint signed by this log is required; received {counted(len(note), 'byte')}: {error}"
            raise ArenaError("invalid_payload", message) from error
        if not is_of_log(found):
            raise ArenaError("invalid_payload", f"a checkpoint of this log is required; received size {found.size}")
        own = [signature for each in self._witnesses for signature in _of(parsed, each)]
        if not own:
            names = ", ".join(each.name for each in self._witnesses) or "none"
            received = shown(", ".join(each.name for each in parsed.signatures))
            raise ArenaError("bad_auth", f"a cosignature of a known witness ({names}) is required; received {received}")
        with self._lock:
            for signature in own:
                self._keep(signature, parsed, found.size)
        return found

    def _keep(self, signature: Signature, note: Note, size: int) -> None:
        path = self._folder / signature.key_id.hex()
        if path.exists() and Checkpoint.parse(path.read_text(encoding="utf-8")).size > size:
            return
        self._folder.mkdir(exist_ok=True)
        partial = path.with_suffix(".tmp")
        # Only the signatures of the log and of this witness: other lines of the note are untrusted.
        partial.write_text(self._key.sign(note.text) + signature.line(), encoding="utf-8")
        partial.replace(path)

    def __getitem__(self, key_id: str) -> str:
        """Return the newest cosigned note of a witness, by its key ID."""
        known = {each.key_id.hex() for each in self._witnesses}
        if key_id in known and (self._folder / key_id).exists():
            return (self._folder / key_id).read_text(encoding="utf-8")
        raise ArenaError("not_found", f"the key id of a known witness is required; received {key_id[:32]!r}")


def _of(note: Note, witness: VerifierKey) -> list[Signature]:
    """Return the cosignature of a witness, or an empty list if it has not signed."""
    try:
        return [note.verify(witness)]
    except OpenOutcryError:
        return []
