"""Signed notes, checkpoints and cosignatures, against the C2SP and RFC documents."""

from __future__ import annotations

import pytest
from arena_logs import LOG_KEY, OTHER_KEY, VKEY, WITNESS_KEY, WITNESS_VKEY
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.arena import verifier
from openoutcry.arena.log.signed_notes import (
    WITNESS,
    Checkpoint,
    Note,
    SignerKey,
    VerifierKey,
    encode_base64,
    open_checkpoint,
)
from openoutcry.openoutcry_py import OpenOutcryError

pytestmark = pytest.mark.once

# The example of Go's golang.org/x/mod/sumdb/note, the origin of C2SP's signed-note.
GO_SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)

# The samples of c2sp.org/signed-note and c2sp.org/tlog-cosignature, which have no keys.
C2SP_NOTE = """Ognuno sta solo sul cuor della terra
trafitto da un raggio di sole:

ed è subito sera.

— quasimodo.example/salvatore \
NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=
"""
C2SP_CHECKPOINT = """example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa \
Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 \
jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
"""

# RFC 8032, 7.1: secret key, public key, message and signature of TEST 1, 2, 3 and SHA(abc).
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_verifiers_ed25519_passes_the_rfc_8032_vectors(
    secret: str, public: str, message: str, signature: str
) -> None:
    assert SignerKey("x", bytes.fromhex(secret)).verifier.public.hex() == public
    key, text, given_ = bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature)
    assert verifier.is_signed(key, text, given_)
    assert not verifier.is_signed(key, text + b"x", given_)
    # The same scalar in non-canonical encoding: the group order added.
    s = int.from_bytes(given_[32:], "little") + verifier.ORDER
    assert not verifier.is_signed(key, text, given_[:32] + s.to_bytes(32, "little"))


@given(st.binary(min_size=32, max_size=32), st.text(max_size=50), st.integers(0, 63), st.integers(1, 255))
def test_a_signature_with_a_changed_byte_is_invalid(seed: bytes, text: str, place: int, change: int) -> None:
    key = SignerKey("a.example", seed)
    signature = bytearray(Note.parse(key.sign("x\n")).verify(key.verifier).signature)
    assert verifier.is_signed(key.verifier.public, b"x\n", bytes(signature))
    signature[place] ^= change
    assert not verifier.is_signed(key.verifier.public, b"x\n", bytes(signature))
    assert not key.verifier.verify("x\n", bytes(signature))


def test_bytes_that_are_not_a_curve_point_are_not_a_key() -> None:
    for public in (b"\xff" * 32, b"\x02" + bytes(31), b"\x01" + bytes(30) + b"\x80"):
        assert not verifier.is_signed(public, b"", bytes(64))
    assert not verifier.is_signed(LOG_KEY.verifier.public, b"", b"")


def test_keys_and_signatures_equal_those_of_the_go_reference() -> None:
    key = SignerKey.parse(GO_SKEY)
    assert str(key.verifier) == GO_VKEY
    assert key.private_text() == GO_SKEY
    assert key.sign(GO_TEXT) == f"{GO_TEXT}\n{GO_LINE}"
    assert VerifierKey.parse(GO_VKEY) == key.verifier
    verifier.check_signature(GO_TEXT, GO_LINE, verifier.parse_key(GO_VKEY))


def test_the_samples_of_c2sp_are_parsed() -> None:
    note = Note.parse(C2SP_NOTE)
    assert note.text.endswith("\ned è subito sera.\n")
    assert [(each.name, each.key_id.hex()) for each in note.signatures] == [("quasimodo.example/salvatore", "367ba04b")]
    note = Note.parse(C2SP_CHECKPOINT)
    found = Checkpoint.parse(note.text)
    assert (found.origin, found.size, found.text()) == ("example.com/behind-the-sofa", 20852163, note.text)
    name, key_id, signature = note.signatures[1]
    assert (name, key_id.hex(), len(signature)) == ("witness.example.com/w1", "8d66cf3f", 72)
    assert int.from_bytes(signature[:8], "big") == 1679315147


@pytest.mark.parametrize("vkey", [GO_VKEY, VKEY, WITNESS_VKEY])
def test_a_key_has_exactly_one_text(vkey: str) -> None:
    changed = [vkey[:place] + chr(ord(vkey[place]) + 1) + vkey[place + 1 :] for place in range(len(vkey))]
    for text in [*changed, vkey[1:], vkey[:-1], vkey + "\n", vkey + "=", "", "a+b", "a+b+c"]:
        with pytest.raises(OpenOutcryError):
            VerifierKey.parse(text)
        with pytest.raises(verifier.CheckError):
            verifier.parse_key(text)


def test_the_error_for_an_invalid_private_key_does_not_quote_it() -> None:
    for place in range(len(GO_SKEY)):
        text = GO_SKEY[:place] + chr(ord(GO_SKEY[place]) + 1) + GO_SKEY[place + 1 :]
        with pytest.raises(OpenOutcryError) as caught:
            SignerKey.parse(text)
        assert str(caught.value).endswith("received another text")
    with pytest.raises(OpenOutcryError, match="without spaces or plus signs"):
        SignerKey("two words", bytes(32))


CHECKPOINT = Checkpoint("arena.example/log", 7, bytes(range(32)))


def test_only_the_logs_key_opens_a_checkpoint() -> None:
    note = LOG_KEY.sign(CHECKPOINT.text())
    assert open_checkpoint(note, LOG_KEY.verifier) == CHECKPOINT
    assert verifier.open_checkpoint(note, verifier.parse_key(VKEY)) == (7, encode_base64(CHECKPOINT.root))
    foreign = SignerKey("another.example", bytes(32))
    for key in (OTHER_KEY, foreign):
        with pytest.raises(OpenOutcryError, match="a signature of"):
            open_checkpoint(note, key.verifier)
    # A checkpoint with another origin than the key's name is refused.
    with pytest.raises(OpenOutcryError, match=r"a checkpoint of another\.example"):
        open_checkpoint(foreign.sign(CHECKPOINT.text()), foreign.verifier)


def test_an_invalid_signature_of_a_known_key_refuses_the_note() -> None:
    text = CHECKPOINT.text()
    # The other key's signature under the first key's id.
    content = LOG_KEY.verifier.key_id + Note.parse(OTHER_KEY.sign(text)).signatures[0].signature
    forged = f"— arena.example/log {encode_base64(content)}\n"
    for note in (f"{text}\n{forged}", LOG_KEY.sign(text) + forged, f"{text}\n{forged}{LOG_KEY.line(text)}"):
        with pytest.raises(OpenOutcryError, match="over this text"):
            open_checkpoint(note, LOG_KEY.verifier)
        with pytest.raises(verifier.CheckError, match="over this text"):
            verifier.open_checkpoint(note, verifier.parse_key(VKEY))
    # Signatures of other keys are ignored.
    assert open_checkpoint(LOG_KEY.sign(text) + OTHER_KEY.line(text), LOG_KEY.verifier) == CHECKPOINT


def test_a_cosignature_covers_its_time() -> None:
    text = CHECKPOINT.text()
    line = WITNESS_KEY.line(text, 1_778_241_600)
    note = LOG_KEY.sign(text) + line
    assert open_checkpoint(note, LOG_KEY.verifier) == CHECKPOINT
    signature = Note.parse(note).verify(WITNESS_KEY.verifier).signature
    assert int.from_bytes(signature[:8], "big") == 1_778_241_600
    verifier.check_signature(text, line, verifier.parse_key(WITNESS_VKEY))
    later = (1_778_241_601).to_bytes(8, "big") + signature[8:]
    assert not WITNESS_KEY.verifier.verify(text, later)
    assert not WITNESS_KEY.verifier.verify(text, signature[8:])
    # The same key as a log key has another id, so the two kinds cannot be confused.
    same = SignerKey(WITNESS_KEY.verifier.name, bytes(range(2, 34)))
    assert same.verifier.kind != WITNESS
    with pytest.raises(OpenOutcryError, match="is required"):
        Note.parse(note).verify(same.verifier)
    for key, time in ((WITNESS_KEY, None), (LOG_KEY, 1)):
        with pytest.raises(OpenOutcryError, match="a witness must sign with a time"):
            key.line(text, time)


@pytest.mark.parametrize(
    "note",
    [
        "",
        "\n\n",
        "text\n",
        "text\n\n",
        "text\n\n— a AAAA\n",
        "text\n\n- a AAAAAAA=\n",
        "text\n\n— a AAAAAAB=\n",
        "a\tb\n\n— a AAAAAAA=\n",
        "text\n\n— a AAAAAAA=",
        "text\n\n— a  AAAAAAA=\n",
    ],
)
def test_an_invalid_note_is_refused(note: str) -> None:
    with pytest.raises(OpenOutcryError):
        Note.parse(note)
    with pytest.raises(verifier.CheckError):
        verifier.open_checkpoint(note, verifier.parse_key(VKEY))


ROOT = encode_base64(bytes(32))


@pytest.mark.parametrize(
    "text",
    ["a\n", "a\n1\n", f"\n1\n{ROOT}\n", f"a\n01\n{ROOT}\n", f"a\n-1\n{ROOT}\n", f"a\n1\n{ROOT[:-4]}\n", "a\n1\nAAAA\n"],
)
def test_an_invalid_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(OpenOutcryError):
        Checkpoint.parse(text)
    key = SignerKey("a", bytes(32))
    with pytest.raises(verifier.CheckError):
        verifier.open_checkpoint(key.sign(text), verifier.parse_key(str(key.verifier)))


def test_a_text_that_is_invalid_in_a_note_is_not_signed() -> None:
    for text in ("no end", "a bell\a\n"):
        with pytest.raises(OpenOutcryError):
            LOG_KEY.sign(text)
