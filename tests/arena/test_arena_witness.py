"""A witness cosigns consistent checkpoints and stores evidence of inconsistent ones (5.3)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("httpx")

import httpx
from arena_in_process import Floor, floor
from arena_logs import LOG_KEY, OTHER_KEY, VKEY, WITNESS_KEY, season
from arena_process import served
from command_line import typed

from openoutcry import OpenOutcryError
from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.log.signed_notes import Checkpoint, Note, VerifierKey, open_checkpoint
from openoutcry.arena.scoring import Parameters
from openoutcry.arena.season_export import export
from openoutcry.arena.server.server_settings import parse_witnesses
from openoutcry.arena.store.entry_writes import CloseDay
from openoutcry.arena.store.initialization import SetScoringRules
from openoutcry.arena.timestamps import DAY, day_of
from openoutcry.arena.witness import Misbehaviour, Witness

pytestmark = pytest.mark.once

NOW = 1_778_241_600_000_000
LINES = [record.text for record in season().records]


def log_of(*lines: bytes) -> LogWriter:
    made = LogWriter(LOG_KEY)
    made.tree.append(list(lines))
    return made


@dataclass
class Shown:
    """A server that shows any log, and records the posted cosignatures."""

    log: LogWriter
    checkpoint: str = ""
    proof: httpx.Response | None = None
    status: int = 200
    posted: list[bytes] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/registry/cosignatures":
            self.posted.append(request.content)
            return httpx.Response(self.status)
        if request.url.path == "/registry/vkey":
            return httpx.Response(200, text=f"{VKEY}\n")
        tree = self.log.tree
        if request.url.path == "/registry/checkpoint":
            reply = LOG_KEY.sign(Checkpoint("arena.example/log", len(tree), tree.root()).text())
            return httpx.Response(200, text=self.checkpoint or reply)
        if self.proof is not None:
            return self.proof
        old, new = int(request.url.params["from"]), int(request.url.params["to"])
        return httpx.Response(200, json={"proof": [each.hex() for each in tree.consistency(old, new)]})


def witness(folder: Path, shown: Shown) -> Witness:
    found = Witness(folder, "http://arena", transport=httpx.MockTransport(shown.answer))
    found.pin_log_key()
    return found


def test_a_growing_log_is_cosigned_each_time(tmp_path: Path) -> None:
    shown = Shown(log_of(*LINES[:7]))
    for size in (7, 7, 8, 13, 20):
        shown.log.tree.append(LINES[len(shown.log.tree) : size])
        found = witness(tmp_path, shown)
        seen = found.cosign(NOW)
        assert seen.size == size
        assert shown.posted[-1].decode() == seen.note
        assert open_checkpoint(seen.note, LOG_KEY.verifier).root == log_of(*LINES[:size]).tree.root()
        signature = Note.parse(seen.note).verify(found.key.verifier).signature
        assert int.from_bytes(signature[:8], "big") == NOW // 1_000_000
        assert seen.note.startswith((tmp_path / "checkpoint").read_text())
        assert (tmp_path / "cosigned").read_text() == seen.note
    assert not (tmp_path / "evidence").exists()


OTHER = [*LINES[:5], LINES[0], *LINES[6:]]
DEEP = httpx.Response(200, text="[" * 100_000)
BROKEN = httpx.Response(200, json={"proof": ["00" * 32]})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda shown: setattr(shown, "log", log_of(*OTHER[:10])), "two roots at size 10"),
        (lambda shown: setattr(shown, "log", log_of(*LINES[:9])), "shrank from size 10 to 9"),
        (lambda shown: setattr(shown, "log", log_of()), "shrank from size 10 to 0"),
        (lambda shown: setattr(shown, "log", log_of(*OTHER[:20])), "no valid proof"),
        (lambda shown: (shown.log.tree.append(LINES[10:]), setattr(shown, "proof", BROKEN)), "no valid proof"),
        (
            lambda shown: (shown.log.tree.append(LINES[10:]), setattr(shown, "proof", httpx.Response(400, text="no"))),
            "no valid proof",
        ),
        (
            lambda shown: (shown.log.tree.append(LINES[10:]), setattr(shown, "proof", httpx.Response(200, json=[]))),
            "no valid proof",
        ),
        (lambda shown: (shown.log.tree.append(LINES[10:]), setattr(shown, "proof", DEEP)), "no valid proof"),
        (
            lambda shown: (shown.log.tree.append(LINES[10:]), setattr(shown, "proof", httpx.Response(404, text="no"))),
            "no valid proof",
        ),
    ],
)
def test_a_rewritten_log_is_refused_and_evidence_is_stored(
    change: Callable[[Shown], object], why: str, tmp_path: Path
) -> None:
    """The log's key has signed both checkpoints of the evidence."""
    shown = Shown(log_of(*LINES[:10]))
    witness(tmp_path, shown).cosign(NOW)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    change(shown)
    for _ in range(2):
        with pytest.raises(Misbehaviour, match=why) as caught:
            witness(tmp_path, shown).cosign(NOW)
    assert len(shown.posted) == 1, "nothing more was signed"
    assert {path: path.read_bytes() for path in before} == before
    kept, received = (
        open_checkpoint((caught.value.evidence / name).read_text(), LOG_KEY.verifier) for name in ("kept", "received")
    )
    assert (kept.size, kept.root) == (10, log_of(*LINES[:10]).tree.root())
    assert (received.size, received.root) == (len(shown.log.tree), shown.log.tree.root())
    assert json.loads((caught.value.evidence / "proof.json").read_text()) is not None


@pytest.mark.parametrize(
    "note",
    [
        OTHER_KEY.sign(Checkpoint("arena.example/log", 3, bytes(32)).text()),
        LOG_KEY.sign(Checkpoint("another.example/log", 3, bytes(32)).text()),
        "arena.example/log\n3\n",
        "x" * 1_000_001,
        LOG_KEY.sign(Checkpoint("arena.example/log", 0, bytes(32)).text()),
    ],
    ids=["another key", "another origin", "no note", "too long", "an empty log"],
)
def test_an_invalid_checkpoint_is_not_signed(note: str, tmp_path: Path) -> None:
    shown = Shown(log_of(*LINES[:10]), checkpoint=note)
    with pytest.raises(OpenOutcryError):
        witness(tmp_path, shown).cosign(NOW)
    assert shown.posted == []
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_temporary_failure_is_no_evidence_and_signs_nothing(status: int, tmp_path: Path) -> None:
    """A rate limit or a server error says nothing about the log."""
    shown = Shown(log_of(*LINES[:10]))
    witness(tmp_path, shown).cosign(NOW)
    shown.log.tree.append(LINES[10:])
    shown.proof = httpx.Response(status, text="<html>")
    with pytest.raises(httpx.HTTPStatusError):
        witness(tmp_path, shown).cosign(NOW)
    assert not (tmp_path / "evidence").exists()
    shown.proof = None
    assert witness(tmp_path, shown).cosign(NOW).size == len(LINES)


def test_a_signed_checkpoint_is_stored_even_if_the_log_rejects_it(tmp_path: Path) -> None:
    shown = Shown(log_of(*LINES[:10]), status=503)
    seen = witness(tmp_path, shown).cosign(NOW)
    assert (seen.size, seen.rejection) == (10, "a response of an Arena is required; received status 503")
    assert (tmp_path / "cosigned").read_text() == seen.note
    shown.log = log_of(*OTHER[:10])
    with pytest.raises(Misbehaviour):
        witness(tmp_path, shown).cosign(NOW)
    shown.log, shown.proof = log_of(*LINES), httpx.Response(500)
    with pytest.raises(httpx.HTTPError):
        witness(tmp_path, shown).cosign(NOW)
    shown.proof, shown.status = None, 200
    assert witness(tmp_path, shown).cosign(NOW).size == 20


def test_two_processes_with_one_key_cannot_sign_two_histories(tmp_path: Path) -> None:
    """Each sees a different log of the same size; the second one detects the first."""
    shown = Shown(log_of(*LINES[:7]))
    witness(tmp_path, shown).cosign(NOW)
    both = [Shown(log_of(*LINES[:10])), Shown(log_of(*LINES[:7], *OTHER[5:8]))]

    def cosign(each: Shown) -> bool:
        try:
            witness(tmp_path, each).cosign(NOW)
        except Misbehaviour:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(cosign, both)) == [False, True]
    assert sorted(len(each.posted) for each in both) == [0, 1]


def test_the_key_of_a_log_is_pinned_at_first_use(tmp_path: Path) -> None:
    found = witness(tmp_path, Shown(log_of(*LINES[:10])))
    with pytest.raises(OpenOutcryError, match="the key of the witnessed log"):
        found.pin_log_key(str(OTHER_KEY.verifier))
    found.pin_log_key(VKEY)
    assert found.log == LOG_KEY.verifier
    assert ((tmp_path / "witness.key").stat().st_mode & 0o777) == 0o600


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    with floor(tmp_path / "arena", witnesses=(WITNESS_KEY.verifier,)) as found:
        found.publish()
        yield found


def cosigned(ground: Floor) -> str:
    note = ground.arena.writer.checkpoint
    return note + WITNESS_KEY.line(Note.parse(note).text, NOW // 1_000_000)


def faults(folder: Path, key: VerifierKey) -> set[str]:
    """Return the files in which both verifiers find a fault, with a required witness."""
    alone = verifier.Export(folder)
    alone.check(None, [str(key)])
    assert {each.file for each in audit(folder, None, [str(key)])} == {each.file for each in alone.faults}
    return {each.file for each in alone.faults}


def test_an_export_is_verified_against_a_cosigned_checkpoint(ground: Floor, tmp_path: Path) -> None:
    """A witness may lag behind the log, but by less than a day."""
    path = f"/registry/cosignatures/{WITNESS_KEY.verifier.key_id.hex()}"
    assert ground.client.get(path).status_code == 404
    export(ground.arena, tmp_path / "none", ground.clock[0])
    assert faults(tmp_path / "none", WITNESS_KEY.verifier) == {"cosignatures"}
    old = cosigned(ground)
    answer = ground.client.post("/registry/cosignatures", content=old.encode())
    assert (answer.status_code, answer.json()) == (200, {"tree_size": 3})
    assert ground.client.get(path).text == old
    ground.register("one")
    export(ground.arena, tmp_path / "behind", ground.clock[0])
    assert faults(tmp_path / "behind", WITNESS_KEY.verifier) == set()
    ground.clock[0] += DAY
    ground.arena.writer.write(CloseDay(day_of(ground.clock[0] - DAY), ground.clock[0]))
    export(ground.arena, tmp_path / "a-day", ground.clock[0])
    assert faults(tmp_path / "a-day", WITNESS_KEY.verifier) == {"cosignatures"}
    assert ground.client.post("/registry/cosignatures", content=cosigned(ground).encode()).status_code == 200
    export(ground.arena, tmp_path / "again", ground.clock[0])
    assert faults(tmp_path / "again", WITNESS_KEY.verifier) == set()
    # An older checkpoint is accepted, but does not replace the newest.
    assert ground.client.post("/registry/cosignatures", content=old.encode()).status_code == 200
    assert ground.client.get(path).text == cosigned(ground)


def forwarding(ground: Floor) -> Callable[[httpx.Request], httpx.Response]:
    """Return an httpx handler that forwards requests to the floor's server."""

    def forward(request: httpx.Request) -> httpx.Response:
        answer = ground.client.request(request.method, request.url.raw_path.decode(), content=request.content)
        return httpx.Response(answer.status_code, content=answer.content, request=request)

    return forward


def test_a_witness_follows_a_log_that_is_loaded_from_tiles(tmp_path: Path) -> None:
    """A restarted server has no leaves of full tiles in memory."""
    seen = []
    for n_records in (100, 300):
        with floor(tmp_path / "arena") as ground:
            while ground.arena.writer.log.end.seq < n_records:
                ground.arena.writer.write(SetScoringRules("1", Parameters().to_record(), b"[]", ground.clock[0]))
        with floor(tmp_path / "arena") as ground:
            found = Witness(tmp_path / "witness", "http://arena", transport=httpx.MockTransport(forwarding(ground)))
            found.pin_log_key()
            assert found.cosign(NOW).rejection.startswith(
                "bad_auth: a cosignature of a known witness (none) is required"
            )
            seen.append(int((tmp_path / "witness" / "checkpoint").read_text().split("\n")[1]))
    assert seen == [100, 300]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (lambda note: note.rpartition("— ")[0], 401, "bad_auth"),
        (lambda note: note[:-12] + "AAAAAAAAAA==", 400, "invalid_payload"),
        (lambda note: note.replace("\n3\n", "\n2\n"), 400, "invalid_payload"),
        (lambda note: OTHER_KEY.sign(Note.parse(note).text), 400, "invalid_payload"),
        (lambda note: "", 400, "invalid_payload"),
        (lambda note: note + "x" * 10_000, 413, "payload_too_large"),
        (lambda note: "\udcff", 400, "invalid_payload"),
    ],
)
def test_an_unknown_or_foreign_cosignature_is_refused(
    change: Callable[[str], str], status: int, code: str, ground: Floor
) -> None:
    #
    body = change(cosigned(ground)).encode("utf-8", "surrogateescape")
    answer = ground.client.post("/registry/cosignatures", content=body)
    assert (answer.status_code, answer.json()["error"]) == (status, code), answer.text
    assert not (ground.arena.folder / "cosignatures").exists()


def test_a_log_key_is_no_witness_key() -> None:
    assert parse_witnesses((str(WITNESS_KEY.verifier),)) == (WITNESS_KEY.verifier,)
    with pytest.raises(OpenOutcryError, match="keys of witnesses are required"):
        parse_witnesses((VKEY,))


def test_a_witness_detects_a_rolled_back_log(tmp_path: Path) -> None:
    """By the command: key, cosignature, export, verification, and a rollback with exit code 1."""
    words = ("arena", "witness", "http://127.0.0.1:1", "--once", "--name", "witness.example/w1")
    nobody = typed(*words, cwd=tmp_path)
    assert (nobody.returncode, nobody.stderr.startswith("error: an Arena server")) == (2, True)
    key = nobody.stdout.removeprefix("key of the witness: ").strip()
    with served(tmp_path, "--witness", key) as url:
        done = typed("arena", "witness", url, "--once", cwd=tmp_path)
        assert re.fullmatch(rf"key of the witness: {re.escape(key)}\ncosigned: \d records\n", done.stdout), done.stderr
        looking = [sys.executable, "-m", "openoutcry", "arena", "witness", url, "--every", "1"]
        with subprocess.Popen(looking, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert [process.stdout.readline().split(":")[0] for _ in range(3)][1:] == ["cosigned"] * 2
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0, "an interrupt is not a finding"
        saved = typed("arena", "backup", "saved", cwd=tmp_path)
        assert re.fullmatch(r"backed up: \d records to saved; .*\n", saved.stdout), saved.stderr
        assert typed("arena", "register", "one", "--url", url, cwd=tmp_path).returncode == 0
        assert typed("arena", "witness", url, "--once", cwd=tmp_path).returncode == 0
        typed("arena", "export", "season", cwd=tmp_path)
        words = ("arena", "verify", "season", "--witness", key, "--recompute-scores")
        checked = typed(*words, cwd=tmp_path)
        assert (checked.returncode, checked.stdout) == (0, "ok\n"), checked.stdout
    with served(tmp_path, "--witness", key, data="saved") as url:
        caught = typed("arena", "witness", url, "--once", cwd=tmp_path)
        assert caught.returncode == 1
        other = typed("arena", "witness", url, "--once", "--dir", "other", cwd=tmp_path)
        assert other.returncode == 3, "signed, but the server does not know its key"
        reply = r"cosigned: \d records; the log rejected it: bad_auth: a cosignature of a known witness .*\n"
        assert re.fullmatch(reply, other.stderr), other.stderr
        assert Note.parse((tmp_path / "other" / "cosigned").read_text())
        renamed = typed("arena", "witness", url, "--once", "--name", "another", cwd=tmp_path)
        assert (renamed.returncode, renamed.stdout) == (2, "")
        wanted = "'witness.example/w1', the name of the key in 'witness', or another folder is required"
        assert renamed.stderr == f"error: argument_invalid: {wanted}; received 'another'\n"
        # Shrunk, or another root if a snapshot was published meanwhile.
        assert re.match(r"MISBEHAVIOUR: .*; both checkpoints are in 'witness/evidence/", caught.stderr)
