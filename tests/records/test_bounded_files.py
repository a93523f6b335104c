"""Files of unknown origin are read up to a limit; pipes without a writer and devices are refused."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import typed
from recorded_run import RECORD

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.data.market_source import open_market
from openoutcry.data.snapshots import snapshot_files
from openoutcry.ledger.jsonl_view import NAME, read_view
from openoutcry.records import chained_log
from openoutcry.records.chained_lines import LONGEST_LINE
from openoutcry.scoring.suite import Suite
from openoutcry.untrusted import bounded_file

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and devices are those of POSIX"),
]

PIECE = gzip.compress(b" " * (16 << 20), 1)
BYTES_OF_SUITE = Suite.load().to_json().encode()


@pytest.fixture(autouse=True)
def _seconds() -> Iterator[None]:
    """End a test that hangs."""

    def raise_timeout(*_: Any) -> None:
        raise TimeoutError("the file was read for 60 s")

    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def peak_of(call: Callable[[], Any]) -> int:
    """Return the peak of memory of a call that refuses its input."""
    tracemalloc.start()
    try:
        with pytest.raises(oo.OpenOutcryError, match="must hold at most"):
            call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["g.market.gz", "g.csv.gz"])
def test_a_gzip_bomb_is_refused_with_little_memory(name: str, tmp_path: Path) -> None:
    # 1 GiB of spaces in 4.5 MB. The limit is 200 times the size of the file.
    (tmp_path / name).write_bytes(PIECE * 64)
    assert peak_of(lambda: open_market(tmp_path / name)) < 100 << 20


def test_a_zip_bomb_is_refused_with_little_memory(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "g.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("g.csv", b" " * (80 << 20))
    assert peak_of(lambda: open_market(tmp_path / "g.zip")) < 100 << 20


def test_a_snapshot_bomb_is_refused_with_little_memory(tmp_path: Path) -> None:
    path = snapshot_files.freeze(oo.Dataset.synthetic(2, 40, 1), tmp_path, "here").with_suffix(".npz")
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["open.npy"] += bytes(80 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    assert peak_of(lambda: snapshot_files.load(path)) < 100 << 20


def test_a_snapshot_that_states_many_values_is_refused(tmp_path: Path) -> None:
    path = snapshot_files.freeze(oo.Dataset.synthetic(2, 40, 1), tmp_path, "here").with_suffix(".npz")
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (999_999_999_999, 999_999)}
    )
    entries["close.npy"] = header.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, each in entries.items():
            archive.writestr(name, each)
    with pytest.raises(oo.OpenOutcryError, match="the numbers of a snapshot are required"):
        snapshot_files.load(path)


def test_a_compressible_market_of_more_than_the_free_size_is_read(tmp_path: Path) -> None:
    start = b"\xd0\xcf\x11\xe0"
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(start + bytes(70 << 20) + os.urandom(1 << 20), 1))
    # Its 70 MB are counted first, and read then: the refusal is that of the content.
    with pytest.raises(oo.OpenOutcryError, match="which is Excel 97"):
        oo.Dataset.from_csv(tmp_path / "m.csv.gz")


def test_a_record_of_more_than_its_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(bounded_file.RECORD_BYTES + 1)
    with pytest.raises(oo.OpenOutcryError, match="record_invalid: a record must have at most 1,073,741,824 bytes"):
        oo.RunRecord.load(tmp_path / "large.json")


ODD = ("a named pipe", "a device")


def odd_file(path: Path, kind: str) -> Path:
    """Make a named pipe without a writer, or a link to a device without an end."""
    path.unlink(missing_ok=True)
    if kind == "a named pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "record": ("r.json", oo.RunRecord.load),
    "record in lines": ("r.jsonl.zst", oo.RunRecord.load),
    "market": ("m.market", open_market),
    "compressed market": ("m.market.gz", open_market),
    "prices": ("p.csv", open_market),
    "prices as JSON": ("p.json", open_market),
    "suite": ("s.json", Suite.load),
    "chained log": ("log.jsonl", lambda path: list(chained_log.scan(path))),
    "list of runs": (NAME, lambda path: read_view(path.parent)),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(("name", "read"), READERS.values(), ids=READERS)
def test_a_reader_refuses_a_pipe_and_a_device(name: str, read: Any, kind: str, tmp_path: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"which is a (named pipe|pipe|device)"):
        read(odd_file(tmp_path / name, kind))


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_snapshot_of_a_pipe_or_a_device_is_refused(kind: str, suffix: str, tmp_path: Path) -> None:
    path = snapshot_files.freeze(oo.Dataset.synthetic(2, 40, 1), tmp_path, "here")
    odd_file(path.with_suffix(suffix), kind)
    with pytest.raises(oo.OpenOutcryError, match=r"which is a (named pipe|device)"):
        snapshot_files.load(path)


COMMANDS = {
    "public key": ["replay", "r.json", "--data", "ecb-fx", "--public-key", "odd"],
    "conformance report": ["conformance", "--verify", "odd"],
    "private key": ["conformance", "hold-cash", "--private-key", "odd"],
    "scenario": ["report", "r.json", "--scenario", "odd", "--scenario-key", "0" * 64],
    "keys of a suite": ["suite", "run", "default", "--agent", "momentum", "--keys", "odd"],
    "gates": ["research", "run", "--data", "ecb-fx", "--gates", "odd"],
    "proposals": ["research", "run", "--data", "ecb-fx", "--proposer", "list:odd"],
    "decisions": ["arena", "submit", "slug", "odd"],
    "base rates": ["arena", "rules", "--base-rates", "odd"],
    "returns": ["score", "odd.csv"],
    "export": ["arena", "verify", "folder"],
    "ledger": ["ledger", "verify", "--dir", "folder"],
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_refuses_a_pipe_and_a_device(words: list[str], kind: str, tmp_path: Path) -> None:
    RECORD.save(tmp_path / "r.json")
    (tmp_path / "folder").mkdir()
    for name in ("odd", "odd.csv", "folder/log.jsonl", "folder/00000.jsonl"):
        odd_file(tmp_path / name, kind)
    done = typed(*words, cwd=tmp_path)
    assert done.returncode in (1, 2), done.stdout
    assert "Traceback" not in done.stderr


OUTPUTS = {
    "report": ["report", "run.json", "--data", "ecb-fx", "--out", "out"],
    "run": ["run", "--agent", "momentum", "--window", ":+30", "--report", "out"],
    "score": ["score", "run.json", "--data", "ecb-fx", "--report", "out"],
    "conformance": ["conformance", "hold", "--report", "out"],
    "export": ["data", "export", "ecb-fx", "--out", "out"],
}


@pytest.mark.parametrize("words", OUTPUTS.values(), ids=OUTPUTS)
def test_a_command_writes_to_no_pipe_without_a_reader(words: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "which is a named pipe; hint: name a new file" in done.stderr


def test_standard_input_and_pipes_of_the_shell_are_read(tmp_path: Path) -> None:
    shell = shutil.which("bash") or pytest.skip("needs bash")
    (tmp_path / "suite.json").write_bytes(BYTES_OF_SUITE)
    command = f"{sys.executable} -m openoutcry suite show"
    for words in (f"{command} <(sleep 0.2; cat suite.json)", f"cat suite.json | {command} /dev/stdin"):
        done = subprocess.run([shell, "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert Suite.load().digest in done.stdout


def test_standard_input_without_end_is_read_up_to_the_limit(tmp_path: Path) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        command = [sys.executable, "-m", "openoutcry", "suite", "show", "/dev/stdin"]
        done = subprocess.run(command, stdin=zeros, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: argument_invalid: a suite must have at most 67,108,864 bytes")


def test_a_pipe_that_takes_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("{}", encoding="utf-8")
    assert bounded_file.read_bytes(path, 10, "a record") == b"{}"
    with pytest.raises(oo.OpenOutcryError, match="a record must have at most 1 bytes; received more in"):
        bounded_file.read_bytes(path, 1, "a record")
    with pytest.raises(FileNotFoundError):
        bounded_file.read_bytes(tmp_path / "none", 1, "a record")
    with pytest.raises(IsADirectoryError):
        bounded_file.read_bytes(tmp_path, 1, "a record")


def test_a_line_without_end_of_a_log_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.truncate(LONGEST_LINE + 10)
    assert [(line.record, line.end) for line in chained_log.scan(path)] == [
        (None, LONGEST_LINE),
        (None, LONGEST_LINE + 10),
    ]


def test_a_frame_that_grows_beyond_a_record_is_refused() -> None:
    frame = native.Compressor()
    content = frame.write(bytes(80 << 20)) + frame.finish()
    with pytest.raises(oo.OpenOutcryError, match="received zstd of more than"):
        native.decompress(content)


def test_every_entry_of_an_export_is_a_file(tmp_path: Path) -> None:
    odd_file(tmp_path / "log.jsonl", "a named pipe")
    with pytest.raises(oo.OpenOutcryError, match="an entry of an export must be a file"):
        bounded_file.check_folder(tmp_path, "an export")
    from openoutcry.arena import verifier

    with pytest.raises(SystemExit):
        verifier.main(["export", str(tmp_path)])
