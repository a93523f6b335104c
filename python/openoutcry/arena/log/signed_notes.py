"""Signed notes and checkpoints (C2SP: signed-note, tlog-checkpoint, -cosignature).

A note is a text, a blank line, and a line for each signature. A checkpoint is a note whose text is an origin, the size
of a tree and its root; a witness that has seen it grow only by appending adds a cosignature with the time.
"""

from __future__ import annotations

import re
import struct
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
except ModuleNotFoundError as error:
    needed = "openoutcry.arena.log.signed_notes needs `pip install openoutcry[arena]`"
    raise ModuleNotFoundError(needed, name=error.name) from error

LOG, WITNESS = 1, 4
"""What a key signs: notes of a log, or cosignatures with a time (`cosignature/v1`)."""

_MAX_NOTE = 1_000_000
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_NAME = re.compile(r"[^\s+]+")
_SIGNATURE = re.compile(r"— ([^\s+]+) (\S+)")
_PRIVATE = "PRIVATE+KEY+"


def _invalid(wanted: str, received: object) -> OpenOutcryError:
    return refusal("argument_invalid", f"{wanted}; received {str(received)[:80]!r}")


def decode_base64(text: str) -> bytes:
    """Return the bytes of standard base 64, which has one text for them.

    Raises:
        OpenOutcryError: `argument_invalid`: it is none.
    """
    try:
        content = b64decode(text, validate=True)
    except ValueError as error:
        raise _invalid("base 64 is required", text) from error
    if encode_base64(content) != text:
        raise _invalid("base 64 in its one form is required", text)
    return content


def encode_base64(content: bytes) -> str:
    """Return bytes as standard base 64."""
    return b64encode(content).decode()


def _key_id(name: str, kind: int, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name, as `vkey` texts have it."""

    name: str
    public: bytes
    kind: int = LOG

    @property
    def key_id(self) -> bytes:
        """The first four bytes of the hash of name, kind and key."""
        return _key_id(self.name, self.kind, self.public)

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes([self.kind]) + self.public)}"

    @classmethod
    def parse(cls, vkey: str) -> VerifierKey:
        """Return the key of a `vkey` text, `NAME+ID+KEY`.

        Raises:
            OpenOutcryError: `argument_invalid`: it is none, or its parts do not belong together.
        """
        wanted = "a verifier key `NAME+ID+KEY` is required"
        parts = vkey.split("+", 2)
        if len(parts) != 3 or not _NAME.fullmatch(parts[0]):
            raise _invalid(wanted, vkey)
        key = decode_base64(parts[2])
        if len(key) != 33 or key[0] not in (LOG, WITNESS):
            raise _invalid(wanted, vkey)
        found = cls(parts[0], key[1:], key[0])
        if str(found) != vkey:
            raise _invalid(wanted, vkey)
        return found

    def verify(self, text: str, signature: bytes) -> bool:
        """Return whether a signature, without its key ID, is of this key over a text."""
        if self.kind == WITNESS:
            if len(signature) != 72:
                return False
            text = _cosigned(text, struct.unpack(">Q", signature[:8])[0])
            signature = signature[8:]
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


class SignerKey:
    """A private key with its name."""

    def __init__(self, name: str, seed: bytes, kind: int = LOG) -> None:
        if not _NAME.fullmatch(name):
            raise _invalid("the name of a key must have no space or plus", name)
        if len(seed) != 32 or kind not in (LOG, WITNESS):
            raise refusal("argument_invalid", "a key of 32 bytes for a log or a witness is required; received another")
        self._key, self._seed = Ed25519PrivateKey.from_private_bytes(seed), seed
        self.verifier = VerifierKey(name, self._key.public_key().public_bytes_raw(), kind)

    @classmethod
    def parse(cls, skey: str) -> SignerKey:
        """Return the key of a text `PRIVATE+KEY+NAME+ID+KEY`.

        Raises:
            OpenOutcryError: `argument_invalid`: it is none, or its parts do not belong together.
        """
        parts = skey.removeprefix(_PRIVATE).split("+", 2)
        # What was received is a secret, so that no refusal says it.
        with suppress(OpenOutcryError):
            key = decode_base64(parts[-1])
            found = cls(parts[0], key[1:], key[0] if key else 0)
            if found.private_text() == skey:
                return found
        raise refusal("argument_invalid", "a signer key `PRIVATE+KEY+NAME+ID+KEY` is required; received another text")

    def private_text(self) -> str:
        """Return the key as `parse` reads it: a secret."""
        kind, name = self.verifier.kind, self.verifier.name
        return f"{_PRIVATE}{name}+{self.verifier.key_id.hex()}+{encode_base64(bytes([kind]) + self._seed)}"

    def line(self, text: str, timestamp: int | None = None) -> str:
        """Return the signature line over the text of a note.

        Args:
            text: The note's text, with its last line end.
            timestamp: Seconds since 1970, of a witness; None of a log.
        """
        if (timestamp is not None) != (self.verifier.kind == WITNESS):
            raise refusal("argument_invalid", "a witness must sign with a time, a log without; received the other")
        if timestamp is None:
            signature = self._key.sign(text.encode())
        else:
            signature = struct.pack(">Q", timestamp) + self._key.sign(_cosigned(text, timestamp).encode())
        return Signature(self.verifier.name, self.verifier.key_id, signature).line()

    def sign(self, text: str) -> str:
        """Return a text as a note that a log has signed.

        Raises:
            OpenOutcryError: `argument_invalid`: it does not end with a line end, or has control characters.
        """
        _check(text)
        if not text.endswith("\n"):
            raise _invalid("a text that ends with a line end is required", text)
        return f"{text}\n{self.line(text)}"


def _cosigned(text: str, timestamp: int) -> str:
    return f"cosignature/v1\ntime {timestamp}\n{text}"


def _check(text: str) -> None:
    if len(text) > _MAX_NOTE or _CONTROL.search(text):
        raise refusal("argument_invalid", "a note must be short and without control characters; received another")


class Signature(NamedTuple):
    """A line below a note: who signed, the ID of the key, and the signature."""

    name: str
    key_id: bytes
    signature: bytes

    def line(self) -> str:
        """Return the line as it stands below a note."""
        return f"— {self.name} {encode_base64(self.key_id + self.signature)}\n"


@dataclass(frozen=True)
class Note:
    """A text with its signatures, none of which has been verified."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, note: str) -> Note:
        """Return the parts of a note.

        Raises:
            OpenOutcryError: `argument_invalid`: it is none.
        """
        _check(note)
        text, blank, lines = note.rpartition("\n\n")
        if not blank or not lines.endswith("\n"):
            raise _invalid("a text, a blank line and signatures are required", note)
        return cls(text + "\n", parse_signatures(lines))

    def verify(self, key: VerifierKey) -> Signature:
        """Return the first signature of a key, all of which must hold.

        Raises:
            OpenOutcryError: `argument_invalid`: it has not signed this text.
        """
        own = [each for each in self.signatures if (each.name, each.key_id) == (key.name, key.key_id)]
        if not own:
            raise _invalid(f"a signature of {key.name} is required", ", ".join(each.name for each in self.signatures))
        if not all(key.verify(self.text, each.signature) for each in own):
            raise refusal("argument_invalid", f"a signature of {key.name} over this text is required; received another")
        return own[0]


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Return the signatures of lines that stand below a note.

    Raises:
        OpenOutcryError: `argument_invalid`: a line is none.
    """
    found = []
    for line in lines.split("\n")[:-1]:
        match = _SIGNATURE.fullmatch(line)
        content = decode_base64(match[2]) if match else b""
        if match is None or len(content) < 5:
            raise _invalid("a line `— NAME SIGNATURE` is required", line)
        found.append(Signature(match[1], content[:4], content[4:]))
    return tuple(found)


@dataclass(frozen=True)
class Checkpoint:
    """What a log says of itself: its origin, its size and the root over it."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the text of the note."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Return the checkpoint of a note's text; lines after the third are not read.

        Raises:
            OpenOutcryError: `argument_invalid`: it is none.
        """
        lines = text.split("\n")
        if len(lines) < 4 or not lines[0] or not re.fullmatch(r"0|[1-9][0-9]{0,15}", lines[1]):
            raise _invalid("an origin, a size and a root are required, a line each", text)
        root = decode_base64(lines[2])
        if len(root) != 32:
            raise _invalid("a root of 32 bytes is required", lines[2])
        return cls(lines[0], int(lines[1]), root)


def open_checkpoint(note: str, key: VerifierKey) -> Checkpoint:
    """Return the checkpoint of a note that a log has signed.

    Raises:
        OpenOutcryError: `argument_invalid`: the note is none, or not signed by the key, or of another origin.
    """
    parsed = Note.parse(note)
    parsed.verify(key)
    found = Checkpoint.parse(parsed.text)
    if found.origin != key.name:
        raise _invalid(f"a checkpoint of {key.name} is required", found.origin)
    return found
