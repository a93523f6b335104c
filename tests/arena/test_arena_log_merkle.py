"""The Merkle tree of the log in Rust, compared with the verifier's implementation."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena import verifier
from openoutcry.openoutcry_py import (
    LogAudit,
    MerkleTree,
    OpenOutcryError,
    merkle_is_consistent,
    merkle_is_included,
)

pytestmark = pytest.mark.once

VECTORS = Path(__file__).resolve().parents[2] / "contract" / "vectors" / "rfc6962" / "proofs.json"
CASES: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))


def hashes(texts: list[str] | None) -> list[bytes]:
    return [base64.b64decode(text) for text in texts or []]


def is_accepted(case: dict[str, Any]) -> bool:
    proof = hashes(case["proof"])
    if "leafIdx" in case:
        leaf, root = hashes([case["leafHash"], case["root"]])
        return merkle_is_included(case["leafIdx"], case["treeSize"], leaf, proof, root)
    return merkle_is_consistent(case["size1"], case["size2"], *hashes([case["root1"], case["root2"]]), proof)


@pytest.mark.parametrize("name", CASES)
def test_rfc_6962_vectors_are_accepted_or_rejected_as_specified(name: str) -> None:
    assert is_accepted(CASES[name]) is not CASES[name]["wantErr"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "leafIdx" in case])
def test_the_verifier_accepts_the_same_proofs(name: str) -> None:
    case = CASES[name]
    leaf, root = hashes([case["leafHash"], case["root"]])
    proof = hashes(case["proof"])
    try:
        found = verifier.root_from_proof(case["leafIdx"], case["treeSize"], leaf, proof) == root
    except verifier.CheckError:
        found = False
    assert found is not case["wantErr"]


def test_all_vectors_are_present() -> None:
    assert len(CASES) == 196


ENTRIES = st.lists(st.binary(max_size=40), min_size=1, max_size=70)


@given(ENTRIES, st.data())
def test_both_trees_have_the_same_roots_and_accept_the_same_proofs(entries: list[bytes], data: st.DataObject) -> None:
    native, verifier_faults = MerkleTree(), verifier.Tree()
    assert native.append(entries) == len(native) == len(entries)
    for entry in entries:
        verifier_faults.append(entry)
    size = data.draw(st.integers(1, len(entries)))
    root = native.root(size)
    assert root == verifier_faults.root(size)
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    leaf, proof = sha256(b"\0" + entries[index]).digest(), native.inclusion(index, size)
    assert verifier.root_from_proof(index, size, leaf, proof) == root
    assert merkle_is_included(index, size, leaf, proof, root)
    assert merkle_is_consistent(old, size, native.root(old), root, native.consistency(old, size))
    assert not merkle_is_included(index, size, leaf, [*proof, root], root)
    assert not merkle_is_included(index + size, size, leaf, proof, root)


def test_the_root_of_an_empty_tree_is_the_hash_of_the_empty_string() -> None:
    assert MerkleTree().root() == verifier.Tree().root(0) == sha256(b"").digest()


@given(ENTRIES, st.data())
def test_a_tree_from_stored_hashes_equals_a_truncated_tree(entries: list[bytes], data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(entries)))
    tree = MerkleTree()
    tree.append(entries)
    stored = b"".join(sha256(b"\0" + entry).digest() for entry in entries[:size])
    assert MerkleTree(stored).root() == tree.root(size)
    tree.truncate(size)
    assert (len(tree), tree.root()) == (size, MerkleTree(stored).root())
    tree.append(entries[size:])
    again = MerkleTree()
    again.append(entries)
    assert tree.root() == again.root()


def test_a_tile_holds_hashes_eight_levels_apart() -> None:
    entries = [bytes([number >> 8, number & 255]) for number in range(600)]
    tree = MerkleTree()
    tree.append(entries)
    leaves = [sha256(b"\0" + entry).digest() for entry in entries]
    assert tree.tile(0, 1) == b"".join(leaves[256:512])
    assert tree.tile(0, 2, 88) == b"".join(leaves[512:])
    below = [MerkleTree(b"".join(leaves[first : first + 256])).root() for first in (0, 256)]
    assert tree.tile(1, 0, 2) == b"".join(below)


@pytest.mark.parametrize(
    "query",
    [
        lambda tree: tree.root(4),
        lambda tree: tree.inclusion(3),
        lambda tree: tree.inclusion(0, 4),
        lambda tree: tree.consistency(0),
        lambda tree: tree.consistency(3, 2),
        lambda tree: tree.tile(0, 0),
        lambda tree: tree.tile(0, 1, 1),
        lambda tree: tree.tile(8, 0, 1),
        lambda tree: tree.truncate(4),
        lambda tree: MerkleTree(b"x" * 33),
        lambda tree: LogAudit(b"").digest(0),
    ],
)
def test_queries_outside_the_tree_are_refused(query: Any) -> None:
    tree = MerkleTree()
    tree.append([b"a", b"b", b"c"])
    with pytest.raises(OpenOutcryError, match=r"^argument_invalid: "):
        query(tree)
    assert len(tree) == 3
