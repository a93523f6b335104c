"""For every fault in a receipt or export, both verifiers print one line: what is required, and what was received."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from arena_logs import FOREIGN_KEYS, VKEY, WITNESS_VKEY, canonical, decision, season, write

from openoutcry.arena import rescoring, verifier
from openoutcry.arena.log.export_audit import audit

pytestmark = pytest.mark.once

PYTHON_WORDS = re.compile(
    r"[A-Z]\w+Error|Errno|Traceback|\bindices\b|codec|literal|NoneType|hexadecimal|Expecting|bytes-like"
    r"|\b(None|True|False|str|int|dict)\b|b'|\{'|argument_invalid"
)
"""Python words and reprs, which must not appear in messages."""
ERROR_FORM = re.compile(r"required\b.*; received |must (be|come|end|hold|not)\b")
VALUES: list[Any] = [None, 1, "x", [], {}, 1.5, True, [1], "é\n", -1, 10**30, {"a": 1}, "\ud800"]
FILES = season().files()
EACH = 1 if os.environ.get("OPENOUTCRY_FULL") else 11


def check_lines(lines: str) -> list[str]:
    """Return the lines, and assert that each has the form of an error message without Python words."""
    found = lines.splitlines()
    for line in found:
        assert line == "ok" or ERROR_FORM.search(line), line
        assert not PYTHON_WORDS.search(line), line
    return found


def changes(value: Any) -> Iterator[Any]:
    """Yield variants of a value with one part replaced or removed."""
    for new in VALUES:
        yield new
    for name in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        without = copy.deepcopy(value)
        del without[name]
        yield without
        for new in changes(value[name]):
            changed = copy.deepcopy(value)
            changed[name] = new
            yield changed


def run_verifier(capsys: pytest.CaptureFixture[str], *words: object) -> list[str]:
    """Run the standalone verifier and return the lines that it prints."""
    code = verifier.main([str(word) for word in words])
    found = check_lines(capsys.readouterr().out)
    assert (found == ["ok"]) is (code == 0)
    return found


def test_a_malformed_receipt_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = season().submit([decision("KXZ-26"), decision("KXY-26", 0.7)])
    file, whole = tmp_path / "receipt.json", json.dumps(receipt).encode()
    contents = [json.dumps(each).encode() for each in changes(receipt)]
    contents += [whole[:size] for size in range(0, len(whole), 97)]
    contents += [b"\xff", b"[" * 100_000, b'{"a":NaN}', b"", b"null"]
    for content in contents:
        file.write_bytes(content)
        (line,) = run_verifier(capsys, "receipt", file, "--vkey", VKEY)
        assert line == "ok" or line.startswith(f"{file}: ")
    file.write_bytes(whole)
    assert run_verifier(capsys, "receipt", file, "--vkey", VKEY) == ["ok"]
    for key in FOREIGN_KEYS:
        (line,) = run_verifier(capsys, "receipt", file, "--vkey", key)
        assert "a key `NAME+ID+KEY` is required" in line or "base64" in line
    assert (
        "a complete UTF-8 file is required; received No such file"
        in run_verifier(capsys, "receipt", tmp_path / "none", "--vkey", VKEY)[0]
    )
    assert "Is a directory" in run_verifier(capsys, "receipt", tmp_path, "--vkey", VKEY)[0]


def run_both(
    folder: Path, capsys: pytest.CaptureFixture[str], vkey: str = VKEY, witness: str = WITNESS_VKEY
) -> list[str]:
    """Return the standalone verifier's lines for an export, and assert that the package agrees."""
    by_package = check_lines("\n".join(map(str, audit(folder, vkey, [witness]))))
    by_file = run_verifier(capsys, "export", folder, "--vkey", vkey, "--witness", witness, "--all")
    assert (by_file == ["ok"]) is (by_package == [])
    return by_file


@pytest.mark.parametrize("name", FILES)
def test_a_missing_or_truncated_or_replaced_file_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path, FILES)
    (folder / name).unlink()
    place = name.split("/")[0] if name.startswith("cosignatures") else name
    assert any(line.startswith(f"{place}: ") and "No such file" in line for line in run_both(folder, capsys))
    (folder / name).mkdir()
    assert any(line.startswith(f"{place}: ") and "Is a directory" in line for line in run_both(folder, capsys))
    (folder / name).rmdir()
    whole = FILES[name]
    for content in (b"", b"\xff", b"x", b"\n", whole[: len(whole) // 2], whole[:-1], whole + b"x", whole + b"\n"):
        (folder / name).write_bytes(content)
        # An empty log has no line to name.
        wanted = place if content else ("checkpoint", place)
        assert any(line.startswith(wanted) for line in run_both(folder, capsys)), content[:20]


@pytest.mark.parametrize("name", ["log.jsonl", "reveals.jsonl"])
def test_a_malformed_line_is_reported_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # These faults do not concern signatures, whose verification is slow.
    monkeypatch.setattr(verifier, "is_signed", lambda *_: True)
    folder, lines = write(tmp_path, FILES), FILES[name].splitlines()
    every = [(place, each) for place, line in enumerate(lines[:10]) for each in changes(json.loads(line))]
    for place, changed in every[::EACH]:
        try:
            line = canonical(changed).encode()
        except Exception:  # noqa: BLE001 a value that a log cannot hold
            line = json.dumps(changed).encode()
        (folder / name).write_bytes(b"".join(each + b"\n" for each in [*lines[:place], line, *lines[place + 1 :]]))
        run_both(folder, capsys)


def test_an_invalid_time_is_reported_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The time is also part of a file name."""
    folder, lines = write(tmp_path, FILES), FILES["log.jsonl"].splitlines()
    place = next(place for place, line in enumerate(lines) if b'"type":"snapshot"' in line)
    made = canonical(json.loads(lines[place]) | {"as_of": "\u2028one\ntwo\u00e9"}).encode()
    (folder / "log.jsonl").write_bytes(b"".join(each + b"\n" for each in [*lines[:place], made, *lines[place + 1 :]]))
    assert any("\\u2028one\\ntwo" in line for line in run_both(folder, capsys))


def test_faults_of_a_saved_checkpoint_name_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, saved, whole = write(tmp_path / "export", FILES), tmp_path / "kept", FILES["checkpoint"]
    assert run_verifier(capsys, "consistency", tmp_path / "none", folder)[0].startswith(
        f"{tmp_path / 'none'}: a complete UTF-8 file"
    )
    for content in (b"", b"\xff", b"x", whole[:40], whole[:-9], whole.replace(b"\n20\n", b"\n2x\n"), whole + b"\0"):
        saved.write_bytes(content)
        (line,) = run_verifier(capsys, "consistency", saved, folder)
        assert line.startswith(f"{saved}: ")
    saved.write_bytes(whole)
    (folder / "log.jsonl").write_bytes(b"{}\n")
    assert run_verifier(capsys, "consistency", saved, folder, "--all")[-1].endswith(
        "`NAME+ID+KEY` is required; received null"
    )
    assert len(run_verifier(capsys, "consistency", saved, tmp_path / "nothing", "--all")) == 5


def test_an_export_with_another_key_names_the_checkpoint_and_cosignatures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path, FILES)
    for key in FOREIGN_KEYS:
        assert any(line.startswith("checkpoint: ") for line in run_both(folder, capsys, vkey=key))
        assert any(line.startswith("cosignatures: ") for line in run_both(folder, capsys, witness=key))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "scores.json").unlink(),
        lambda folder: (folder / "scores.json").write_text("{"),
        lambda folder: (folder / "scores.json").write_text("[]"),
        lambda folder: (folder / "scores.json").write_text('{"at_us": "x", "window": null, "theater": null}'),
        lambda folder: (folder / "scores.json").write_text('{"at_us": 1, "window": 3, "theater": null}'),
        lambda folder: (folder / "base_rates.json").write_text("7"),
        lambda folder: (folder / "reveals.jsonl").unlink(),
        lambda folder: (folder / "log.jsonl").write_text('{"type": "log"}'),
    ],
)
def test_scores_that_cannot_be_recomputed_are_reported_in_one_line(
    change: Callable[[Path], object], tmp_path: Path
) -> None:
    folder = write(tmp_path, {**FILES, "scores.json": b'{"at_us": 9000000000000000, "window": null, "theater": null}'})
    change(folder)
    (line,) = rescoring.faults(folder)
    assert check_lines(line)
