"""Canonical JSON, Merkle trees and signatures against independent implementations."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cryptography")

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from openoutcry.arena import verifier
from openoutcry.arena.log.log_proofs import leaf_hash
from openoutcry.openoutcry_py import MerkleTree, OpenOutcryError, canonicalize

pytestmark = pytest.mark.once

VECTORS = Path(__file__).resolve().parents[2] / "contract" / "vectors" / "rfc8785"
IS_FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
# Ed25519 points of orders 1, 2, 4, 4, 8, 8, 8, 8, and the first two in non-canonical encoding (prime added).
WEAK = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
)


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_the_vectors_of_rfc_8785_are_canonical(name: str) -> None:
    text = (VECTORS / "input" / f"{name}.json").read_text(encoding="utf-8")
    wanted = (VECTORS / "output" / f"{name}.json").read_text(encoding="utf-8")
    assert canonicalize(text) == wanted
    if name not in ("structures", "values"):
        assert verifier.canonical(json.loads(text)) == wanted, "records and commitments have no fractions"


# Integers as in records, and floats as in bodies.
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(VALUES)
def test_canonical_json_equals_that_of_the_reference_package(value: Any) -> None:
    rfc8785 = pytest.importorskip("rfc8785")
    assert canonicalize(json.dumps(value)).encode() == rfc8785.dumps(value)


def test_keys_are_sorted_by_utf_16_and_integral_floats_are_integers() -> None:
    assert canonicalize('{"\ufb33": 1.0, "\U0001f600": 0.0}') == '{"\U0001f600":0,"\ufb33":1}'
    assert verifier.canonical({"\ufb33": 1, "\U0001f600": 0}) == '{"\U0001f600":0,"\ufb33":1}'
    for wrong in ('{"a": 1, "a": 1}', '"\\ud800"', "1e999", "NaN", ""):
        with pytest.raises(OpenOutcryError):
            canonicalize(wrong)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_numbers_are_written_as_ecmascript_writes_them() -> None:
    drawn = random.Random(8785)
    values = [struct.unpack("<d", drawn.randbytes(8))[0] for _ in range(200_000 if IS_FULL else 5_000)]
    values += [drawn.randrange(10**6) / 10**6 for _ in range(1_000)] + [5e-324, 1e21, 1e-7, -0.0, 2**53 + 2.0]
    finite = [value for value in values if math.isfinite(value)]
    program = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8'))))"
    done = subprocess.run(["node", "-e", program], input=json.dumps(finite), capture_output=True, text=True, check=True)
    assert canonicalize(json.dumps(finite)) == done.stdout


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_trees_and_proofs_equal_those_of_pymerkle() -> None:
    pymerkle = pytest.importorskip("pymerkle")
    theirs, ours, entries = pymerkle.InmemoryTree(algorithm="sha256"), MerkleTree(), list[bytes]()
    for size in range(1, 40):
        entries.append(size.to_bytes(4, "big") * size)
        theirs.append_entry(entries[-1])
        ours.append([entries[-1]])
        assert ours.root() == theirs.get_root(size)
        for index in range(0, size, 3):
            proof = ours.inclusion(index, size)
            root = verifier.root_from_proof(index, size, leaf_hash(entries[index]), proof)
            assert root == theirs.get_root(size)
            assert set(proof) <= set(theirs.prove_inclusion(index + 1, size).path)


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return the verdict of OpenSSL."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def test_the_verifier_and_openssl_agree_on_signatures_by_weak_keys() -> None:
    """Points of small order. RFC 8032 rejects keys in non-canonical encoding, which OpenSSL accepts."""
    for place, key in enumerate(map(bytes.fromhex, WEAK)):
        for half in map(bytes.fromhex, WEAK):
            for message in range(6):
                options = key, bytes([message]), half + bytes(32)
                assert verifier.is_signed(*options) == (place < 8 and is_signed(*options))


def test_both_agree_with_the_wycheproof_vectors() -> None:
    #
    """Signatures that faulty implementations of Ed25519 accept or reject."""
    lines = json.loads((Path(__file__).parents[1] / "vendor" / "wycheproof-ed25519.json").read_text())
    assert sum(each["valid"] for each in lines) == 88
    assert len(lines) == 150
    for each in lines:
        options = tuple(bytes.fromhex(each[name]) for name in ("key", "message", "signature"))
        assert verifier.is_signed(*options) == is_signed(*options) == each["valid"], each


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=40), st.sampled_from(range(6)))
def test_a_non_canonical_signature_is_invalid(seed: bytes, message: bytes, kind: int) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), key.sign(message)
    half, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    changed = (
        signature,
        half + ((scalar + verifier.ORDER) % 2**256).to_bytes(32, "little"),
        half + (verifier.ORDER - scalar).to_bytes(32, "little"),
        half[:31] + bytes([half[31] ^ 128]) + signature[32:],
        signature[:63],
        signature + b"\0",
    )[kind]
    assert verifier.is_signed(public, message, changed) == is_signed(public, message, changed) == (kind == 0)
