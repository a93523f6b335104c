"""Records, commitments, tiles, proofs, and the log writer."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest
from arena_logs import AS_OF, LOG_KEY, OTHER_KEY, SNAPSHOT, VKEY, Season, decision, members, season, tiles_of
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena import verifier
from openoutcry.arena.log.log_proofs import Proof, leaf_hash
from openoutcry.arena.log.log_records import GENESIS, Link, canonical, decimal_text, seal, seal_submission
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.log.tiles import WIDTH, Tile, entry_bundle
from openoutcry.openoutcry_py import MerkleTree, OpenOutcryError

pytestmark = pytest.mark.once

HASH = "0" * 64
MEMBER_NAMES = ("submission_id", "agent_slug", "received_at", "snapshot_as_of", "snapshot_sha256")
SUBMISSION = {
    "type": "submission",
    "submission_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "agent_slug": "ada",
    "received_at": "2026-05-08T12:01:00Z",
    "snapshot_as_of": AS_OF,
    "snapshot_sha256": HASH,
    "commitments": [HASH, "1" * 64],
}


def test_a_record_is_canonical_json_with_the_hash_of_its_predecessor() -> None:
    first = seal(SUBMISSION, Link())
    assert first.text.startswith(b'{"agent_slug":"ada","commitments":["0000')
    assert first.sha256 == hashlib.sha256(first.text).hexdigest()
    assert first.members() == {**SUBMISSION, "v": 1, "seq": 0, "prev_sha256": GENESIS}
    assert first.link == (1, first.sha256)
    assert seal(SUBMISSION, first.link).members()["prev_sha256"] == first.sha256


@pytest.mark.parametrize(
    "change",
    [
        {"type": "rumour"},
        {"type": 1},
        {"seq": 0},
        {"extra": 1},
        {"agent_slug": "Ada"},
        {"agent_slug": "_ada"},
        {"agent_slug": "a" * 41},
        {"received_at": "2026-05-08T12:01:00+00:00"},
        {"received_at": "2026-05-08T12:01:00.5Z"},
        {"snapshot_sha256": "A" * 64},
        {"snapshot_sha256": 0},
        {"submission_id": "01ARZ3NDEKTSV4RRFFQ69G5FAU"},
        {"submission_id": "81ARZ3NDEKTSV4RRFFQ69G5FAV"},
        {"commitments": []},
        {"commitments": ["1" * 64, HASH]},
        {"commitments": [HASH, HASH]},
        {"commitments": HASH},
        {"commitments": [HASH[1:] + "x"]},
        {"commitments": [f"{number:064x}" for number in range(1000)]},
        {"received_at": None},
    ],
    ids=str,
)
def test_an_invalid_entry_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(OpenOutcryError, match=r"^argument_invalid: "):
        seal({**SUBMISSION, **change}, Link())


def test_a_record_holds_five_hundred_commitments() -> None:
    assert len(seal({**SUBMISSION, "commitments": [f"{n:064x}" for n in range(500)]}, Link()).text) < 34_000


def test_a_season_has_every_type_of_record() -> None:
    kinds = {record.members()["type"] for record in season().records}
    assert kinds == {"agent", "day", "key", "log", "resolution", "scoring", "snapshot", "submission", "suspension"}


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(OpenOutcryError, match=r"^bad_json: "):
        seal({**SUBMISSION, "agent_slug": "\ud800"}, Link())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04, "0.04"),
        (0, "0"),
        (1.0, "1"),
        (-0.0, "0"),
        (1e-7, "0"),
        (0.1 + 0.2, "0.3"),
        (Decimal("0.1234565"), "0.123456"),
        (Decimal("0.1234575"), "0.123458"),
        (0.9999999, "1"),
        (1e-6, "0.000001"),
    ],
)
def test_a_probability_is_written_in_at_most_six_places(value: Any, text: str) -> None:
    assert decimal_text(value) == text


@pytest.mark.parametrize("value", [-0.1, 1.000001, float("nan"), float("inf")])
def test_a_value_that_is_not_a_probability_is_refused(value: float) -> None:
    with pytest.raises(OpenOutcryError, match="a probability must be from 0 to 1"):
        decimal_text(value)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MEMBERS = tuple(SUBMISSION[name] for name in MEMBER_NAMES)


SALT = st.binary(min_size=32, max_size=32)


@given(st.lists(st.tuples(st.none() | TEXT, SALT), min_size=1, max_size=4, unique_by=lambda each: each[1]))
def test_a_commitment_is_the_hash_of_a_salted_body(reasonings: list[tuple[str | None, bytes]]) -> None:
    """Compared with the verifier, which shares no code."""
    decisions = [("kalshi:KXA-26", "0.04", "0.82" if each else None, each) for each, _ in reasonings]
    record, opened = seal_submission(MEMBERS, decisions, Link(7, HASH), b"".join(salt for _, salt in reasonings))
    bodies = [
        {
            "v": 1,
            "salt": salt.hex(),
            "market_id": market,
            "yes_probability": yes,
            "confidence": confidence,
            "reasoning": reasoning,
        }
        for (market, yes, confidence, reasoning), (_, salt) in zip(decisions, reasonings, strict=True)
    ]
    digests = {hashlib.sha256(verifier.canonical(body).encode()).hexdigest(): body for body in bodies}
    entry = {**SUBMISSION, "commitments": sorted(digests)}
    assert record == seal(entry, Link(7, HASH))
    assert opened == verifier.canonical([digests[each] for each in sorted(digests)])


def test_every_decision_has_its_own_random_salt() -> None:
    decisions = [("kalshi:KXA-26", "0.04", None, None)] * 2
    salts = [body["salt"] for _ in range(2) for body in json.loads(seal_submission(MEMBERS, decisions, Link())[1])]
    assert len({bytes.fromhex(salt) for salt in salts}) == 4


def test_an_invalid_submission_is_refused() -> None:
    decisions = [("kalshi:KXA-26", "0.04", None, None)]
    for row_fields, given_, salts in (
        (MEMBERS, [], b""),
        (MEMBERS, decisions, bytes(64)),
        (MEMBERS, decisions, bytes(31)),
        (MEMBERS, decisions * 2, bytes(64)),
        ((*MEMBERS[:4], "0"), decisions, None),
    ):
        with pytest.raises(OpenOutcryError, match=r"^argument_invalid: "):
            seal_submission(row_fields, given_, Link(), salts)


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUE)
def test_package_and_verifier_write_the_same_canonical_json(value: Any) -> None:
    text = canonical(value)
    assert verifier.canonical(value) == text
    assert json.loads(text) == value


@given(st.dictionaries(TEXT, VALUE, max_size=4))
def test_the_verifier_accepts_only_canonical_json(value: dict[str, Any]) -> None:
    text = canonical(value)
    assert verifier.parse_record(text.encode()) == value
    for other in (" " + text, text + " ", json.dumps(value, indent=1), json.dumps(value)):
        if other != text:
            with pytest.raises(verifier.CheckError):
                verifier.parse_record(other.encode())


def test_tile_paths_follow_tlog_tiles() -> None:
    assert Tile(0, 1234067).path == "0/x001/x234/067"
    assert Tile(None, 5, 3).path == "entries/005.p/3"
    # The example of the specification: a tree of 70,000 entries.
    tiles = [tile for tile in tiles_of(70_000) if tile.index in (0, 1) or tile.width < WIDTH]
    assert [tile.path for tile in tiles] == ["0/000", "0/001", "0/273.p/112", "1/000", "1/001.p/17", "2/000.p/1"]
    assert [tile.path for tile in tiles_of(256)] == ["0/000", "1/000.p/1"]
    assert list(tiles_of(0)) == []


@given(st.none() | st.integers(0, 7), st.integers(0, 2**40), st.integers(1, 256))
def test_a_tile_path_parses_to_its_tile(level: int | None, index: int, width: int) -> None:
    assert Tile.parse(Tile(level, index, width).path) == Tile(level, index, width)


@pytest.mark.parametrize(
    "path",
    [
        *("", "0", "0/0", "0/0000", "0/x000/001", "8/000", "0/000.p/256", "0/000.p/0", "0/000.p/01", "0/x001"),
        *("-1/000", "0/000/", "entries/x1/000", "data/000", "0/000\n", "0/001/x234", "0/" + "x001/" * 300 + "001"),
    ],
)
def test_a_tile_has_exactly_one_path(path: str) -> None:
    with pytest.raises(OpenOutcryError, match="the path of a tile"):
        Tile.parse(path)


def test_a_tree_has_exactly_the_tiles_of_its_size() -> None:
    tree = MerkleTree()
    tree.append([bytes([number % 251]) for number in range(70_000)])
    for tile in tiles_of(70_000):
        assert tile.is_complete_at(70_000)
        assert tile.level is not None
        assert len(tree.tile(tile.level, tile.index, tile.width)) == 32 * tile.width
        assert tile.width == WIDTH or not Tile(tile.level, tile.index, tile.width + 1).is_complete_at(70_000)
    assert Tile(0, 2).first == 512
    assert Tile(1, 1).first == 65_536


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_a_bundle_has_each_entry_after_its_length(entries: list[bytes]) -> None:
    content, found = entry_bundle(entries), list[bytes]()
    while content:
        size = int.from_bytes(content[:2], "big")
        found.append(content[2 : 2 + size])
        content = content[2 + size :]
    assert found == entries


def test_an_entry_too_long_for_a_bundle_is_refused() -> None:
    assert len(entry_bundle([bytes(65_535)])) == 65_537
    with pytest.raises(OpenOutcryError, match=r"`entries\[1\]` must take at most"):
        entry_bundle([b"", bytes(65_536)])


def test_a_proof_is_the_same_as_text_and_as_json() -> None:
    made = season()
    for record in made.records:
        proof = Proof.of(made.writer.tree, record.seq, 20, made.checkpoint)
        assert Proof.parse(proof.text()) == proof
        assert proof.verify(record.text, LOG_KEY.verifier).size == 20
        row_fields = proof.members()
        assert (row_fields["leaf_index"], row_fields["tree_size"]) == (record.seq, 20)
        assert [bytes.fromhex(each) for each in row_fields["proof"]] == list(proof.hashes)
    extra = proof.text().replace("index", "extra YWdl\nindex", 1)
    assert Proof.parse(extra) == proof
    with pytest.raises(OpenOutcryError, match="a proof that leads to the root"):
        proof.verify(made.records[0].text, LOG_KEY.verifier)
    with pytest.raises(OpenOutcryError, match="a signature of"):
        proof.verify(record.text, OTHER_KEY.verifier)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("c2sp.org", "c2sp.com"),
        ("index 3", "index 03"),
        ("index 3", "index"),
        ("index 3", "index 3\nAAAA"),
        ("\n\n", "\n"),
    ],
)
def test_an_invalid_proof_is_refused(old: str, new: str) -> None:
    made = season()
    text = Proof.of(made.writer.tree, 3, 20, made.checkpoint).text()
    assert text.startswith("c2sp.org/tlog-proof@v1\nindex 3\n")
    with pytest.raises(OpenOutcryError):
        Proof.parse(text.replace(old, new))


def test_a_batch_that_is_refused_changes_nothing() -> None:
    made = season()
    end, root = made.writer.end, made.writer.tree.root()
    with pytest.raises(OpenOutcryError):
        made.writer.append([made.records[1].members(), {"type": "rumour"}])
    assert (made.writer.end, made.writer.tree.root()) == (end, root)


def test_a_batch_can_be_undone() -> None:
    made = Season().start()
    made.publish()
    end, root, n_records = made.writer.end, made.writer.tree.root(), len(made.records)
    entry = {"type": "suspension", "agent_slug": "ada", "suspended": False, "reason": "", "at": AS_OF}
    first, second = made.writer.append([entry, entry]), made.writer.append([entry])
    with pytest.raises(OpenOutcryError, match="the last batch"):
        made.writer.undo(first)
    made.writer.undo(second)
    made.writer.undo(first)
    assert (made.writer.end, made.writer.tree.root(), len(made.writer.tree)) == (end, root, n_records)
    assert made.writer.append([entry]).records[0].text == first.records[0].text


def test_a_writer_continues_an_existing_log() -> None:
    made = season()
    hashes = b"".join(leaf_hash(record.text) for record in made.records)
    again = LogWriter(LOG_KEY, MerkleTree(hashes), made.records[-1].link)
    entry = {"type": "suspension", "agent_slug": "ada", "suspended": False, "reason": "", "at": AS_OF}
    assert again.append([entry]) == made.writer.append([entry])
    assert again.append([]).records == ()
    with pytest.raises(OpenOutcryError, match="`end` must match the size of the tree, 20"):
        LogWriter(LOG_KEY, MerkleTree(hashes), Link(19, HASH))


def test_a_receipt_contains_the_committed_decisions() -> None:
    made = Season().start()
    made.publish()
    receipt = made.submit([decision("KXA-26"), decision("KXB-26", 0.5, confidence=1)])
    verifier.check_receipt(receipt, verifier.parse_key(VKEY))
    assert receipt["record"] == members(made.records[-1].text)
    assert receipt["record"]["snapshot_sha256"] == hashlib.sha256(SNAPSHOT).hexdigest()
    assert sorted(receipt["record"]["commitments"]) == receipt["record"]["commitments"]
    assert {each["market_id"] for each in receipt["salts"]} == {"kalshi:KXA-26", "kalshi:KXB-26"}
