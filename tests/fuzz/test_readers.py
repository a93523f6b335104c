"""Readers of untrusted bytes: damaged input is refused with an error of the package, in little time and memory.

`rust/env/tests/fuzz` tests the readers of the crates with more inputs. OPENOUTCRY_FUZZ_SECONDS sets seconds per reader.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import fuzz_inputs
import pytest
from arena_logs import VKEY
from fuzz_inputs import CORPUS, MOST_SECONDS, Entry, inputs, seconds_of, stored

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.arena import verifier
from openoutcry.arena.log.signed_notes import VerifierKey, open_checkpoint
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.submission_schema import parse_submission
from openoutcry.data.snapshots import snapshot_files
from openoutcry.harness.conformance.report_verification import read_report
from openoutcry.ledger import Ledger
from openoutcry.research.strict_json import InvalidJson, read_strict_json
from openoutcry.scoring.suite import Suite

pytestmark = pytest.mark.once

DATA = CORPUS.parents[1] / "data"
FILES = (DATA / "formats", DATA / "vendor_forms")
# The peak of the process grows by less than this over all inputs of a reader.
MOST_BYTES = 512 << 20
REFUSED = (oo.OpenOutcryError,)


class Reader(NamedTuple):
    """A function of a file's path, its stored inputs, the errors that refuse an input, and the number of inputs."""

    read: Callable[[Path], object]
    entries: Callable[[], list[Entry]]
    refused: tuple[type[Exception], ...] = REFUSED
    n_inputs: int = 60


def of_text(read: Callable[[str], object]) -> Callable[[Path], object]:
    """Return a reader of text; bytes that are not UTF-8 are left out, as its callers refuse them."""
    return lambda path: read(path.read_bytes().decode("utf-8", "ignore"))


def of_bytes(read: Callable[[bytes], object]) -> Callable[[Path], object]:
    return lambda path: read(path.read_bytes())


def in_corpus(name: str) -> Callable[[], list[Entry]]:
    return lambda: stored(CORPUS / name, most=1 << 16)


def in_data(name: str, *suffixes: str) -> Callable[[], list[Entry]]:
    """Return the samples of `tests/data` with a suffix, and the inputs that have failed."""
    return lambda: [*stored(*FILES, suffixes=suffixes), *in_corpus(name)()]


def ledger_rows(path: Path) -> object:
    """Read a ledger with the file as its log."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "00000.jsonl").write_bytes(path.read_bytes())
        ledger = Ledger(folder)
        try:
            return ledger.list(), ledger.verify()
        finally:
            ledger.close()


def snapshot(path: Path) -> object:
    """Read a snapshot; the file is its manifest, or its numbers."""
    whole = CORPUS / "snapshot"
    with tempfile.TemporaryDirectory() as folder:
        for part in whole.iterdir():
            changed = path if part.suffix == path.suffix else part
            (Path(folder) / part.name).write_bytes(changed.read_bytes())
        return snapshot_files.load(Path(folder) / "market.json")


READERS = {
    "file_text": Reader(oo.Dataset.from_csv, in_data("file_text", ".csv", ".txt"), n_inputs=120),
    "file_json": Reader(oo.Dataset.from_csv, in_data("file_json", ".json")),
    "file_packed": Reader(oo.Dataset.from_csv, in_corpus("file_packed")),
    "file_xlsx": Reader(oo.Dataset.from_csv, in_corpus("file_xlsx"), n_inputs=30),
    "file_parquet": Reader(oo.Dataset.from_parquet, in_corpus("file_parquet"), n_inputs=40),
    "market": Reader(of_bytes(oo.Dataset.from_bytes), in_corpus("market")),
    "snapshot": Reader(snapshot, lambda: stored(CORPUS / "snapshot", CORPUS / "snapshot_found"), n_inputs=40),
    "record_file": Reader(oo.RunRecord.load, lambda: [*in_corpus("record")(), *in_corpus("record_lines")()]),
    "zstd": Reader(of_bytes(native.decompress), in_corpus("zstd"), n_inputs=300),
    "decision": Reader(of_text(native.read_decision), in_corpus("decision"), n_inputs=300),
    "score_config": Reader(of_text(native.check_score_config), in_corpus("score_config"), n_inputs=300),
    "suite": Reader(of_text(Suite.from_json), in_corpus("suite")),
    "conformance_report": Reader(of_text(read_report), in_corpus("conformance_report")),
    "ledger": Reader(ledger_rows, in_corpus("ledger"), n_inputs=20),
    "submission": Reader(of_bytes(parse_submission), in_corpus("submission"), (ArenaError,), 300),
    "checkpoint": Reader(
        of_text(lambda text: open_checkpoint(text, VerifierKey.parse(VKEY))), in_corpus("checkpoint"), n_inputs=100
    ),
    "log_line": Reader(of_bytes(verifier.parse_record), in_corpus("arena_log"), (verifier.CheckError,)),
    "strict_json": Reader(of_text(read_strict_json), in_corpus("canonical_json"), (InvalidJson,), 300),
}


def failure(reader: Reader, path: Path) -> str | None:
    """Return how a reader fails at a file, or None if it accepts or refuses it."""

    def read() -> None:
        with contextlib.suppress(reader.refused):
            reader.read(path)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            seconds = seconds_of(read)
    except (Exception, native_panic()) as error:  # noqa: BLE001 any other error is the finding
        return f"{type(error).__name__}: {str(error)[:300]}"
    return None if seconds <= MOST_SECONDS else f"{seconds:.1f} s of processor time"


def native_panic() -> type[BaseException]:
    """Return the class of a panic in the extension, which is no `Exception`."""
    return next((each for each in BaseException.__subclasses__() if each.__name__ == "PanicException"), KeyError)


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize("name", READERS)
def test_damaged_input_is_read_or_refused(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    entries = reader.entries()
    assert entries
    saved = Path(tempfile.gettempdir()) / "openoutcry-fuzz" / name
    before, found = peak_bytes(), []
    for index, (file, content) in inputs(entries, reader.n_inputs):
        path = tmp_path / file
        path.write_bytes(content)
        if why := failure(reader, path):
            saved.mkdir(parents=True, exist_ok=True)
            kept = saved / f"{fuzz_inputs.SEED}-{index}-{file}"
            kept.write_bytes(content)
            found.append(f"{kept}: {why}")
        if len(found) == 10:
            break
    assert found == []
    assert peak_bytes() - before < MOST_BYTES
