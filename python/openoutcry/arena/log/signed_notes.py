"""Signed notes, checkpoints and cosignatures (C2SP signed-note, tlog-checkpoint).

A note is a text, a blank line and signature lines. A checkpoint is a note with an origin, a tree size and a root hash.
A witness adds a cosignature with the time (tlog-cosignature) after it checked that the log only grew.
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
"""Kinds of keys: of a log, and of a witness, which signs with a time (`cosignature/v1`)."""

_MAX_NOTE = 1_000_000
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_NAME = re.compile(r"[^\s+]+")
_SIGNATURE = re.compile(r"— ([^\s+]+) (\S+)")
_PRIVATE = "PRIVATE+KEY+"


def _invalid(wanted: str, received: object) -> OpenOutcryError:
    return refusal("argument_invalid", f"{wanted}; received {str(received)[:80]!r}")


def decode_base64(text: str) -> bytes:
    """Return the bytes of canonical standard base64.

    Raises:
        OpenOutcryError: `argument_invalid`: the text is not canonical base64.
    """
    try:
        content = b64decode(text, validate=True)
    except ValueError as error:
        raise _invalid("base64 is required", text) from error
    if encode_base64(content) != text:
        raise _invalid("canonical base64 is required", text)
    return content


def encode_base64(content: bytes) -> str:
    """Return bytes as standard base64."""
    return b64encode(content).decode()


def _key_id(name: str, kind: int, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name, written as a `vkey` string."""

    name: str
    public: bytes
    kind: int = LOG

    @property
    def key_id(self) -> bytes:
        """The first four bytes of SHA-256 over name, kind and key."""
        return _key_id(self.name, self.kind, self.public)

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes([self.kind]) + self.public)}"

    @classmethod
    def parse(cls, vkey: str) -> VerifierKey:
        """Parse a `vkey` string, `NAME+ID+KEY`.

        Raises:
            OpenOutcryError: `argument_invalid`: the text is not a key, or the id does not match.
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
        """Return whether a signature (without key id) over a text is valid."""
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
            raise _invalid("a key name without spaces or plus signs is required", name)
        if len(seed) != 32 or kind not in (LOG, WITNESS):
            wanted = f"a key of 32 bytes for a log ({LOG}) or a witness ({WITNESS}) is required"
            raise refusal("argument_invalid", f"{wanted}; received one of length {len(seed)} and kind {kind}")
        self._key, self._seed = Ed25519PrivateKey.from_private_bytes(seed), seed
        self.verifier = VerifierKey(name, self._key.public_key().public_bytes_raw(), kind)

    @classmethod
    def parse(cls, skey: str) -> SignerKey:
        """Parse a private key, `PRIVATE+KEY+NAME+ID+KEY`.

        Raises:
            OpenOutcryError: `argument_invalid`: the text is not a key, or the id does not match.
        """
        parts = skey.removeprefix(_PRIVATE).split("+", 2)
        # The text is a secret, so the error does not quote it.
        with suppress(OpenOutcryError):
            key = decode_base64(parts[-1])
            found = cls(parts[0], key[1:], key[0] if key else 0)
            if found.private_text() == skey:
                return found
        raise refusal("argument_invalid", "a signer key `PRIVATE+KEY+NAME+ID+KEY` is required; received another text")

    def private_text(self) -> str:
        """Return the private key as a string for `parse`. Keep it secret."""
        kind, name = self.verifier.kind, self.verifier.name
        return f"{_PRIVATE}{name}+{self.verifier.key_id.hex()}+{encode_base64(bytes([kind]) + self._seed)}"

    def line(self, text: str, timestamp: int | None = None) -> str:
        """Return the signature line for the text of a note.

        Args:
            text: The note's text, with its final line end.
            timestamp: Seconds since 1970 for a witness; None for a log.
        """
        if (timestamp is not None) != (self.verifier.kind == WITNESS):
            received = "no time" if timestamp is None else f"the time {timestamp}"
            wanted = "a witness must sign with a time, a log without a time"
            raise refusal("argument_invalid", f"{wanted}; received {received}")
        if timestamp is None:
            signature = self._key.sign(text.encode())
        else:
            signature = struct.pack(">Q", timestamp) + self._key.sign(_cosigned(text, timestamp).encode())
        return Signature(self.verifier.name, self.verifier.key_id, signature).line()

    def sign(self, text: str) -> str:
        """Return a text as a signed note.

        Raises:
            OpenOutcryError: `argument_invalid`: the text has no final line end, or has control characters.
        """
        _check_text(text)
        if not text.endswith("\n"):
            raise _invalid("a text with a final line end is required", text)
        return f"{text}\n{self.line(text)}"


def _cosigned(text: str, timestamp: int) -> str:
    return f"cosignature/v1\ntime {timestamp}\n{text}"


def _check_text(text: str) -> None:
    if len(text) > _MAX_NOTE or _CONTROL.search(text):
        wanted = f"a note must have at most {_MAX_NOTE:,} characters and no control characters"
        raise refusal("argument_invalid", f"{wanted}; received one of length {len(text):,}")


class Signature(NamedTuple):
    """A signature line of a note: key name, key id and signature."""

    name: str
    key_id: bytes
    signature: bytes

    def line(self) -> str:
        """Return the signature line, with its line end."""
        return f"— {self.name} {encode_base64(self.key_id + self.signature)}\n"


@dataclass(frozen=True)
class Note:
    """A text with its signatures, not yet verified."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, note: str) -> Note:
        """Parse a note into text and signatures.

        Raises:
            OpenOutcryError: `argument_invalid`: the text is not a note.
        """
        _check_text(note)
        text, blank, lines = note.rpartition("\n\n")
        if not blank or not lines.endswith("\n"):
            raise _invalid("a text, a blank line and signatures are required", note)
        return cls(text + "\n", parse_signatures(lines))

    def verify(self, key: VerifierKey) -> Signature:
        """Return the first signature of a key. All signatures of that key must be valid.

        Raises:
            OpenOutcryError: `argument_invalid`: the key has not signed this text.
        """
        own = [each for each in self.signatures if (each.name, each.key_id) == (key.name, key.key_id)]
        if not own:
            raise _invalid(f"a signature of {key.name} is required", ", ".join(each.name for each in self.signatures))
        if not all(key.verify(self.text, each.signature) for each in own):
            raise refusal(
                "argument_invalid", f"a signature of {key.name} over this text is required; received one that differs"
            )
        return own[0]


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Parse the signature lines of a note.

    Raises:
        OpenOutcryError: `argument_invalid`: a line is not a signature.
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
    """A log's state: origin, tree size and root hash."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the text of the note."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Parse a checkpoint from a note's text. Lines after the third are ignored.

        Raises:
            OpenOutcryError: `argument_invalid`: the text is not a checkpoint.
        """
        lines = text.split("\n")
        if len(lines) < 4 or not lines[0] or not re.fullmatch(r"0|[1-9][0-9]{0,15}", lines[1]):
            raise _invalid("three lines with origin, size and root are required", text)
        root = decode_base64(lines[2])
        if len(root) != 32:
            raise _invalid("a root of 32 bytes is required", lines[2])
        return cls(lines[0], int(lines[1]), root)


def open_checkpoint(note: str, key: VerifierKey) -> Checkpoint:
    """Return the checkpoint of a note, after verifying the log's signature.

    Raises:
        OpenOutcryError: `argument_invalid`: the note is invalid, not signed by the key, or has another origin.
    """
    parsed = Note.parse(note)
    parsed.verify(key)
    found = Checkpoint.parse(parsed.text)
    if found.origin != key.name:
        raise _invalid(f"a checkpoint of {key.name} is required", found.origin)
    return found
