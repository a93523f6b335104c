"""Both verifiers accept a valid export and locate every change of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from arena_logs import (
    LOG_KEY,
    OTHER_KEY,
    SNAPSHOT,
    VKEY,
    WITNESS_VKEY,
    Place,
    Season,
    decision,
    fault_places,
    members,
    re_signed,
    season,
    verifier_faults,
    write,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.log.log_records import canonical
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.log.signed_notes import encode_base64

pytestmark = pytest.mark.once

FILES = season().files()
EACH = 1 if os.environ.get("OPENOUTCRY_FULL") else 5


def test_a_valid_export_has_no_fault(tmp_path: Path) -> None:
    folder = write(tmp_path, FILES)
    assert fault_places(folder) == fault_places(folder, None) == set()


@pytest.mark.parametrize("name", FILES)
def test_a_byte_changed_anywhere_is_found_by_both(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, content = write(tmp_path, FILES), FILES[name]
    # Most changes leave the checkpoint unchanged; verifying its signature is slow.
    monkeypatch.setattr(verifier, "is_signed", cache(verifier.is_signed))
    # Every byte in a full run; otherwise the first 200 and then every fifth.
    for place in sorted({*range(min(200, len(content))), *range(0, len(content), EACH)}):
        changed = bytearray(content)
        changed[place] ^= 1
        (folder / name).write_bytes(changed)
        assert audit(folder, VKEY, [WITNESS_VKEY]), (name, place)
        assert verifier_faults(folder), (name, place)
    (folder / name).write_bytes(content)
    assert fault_places(folder) == set()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_both_find_a_change_in_the_same_places(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    content = bytearray(FILES[name])
    place = data.draw(st.integers(0, len(content) - 1))
    content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3) | st.sampled_from([b"\n"]))
    folder = write(tmp_path_factory.mktemp("export"), {**FILES, name: bytes(content)})
    assert bool(fault_places(folder)) is (bytes(content) != FILES[name])


MARKET = st.sampled_from([f"KX{letter}-26" for letter in "ABCDEFGH"])
DECISIONS = st.lists(
    st.builds(
        decision,
        MARKET,
        st.floats(0, 1),
        confidence=st.none() | st.floats(0, 1),
        reasoning=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda each: each["market_id"],
)
ACTS: list[Callable[[Season, Any], object]] = [
    lambda made, decisions: made.submit(decisions),
    lambda made, _: made.end_day(),
    lambda made, _: made.register(f"agent-{len(made.records)}"),
    lambda made, _: made.resolve("kalshi:KXZ-26"),
    lambda made, _: made.publish(f"2026-05-08T13:{len(made.records) % 60:02}:00Z", SNAPSHOT),
    lambda made, _: made.score(),
    lambda made, _: made.suspend(),
]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTS), DECISIONS), max_size=25))
def test_both_accept_every_log_of_the_writer(tmp_path_factory: pytest.TempPathFactory, acts: list[Any]) -> None:
    made = Season().start()
    made.publish()
    for act, decisions in acts:
        act(made, decisions)
    assert fault_places(made.export(tmp_path_factory.mktemp("export"))) == set()


@pytest.mark.parametrize("status", ["finalized", "determined", "void"])
def test_a_decision_after_its_result_is_found_when_revealed(status: str, tmp_path: Path) -> None:
    #
    """Independent of its stated time of receipt."""
    made = Season().start()
    made.publish()
    made.submit([decision("KXA-26", 0.5)])
    made.resolve("kalshi:KXA-26", None if status == "void" else "yes", status)
    made.submit([decision("KXB-26", 0.5)])
    assert fault_places(made.export(tmp_path / "honest")) == set()
    made.submit([decision("KXB-26", 0.5), decision("KXA-26", 1.0)])
    assert fault_places(made.export(tmp_path / "late")) == {("reveals.jsonl", 2)}


LINES = FILES["log.jsonl"].splitlines()


def relinked(lines: Sequence[bytes]) -> list[bytes]:
    """Return records with recomputed `seq` and `prev_sha256`, as by a dishonest operator."""
    writer = LogWriter(LOG_KEY)
    return [
        writer.append([{name: each for name, each in members(line).items() if name not in ("seq", "prev_sha256", "v")}])
        .records[0]
        .text
        for line in lines
    ]


def test_reordered_dropped_or_repeated_records_in_a_signed_log_are_found(tmp_path: Path) -> None:
    moved = [*LINES[:5], LINES[6], LINES[5], *LINES[7:]]
    assert ("log.jsonl", 5) in fault_places(write(tmp_path / "moved", re_signed(FILES, moved)))
    dropped = [*LINES[:9], *LINES[10:]]
    assert ("log.jsonl", 9) in fault_places(write(tmp_path / "dropped", re_signed(FILES, dropped)))
    repeated = [*LINES[:9], *LINES[8:]]
    assert ("log.jsonl", 9) in fault_places(write(tmp_path / "repeated", re_signed(FILES, repeated)))


def test_a_truncated_log_is_found(tmp_path: Path) -> None:
    cut = {**FILES, "log.jsonl": b"".join(line + b"\n" for line in LINES[:-3])}
    found = fault_places(write(tmp_path, cut))
    assert {("checkpoint", None), ("reveals.jsonl", 6)} <= found


def test_a_rewritten_log_is_found_with_a_saved_checkpoint(tmp_path: Path) -> None:
    lines = relinked([*LINES[:8], *LINES[9:]])
    assert [members(line)["seq"] for line in lines] == list(range(19))
    old, new = write(tmp_path / "old", FILES), write(tmp_path / "new", re_signed(FILES, lines))
    saved = tmp_path / "kept"
    saved.write_bytes(FILES["checkpoint"])
    assert verifier.main(["consistency", str(saved), str(old), "--vkey", VKEY]) == 0
    assert verifier.main(["consistency", str(saved), str(new), "--vkey", VKEY]) == 1


def test_a_split_view_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = season()
    # Two roots for one size, both signed by the log.
    other = LogWriter(LOG_KEY)
    other.tree.append([*LINES[:-1], LINES[0]])
    text = f"arena.example/log\n20\n{encode_base64(other.tree.root())}\n"
    saved = tmp_path / "kept"
    saved.write_text(LOG_KEY.sign(text), encoding="utf-8")
    folder = made.export(tmp_path / "export")
    assert verifier.main(["consistency", str(saved), str(folder)]) == 1
    assert "`root at size 20` must be" in capsys.readouterr().out


def test_the_log_extends_every_earlier_checkpoint(tmp_path: Path) -> None:
    folder, writer = write(tmp_path, FILES), LogWriter(LOG_KEY)
    export = verifier.Export(folder)
    for size, line in enumerate(LINES, 1):
        writer.tree.append([line])
        text = f"arena.example/log\n{size}\n{encode_base64(writer.tree.root())}\n"
        verifier.check_consistency(export, LOG_KEY.sign(text), verifier.parse_key(VKEY))
        for wrong in (OTHER_KEY.sign(text), LOG_KEY.sign(text.replace(f"\n{size}\n", f"\n{size + 1}\n"))):
            with pytest.raises(verifier.CheckError):
                verifier.check_consistency(export, wrong, verifier.parse_key(VKEY))


def changed(line: int, **change: Any) -> dict[str, bytes]:
    """Return the export with a changed record, and all later records relinked and signed."""
    writer, lines = LogWriter(LOG_KEY), []
    for number, each in enumerate(LINES):
        record = {**members(each), "prev_sha256": writer.end.sha256}
        record |= change if number == line else {}
        text = canonical(record).encode()
        lines.append(text)
        writer.end = writer.end._replace(sha256=verifier.sha256(text).hexdigest())
    return re_signed(FILES, lines)


@pytest.mark.parametrize(
    ("line", "change", "found"),
    [
        (7, {"head_sha256": "0" * 64}, ("log.jsonl", 7)),
        (7, {"root": encode_base64(bytes(32))}, ("log.jsonl", 7)),
        (7, {"tree_size": 6}, ("log.jsonl", 7)),
        (7, {"tree_size": 0}, ("log.jsonl", 7)),
        (7, {"tree_size": 8}, ("log.jsonl", 7)),
        (7, {"tree_size": True}, ("log.jsonl", 7)),
        (3, {"sha256": "0" * 64}, ("snapshots/2026-05-08T12-00-00Z.json", None)),
        (3, {"as_of": "2026-05-08T12:50:00Z"}, ("snapshots/2026-05-08T12-00-00Z.json", None)),
        (12, {"as_of": "2026-05-08T12:00:00Z"}, ("log.jsonl", 12)),
        (4, {"base_rates_sha256": "0" * 64}, ("base_rates.json", None)),
        (0, {"origin": "another.example"}, ("checkpoint", None)),
        (0, {"vkey": str(OTHER_KEY.verifier)}, ("checkpoint", None)),
        (0, {"type": "agent"}, ("log.jsonl", 0)),
        (9, {"type": "log"}, ("log.jsonl", 9)),
        (9, {"snapshot_as_of": "2026-05-08T12:10:00Z"}, ("log.jsonl", 9)),
        (9, {"snapshot_sha256": None}, ("log.jsonl", 9)),
        (9, {"submission_id": f"01{0:024}"}, ("log.jsonl", 9)),
        (9, {"submission_id": 7}, ("log.jsonl", 9)),
        (9, {"commitments": ["1" * 64]}, ("reveals.jsonl", 2)),
        (9, {"commitments": ["1" * 64, "0" * 64]}, ("log.jsonl", 9)),
        (9, {"commitments": []}, ("log.jsonl", 9)),
        (9, {"commitments": {}}, ("log.jsonl", 9)),
        (9, {"commitments": [1]}, ("log.jsonl", 9)),
        (9, {"v": 2}, ("log.jsonl", 9)),
        (9, {"v": True}, ("log.jsonl", 9)),
        (9, {"seq": 10}, ("log.jsonl", 9)),
        (9, {"prev_sha256": "0" * 64}, ("log.jsonl", 9)),
        (9, {"note": "x" * 65_535}, ("log.jsonl", 9)),
        (9, {"note": 1.5}, ("log.jsonl", 9)),
    ],
    ids=str,
)
def test_a_false_record_in_a_signed_log_is_found(line: int, change: Any, found: Place, tmp_path: Path) -> None:
    assert found in fault_places(write(tmp_path, changed(line, **change)), None)


def test_an_unknown_record_type_is_not_a_fault(tmp_path: Path) -> None:
    assert fault_places(write(tmp_path, changed(18, type="rumour"))) == {("cosignatures", None)}


def reveals(change: Callable[[list[Any]], object]) -> dict[str, bytes]:
    lines = [json.loads(line) for line in FILES["reveals.jsonl"].splitlines()]
    change(lines)
    return {**FILES, "reveals.jsonl": "".join(canonical(line) + "\n" for line in lines).encode()}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: lines[1]["opened"].append(lines[0]["opened"][0]), 1),
        (lambda lines: lines[1]["opened"].append(lines[1]["opened"][0]), 1),
        (lambda lines: lines[1]["opened"].append("x"), 1),
        (lambda lines: lines[2]["opened"][0].update(yes_probability="0.96"), 2),
        (lambda lines: lines[2].update(opened={}), 2),
        (lambda lines: lines[2].update(note="x"), 2),
        (lambda lines: lines[2].pop("opened"), 2),
        (lambda lines: lines.reverse(), 0),
        (lambda lines: lines.pop(3), 3),
        (lambda lines: lines.pop(), 6),
        (lambda lines: lines.append(lines[-1]), 7),
        (lambda lines: lines.clear(), 0),
    ],
)
def test_an_uncommitted_reveal_is_found(change: Callable[[list[Any]], object], line: int, tmp_path: Path) -> None:
    assert ("reveals.jsonl", line) in fault_places(write(tmp_path, reveals(change)))


def test_an_unrevealed_decision_is_not_a_fault(tmp_path: Path) -> None:
    hidden = reveals(lambda lines: [line.update(opened=line["opened"][:-1]) for line in lines])
    assert fault_places(write(tmp_path, hidden)) == set()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_found(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path, FILES)
    (folder / name).unlink()
    assert fault_places(folder)


def test_cosignatures_as_a_file_are_a_fault_without_a_crash(tmp_path: Path) -> None:
    saved = {name: content for name, content in FILES.items() if not name.startswith("cosignatures/")}
    assert fault_places(write(tmp_path, {**saved, "cosignatures": b""})) == {("cosignatures", None)}


def test_a_snapshot_missing_from_the_log_is_found(tmp_path: Path) -> None:
    name = "snapshots/2026-05-08T12-20-00Z.json"
    assert fault_places(write(tmp_path, {**FILES, name: SNAPSHOT})) == {(name, None)}


def test_an_export_signed_by_another_key_is_found(tmp_path: Path) -> None:
    folder = write(tmp_path, FILES)
    assert {file for file, _ in fault_places(folder, str(OTHER_KEY.verifier))} == {"vkey", "checkpoint", "cosignatures"}


def command(*words: object) -> tuple[int, str]:
    """Run the verifier as a single file, with only the standard library on the path."""
    line = [sys.executable, "-I", "-S", *map(str, words)]
    ran = subprocess.run(line, capture_output=True, text=True, encoding="utf-8")
    return ran.returncode, ran.stdout + ran.stderr


def test_the_standalone_file_verifies_an_export_and_names_the_record(tmp_path: Path) -> None:
    alone = shutil.copy(verifier.__file__, tmp_path / "v.py")
    folder = write(tmp_path / "export", FILES)
    assert command(alone, "export", folder, "--vkey", VKEY, "--witness", WITNESS_VKEY) == (0, "ok\n")
    line = LINES[6].replace(b"eve-2", b"eve-3")
    (folder / "log.jsonl").write_bytes(FILES["log.jsonl"].replace(LINES[6], line))
    code, text = command(alone, "export", folder, "--all")
    assert code == 1
    first, second = text.splitlines()[:2]
    assert first.startswith("log.jsonl:8, record 7: `prev_sha256` must be ")
    assert second.startswith("checkpoint: `size and root` must be ")
    assert command(alone, "export", folder) == (1, first + "\n")


def test_the_standalone_file_verifies_a_receipt(tmp_path: Path) -> None:
    alone = shutil.copy(verifier.__file__, tmp_path / "v.py")
    made = season()
    receipt = made.submit([decision("KXZ-26"), decision("KXY-26", 0.7, reasoning="é")])
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt, indent=2), encoding="utf-8")
    assert command(alone, "receipt", file, "--vkey", VKEY) == (0, "ok\n")
    assert command(alone, "receipt", file, "--vkey", OTHER_KEY.verifier)[0] == 1
    assert command(alone, "receipt", file)[0] == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda receipt: receipt["record"].update(received_at="2026-05-08T11:00:00Z"),
        lambda receipt: receipt["salts"][0].update(yes_probability="0.05"),
        lambda receipt: receipt["salts"].pop(),
        lambda receipt: receipt["salts"].append(receipt["salts"][0]),
        lambda receipt: receipt["proof"].pop(),
        lambda receipt: receipt["proof"].reverse(),
        lambda receipt: receipt.update(leaf_index=3),
        lambda receipt: receipt.update(tree_size=22),
        lambda receipt: receipt.pop("proof"),
        lambda receipt: receipt.update(checkpoint="x"),
        lambda receipt: receipt.update(record=[]),
        lambda receipt: receipt["record"].update(seq=10**30),
        lambda receipt: receipt["record"].update(extra=1.5),
    ],
)
def test_a_changed_receipt_is_refused(change: Callable[[Any], object], tmp_path: Path) -> None:
    receipt = season().submit([decision("KXZ-26"), decision("KXY-26", 0.7)])
    change(receipt)
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt), encoding="utf-8")
    assert verifier.main(["receipt", str(file), "--vkey", VKEY]) == 1


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\n", b"[" * 100_000 + b"\n", b"null\n", b'{"a":1}\n', b"1" * 9999]
)
def test_an_invalid_log_is_found_without_a_crash(content: bytes, tmp_path: Path) -> None:
    assert fault_places(write(tmp_path, {**FILES, "log.jsonl": content}))


def test_the_verifier_imports_only_the_standard_library() -> None:
    code, text = command(
        "-c", f"import sys; sys.path.insert(0, {str(Path(verifier.__file__).parent)!r}); import verifier"
    )
    assert (code, text) == (0, "")
