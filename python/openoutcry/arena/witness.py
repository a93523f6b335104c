"""Witness of a log: cosigns checkpoints that extend each other.

Someone other than the log's operator runs it, with a folder of its own. An operator who shows two histories cannot get
both cosigned by the same witness. Needs `openoutcry[arena]`.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from openoutcry import openoutcry_py as native
from openoutcry.arena.log.signed_notes import WITNESS, Note, SignerKey, VerifierKey, open_checkpoint
from openoutcry.arena.protocol import transport_failure
from openoutcry.arena.timestamps import SECOND
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.file_lock import lock_file

_MAX_BYTES = 1_000_000
_MAX_DETAIL = 500
_LATER = (408, 425, 429)
"""Statuses below 500 after which a request may be retried."""


class Misbehaviour(Exception):  # noqa: N818
    """A log has shown a checkpoint that is inconsistent with an earlier one.

    Attributes:
        evidence: Folder with both checkpoints, each signed by the log, and the received proof.
    """

    def __init__(self, why: str, evidence: Path) -> None:
        super().__init__(f"{why}; both checkpoints are in '{evidence}'")
        self.evidence = evidence


class Cosigned(NamedTuple):
    """A cosigned and stored checkpoint.

    Attributes:
        size: Number of records.
        note: The checkpoint with both signatures.
        untaken: Why the log did not accept the cosignature; empty if it did.
    """

    size: int
    note: str
    rejection: str = ""


class Witness:
    """Stores the last checkpoint of a log and cosigns consistent newer ones.

    Args:
        folder: Created if missing; contains `witness.key`, `log.vkey`, `checkpoint` and `evidence`.
        url: Address of the Arena.
        name: Name of the key. A new key is named `witness.local` by default; an existing key keeps its name.
        transport: httpx transport; by default httpx's own.

    Raises:
        OpenOutcryError: `argument_invalid`: the folder's key has another name.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        name: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._http = folder, httpx.Client(base_url=url, timeout=30.0, transport=transport)
        if not (folder / "witness.key").exists():
            key = SignerKey(name or "witness.local", secrets.token_bytes(32), WITNESS)
            _write_durably(folder / "witness.key", key.private_text() + "\n")
        self.key = SignerKey.parse(_read(folder / "witness.key").strip())
        if name not in (None, self.key.verifier.name):
            wanted = f"{self.key.verifier.name!r}, the name of the key in '{folder}', or another folder is required"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}")

    @property
    def log(self) -> VerifierKey:
        """The pinned public key of the log."""
        return VerifierKey.parse(_read(self._folder / "log.vkey").strip())

    def pin_log_key(self, vkey: str | None = None) -> None:
        """Store the public key of the log at first use; later calls must agree with it.

        Args:
            vkey: Trusted public key; by default the key that the server returns first.

        Raises:
            OpenOutcryError: `argument_invalid`: the text is not a key, or differs from the stored one.
            httpx.HTTPError: the server did not respond as required.
        """
        if not (self._folder / "log.vkey").exists():
            key = VerifierKey.parse(vkey or self._text("/registry/vkey").strip())
            _write_durably(self._folder / "log.vkey", f"{key}\n")
        if vkey not in (None, str(self.log)):
            raise refusal("argument_invalid", f"the key of the witnessed log, {self.log}, is required; received {vkey}")

    def cosign(self, timestamp: int) -> Cosigned:
        """Cosign the newest checkpoint and submit the cosignature to the log.

        Args:
            timestamp: Current time, which the cosignature contains.

        Raises:
            Misbehaviour: the checkpoint is inconsistent with the stored one; nothing is signed.
            OpenOutcryError: `argument_invalid`: the note is not a checkpoint of the log.
            httpx.HTTPError: the server did not respond as required, before anything was signed.
        """
        note = self._text("/registry/checkpoint")
        received = open_checkpoint(note, self.log)
        place = self._folder / "checkpoint"
        # If two processes share a key, the second one sees what the first has signed.
        with self._locked():
            if place.exists():
                self._check(_read(place), note)
            elif received.size == 0:
                raise refusal("argument_invalid", "a log with a record is required; received an empty one")
            # Durable before it is signed, so that a signed checkpoint is never forgotten.
            _write_durably(place, note)
            signed = note + self.key.line(Note.parse(note).text, timestamp // SECOND)
            _write_durably(self._folder / "cosigned", signed)
        return Cosigned(received.size, signed, self._submit(signed))

    def _submit(self, signed: str) -> str:
        """Submit a cosignature to the log; return why it was rejected, or an empty text."""
        try:
            response = self._http.post("/registry/cosignatures", content=signed.encode())
        except httpx.HTTPError as error:
            return transport_failure(error)
        if response.is_success:
            return ""
        with suppress(ValueError, RecursionError):
            body = response.json()
            if isinstance(body, dict) and isinstance(body.get("detail"), str):
                why = f"{body.get('error')}: {body['detail']}"[:_MAX_DETAIL]
                return "".join(letter if letter.isprintable() else " " for letter in why)
        return f"a response of an Arena is required; received status {response.status_code}"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with lock_file(self._folder / "lock"):
            yield

    def _check(self, stored: str, note: str) -> None:
        """Check that a checkpoint is consistent with the stored one."""
        old, new = open_checkpoint(stored, self.log), open_checkpoint(note, self.log)
        if new.size < old.size:
            self._refuse(f"the log shrank from size {old.size} to {new.size}", stored, note, {})
        if new.size == old.size:
            if new.root != old.root:
                self._refuse(f"the log has two roots at size {old.size}", stored, note, {})
            return
        response = self._http.get("/registry/consistency", params={"from": old.size, "to": new.size})
        # A temporary failure is retried later. Any other response without a valid proof is evidence.
        if response.is_server_error or response.status_code in _LATER:
            response.raise_for_status()
        try:
            proof = response.json()
            hashes = [bytes.fromhex(each) for each in proof["proof"]]
            is_consistent = native.merkle_is_consistent(old.size, new.size, old.root, new.root, hashes)
        except (KeyError, TypeError, ValueError, RecursionError, OpenOutcryError):
            proof, is_consistent = {"received": response.text[:_MAX_BYTES]}, False
        if not is_consistent:
            why = f"no valid proof that the log of size {new.size} extends that of size {old.size} was received"
            self._refuse(why, stored, note, proof)

    def _refuse(self, why: str, stored: str, note: str, proof: Mapping[str, Any]) -> None:
        evidence = self._folder / "evidence" / sha256((stored + note).encode()).hexdigest()[:16]
        evidence.mkdir(parents=True, exist_ok=True)
        for name, text in (("kept", stored), ("received", note), ("proof.json", json.dumps(proof) + "\n")):
            _write_durably(evidence / name, text)
        raise Misbehaviour(why, evidence)

    def _text(self, path: str) -> str:
        response = self._http.get(path).raise_for_status()
        if len(response.content) > _MAX_BYTES:
            wanted = f"a response to {path} of at most {_MAX_BYTES:,} bytes is required"
            raise refusal("argument_invalid", f"{wanted}; received {len(response.content):,}")
        return response.text

    def close(self) -> None:
        """Close connections."""
        self._http.close()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _write_durably(path: Path, text: str) -> None:
    """Write a file atomically and durably."""
    partial = path.with_name(f"{path.name}.tmp")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
