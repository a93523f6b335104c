"""A witness of a log: it signs what it has seen grow by appending alone.

It is run by somebody else than the log, with a folder of its own. An operator that shows two histories needs a witness
to forget one of them: it does not. Needs `openoutcry[arena]`.
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

_LONGEST = 1_000_000
_LONGEST_TOLD = 500
_LATER = (408, 425, 429)
"""Statuses of servers that want to be asked later, beside their own faults."""


class Misbehaviour(Exception):  # noqa: N818
    """A log has shown what does not go on with what it showed before.

    Attributes:
        evidence: The folder that holds both checkpoints, each signed by the log, and the proof that came.
    """

    def __init__(self, why: str, evidence: Path) -> None:
        super().__init__(f"{why}; both checkpoints are in '{evidence}'")
        self.evidence = evidence


class Cosigned(NamedTuple):
    """What was cosigned, and kept.

    Attributes:
        size: Records of the log.
        note: The checkpoint with both signatures.
        untaken: Why the log does not take it; empty where it does.
    """

    size: int
    note: str
    rejection: str = ""


class Witness:
    """Keeps the last checkpoint of a log, and cosigns the next one.

    Args:
        folder: Made where it is missing; holds `witness.key`, `log.vkey`, `checkpoint` and `evidence`.
        url: Where the Arena is.
        name: Of the key; by default `witness.local` of a new one, and that of an old one.
        transport: How requests are made; httpx's own by default.

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
            made = SignerKey(name or "witness.local", secrets.token_bytes(32), WITNESS)
            _write_durably(folder / "witness.key", made.private_text() + "\n")
        self.key = SignerKey.parse(_read(folder / "witness.key").strip())
        if name not in (None, self.key.verifier.name):
            wanted = f"the name of the key that '{folder}' has, {self.key.verifier.name}, is required"
            raise refusal("argument_invalid", f"{wanted}, or another folder; received {name!r}")

    @property
    def log(self) -> VerifierKey:
        """The key of the log, as it is known."""
        return VerifierKey.parse(_read(self._folder / "log.vkey").strip())

    def pin_log_key(self, vkey: str | None = None) -> None:
        """Keep the key of the log, by default the first that the server tells; it stands.

        Raises:
            OpenOutcryError: `argument_invalid`: it is none, or not the one that is kept.
            httpx.HTTPError: the server has not answered as it must.
        """
        if not (self._folder / "log.vkey").exists():
            told = VerifierKey.parse(vkey or self._text("/registry/vkey").strip())
            _write_durably(self._folder / "log.vkey", f"{told}\n")
        if vkey not in (None, str(self.log)):
            raise refusal("argument_invalid", f"the log that was witnessed, {self.log}, is required; received {vkey}")

    def cosign(self, moment: int) -> Cosigned:
        """Cosign the newest checkpoint, and hand the cosignature to the log.

        Args:
            moment: Now, which the cosignature says.

        Raises:
            Misbehaviour: it does not go on with the last one; nothing is signed.
            OpenOutcryError: `argument_invalid`: it is no checkpoint of the log.
            httpx.HTTPError: the server has not answered as it must, before anything was signed.
        """
        note = self._text("/registry/checkpoint")
        received = open_checkpoint(note, self.log)
        place = self._folder / "checkpoint"
        # Of two processes with one key, the second sees what the first has signed.
        with self._locked():
            if place.exists():
                self._check(_read(place), note)
            elif received.size == 0:
                raise refusal("argument_invalid", "a log with a record is required; received an empty one")
            # On the disk before it is signed: what was signed is never forgotten.
            _write_durably(place, note)
            signed = note + self.key.line(Note.parse(note).text, moment // SECOND)
            _write_durably(self._folder / "cosigned", signed)
        return Cosigned(received.size, signed, self._submit(signed))

    def _submit(self, signed: str) -> str:
        """Hand a cosignature to the log, and return why it is not taken."""
        try:
            answer = self._http.post("/registry/cosignatures", content=signed.encode())
        except httpx.HTTPError as error:
            return transport_failure(error)
        if answer.is_success:
            return ""
        with suppress(ValueError, RecursionError):
            told = answer.json()
            if isinstance(told, dict) and isinstance(told.get("detail"), str):
                why = f"{told.get('error')}: {told['detail']}"[:_LONGEST_TOLD]
                return "".join(letter if letter.isprintable() else " " for letter in why)
        return f"an answer of an Arena is required; received status {answer.status_code}"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._folder / "lock").open("wb") as file:
            try:
                import fcntl
            except ModuleNotFoundError:
                yield
                return
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _check(self, kept: str, note: str) -> None:
        """Check that a checkpoint goes on with the one that is kept."""
        old, new = open_checkpoint(kept, self.log), open_checkpoint(note, self.log)
        if new.size < old.size:
            self._refuse(f"the log went back from {old.size} records to {new.size}", kept, note, {})
        if new.size == old.size:
            if new.root != old.root:
                self._refuse(f"the log has two roots of {old.size} records", kept, note, {})
            return
        told = self._http.get("/registry/consistency", params={"from": old.size, "to": new.size})
        # Who is turned away for a time comes again; who is told that there is no proof has his answer.
        if told.is_server_error or told.status_code in _LATER:
            told.raise_for_status()
        try:
            proof = told.json()
            hashes = [bytes.fromhex(each) for each in proof["proof"]]
            is_consistent = native.merkle_is_consistent(old.size, new.size, old.root, new.root, hashes)
        except (KeyError, TypeError, ValueError, RecursionError, OpenOutcryError):
            proof, is_consistent = {"received": told.text[:_LONGEST]}, False
        if not is_consistent:
            why = f"no proof was given that the log of {old.size} records begins that of {new.size}"
            self._refuse(why, kept, note, proof)

    def _refuse(self, why: str, kept: str, note: str, proof: Mapping[str, Any]) -> None:
        evidence = self._folder / "evidence" / sha256((kept + note).encode()).hexdigest()[:16]
        evidence.mkdir(parents=True, exist_ok=True)
        for name, text in (("kept", kept), ("received", note), ("proof.json", json.dumps(proof) + "\n")):
            _write_durably(evidence / name, text)
        raise Misbehaviour(why, evidence)

    def _text(self, path: str) -> str:
        answer = self._http.get(path).raise_for_status()
        if len(answer.content) > _LONGEST:
            raise refusal("argument_invalid", f"a short answer to {path} is required; received a long one")
        return answer.text

    def close(self) -> None:
        """Close connections."""
        self._http.close()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _write_durably(path: Path, text: str) -> None:
    """Write a file that is whole or not there, and is on the disk."""
    begun = path.with_name(f"{path.name}.tmp")
    with os.fdopen(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    begun.replace(path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
