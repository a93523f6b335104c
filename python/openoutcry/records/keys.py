"""Keys of records: Ed25519 signing keys, and fill keys that seal slippage noise."""

from __future__ import annotations

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted


def key_bytes(key: bytes | str, name: str, kind: str = "an Ed25519 key") -> bytes:
    """Return the 32 bytes of a key, given as bytes or in hexadecimal."""
    try:
        raw = bytes.fromhex(key) if isinstance(key, str) else bytes(memoryview(key))
    except (TypeError, ValueError) as error:
        raise refusal("key_invalid", f"{kind} of 32 bytes is required; received {name}: {error}") from error
    if len(raw) != 32:
        raise refusal("key_invalid", f"{kind} of 32 bytes is required; received {name} of {counted(len(raw), 'byte')}")
    return raw


def fill_key_of(fill_key: bytes | str) -> bytes:
    """Return the 32 bytes of a fill key, given as bytes or in hexadecimal."""
    return key_bytes(fill_key, "`fill_key`", "a fill key")


def fill_commitment(fill_key: bytes) -> str:
    """Return the public commitment to a fill key, in hexadecimal."""
    return native.fill_commitment(fill_key_of(fill_key)).hex()


def public_key(private_key: bytes) -> bytes:
    """Return the public key of an Ed25519 private key, 32 bytes each."""
    return native.record_public_key(key_bytes(private_key, "`private_key`"))
